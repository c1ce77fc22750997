import { type Kysely, sql } from 'kysely'
import {
  buildCheckRef,
  type CheckKind,
  type PastCheck,
} from '../../api/contract/appraisal/past-checks.ts'
import type { Tables } from '../../warehouse/db/tables.ts'

/** A check as the warehouse has it. */
export interface KnownCheck {
  readonly rooftopId: number
  readonly evalId: number
  readonly kind: CheckKind
  readonly ref: string
  readonly vin: string
  readonly searchedAt: Date | null
  readonly searchNumber: string | null
  readonly certificateNumber: string | null
  readonly status: string | null
  readonly statusSince: Date | null
  readonly isTerminal: boolean
  readonly firstSeenAt: Date
  /** null: it is listed. */
  readonly goneAt: Date | null
}

/** Checks on the vehicles of a dealer group, and those with one of the refs, whatever their vehicle. */
export async function knownChecks(
  db: Kysely<Tables>,
  groupId: number,
  vins: readonly string[],
  refs: readonly string[] = [],
): Promise<KnownCheck[]> {
  const { rows } = await sql<KnownCheck>`
    select rooftop_id as "rooftopId", eval_id as "evalId", check_kind as kind, check_ref as ref, vin,
      searched_at as "searchedAt", search_number as "searchNumber", certificate_number as "certificateNumber",
      watch_status as status, watch_status_since as "statusSince",
      coalesce(is_terminal, false) as "isTerminal", first_seen_at as "firstSeenAt", gone_at as "goneAt"
    from core.vehicle_check left join core.ref_watch_status using (watch_status)
    where group_id = ${groupId} and (vin = any(${[...vins]}::text[]) or check_ref = any(${[...refs]}::text[]))
    order by searched_at desc nulls last, check_ref`.execute(db)
  return rows
}

/** The owner of each check: the latest evaluation of its vehicle that existed when it was made, else the first one. */
export async function findOwners(
  db: Kysely<Tables>,
  groupId: number,
  made: readonly { readonly vin: string; readonly at: Date }[],
): Promise<(Pick<KnownCheck, 'rooftopId' | 'evalId'> | null)[]> {
  const { rows } = await sql<{ rooftopId: number | null; evalId: number | null }>`
    select owner.rooftop_id as "rooftopId", owner.eval_id as "evalId"
    from unnest(${made.map(({ vin }) => vin)}::text[], ${made.map(({ at }) => at)}::timestamptz[])
      with ordinality as check_made (vin, at, place)
    left join lateral (
      select rooftop_id, eval_id from core.evaluation
      where group_id = ${groupId} and evaluation.vehicle_vin = check_made.vin
      order by gone_at is null desc, created_at <= check_made.at desc,
        case when created_at <= check_made.at then created_at end desc, created_at, eval_id
      limit 1
    ) as owner on true
    order by place`.execute(db)
  return rows.map(({ rooftopId, evalId }) =>
    rooftopId === null || evalId === null ? null : { rooftopId, evalId },
  )
}

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
export function checkKey(kind: CheckKind, ref: string): string {
  return `${kind} ${ref}`
}

/** A check may answer under two vehicles of a slice, when one of them had its VIN corrected: the latest answer counts. */
export function onePerCheck(answers: readonly PastAnswer[]): ListedCheck[] {
  const byKey = new Map<string, ListedCheck>()
  for (const answer of [...answers].sort((a, b) => a.at.getTime() - b.at.getTime()))
    for (const check of answer.checks) {
      const ref = buildCheckRef(check, answer.vin)
      byKey.set(checkKey(answer.kind, ref), { answer, check: { ...check, ref } })
    }
  return [...byKey.values()]
}
