import { scaleUtc } from 'd3-scale'
import { addDays, localDay, startOfDay } from '../../../values/instant.ts'

/** A span of time that a chart shows. */
export interface TimeSpan {
  readonly from: Date
  readonly until: Date
}

/** An instant that an axis names. */
interface Tick {
  readonly at: Date
  readonly label: string
}

/** The x of an instant; what is outside of the span is at its edge. */
export function timeX(
  { from, until }: TimeSpan,
  range: readonly [number, number],
): (at: Date) => number {
  const scale = scaleUtc().domain([from, until]).range(range).clamp(true)
  return (at) => Math.round(scale(at) * 10) / 10
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** The ticks of a span, by the clock of a zone: months, days or hours, at most some fifteen. */
export function timeTicks(span: TimeSpan, zone: string): readonly Tick[] {
  const days = (span.until.getTime() - span.from.getTime()) / dayMs
  if (days > 62) return monthTicks(span, zone, Math.ceil(days / 500))
  if (days > 3) return dayTicks(span, zone, Math.ceil(days / 16))
  return hourTicks(span, zone, Math.max(1, Math.ceil(days * 2)))
}

/** By months, not by days: a page has fifty rows of a year or more. */
function monthTicks({ from, until }: TimeSpan, zone: string, step: number): Tick[] {
  const ticks: Tick[] = []
  const first = localDay(from, zone)
  for (let month = Number(first.slice(5, 7)) - 1; ; month++) {
    const day = new Date(Date.UTC(Number(first.slice(0, 4)), month, 1)).toISOString().slice(0, 10)
    const at = startOfDay(day, zone)
    if (at >= until) return ticks
    if (at >= from && month % step === 0) ticks.push({ at, label: monthName(day) })
  }
}

function dayTicks(span: TimeSpan, zone: string, step: number): Tick[] {
  return listDays(span, zone)
    .filter((_, at) => at % step === 0)
    .map((day) => ({ at: startOfDay(day, zone), label: dayName(day) }))
}

function hourTicks({ from, until }: TimeSpan, zone: string, step: number): Tick[] {
  const ticks: Tick[] = []
  // In quarters, because some zones are not whole hours from UTC.
  for (let ms = Math.ceil(from.getTime() / (hourMs / 4)) * (hourMs / 4); ; ms += hourMs / 4) {
    if (ms >= until.getTime()) return ticks
    const label = clockTime(new Date(ms), zone)
    if (label.endsWith(':00') && Number(label.slice(0, 2)) % step === 0)
      ticks.push({ at: new Date(ms), label })
  }
}

/** The calendar days that begin within the span. */
export function listDays({ from, until }: TimeSpan, zone: string): string[] {
  const days: string[] = []
  for (let day = localDay(from, zone); startOfDay(day, zone) < until; day = addDays(day, 1))
    if (startOfDay(day, zone) >= from) days.push(day)
  return days
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

function monthName(day: string): string {
  const name = months[Number(day.slice(5, 7)) - 1]!
  return name === 'Jan' ? `${name} ${day.slice(0, 4)}` : name
}

/** A calendar day in words: `9 Nov`. */
export function dayName(day: string): string {
  return `${Number(day.slice(8))} ${months[Number(day.slice(5, 7)) - 1]}`
}

/** The time of day of an instant: `02:10`. */
export function clockTime(at: Date, zone: string): string {
  return at.toLocaleTimeString('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' })
}
