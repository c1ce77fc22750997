import { SyncError } from '../../errors.ts'
import { appraisalKey, keyToCheck } from './key-advice.ts'
import { rests } from './status-rules.ts'

/** What a call uses: a key, for an operation, for a rooftop. */
interface KeyUse {
  readonly keyName: string
  readonly operation: string
  readonly rooftopUid: string
}

/** Stops using a key that the source refuses: a withdrawn key would otherwise be sent once for each of its rooftops.
 *  Works per key and operation, since a key may be refused for a single operation [A §5, §7]. */
export class CircuitBreaker {
  readonly #now: () => number
  readonly #refusedRooftops = new Map<string, Set<string>>()
  readonly #openUntil = new Map<string, number>()

  /** `now`: monotonic ms. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Sends a call, unless the circuit of its key and operation is open: then SyncError `abort`, and nothing is sent. */
  async run<T>(use: KeyUse, send: () => Promise<T>): Promise<T> {
    const name = `${use.keyName} ${use.operation}`
    this.#assertClosed(name, use)
    try {
      const answer = await send()
      this.#reset(name)
      return answer
    } catch (error) {
      const isRefused = error instanceof SyncError && error.meaning === 'keyRefused'
      if (isRefused) this.#recordRefusal(name, use)
      throw error
    }
  }

  #assertClosed(name: string, { keyName, operation, rooftopUid }: KeyUse): void {
    const leftMs = (this.#openUntil.get(name) ?? -Infinity) - this.#now()
    if (leftMs <= 0 && this.#openUntil.has(name)) this.#reset(name)
    if (leftMs <= 0) return
    throw new SyncError(
      'abort',
      `${operation} for rooftop ${rooftopUid} was not sent: the source refused key ${keyName} for ${rests.refusedRooftops} rooftops ` +
        `in a row, so it is not used for ${Math.ceil(leftMs / 60_000)} min. Check ${keyToCheck(appraisalKey(keyName), undefined)}; if it is right, ` +
        'remove the rooftops that it may no longer read from the config.',
      { rooftopUid, meaning: 'keyRefused', key: appraisalKey(keyName) },
    )
  }

  #recordRefusal(name: string, { rooftopUid }: KeyUse): void {
    const uids = (this.#refusedRooftops.get(name) ?? new Set()).add(rooftopUid)
    this.#refusedRooftops.set(name, uids)
    if (uids.size >= rests.refusedRooftops && !this.#openUntil.has(name))
      this.#openUntil.set(name, this.#now() + rests.refusedKeyMs)
  }

  #reset(name: string): void {
    this.#refusedRooftops.delete(name)
    this.#openUntil.delete(name)
  }
}
