import { watchPpsr } from '../../api/contract/appraisal/checks.ts'
import {
  buildCheckRef,
  type CheckKind,
  type PastCheck,
  pastContent,
  pastOperations,
  readPastChecks,
} from '../../api/contract/appraisal/past-checks.ts'
import { watchAnswer } from '../../api/contract/appraisal/shapes.ts'
import type { evalid } from '../../api/contract/fields.ts'
import type { Operation } from '../../api/contract/operation.ts'
import { type JsonPath, valueAt } from '../../values/json-path.ts'
import { RecordIssues } from '../../values/record.ts'
import { storable } from '../../values/text.ts'
import type { AppraisalWire } from '../../values/wire.ts'

/** The operations, by name; each takes an EvalID. */
export const checkOperations: Readonly<
  Record<string, Operation<'read', { evalid: typeof evalid }>>
> = Object.fromEntries(
  [pastOperations.ppsr, pastOperations.car_history, watchPpsr].map((one) => [one.name, one]),
)

/** What `/ppsrwatch` says about a vehicle [A §4]. */
export interface Watch {
  /** The most noteworthy across its checks. */
  readonly status: string
  /** Status by `check_ref`, of the items that name both. */
  readonly byRef: ReadonlyMap<string, string>
  /** Items in all. */
  readonly items: number
}

/** Every check of one kind on a vehicle, as the source lists them. */
interface CheckList {
  readonly kind: CheckKind
  readonly checks: readonly PastCheck[]
  /** Items that cannot be identified: with any of them, it is unknown which checks are missing. Default: none. */
  readonly itemsWithoutId?: number
}

/** A normalised answer of any of the three operations. */
export type CheckRecord = CheckList | { readonly kind: 'watch'; readonly watch: Watch }

interface About {
  readonly groupId: number
  /** Upper case. */
  readonly vin: string
  /** The source's time of the answer. */
  readonly at: Date
  /** The latest that this time may be, where it was estimated. Default: `at`. */
  readonly latest?: Date
  /** null: it was read by no run. */
  readonly runId: number | null
  /** Whether the answer is known to be of this vehicle: the source answers for the VIN that the evaluation has there. If it
   *  is not, only checks that are known for the vehicle are updated. */
  readonly isOfThisVehicle: boolean
}

/** An answer about a vehicle of a dealer group. */
export type CheckAnswer = About & CheckRecord
export type ListAnswer = About & CheckList

export function isList(answer: CheckAnswer): answer is ListAnswer {
  return answer.kind !== 'watch'
}

/** Pure. RecordIssues when the body is of another shape. */
export function readRecord(body: unknown, operation: string, wire: AppraisalWire): CheckRecord {
  if (operation === watchPpsr.name) return { kind: 'watch', watch: readWatch(body, wire) }
  const checks = readPastChecks(body, wire)
  const itemsWithoutId = (body as readonly unknown[]).length - checks.length
  return {
    kind: operation === pastOperations.ppsr.name ? 'ppsr' : 'car_history',
    checks,
    itemsWithoutId,
  }
}

/** The part of an answer that decides whether it is stored again: without links, and without the times of the daily checks. */
export function checkContent(body: unknown, operation: string, wire: AppraisalWire): unknown {
  if (operation !== watchPpsr.name) return pastContent(body, wire)
  const { byRef, status } = readWatch(body, wire)
  return [status, [...byRef].sort(([a], [b]) => (a < b ? -1 : 1))]
}

function readWatch(body: unknown, { watch: names }: Pick<AppraisalWire, 'watch'>): Watch {
  const parsed = watchAnswer.safeParse(body)
  if (!parsed.success) throw RecordIssues.fromShape(parsed.error)
  const given = valueAt(body, names.checks)
  const items: readonly unknown[] = Array.isArray(given) ? given : []
  const byRef = new Map(
    items.flatMap((item): [string, string][] => {
      const ref = textAt(item, names.checkId, 80)
      const status = textAt(item, names.checkStatus, 40)
      return ref === null || status === null ? [] : [[ref, status]]
    }),
  )
  const status = storable(parsed.data.WatchStatus).slice(0, 40)
  return { status, byRef, items: items.length }
}

function textAt(item: unknown, path: JsonPath, length: number): string | null {
  const value = valueAt(item, path)
  if (typeof value !== 'string' && typeof value !== 'number') return null
  return storable(String(value)).trim().slice(0, length) || null
}

/** A check that a list shows; its ref is its key in the dealer group. */
export interface ListedCheck {
  readonly answer: ListAnswer
  readonly check: PastCheck
}

/** The key of a check among those of its dealer group. */
export function checkKey(kind: string, ref: string): string {
  return `${kind} ${ref}`
}

/** The checks of a list, each with its key. */
export function keyedChecks({ kind, vin, checks }: ListAnswer) {
  return checks.map((check) => {
    const ref = buildCheckRef(check, vin)
    return { key: checkKey(kind, ref), check: { ...check, ref } }
  })
}

/** The checks of the lists by key. A check may answer under two vehicles of a slice, when one of them had its VIN corrected: the
 *  latest answer counts. */
export function latestPerCheck(lists: readonly ListAnswer[]): Map<string, ListedCheck> {
  const byTime = [...lists].sort((a, b) => a.at.getTime() - b.at.getTime())
  return new Map(
    byTime.flatMap((answer) =>
      keyedChecks(answer).map(({ key, check }) => [key, { answer, check }] as const),
    ),
  )
}
