import type { Config } from '../../app/config/read.ts'
import { daySeconds, latestRotationStart } from '../../values/window.ts'

/** How often a known record is read again, by its age: once in `nights` from `fromDays` on. Younger records: at every listing. */
const steps: readonly { readonly fromDays: number; readonly nights: number }[] = [
  { fromDays: 60, nights: 28 },
  { fromDays: 14, nights: 7 },
  { fromDays: 3, nights: 1 },
]

/** A record that is unchanged in the list may still be gone, so it is read again once in this many nights at any age. */
const sampleNights = 28

/** The nights within which every listed record is read again: until it is due, plus until the next listing of its window. */
export function rereadWithinNights({ deepRelistNights }: Config['sync']): number {
  return sampleNights + deepRelistNights
}

/**
 * Whether a known record is due to be read again although the list does not say that it changed. Older records are due less
 * often, and ids spread them evenly over the nights. No state is stored per record, so an unchanged record costs no write:
 * `rereadAt` is the time in the window's certificate. `isListedUnchanged` null: the list gives no update time.
 */
export function isRereadDue(
  record: { id: number; ageingSince: Date },
  rereadAt: Date | null,
  now: number,
  isListedUnchanged: true | null = null,
): boolean {
  if (rereadAt === null) return isListedUnchanged === null
  const ageDays = (now - record.ageingSince.getTime() / 1000) / daySeconds
  const aged = steps.find(({ fromDays }) => ageDays >= fromDays)?.nights ?? null
  const nights = isListedUnchanged === true ? sampleNights : aged
  return nights === null || rereadAt.getTime() / 1000 < latestRotationStart(-record.id, nights, now)
}

/**
 * Whether the stored record is current by the update time of its list item. null: the list gives none.
 * If the list gives whole seconds, whole seconds are compared.
 */
export function isUnchanged(listed: Date | null, stored: Date): boolean | null {
  if (listed === null) return null
  const [left, right] = [listed.getTime(), stored.getTime()]
  return left === right || (left % 1000 === 0 && left === Math.floor(right / 1000) * 1000)
}
