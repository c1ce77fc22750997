import { addDays, isDay, localDay, startOfDay } from '../../../values/instant.ts'
import type { TimeSpan } from '../charts/scale.ts'

/** How much time a calendar shows, in months. */
export const zooms = { year: 12, quarter: 3, month: 1 } as const
/** One of `zooms`. */
export type Zoom = keyof typeof zooms

/** The days `[from, to)` that a calendar shows, by the clock of a zone. */
export interface Frame {
  readonly from: string
  readonly to: string
  /** null: the days were typed in. */
  readonly zoom: Zoom | null
}

const longestDays = 1100

/** The frame of a query: `from` and `to`, else the last twelve months with the current one. */
export function readFrame(
  query: Readonly<Record<string, string>>,
  { zone, now }: { readonly zone: string; readonly now: Date },
): Frame {
  const { from = '', to = '' } = query
  if (isDay(from) && isDay(to) && from < to && to <= addDays(from, longestDays))
    return { from, to, zoom: findZoom(from, to) }
  const end = addMonths(localDay(now, zone), 1)
  return { from: addMonths(end, -zooms.year), to: end, zoom: 'year' }
}

function findZoom(from: string, to: string): Zoom | null {
  const found = Object.entries(zooms).find(([, months]) => addMonths(from, months) === to)
  return from.endsWith('-01') && found !== undefined ? (found[0] as Zoom) : null
}

/** The first day of the month that is some months after that of a day. */
function addMonths(day: string, months: number): string {
  const [year, month] = day.split('-').map(Number) as [number, number]
  return new Date(Date.UTC(year, month - 1 + months, 1)).toISOString().slice(0, 10)
}

/** The frame that ends with the month of this one, in another size. */
export function zoomed({ to }: Frame, zoom: Zoom): Frame {
  const end = addMonths(addDays(to, -1), 1)
  return { from: addMonths(end, -zooms[zoom]), to: end, zoom }
}

/** The frame before or after this one. */
export function moved({ from, to, zoom }: Frame, direction: 1 | -1): Frame {
  if (zoom !== null) {
    const months = zooms[zoom] * direction
    return { from: addMonths(from, months), to: addMonths(to, months), zoom }
  }
  const days = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000) * direction
  return { from: addDays(from, days), to: addDays(to, days), zoom }
}

/** Its instants. */
export function frameSpan({ from, to }: Frame, zone: string): TimeSpan {
  return { from: startOfDay(from, zone), until: startOfDay(to, zone) }
}
