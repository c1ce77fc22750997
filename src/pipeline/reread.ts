import { daySeconds, latestTurn } from '../values/window.ts'

/** From this age in days on, a known record is read again once in so many nights; younger than the first step, at every listing. */
const steps: readonly { readonly fromDays: number; readonly nights: number }[] = [
  { fromDays: 60, nights: 28 },
  { fromDays: 14, nights: 7 },
  { fromDays: 3, nights: 1 },
]

/**
 * Is a known record to be read again, when the list cannot tell that it changed? Age-decayed, spread evenly by id, and
 * stateless: the window's certificate says when its records were last looked at, so an unchanged record costs no write.
 */
export function isRereadDue(
  record: { id: number; bornAt: Date },
  lookedAt: Date | null,
  now: number,
): boolean {
  if (lookedAt === null) return true
  const ageDays = (now - record.bornAt.getTime() / 1000) / daySeconds
  const step = steps.find(({ fromDays }) => ageDays >= fromDays)
  if (!step) return true
  return lookedAt.getTime() / 1000 < latestTurn(-record.id, step.nights, now)
}

/**
 * Does the update time of a list item say that the stored record is the current one? null: the list does not say.
 * A list that gives whole seconds is compared in whole seconds.
 */
export function saysUnchanged(listed: Date | null, stored: Date): boolean | null {
  if (listed === null) return null
  const [left, right] = [listed.getTime(), stored.getTime()]
  return left === right || (left % 1000 === 0 && left === Math.floor(right / 1000) * 1000)
}
