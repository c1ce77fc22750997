import { localDay } from '#src/values/instant.ts'

// Exact arithmetic over amounts in thousandths, written as Postgres writes numeric: what is compared is text.

/** An amount in thousandths; null stays null. */
export function milli(amount: number | null | undefined): bigint | null {
  return amount === null || amount === undefined ? null : BigInt(Math.round(amount * 1000))
}

/** `numeric(n,3)` of thousandths. */
export function moneyText(amount: bigint | null): string | null {
  return amount === null ? null : quotient(amount, 1000n, 3)
}

/** numerator / denominator with `decimals` decimals, halves away from zero. */
export function quotient(numerator: bigint, denominator: bigint, decimals: number): string {
  const isNegative = numerator < 0n !== denominator < 0n
  const [above, below] = [absolute(numerator), absolute(denominator)]
  const scaled = (2n * above * 10n ** BigInt(decimals) + below) / (2n * below)
  const digits = String(scaled).padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const text = decimals === 0 ? whole : `${whole}.${digits.slice(-decimals)}`
  return isNegative && scaled > 0n ? `-${text}` : text
}

/** `numeric(7,4)`: null without both or over 0, and never beyond what the column holds. */
export function ratio(numerator: bigint | null, denominator: bigint | null): string | null {
  if (numerator === null || denominator === null || denominator === 0n) return null
  const isHuge = absolute(numerator) * 10_000n >= absolute(denominator) * 9_999_999n
  if (!isHuge) return quotient(numerator, denominator, 4)
  return numerator < 0n === denominator < 0n ? '999.9999' : '-999.9999'
}

export function share(part: number, whole: number): string | null {
  return ratio(BigInt(part), BigInt(whole))
}

/** a - b, null where either is. */
export function less(a: bigint | null, b: bigint | null): bigint | null {
  return a === null || b === null ? null : a - b
}

export function total(amounts: readonly (bigint | null)[]): bigint {
  return amounts.reduce<bigint>((sum, amount) => sum + (amount ?? 0n), 0n)
}

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value
}

/** The first day of the month of a day, both `YYYY-MM-DD`. */
export function monthOf(day: string): string {
  return `${day.slice(0, 7)}-01`
}

/** Whole days from one day to another, both `YYYY-MM-DD`. */
export function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 86_400_000
}

/** Local days of a rooftop from an instant to another. */
export function localDaysBetween(from: Date, to: Date, zone: string): number {
  return daysBetween(localDay(from, zone), localDay(to, zone))
}

const minuteMs = 60_000

/** The percentile of durations (ms), linear between the two nearest, in minutes; null of none. */
export function exactPercentileMinutes(
  durations: readonly number[],
  percent: number,
): string | null {
  if (durations.length === 0) return null
  const sorted = durations.toSorted((a, b) => a - b)
  const place = percent * (sorted.length - 1)
  const below = sorted[Math.floor(place / 100)]!
  const above = sorted[Math.ceil(place / 100)]!
  return quotient(BigInt(below * 100 + (place % 100) * (above - below)), BigInt(100 * minuteMs), 2)
}
