import { parseCron } from '../values/cron.ts'
import { WallClock, type WallDay } from './wall-clock.ts'

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
  if (fields === null) throw new Error(`"${expression}" is no schedule`)
  const { seconds, minutes, hours, daysOfMonth, months, daysOfWeek } = fields
  return {
    clock: new WallClock(timezone),
    times: hours.flatMap((h) => minutes.flatMap((m) => seconds.map((s) => (h * 60 + m) * 60 + s))),
    isHourly: hours.length === 24,
    isDue: (day) =>
      months.includes(day.month) &&
      daysOfMonth.includes(day.day) &&
      daysOfWeek.includes(weekdayOf(day)),
  }
}

/**
 * The newest slot at or before an instant. A fixed time that the clocks skip is due once, when they skip it. A time that occurs
 * twice is due once, the first time. null: there is none within eight years.
 */
export function lastSlot(schedule: Schedule, at: Date): Date | null {
  let day = schedule.clock.dayAt(at.getTime())
  for (let left = maxDays; left > 0; left--, day = shifted(day, -1)) {
    const found = slotsOf(schedule, day).findLast((slot) => slot <= at.getTime())
    if (found !== undefined) return new Date(found)
  }
  return null
}

/** The first slot after an instant. */
export function nextSlot(schedule: Schedule, after: Date): Date | null {
  let day = schedule.clock.dayAt(after.getTime())
  for (let left = maxDays; left > 0; left--, day = shifted(day, 1)) {
    const found = slotsOf(schedule, day).find((slot) => slot > after.getTime())
    if (found !== undefined) return new Date(found)
  }
  return null
}

function slotsOf({ clock, times, isHourly, isDue }: Schedule, day: WallDay): number[] {
  return isDue(day) ? clock.instantsOf(day, times, isHourly) : []
}

function weekdayOf({ year, month, day }: WallDay): number {
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
