import { isCertain, keyInAdvice, vehicleDataKey } from '../sources/key-advice.ts'
import type { StreamState } from './stream-states.ts'

/** What is known of a stream of a rooftop. */
export type StreamError = Pick<StreamState, 'uid' | 'name' | 'key' | 'status' | 'error'>

/** A key that its service refuses now. */
export interface KeyRefusal<S extends StreamError = StreamState> {
  /** As in `ops.rate_budget`. */
  readonly key: string
  /** What the service answered and what to check, of the first stream that says for certain that it is the key. */
  readonly error: string
  /** The names of the rooftops where it is refused, and how many have the key. */
  readonly rooftops: readonly string[]
  readonly all: number
  /** The streams that it stops. */
  readonly states: readonly S[]
}

/** The keys that are refused, from the states of all their rooftops. An answer that may concern a record or the key counts where
 *  another one says that it is the key. After the next good run of a stream its refusal is gone. */
export function keyRefusals<S extends StreamError>(states: readonly S[]): KeyRefusal<S>[] {
  const keys = new Set([...states.map(({ key }) => `appraisal/${key}`), vehicleDataKey])
  return [...keys].flatMap((key) => {
    const own = states.filter((state) => key === vehicleDataKey || `appraisal/${state.key}` === key)
    const stopped = own.filter(
      ({ status, error }) => status !== 'ok' && error !== null && keyInAdvice(error, [key]),
    )
    const certain = stopped.flatMap(({ error }) => (isCertain(error!, key) ? error! : []))
    if (certain.length === 0) return []
    // While a refused key rests, nothing is sent: that text has no answer.
    const error = certain.find((text) => text.includes(' answered ')) ?? certain[0]!
    return {
      ...{ key, states: stopped, error },
      rooftops: [...new Set(stopped.map(({ name }) => name))],
      all: new Set(own.map(({ uid }) => uid)).size,
    }
  })
}

/** At which of its rooftops a key is refused. */
export function whereRefused({ rooftops, all }: Pick<KeyRefusal, 'rooftops' | 'all'>): string {
  if (rooftops.length < all) return `at ${rooftops.length} of its ${all} rooftops`
  return all === 1 ? 'at its rooftop' : `at all ${all} rooftops`
}
