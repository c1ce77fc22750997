import type { Config } from '../config.ts'
import { daySeconds, latestRotationStart } from '../values/window.ts'

/** From this age in days on, a known record is read again once in so many nights; younger than the first step, at every listing. */
const steps: readonly { readonly fromDays: number; readonly nights: number }[] = [
  { fromDays: 60, nights: 28 },
  { fromDays: 14, nights: 7 },
  { fromDays: 3, nights: 1 },
]

/** A record that the list calls unchanged may still have gone: at any age it is read again once in so many nights. */
const sampleNights = 28

/** Within so many nights every listed record is read again: its turn, and the next listing of its window after that. */
export function rereadWithinNights({ deepRelistNights }: Config['sync']): number {
  return sampleNights + deepRelistNights
}

/**
 * Is a known record to be read again, when the list does not say that it changed? Age-decayed, spread evenly by id, and
 * stateless: the window's certificate says when its records were last looked at, so an unchanged record costs no write.
 * `isUnchanged`: the list calls it unchanged; null: the list does not say.
 */
export function isRereadDue(
  record: { id: number; ageingSince: Date },
  lookedAt: Date | null,
  now: number,
  isUnchanged: true | null = null,
): boolean {
  if (lookedAt === null) return isUnchanged === null
  const ageDays = (now - record.ageingSince.getTime() / 1000) / daySeconds
  const aged = steps.find(({ fromDays }) => ageDays >= fromDays)?.nights ?? null
  const nights = isUnchanged === true ? sampleNights : aged
  return nights === null || lookedAt.getTime() / 1000 < latestRotationStart(-record.id, nights, now)
}

/**
 * Does the update time of a list item say that the stored record is the current one? null: the list does not say.
 * A list that gives whole seconds is compared in whole seconds.
 */
export function isUnchanged(listed: Date | null, stored: Date): boolean | null {
  if (listed === null) return null
  const [left, right] = [listed.getTime(), stored.getTime()]
  return left === right || (left % 1000 === 0 && left === Math.floor(right / 1000) * 1000)
}
