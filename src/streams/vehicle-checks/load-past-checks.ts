import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import type { LoadOutcome, RecordWarning } from '../../values/record.ts'
import { insertChecks } from './insert-checks.ts'
import { type KnownCheck, knownChecks } from './known-checks.ts'
import {
  keyOf,
  onePerCheck,
  type PastAnswer,
  type ListedCheck,
  watchPeriodMs,
} from './past-answer.ts'
import { checkRefOf } from './past-checks.ts'
import { signLinks } from './signed-links.ts'
import {
  keyColumns,
  updateStatuses,
  changesStatus,
  statusWarnings,
  addUnknownStatuses,
} from './watch-statuses.ts'

/** What an answer changed in the warehouse. */
export interface PastLoaded {
  readonly outcome: LoadOutcome
  readonly warnings: readonly RecordWarning[]
  /** The status of a watch that was known before has changed. */
  readonly statusChanged: boolean
  /** The checks that it added. */
  readonly inserted: readonly KnownCheck[]
}

/**
 * Updates checks, their statuses and links from the answers, inside the caller's transaction. An answer is the whole list of its
 * vehicle, so a check that it no longer lists is marked as gone. What is unchanged is not written, except for the links, which
 * come freshly signed.
 */
export async function loadPastChecks(
  db: Kysely<Tables>,
  answers: readonly PastAnswer[],
  runId: number | null,
): Promise<PastLoaded[]> {
  const loaded = new Map<PastAnswer, PastLoaded>()
  for (const [groupId, own] of Map.groupBy(answers, (answer) => answer.groupId)) {
    for (const [answer, result] of await loadGroup(db, groupId, own, runId))
      loaded.set(answer, result)
  }
  return answers.map((answer) => loaded.get(answer)!)
}

async function loadGroup(
  db: Kysely<Tables>,
  groupId: number,
  answers: readonly PastAnswer[],
  runId: number | null,
): Promise<Map<PastAnswer, PastLoaded>> {
  const listed = onePerCheck(answers)
  const unknown = await addUnknownStatuses(
    db,
    listed.flatMap(({ check }) => check.watchStatus ?? []),
  )
  const vins = answers.map(({ vin }) => vin)
  const refs = listed.map(({ check }) => check.ref)
  const before = byKey(await knownChecks(db, groupId, vins, refs))
  const fresh = listed.filter(
    ({ answer, check }) => answer.isOfThisVehicle && !before.has(keyOf(answer.kind, check.ref)),
  )
  const inserted = await insertChecks(db, fresh, runId)
  const known = new Map([...before, ...byKey(inserted.map(({ check }) => check))])
  const pairs = listed.flatMap((one) => {
    const check = known.get(keyOf(one.answer.kind, one.check.ref))
    const isMatched =
      check !== undefined && (one.answer.isOfThisVehicle || check.vin === one.answer.vin)
    return isMatched ? [{ ...one, known: check }] : []
  })
  const seen = statusesSeen(pairs)
  const changed = seen.filter(changesStatus)
  await updateStatuses(db, changed)
  const corrected = await correctFacts(db, pairs)
  const gone = await markGone(db, answers, [...before.values()])
  await signLinks(db, pairs)
  const withChange = new Set(
    changed.filter(({ check }) => check.status !== null).map(({ answer }) => answer),
  )
  const isNew = new Set(inserted.map(({ answer }) => answer))
  const isOther = new Set([...changed.map(({ answer }) => answer), ...corrected, ...gone])
  return new Map(
    answers.map((answer) => [
      answer,
      {
        outcome: isNew.has(answer) ? 'inserted' : isOther.has(answer) ? 'updated' : 'unchanged',
        warnings: seen
          .filter((one) => one.answer === answer)
          .flatMap((one) => statusWarnings(one, unknown)),
        statusChanged: withChange.has(answer),
        inserted: inserted.filter((one) => one.answer === answer).map(({ check }) => check),
      },
    ]),
  )
}

type Pair = ListedCheck & { readonly known: KnownCheck }

function statusesSeen(pairs: readonly Pair[]) {
  return pairs.flatMap(({ answer, check, known }) =>
    check.watchStatus === null
      ? []
      : [{ answer, check: known, status: check.watchStatus, at: answer.at }],
  )
}

function byKey(checks: readonly KnownCheck[]): Map<string, KnownCheck> {
  return new Map(checks.map((check) => [keyOf(check.kind, check.ref), check]))
}

/** Numbers, times and vehicles that an answer adds or corrects; what it leaves out stays. A check that is listed again is not gone. */
async function correctFacts(db: Kysely<Tables>, pairs: readonly Pair[]): Promise<PastAnswer[]> {
  const corrected = pairs.filter(
    ({ answer, check, known }) =>
      (known.goneAt !== null && known.goneAt < answer.at) ||
      known.vin !== answer.vin ||
      (check.searchNumber ?? known.searchNumber) !== known.searchNumber ||
      (check.certificateNumber ?? known.certificateNumber) !== known.certificateNumber ||
      (check.searchedAt ?? known.searchedAt)?.getTime() !== known.searchedAt?.getTime(),
  )
  for (const { answer, check, known } of corrected) {
    const { kind } = known
    const searchedAt = check.searchedAt ?? known.searchedAt
    await db
      .updateTable('core.vehicle_check')
      .set({
        gone_at: null,
        vin: answer.vin,
        searched_at: searchedAt,
        search_number: check.searchNumber ?? known.searchNumber,
        certificate_number: check.certificateNumber ?? known.certificateNumber,
        ...(kind === 'ppsr' && check.searchedAt !== null
          ? { watch_ends_at: new Date(check.searchedAt.getTime() + watchPeriodMs) }
          : {}),
      })
      .where('group_id', '=', answer.groupId)
      .where('check_kind', '=', kind)
      .where('check_ref', '=', known.ref)
      .execute()
  }
  return corrected.map(({ answer }) => answer)
}

/** Marks the checks of the vehicle that its list no longer shows. */
async function markGone(
  db: Kysely<Tables>,
  answers: readonly PastAnswer[],
  known: readonly KnownCheck[],
): Promise<PastAnswer[]> {
  const lost = answers.flatMap((answer) => {
    if (!answer.isOfThisVehicle || answer.isComplete === false) return []
    const listed = new Set(answer.checks.map((check) => checkRefOf(check, answer.vin)))
    return (
      known
        .filter(({ kind, ref }) => kind === answer.kind && !listed.has(ref))
        // A check that was added after this answer is not gone.
        .filter(({ vin, goneAt, firstSeenAt }) => {
          return vin === answer.vin && goneAt === null && firstSeenAt < answer.at
        })
        .map((check) => ({ answer, check }))
    )
  })
  if (lost.length === 0) return []
  const { rooftopIds, evalIds, kinds, refs } = keyColumns(lost.map(({ check }) => check))
  await sql`
    update core.vehicle_check as known set gone_at = lost.at
    from unnest(${rooftopIds}::int[], ${evalIds}::bigint[], ${kinds}::text[], ${refs}::text[],
      ${lost.map(({ answer }) => answer.at)}::timestamptz[]) as lost (rooftop_id, eval_id, kind, ref, at)
    where known.rooftop_id = lost.rooftop_id and known.eval_id = lost.eval_id
      and known.check_kind = lost.kind and known.check_ref = lost.ref`.execute(db)
  return lost.map(({ answer }) => answer)
}
