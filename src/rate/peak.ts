const seconds = 10

/** How many requests were sent in the busiest of the last ten seconds. */
export class Peak {
  readonly #counts = new Array<number>(seconds).fill(0)
  #second = 0

  /** Counts a request; `now` is performance.now(). */
  count(now: number): void {
    this.#turn(now)
    this.#counts[this.#second % seconds]! += 1
  }

  read(now: number): number {
    this.#turn(now)
    return Math.max(...this.#counts)
  }

  #turn(now: number): void {
    const second = Math.floor(now / 1000)
    const passed = second - this.#second
    if (passed <= 0) return
    for (let step = 1; step <= Math.min(passed, seconds); step += 1)
      this.#counts[(this.#second + step) % seconds] = 0
    this.#second = second
  }
}
