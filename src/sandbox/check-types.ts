/** A PPSR search or a Car History report. */
export type CheckKind = 'ppsr' | 'car_history'

/** Entries of the registers for a vehicle. */
export interface CheckCounts {
  readonly securityInterests: number
  readonly writeOffs: number
  readonly stolen: number
}

/** How a search is watched; the status at any instant follows from it. */
export interface WatchPlan {
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
