import { parseHttpDate } from '../../values/http-date.ts'

/** The source's clock: ours plus an offset read from an HTTP Date header, which may be days. Until it is measured, ours. */
export class SourceClock {
  readonly #now: () => Date
  #offsetMs: number | null = null
  #leastOffsetMs = 0

  constructor(now: () => Date) {
    this.#now = now
  }

  /** Whether a Date header has been read. */
  get measured(): boolean {
    return this.#offsetMs !== null
  }

  /** The source's time minus ours, in ms; 0 until it is measured. */
  get offsetMs(): number {
    return this.#offsetMs ?? 0
  }

  /** The source's time. */
  now(): Date {
    return new Date(this.#now().getTime() + this.offsetMs)
  }

  /** The earliest that the source's time can be: a list that is asked for from now on is no older. */
  leastNow(): Date {
    return new Date(this.#now().getTime() + this.#leastOffsetMs)
  }

  /** Reads the offset from the Date header of an answer, with the moments on our clock when the request left and the answer came.
   *  False, and nothing changes, when the header is not an HTTP date. */
  measure(dateHeader: string, requestedAt: Date, receivedAt: Date): boolean {
    const date = parseHttpDate(dateHeader)?.getTime()
    if (date === undefined) return false
    // The header has whole seconds and was written somewhere between sending and receiving: this is all that is known.
    const least = date - receivedAt.getTime()
    const greatest = date + 999 - requestedAt.getTime()
    this.#leastOffsetMs = least
    // Clocks that may be equal count as equal, else every run would see another small offset.
    this.#offsetMs = least <= 0 && greatest >= 0 ? 0 : Math.round((least + greatest) / 2)
    return true
  }
}
