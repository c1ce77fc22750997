import { type CheckKind, checkRefOf, type PastCheck } from './past-checks.ts'

/** 14 days a search [A §8]. */
export const watchPeriodMs = 14 * 86_400_000

/** Every check of one kind on one vehicle of a dealer group, as the source lists them. */
export interface PastAnswer {
  readonly groupId: number
  /** Upper case. */
  readonly vin: string
  readonly kind: CheckKind
  readonly checks: readonly PastCheck[]
  /** The source's time of the answer. */
  readonly at: Date
  /** Whether the answer is known to be of this vehicle: the source answers for the VIN that the evaluation has there. If it
   *  is not, only checks that are known for the vehicle are updated. */
  readonly isOfThisVehicle: boolean
  /** Whether the answer shows every check that there is. Default: yes. */
  readonly isComplete?: boolean
}

/** A check that an answer lists; its ref is its key in the dealer group. */
export interface ListedCheck {
  readonly answer: PastAnswer
  readonly check: PastCheck
}

/** The key of a check among those of its dealer group. */
export function keyOf(kind: CheckKind, ref: string): string {
  return `${kind} ${ref}`
}

/** A check may answer under two vehicles of a slice, when one of them had its VIN corrected: the latest answer counts. */
export function onePerCheck(answers: readonly PastAnswer[]): ListedCheck[] {
  const byKey = new Map<string, ListedCheck>()
  for (const answer of [...answers].sort((a, b) => a.at.getTime() - b.at.getTime()))
    for (const check of answer.checks) {
      const ref = checkRefOf(check, answer.vin)
      byKey.set(keyOf(answer.kind, ref), { answer, check: { ...check, ref } })
    }
  return [...byKey.values()]
}
