/** Refusals that get a full answer: in one second in total, and in one minute for one client address. */
const answeredPerSecond = 20
const answeredPerMinute = 30
/** Client addresses that are counted in one minute; any further one counts as over its limit. */
const addressLimit = 10_000
const logEveryMs = 10_000

/** Limits the answers and log lines for calls with a wrong secret, so that they stay cheap. */
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

  /** Counts a refusal; returns whether it gets a full answer. */
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

  /** The number of refusals for the next log line; 0: no line now. */
  takeLogCount(): number {
    const now = this.#now()
    if (this.#unlogged === 0 || now - this.#loggedAt < logEveryMs) return 0
    this.#loggedAt = now
    const count = this.#unlogged
    this.#unlogged = 0
    return count
  }
}
