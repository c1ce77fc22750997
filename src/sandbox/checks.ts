import type { CheckKind } from '../api/contract/appraisal/past-checks.ts'
import { watchStatuses } from '../api/contract/appraisal/shapes.ts'
import { hash32, hashHex } from '../values/hash32.ts'
import { fieldsAt } from './lifecycle.ts'
import { samples } from './samples.ts'
import { type SeededRandom, seededRandom } from './seeded-random.ts'
import type { World } from './world.ts'
import type { Evaluation, Rooftop } from './world-types.ts'

/** Entries of the registers for a vehicle. */
interface CheckCounts {
  readonly securityInterests: number
  readonly writeOffs: number
  readonly stolen: number
}

/** How a search is watched; the status at any instant follows from it. */
interface WatchPlan {
  /** False: the watch is off, its status is always `disabled`. */
  readonly isWatched: boolean
  /** When the security-interest details change; has no effect after the end of the watch. */
  readonly changesAt: Date | null
}

/** A check that succeeded [A §2, §4 "AU vehicle checks"]. */
export interface VehicleCheck {
  readonly id: number
  /** Id of the check in the link to its PDF. */
  readonly ref: string
  readonly kind: CheckKind
  readonly groupId: string
  readonly rooftopUid: string
  /** The evaluation for which it was made; every evaluation of the group with this VIN lists it. */
  readonly evalId: number
  readonly vin: string
  readonly searchedAt: Date
  /** null on a Car History report. */
  readonly certificateNumber: string | null
  /** The provider's reference of the transaction; null on a PPSR search. */
  readonly searchNumber: string | null
  readonly counts: CheckCounts
  /** null on a Car History report, which is not monitored itself. */
  readonly watch: WatchPlan | null
}

/** A check to add. What is left out follows from its id and VIN. */
export type CheckDraft = Pick<
  VehicleCheck,
  'kind' | 'groupId' | 'rooftopUid' | 'evalId' | 'vin' | 'searchedAt'
> &
  Partial<VehicleCheck>

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
export function maxUrgent(statuses: readonly WatchStatus[]): WatchStatus {
  return watchStatuses.find((status) => statuses.includes(status)) ?? 'not_watched'
}

/** Samples behave as described; of other VINs about one in six changes within the 14 days. */
function watchPlanFor(vin: string, searchedAt: Date): WatchPlan {
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

/** Every check that succeeded, and the Car History reports that are running. */
export class Checks {
  /** By kind, dealer group and VIN. */
  readonly #byVehicle = new Map<string, VehicleCheck[]>()
  readonly #byRef = new Map<string, VehicleCheck>()
  readonly #running = new Set<number>()
  #lastId = 70_000

  constructor(drafts: readonly CheckDraft[] = []) {
    for (const draft of drafts) this.add(draft)
  }

  add(draft: CheckDraft): VehicleCheck {
    this.#lastId += 1
    const check = completed(draft, this.#lastId)
    this.#byRef.set(`${check.kind} ${check.ref}`, check)
    const vehicle = vehicleKey(check.kind, check.groupId, check.vin)
    const known = this.#byVehicle.get(vehicle)
    if (known === undefined) this.#byVehicle.set(vehicle, [check])
    else known.push(check)
    return check
  }

  /** Checks of the dealer group on the VIN made until now, newest first [A §4 /getpastppsrsearch]. */
  past(
    kind: CheckKind,
    { groupId, vin }: Pick<VehicleCheck, 'groupId' | 'vin'>,
    now: Date,
  ): VehicleCheck[] {
    return (this.#byVehicle.get(vehicleKey(kind, groupId, vin)) ?? [])
      .filter(({ searchedAt }) => searchedAt.getTime() <= now.getTime())
      .sort((a, b) => b.searchedAt.getTime() - a.searchedAt.getTime() || b.id - a.id)
  }

  /** The newest PPSR search on the vehicle that was made before or with the report. */
  certificateOf({ groupId, vin, searchedAt }: VehicleCheck): VehicleCheck | undefined {
    return this.past('ppsr', { groupId, vin }, searchedAt)[0]
  }

  withRef(kind: string, ref: string): VehicleCheck | undefined {
    return this.#byRef.get(`${kind} ${ref}`)
  }

  /** Runs the report of an evaluation. While another one runs for it, runs nothing and returns undefined [A §8]. */
  async runAlone<T>(evalId: number, report: () => Promise<T>): Promise<T | undefined> {
    if (this.#running.has(evalId)) return undefined
    this.#running.add(evalId)
    try {
      return await report()
    } finally {
      this.#running.delete(evalId)
    }
  }

  /** All of them, in the order in which they were added. */
  all(): Iterable<VehicleCheck> {
    return this.#byRef.values()
  }
}

function completed(draft: CheckDraft, id: number): VehicleCheck {
  const isPpsr = draft.kind === 'ppsr'
  return {
    id,
    ref: [1, 2].map((seed) => hashHex(`check ${id}`, seed)).join(''),
    certificateNumber: isPpsr ? String(4_100_000_000 + id) : null,
    searchNumber: isPpsr ? null : `CH-${id}-${hashHex(`search ${id}`).toUpperCase()}`,
    counts: countsFor(draft.vin),
    watch: isPpsr ? watchPlanFor(draft.vin, draft.searchedAt) : null,
    ...draft,
  }
}

function vehicleKey(kind: CheckKind, groupId: string, vin: string): string {
  return `${kind} ${groupId} ${vin}`
}

const minuteMs = 60_000

/** Past checks of about one in twelve completed AU evaluations with a 17-character VIN, by time. Checks after the current time
 *  appear when the clock reaches them. A pure function of seed and world. */
export function generateChecks(seed: number, world: World): CheckDraft[] {
  const drafts: CheckDraft[] = []
  for (const evaluation of world.evaluations()) {
    const rooftop = world.rooftop(evaluation.rooftopUid)
    if (rooftop?.region !== 'AU' || evaluation.completedAt === null) continue
    const random = seededRandom(seed, `checks on ${evaluation.evalId}`)
    if (random.chance(0.08)) drafts.push(...checksOn(evaluation, rooftop, random))
  }
  return drafts.sort(
    (a, b) => a.searchedAt.getTime() - b.searchedAt.getTime() || a.evalId - b.evalId,
  )
}

/** Usually one PPSR search, minutes to days after completion; some again after the watch has ended, some with a report. */
function checksOn(evaluation: Evaluation, rooftop: Rooftop, random: SeededRandom): CheckDraft[] {
  const firstMs = evaluation.completedAt!.getTime() + delayMs(random)
  const again = random.chance(0.25) ? [firstMs + random.int(15 * 1440, 40 * 1440) * minuteMs] : []
  const share = rooftop.carHistory === false ? 1 : random.next()
  const reportMs = share < 0.2 ? [firstMs + random.int(1, 90) * minuteMs] : []
  const searches = share < 0.05 ? [] : [firstMs, ...again]
  return [
    ...searches.map((ms) => draftCheck('ppsr', evaluation, rooftop, new Date(ms))),
    ...reportMs.map((ms) => draftCheck('car_history', evaluation, rooftop, new Date(ms))),
  ].filter((draft) => draft !== null)
}

function delayMs(random: SeededRandom): number {
  return random.chance(0.6)
    ? random.int(3, 180) * minuteMs
    : random.int(1, 6) * dayMs + random.int(-300, 300) * minuteMs
}

/** Null when the evaluation has vanished by then, or has no VIN. */
function draftCheck(
  kind: CheckDraft['kind'],
  evaluation: Evaluation,
  { uid: rooftopUid, groupId }: Rooftop,
  searchedAt: Date,
): CheckDraft | null {
  const { evalId, vanishedAt } = evaluation
  const { vin } = fieldsAt(evaluation, searchedAt)
  if (vin?.length !== 17 || (vanishedAt !== null && vanishedAt <= searchedAt)) return null
  return { kind, groupId, rooftopUid, evalId, vin, searchedAt }
}
