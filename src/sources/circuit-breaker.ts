import { SyncError } from '../errors.ts'

/** So many rooftops of a key, each refused and none answered between them, tell of the key rather than of the rooftops. */
export const refusedRooftopLimit = 10
const restMs = 10 * 60_000

/** Who asks for what. */
export interface KeyUse {
  readonly keyName: string
  readonly operation: string
  readonly rooftopUid: string
}

/** Keeps a key that the source refuses from being tried with every rooftop: a withdrawn key of hundreds of rooftops would
 *  otherwise be sent as often. Per key and operation, since a key may be forbidden a single one [A §5, §7]. */
export class CircuitBreaker {
  readonly #now: () => number
  readonly #refused = new Map<string, Set<string>>()
  readonly #restsUntil = new Map<string, number>()

  /** `now`: monotonic ms. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Sends a call, unless the key rests at this operation: then SyncError `abort`, and nothing was sent. */
  async run<T>(use: KeyUse, send: () => Promise<T>): Promise<T> {
    const name = `${use.keyName} ${use.operation}`
    this.#assertUsable(name, use)
    try {
      const answer = await send()
      this.#forget(name)
      return answer
    } catch (error) {
      const { status } = error as { status?: unknown }
      if (status === 401 || status === 403) this.#note(name, use)
      throw error
    }
  }

  #assertUsable(name: string, { keyName, operation, rooftopUid }: KeyUse): void {
    const leftMs = (this.#restsUntil.get(name) ?? -Infinity) - this.#now()
    if (leftMs <= 0 && this.#restsUntil.has(name)) this.#forget(name)
    if (leftMs <= 0) return
    throw new SyncError(
      'abort',
      `${operation} of rooftop ${rooftopUid} was not sent: key ${keyName} was refused there for ${refusedRooftopLimit} rooftops in a row ` +
        `and rests for ${Math.ceil(leftMs / 60_000)} min. Check the value of key ${keyName}; if it is good, take the rooftops ` +
        'that it may no longer read out of the config.',
      { rooftopUid },
    )
  }

  #note(name: string, { rooftopUid }: KeyUse): void {
    const uids = (this.#refused.get(name) ?? new Set()).add(rooftopUid)
    this.#refused.set(name, uids)
    if (uids.size >= refusedRooftopLimit && !this.#restsUntil.has(name))
      this.#restsUntil.set(name, this.#now() + restMs)
  }

  #forget(name: string): void {
    this.#refused.delete(name)
    this.#restsUntil.delete(name)
  }
}
