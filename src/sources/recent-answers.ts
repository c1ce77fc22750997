const bucketMs = 100
/** The share of refused calls is read over so many buckets, the rate of clean answers over the newer half of them. */
const buckets = 20
/** So many refusals with no clean answer between them: the source takes nothing from the key at present. */
const refusedInARow = 3
/** A share of refusals up to this has nothing to do with how fast we send. */
const straySharePercent = 6

interface Bucket {
  clean: number
  refused: number
}

/**
 * What a source answered to a key in the last two seconds: tells a stray "too many" from a source that is asked too fast.
 * A stray one concerns its own call alone: a key that slowed down for each would lose almost all of its throughput to one
 * stray answer in a hundred. Times are performance.now().
 */
export class RecentAnswers {
  readonly #buckets: Bucket[] = Array.from({ length: buckets }, () => ({ clean: 0, refused: 0 }))
  #newest = 0
  #refusedInARow = 0

  recordClean(now: number): void {
    this.#bucket(now).clean += 1
    this.#refusedInARow = 0
  }

  recordRefused(now: number): void {
    this.#bucket(now).refused += 1
    this.#refusedInARow += 1
  }

  /** Nothing but refusals lately. */
  get isRefusingAll(): boolean {
    return this.#refusedInARow >= refusedInARow
  }

  /** The source refuses more than stray calls: the key is used too fast. */
  isTooFast(now: number): boolean {
    this.#bucket(now)
    const sum = (of: keyof Bucket) => this.#buckets.reduce((total, one) => total + one[of], 0)
    const refused = sum('refused')
    return (
      this.isRefusingAll ||
      (refused >= refusedInARow && refused * 100 > straySharePercent * (refused + sum('clean')))
    )
  }

  /** Clean answers of the last second. */
  cleanPerSecond(now: number): number {
    this.#bucket(now)
    const newer = Array.from({ length: buckets / 2 }, (_, age) => this.#at(this.#newest - age))
    return newer.reduce((total, { clean }) => total + clean, 0)
  }

  /** Answers to what was sent before a cut tell nothing of the rate after it; how much was answered remains known. */
  forgetRefusals(): void {
    this.#refusedInARow = 0
    for (const bucket of this.#buckets) bucket.refused = 0
  }

  #bucket(now: number): Bucket {
    const current = Math.floor(now / bucketMs)
    const passed = Math.min(current - this.#newest, buckets)
    for (let step = 0; step < passed; step += 1) {
      const stale = this.#at(current - step)
      stale.clean = 0
      stale.refused = 0
    }
    this.#newest = Math.max(this.#newest, current)
    return this.#at(this.#newest)
  }

  #at(bucket: number): Bucket {
    return this.#buckets[((bucket % buckets) + buckets) % buckets]!
  }
}
