/** A PPSR search or a Car History report. */
export type CheckKind = 'ppsr' | 'car_history'

/** What the registers say of a vehicle. */
export interface CheckCounts {
  readonly securityInterests: number
  readonly writeOffs: number
  readonly stolen: number
}

/** How a search is watched from then on; the status at any instant follows from it. */
export interface WatchPlan {
  /** False = the watch is off: `disabled` for ever. */
  readonly isWatched: boolean
  /** When the security-interest details change; no matter once the watch has ended. */
  readonly changesAt: Date | null
}

/** A check that succeeded [A §2, §4 "AU vehicle checks"]. */
export interface VehicleCheck {
  readonly id: number
  /** Names the check in the link to its PDF. */
  readonly ref: string
  readonly kind: CheckKind
  readonly groupId: string
  readonly rooftopUid: string
  /** The evaluation that it was made on; every evaluation of the group with the VIN shows it. */
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

/** A check to be kept: the rest follows from its id and VIN, unless it is given. */
export type CheckDraft = Pick<
  VehicleCheck,
  'kind' | 'groupId' | 'rooftopUid' | 'evalId' | 'vin' | 'searchedAt'
> &
  Partial<VehicleCheck>
