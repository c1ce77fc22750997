const dayMs = 86_400_000

/** A calendar day in a time zone; month 1 to 12. */
export interface WallDay {
  readonly year: number
  readonly month: number
  readonly day: number
}

/** The zone's offsets from UTC before and after a change near a day; `changesAt` null: no change. */
interface Offsets {
  readonly before: number
  readonly after: number
  readonly changesAt: number | null
}

/** The wall clock of one IANA time zone. */
export class WallClock {
  readonly #format: Intl.DateTimeFormat

  constructor(timezone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    })
  }

  /** The local day at an instant, in ms. */
  dayAt(instant: number): WallDay {
    const wall = new Date(this.#wallAt(instant))
    return {
      year: wall.getUTCFullYear(),
      month: wall.getUTCMonth() + 1,
      day: wall.getUTCDate(),
    }
  }

  /**
   * The instants of times of a day (seconds since midnight, ascending). A time that the clocks skip gives the instant of the
   * skip. A time that occurs twice gives the first instant, or both with `bothOccurrences`.
   */
  instantsOf(day: WallDay, times: readonly number[], bothOccurrences: boolean): number[] {
    const midnight = Date.UTC(day.year, day.month - 1, day.day)
    const { before, after, changesAt } = this.#offsetsAround(midnight)
    const walls = times.map((seconds) => midnight + seconds * 1000)
    if (changesAt === null) return walls.map((wall) => wall - before)
    const earlier = walls.map((wall) => wall - before).filter((instant) => instant < changesAt)
    const later = walls.map((wall) => wall - after).filter((instant) => instant >= changesAt)
    if (bothOccurrences) return [...earlier, ...later]
    const once = walls.map((wall) => {
      if (wall - before < changesAt) return wall - before
      return Math.max(wall - after, changesAt)
    })
    return [...new Set(once)]
  }

  #offsetsAround(midnight: number): Offsets {
    let [low, high] = [midnight - dayMs, midnight + 2 * dayMs]
    const [before, after] = [this.#offsetAt(low), this.#offsetAt(high)]
    if (before === after) return { before, after, changesAt: null }
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000
      if (this.#offsetAt(middle) === before) low = middle
      else high = middle
    }
    return { before, after, changesAt: high }
  }

  #offsetAt(instant: number): number {
    return this.#wallAt(instant) - Math.floor(instant / 1000) * 1000
  }

  /** The local time, as if it were UTC. */
  #wallAt(instant: number): number {
    const parts = this.#format.formatToParts(instant).map(({ type, value }) => [type, value])
    const { year, month, day, hour, minute, second } = Object.fromEntries(parts)
    return Date.UTC(+year, +month - 1, +day, +hour, +minute, +second)
  }
}
