const bucketMs = 100
/** The share of refused calls is taken over all buckets, the rate of clean answers over the newer half of them. */
const buckets = 20
/** After this many refusals with no clean answer between them, the source is refusing every call of the key. */
const refusalLimit = 3
/** Refusals up to this share do not depend on how fast we send. */
const toleratedPercent = 6

interface Bucket {
  clean: number
  refused: number
}

/**
 * Counts what a source answered to a key in the last two seconds: it shows whether a 429 is a single one or the source is called too fast.
 * A single 429 concerns its own call alone: a key that slowed down for each would lose almost all of its throughput to one
 * 429 in a hundred answers. Times are performance.now().
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

  /** The last answers were all refusals. */
  get isRefusingAll(): boolean {
    return this.#refusedInARow >= refusalLimit
  }

  /** The source refuses more than a few calls: the key is used too fast. */
  isTooFast(now: number): boolean {
    this.#bucket(now)
    const sum = (of: keyof Bucket) => this.#buckets.reduce((total, one) => total + one[of], 0)
    const refused = sum('refused')
    return (
      this.isRefusingAll ||
      (refused >= refusalLimit && refused * 100 > toleratedPercent * (refused + sum('clean')))
    )
  }

  /** Clean answers of the last second. */
  cleanPerSecond(now: number): number {
    this.#bucket(now)
    const newer = Array.from({ length: buckets / 2 }, (_, age) => this.#at(this.#newest - age))
    return newer.reduce((total, { clean }) => total + clean, 0)
  }

  /** Forgets the refusals: those of calls sent before a cut say nothing about the rate after it. Keeps the clean answers. */
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
