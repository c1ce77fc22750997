/** How far a fresh sample may contradict the kept one, in ms, before the kept one is given up. */
const toleranceMs = 20
const keepMs = 60_000

interface Sample {
  readonly at: number
  /** Database minus performance.now(), in ms. */
  readonly offset: number
  /** At most so far from the truth, in ms. */
  readonly error: number
}

/** The database's clock as this process sees it: from the quickest answer of the last minute, so that a slow one moves nothing. */
export class DatabaseClock {
  #kept: Sample | undefined

  /** An answer that says `databaseNow` (ms since 1970), asked for and received at these moments of performance.now(). */
  learn(askedAt: number, receivedAt: number, databaseNow: number): void {
    const error = (receivedAt - askedAt) / 2
    const sample = { at: receivedAt, offset: databaseNow - (askedAt + error), error }
    const kept = this.#kept
    const isKept =
      kept !== undefined &&
      receivedAt - kept.at < keepMs &&
      kept.error <= error &&
      // A clock that was set, or another server: what was known of the old one is worth nothing.
      Math.abs(sample.offset - kept.offset) <= sample.error + kept.error + toleranceMs
    if (!isKept) this.#kept = sample
  }

  /** A moment of the database (ms since 1970) by performance.now(). Only after something was learnt. */
  toLocal(databaseMs: number): number {
    return databaseMs - (this.#kept?.offset ?? 0)
  }
}
