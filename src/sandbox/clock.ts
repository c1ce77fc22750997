/** How a virtual clock starts. */
interface VirtualClockOptions {
  readonly start: Date
  /** A frozen clock moves only by `advance` and `set`; default false. */
  readonly frozen?: boolean
}

/** The clock of the source. It sets the `Date` header, what is completed, edited and vanished, and when links expire. */
export class VirtualClock {
  #ms: number
  /** `performance.now()` when the clock read `#ms`; null while frozen. */
  #since: number | null
  readonly #listeners: (() => void)[] = []

  constructor({ start, frozen = false }: VirtualClockOptions) {
    this.#ms = start.getTime()
    this.#since = frozen ? null : performance.now()
  }

  now(): Date {
    return new Date(this.#nowMs())
  }

  /** Moves the clock by `ms`; a running clock keeps running. */
  advance(ms: number): void {
    this.#restart(this.#nowMs() + ms)
  }

  /** Sets the clock to an instant, which may be earlier. */
  set(date: Date): void {
    this.#restart(date.getTime())
  }

  /** Calls `listener` after every `advance` and `set`. */
  onMove(listener: () => void): void {
    this.#listeners.push(listener)
  }

  freeze(): void {
    this.#ms = this.#nowMs()
    this.#since = null
  }

  run(): void {
    if (this.#since === null) this.#since = performance.now()
  }

  #restart(ms: number): void {
    this.#ms = ms
    if (this.#since !== null) this.#since = performance.now()
    for (const listener of this.#listeners) listener()
  }

  #nowMs(): number {
    return this.#since === null ? this.#ms : this.#ms + Math.floor(performance.now() - this.#since)
  }
}
