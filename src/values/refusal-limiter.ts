/** Refusals that are answered in full: in one second in all, and in one minute to one client address. */
const answeredPerSecond = 20
const answeredPerMinute = 30
/** Client addresses that are counted apart in one minute; one beyond them counts as over its limit. */
const addressLimit = 10_000
const logEveryMs = 10_000

/** Keeps calls with a wrong secret cheap, in work and in lines of the log. */
export class RefusalLimiter {
  readonly #now: () => number
  #second = -1
  #answered = 0
  #minute = -1
  #byAddress = new Map<string, number>()
  #unlogged = 0
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Counts a refusal; whether it is worth a full answer. */
  shouldAnswer(address: string): boolean {
    const now = this.#now()
    const [second, minute] = [Math.floor(now / 1000), Math.floor(now / 60_000)]
    if (second !== this.#second) this.#answered = 0
    if (minute !== this.#minute) this.#byAddress.clear()
    this.#second = second
    this.#minute = minute
    this.#unlogged++
    const isNew = !this.#byAddress.has(address)
    if (isNew && this.#byAddress.size >= addressLimit) return false
    const count = (this.#byAddress.get(address) ?? 0) + 1
    this.#byAddress.set(address, count)
    if (count > answeredPerMinute) return false
    this.#answered++
    return this.#answered <= answeredPerSecond
  }

  /** How many refusals the next line of the log counts; 0: no line now. */
  takeLogCount(): number {
    const now = this.#now()
    if (this.#unlogged === 0 || now - this.#loggedAt < logEveryMs) return 0
    this.#loggedAt = now
    const count = this.#unlogged
    this.#unlogged = 0
    return count
  }
}
