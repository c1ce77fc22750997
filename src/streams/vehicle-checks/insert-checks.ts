import type { Kysely } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import { type KnownCheck, ownersOf } from './known-checks.ts'
import { keyOf, type PastAnswer, type ListedCheck, watchPeriodMs } from './past-answer.ts'
import type { CheckKind } from './past-checks.ts'
import { compareKeys } from './watch-statuses.ts'

/** Inserts new checks; returns those that no other process has inserted meanwhile. */
export async function insertChecks(
  db: Kysely<Tables>,
  fresh: readonly ListedCheck[],
  runId: number | null,
): Promise<{ readonly answer: PastAnswer; readonly check: KnownCheck }[]> {
  if (fresh.length === 0) return []
  const groupId = fresh[0]!.answer.groupId
  const made = fresh.map(({ answer, check }) => ({
    vin: answer.vin,
    at: check.searchedAt ?? answer.at,
  }))
  const owners = await ownersOf(db, groupId, made)
  const checks = fresh.flatMap((one, index) => {
    const owner = owners[index]
    return owner ? [{ answer: one.answer, check: newCheck(one, owner) }] : []
  })
  if (checks.length === 0) return []
  const rows = await db
    .insertInto('core.vehicle_check')
    .values(checks.map(({ answer, check }) => rowOf(answer, check, runId)).sort(byRowKey))
    .onConflict((conflict) => conflict.doNothing())
    .returning(['check_kind', 'check_ref'])
    .execute()
  const inserted = new Set(rows.map((row) => keyOf(row.check_kind as CheckKind, row.check_ref)))
  return checks.filter(({ check }) => inserted.has(keyOf(check.kind, check.ref)))
}

function newCheck(
  { answer, check }: ListedCheck,
  owner: Pick<KnownCheck, 'rooftopId' | 'evalId'>,
): KnownCheck {
  const { ref, searchedAt, searchNumber, certificateNumber } = check
  const { kind, vin } = answer
  const noStatus = { status: null, statusSince: null, isTerminal: false, goneAt: null }
  const facts = { searchedAt, searchNumber, certificateNumber, firstSeenAt: answer.at }
  return { ...owner, kind, ref, vin, ...facts, ...noStatus }
}

/** The row of a check that is listed for the first time. */
export function checkRow(
  listed: ListedCheck,
  owner: Pick<KnownCheck, 'rooftopId' | 'evalId'>,
  runId: number | null,
) {
  return rowOf(listed.answer, newCheck(listed, owner), runId)
}

function rowOf({ groupId, at }: PastAnswer, check: KnownCheck, runId: number | null) {
  const endsAt = new Date((check.searchedAt ?? at).getTime() + watchPeriodMs)
  return {
    rooftop_id: check.rooftopId,
    eval_id: check.evalId,
    check_kind: check.kind,
    check_ref: check.ref,
    group_id: groupId,
    vin: check.vin,
    searched_at: check.searchedAt,
    search_number: check.searchNumber,
    certificate_number: check.certificateNumber,
    watch_ends_at: check.kind === 'ppsr' ? endsAt : null,
    first_seen_at: at,
    run_id: runId,
  }
}

type CheckRow = ReturnType<typeof rowOf>

function byRowKey(a: CheckRow, b: CheckRow): number {
  const key = ({ rooftop_id, eval_id, check_kind, check_ref }: CheckRow) =>
    ({ rooftopId: rooftop_id, evalId: eval_id, kind: check_kind, ref: check_ref }) as const
  return compareKeys(key(a), key(b))
}
