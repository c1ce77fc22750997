import pLimit, { type LimitFunction } from 'p-limit'
import type { WhileWaiting } from './http.ts'

/** Records of a slice that are read before other slices may read: a single huge window must not make them wait. */
const batchSize = 1000

/**
 * Decides in which order a process reads the records of its slices. Slices of one key and lane are read one after the other:
 * while one is written the next is read, and at most one is half read in memory. The key's limiter decides how many calls are
 * in flight; this queue bounds how many wait for the limiter.
 */
export class FairReadQueue {
  readonly #concurrency: number
  readonly #limits = new Map<string, LimitFunction>()

  constructor(concurrency: number) {
    this.#concurrency = concurrency
  }

  /** Reads all items and returns their results in the order of `items`. Never rejects. */
  async readAll<Item, Result>(
    { key, lane }: { readonly key: string; readonly lane: string },
    items: readonly Item[],
    read: (item: Item, whileWaiting: WhileWaiting) => Promise<Result>,
  ): Promise<PromiseSettledResult<Result>[]> {
    const limit = this.#limitOf(`${lane}/${key}`)
    const whileWaiting = freeSlotWhileWaiting(limit)
    const results: PromiseSettledResult<Result>[] = []
    for (let at = 0; at < items.length; at += batchSize) {
      const batch = items.slice(at, at + batchSize)
      results.push(
        ...(await Promise.allSettled(batch.map((item) => limit(() => read(item, whileWaiting))))),
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

/** Frees a call's slot while it waits for its retry, so that a few refused calls do not hold up all others. */
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
