import { parseCron } from '../../values/cron.ts'

/** Leap days are eight years apart at most (1896 to 1904, 2096 to 2104). */
const maxDays = 8 * 366

/** A cron expression in a time zone. The instants at which it is due are its slots. */
export interface Schedule {
  readonly clock: WallClock
  /** Seconds since midnight, ascending. */
  readonly times: readonly number[]
  /** It is due in every hour of the day. Then it follows elapsed time, also through an hour that occurs twice. */
  readonly isHourly: boolean
  readonly isDue: (day: WallDay) => boolean
}

/** Parses a schedule; the expression must be valid for `parseCron`. */
export function parseSchedule(expression: string, timezone: string): Schedule {
  const fields = parseCron(expression)
  if (fields === null) throw new Error(`"${expression}" is not a schedule`)
  const { seconds, minutes, hours, daysOfMonth, months, daysOfWeek } = fields
  return {
    clock: new WallClock(timezone),
    times: hours.flatMap((h) => minutes.flatMap((m) => seconds.map((s) => (h * 60 + m) * 60 + s))),
    isHourly: hours.length === 24,
    isDue: (day) =>
      months.includes(day.month) &&
      daysOfMonth.includes(day.day) &&
      daysOfWeek.includes(weekday(day)),
  }
}

/**
 * The newest slot at or before an instant. A fixed time that the clocks skip is due once, when they skip it. A time that occurs
 * twice is due once, the first time. null: there is none within eight years.
 */
export function lastSlot(schedule: Schedule, at: Date): Date | null {
  let day = schedule.clock.dayAt(at.getTime())
  for (let left = maxDays; left > 0; left--, day = shifted(day, -1)) {
    const found = daySlots(schedule, day).findLast((slot) => slot <= at.getTime())
    if (found !== undefined) return new Date(found)
  }
  return null
}

/** The first slot after an instant. */
export function nextSlot(schedule: Schedule, after: Date): Date | null {
  let day = schedule.clock.dayAt(after.getTime())
  for (let left = maxDays; left > 0; left--, day = shifted(day, 1)) {
    const found = daySlots(schedule, day).find((slot) => slot > after.getTime())
    if (found !== undefined) return new Date(found)
  }
  return null
}

function daySlots({ clock, times, isHourly, isDue }: Schedule, day: WallDay): number[] {
  return isDue(day) ? clock.instantsOf(day, times, isHourly) : []
}

function weekday({ year, month, day }: WallDay): number {
  return new Date(Date.UTC(year, month - 1, day)).getUTCDay()
}

function shifted({ year, month, day }: WallDay, days: number): WallDay {
  const moved = new Date(Date.UTC(year, month - 1, day + days))
  return {
    year: moved.getUTCFullYear(),
    month: moved.getUTCMonth() + 1,
    day: moved.getUTCDate(),
  }
}

const dayMs = 86_400_000

/** A calendar day in a time zone; month 1 to 12. */
interface WallDay {
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
class WallClock {
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
