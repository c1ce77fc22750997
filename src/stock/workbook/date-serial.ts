/** The calendar of a workbook: day 0 is 30 December 1899, or 1 January 1904 on old Macs. */
export type Epoch = 1900 | 1904

export const dayMs = 86_400_000
const daySeconds = 86_400
export const firstDays: Readonly<Record<Epoch, number>> = {
  1900: Date.UTC(1899, 11, 30),
  1904: Date.UTC(1904, 0, 1),
}
/** 31 December 9999. */
export const lastSerial: Readonly<Record<Epoch, number>> = { 1900: 2_958_465, 1904: 2_957_003 }

/** A serial number as a day and a time of day. */
export interface SerialParts {
  readonly year: number
  readonly month: number
  readonly day: number
  /** Since midnight, rounded. */
  readonly seconds: number
}

/** The day and time of a serial number; null where Excel shows `########`. */
export function serialParts(serial: number, epoch: Epoch): SerialParts | null {
  const rounded = Math.round(serial * daySeconds)
  const [days, seconds] = [Math.floor(rounded / daySeconds), rounded % daySeconds]
  if (!(serial >= 0) || days > lastSerial[epoch]) return null
  // Excel's calendar begins with a day 0 of January 1900, and has a 29 February 1900.
  if (epoch === 1900 && days === 0) return { year: 1900, month: 1, day: 0, seconds }
  if (epoch === 1900 && days === 60) return { year: 1900, month: 2, day: 29, seconds }
  const shift = epoch === 1900 && days < 60 ? 1 : 0
  const date = new Date(firstDays[epoch] + (days + shift) * dayMs)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()]
  return { year, month, day, seconds }
}

/** `2026-06-30` */
export function dayText({ year, month, day }: SerialParts): string {
  return `${String(year).padStart(4, '0')}-${twoDigits(month)}-${twoDigits(day)}`
}

/** `09:30:00`; hours go beyond 24 for a duration. */
export function timeText(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return parts.map(twoDigits).join(':')
}

export function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
