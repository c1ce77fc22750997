/** Refusals of forged calls that are answered in one second; what comes beyond is cut off unanswered. */
const answeredPerSecond = 20
const tellEveryMs = 10_000

/** Keeps forged calls cheap, in work and in lines of the log. */
export class Refusals {
  readonly #now: () => number
  #second = -1
  #answered = 0
  #untold = 0
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Counts a refusal; whether it is worth an answer. */
  isAnswered(): boolean {
    const second = Math.floor(this.#now() / 1000)
    if (second !== this.#second) this.#answered = 0
    this.#second = second
    this.#answered++
    this.#untold++
    return this.#answered <= answeredPerSecond
  }

  /** How many refusals a line of the log is to tell of; 0: none now. */
  toTell(): number {
    const now = this.#now()
    if (this.#untold === 0 || now - this.#toldAt < tellEveryMs) return 0
    this.#toldAt = now
    const count = this.#untold
    this.#untold = 0
    return count
  }
}
