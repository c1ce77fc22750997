import { validateDetailed } from 'node-cron'

/** What a cron expression names, expanded; a day is due when its month, day of month and day of week all are. */
interface CronFields {
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly daysOfMonth: readonly number[]
  /** 1 to 12. */
  readonly months: readonly number[]
  /** 0 = Sunday. */
  readonly daysOfWeek: readonly number[]
}

/** Parses five fields, or six with seconds first. null: it is not an expression, is never due, or uses L, W or #. */
export function parseCron(expression: string): CronFields | null {
  const { fields } = validateDetailed(expression)
  if (fields === undefined) return null
  const { dayOfMonth, dayOfWeek } = fields
  if (!areNumbers(dayOfMonth) || !areNumbers(dayOfWeek)) return null
  return {
    seconds: ascending(fields.second),
    minutes: ascending(fields.minute),
    hours: ascending(fields.hour),
    daysOfMonth: dayOfMonth,
    months: fields.month,
    daysOfWeek: dayOfWeek,
  }
}

function areNumbers(values: readonly (number | string)[]): values is readonly number[] {
  return values.every((value) => typeof value === 'number')
}

function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b)
}
