/** How far a new sample may differ from the stored one, in ms, before it replaces it. */
const toleranceMs = 20
const maxAgeMs = 60_000

interface Sample {
  readonly at: number
  /** Database minus performance.now(), in ms. */
  readonly offset: number
  /** The largest possible error, in ms. */
  readonly error: number
}

/** The database's clock, estimated from the fastest answer of the last minute, so that a slow answer does not change it. */
export class DatabaseClock {
  #best: Sample | undefined

  /** Adds a sample: an answer with `databaseNow` (ms since 1970), and the values of performance.now() before and after it. */
  learn(askedAt: number, receivedAt: number, databaseNow: number): void {
    const error = (receivedAt - askedAt) / 2
    const sample = { at: receivedAt, offset: databaseNow - (askedAt + error), error }
    const best = this.#best
    const isBestValid =
      best !== undefined &&
      receivedAt - best.at < maxAgeMs &&
      best.error <= error &&
      // Otherwise the clock was set, or this is another server, and the stored sample is wrong.
      Math.abs(sample.offset - best.offset) <= sample.error + best.error + toleranceMs
    if (!isBestValid) this.#best = sample
  }

  /** A time of the database (ms since 1970) as a value of performance.now(). Call it only after `learn`. */
  toLocal(databaseMs: number): number {
    return databaseMs - (this.#best?.offset ?? 0)
  }
}
