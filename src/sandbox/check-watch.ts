import { watchStatuses } from '../contract/appraisal/shapes.ts'
import type { CheckCounts, VehicleCheck, WatchPlan } from './check-types.ts'
import { samples } from './samples.ts'
import { hash32 } from '../values/hash32.ts'

// The watch of a search: everything here is a function of the VIN and the time.

/** [A §3] */
export type WatchStatus = (typeof watchStatuses)[number]

const dayMs = 86_400_000
/** 14 days per search [A §8]. */
export const watchPeriodMs = 14 * dayMs

type Watched = Pick<VehicleCheck, 'searchedAt' | 'watch'>

/** Status of a search that is checked daily: `watching` until the first check, then `unchanged`. From the planned change on it
 *  stays `changed`; without a change it stays `expired` after 14 days. */
export function watchStatusAt({ searchedAt, watch }: Watched, now: Date): WatchStatus {
  if (watch === null) return 'not_watched'
  if (!watch.isWatched) return 'disabled'
  const endMs = searchedAt.getTime() + watchPeriodMs
  const changeMs = watch.changesAt?.getTime() ?? Number.POSITIVE_INFINITY
  if (changeMs < endMs && changeMs <= now.getTime()) return 'changed'
  if (endMs <= now.getTime()) return 'expired'
  return now.getTime() - searchedAt.getTime() < dayMs ? 'watching' : 'unchanged'
}

/** When the search was last checked: once a day for 14 days, and never when the watch is off. */
export function lastCheckedAt({ searchedAt, watch }: Watched, now: Date): Date {
  const passedMs = Math.min(now.getTime() - searchedAt.getTime(), watchPeriodMs)
  const days = watch?.isWatched ? Math.floor(passedMs / dayMs) : 0
  return new Date(searchedAt.getTime() + days * dayMs)
}

/** The first status in the order of the document; `not_watched` when there is none [A §3, §4 /ppsrwatch]. */
export function mostUrgent(statuses: readonly WatchStatus[]): WatchStatus {
  return watchStatuses.find((status) => statuses.includes(status)) ?? 'not_watched'
}

/** Samples behave as described; of other VINs about one in six changes within the 14 days. */
export function watchPlanFor(vin: string, searchedAt: Date): WatchPlan {
  const day = dayOfChange(vin)
  return {
    isWatched: vin !== samples.auWatchDisabled.vin,
    changesAt: day === null ? null : new Date(searchedAt.getTime() + day * dayMs),
  }
}

function dayOfChange(vin: string): number | null {
  if (vin === samples.auWatchChanges.vin || vin === samples.auAmbiguous.vin) return 3
  const isSample = Object.values(samples).some((sample) => sample.vin === vin)
  if (isSample || hash32(`watch of ${vin}`) % 6 !== 0) return null
  return 1 + (hash32(`change of ${vin}`) % 13)
}

/** Most vehicles have no entries; the same VIN always has the same counts. */
export function countsFor(vin: string): CheckCounts {
  const draw = hash32(`registers on ${vin}`) % 100
  return {
    securityInterests: draw < 30 ? 1 + (draw % 3) : 0,
    writeOffs: draw % 20 === 7 ? 1 : 0,
    stolen: draw % 50 === 13 ? 1 : 0,
  }
}
