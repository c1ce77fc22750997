import type { CheckDraft, CheckKind, VehicleCheck } from './check-types.ts'
import { countsFor, watchPlanFor } from './check-watch.ts'
import { hash32 } from '../values/hash32.ts'

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
    ref: [1, 2].map((seed) => hex8(hash32(`check ${id}`, seed))).join(''),
    certificateNumber: isPpsr ? String(4_100_000_000 + id) : null,
    searchNumber: isPpsr ? null : `CH-${id}-${hex8(hash32(`search ${id}`)).toUpperCase()}`,
    counts: countsFor(draft.vin),
    watch: isPpsr ? watchPlanFor(draft.vin, draft.searchedAt) : null,
    ...draft,
  }
}

function hex8(value: number): string {
  return value.toString(16).padStart(8, '0')
}

function vehicleKey(kind: CheckKind, groupId: string, vin: string): string {
  return `${kind} ${groupId} ${vin}`
}
