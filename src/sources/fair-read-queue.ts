import pLimit, { type LimitFunction } from 'p-limit'
import type { WhileWaiting } from './http-request.ts'

/** So many records of a slice are read before the slices that came after it have their turn: one of a single huge window must
 *  not keep them waiting. */
const turnLength = 1000

/**
 * In which order a process reads the records of its slices. Those of one key and lane are read one slice after the other, not all
 * at once: while one is written the next is read, and one at most lies half read in memory. The limiter of the key decides how
 * many calls are under way; this bounds how many wait for it with a slot.
 */
export class FairReadQueue {
  readonly #concurrency: number
  readonly #limits = new Map<string, LimitFunction>()

  constructor(concurrency: number) {
    this.#concurrency = concurrency
  }

  /** What became of each item, in the order of `items`; never rejects. */
  async readAll<Item, Result>(
    { key, lane }: { readonly key: string; readonly lane: string },
    items: readonly Item[],
    read: (item: Item, whileWaiting: WhileWaiting) => Promise<Result>,
  ): Promise<PromiseSettledResult<Result>[]> {
    const limit = this.#limitOf(`${lane}/${key}`)
    const whileWaiting = freeSlotWhileWaiting(limit)
    const results: PromiseSettledResult<Result>[] = []
    for (let at = 0; at < items.length; at += turnLength) {
      const turn = items.slice(at, at + turnLength)
      results.push(
        ...(await Promise.allSettled(turn.map((item) => limit(() => read(item, whileWaiting))))),
      )
    }
    return results
  }

  #limitOf(name: string): LimitFunction {
    const known = this.#limits.get(name)
    if (known) return known
    const made = pLimit(this.#concurrency)
    this.#limits.set(name, made)
    return made
  }
}

/** A call that waits for its retry lends its slot, so that a few refused calls do not hold up all others. */
export function freeSlotWhileWaiting(limit: LimitFunction): WhileWaiting {
  return async (wait) => {
    limit.concurrency += 1
    try {
      return await wait
    } finally {
      limit.concurrency -= 1
    }
  }
}
