import { type Kysely, sql } from 'kysely'
import { buildCheckRef, type CheckKind } from '../../api/contract/appraisal/past-checks.ts'
import { partition } from '../../values/partition.ts'
import type { LoadOutcome, RecordWarning } from '../../values/record.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import {
  checkKey,
  findOwners,
  type KnownCheck,
  knownChecks,
  type ListedCheck,
  onePerCheck,
  type PastAnswer,
  watchPeriodMs,
} from './known-checks.ts'
import {
  addUnknownStatuses,
  changesStatus,
  compareKeys,
  keyColumns,
  statusWarnings,
  updateStatuses,
} from './watch-statuses.ts'

/** What an answer changed in the warehouse. */
interface PastLoaded {
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
  for (const [groupId, groupAnswers] of Map.groupBy(answers, (answer) => answer.groupId)) {
    for (const [answer, result] of await loadGroup(db, groupId, groupAnswers, runId))
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
    ({ answer, check }) => answer.isOfThisVehicle && !before.has(checkKey(answer.kind, check.ref)),
  )
  const inserted = await insertChecks(db, fresh, runId)
  const known = new Map([...before, ...byKey(inserted.map(({ check }) => check))])
  const pairs = listed.flatMap((one) => {
    const check = known.get(checkKey(one.answer.kind, one.check.ref))
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
  return new Map(checks.map((check) => [checkKey(check.kind, check.ref), check]))
}

/** The columns of a known check that an answer lists: what it leaves out stays, and a check that is listed later is not gone. Pure. */
export function mergeListed(
  known: Pick<KnownCheck, 'kind' | 'searchedAt' | 'searchNumber' | 'certificateNumber' | 'goneAt'>,
  { answer, check }: ListedCheck,
) {
  const endsAt = check.searchedAt && new Date(check.searchedAt.getTime() + watchPeriodMs)
  return {
    // A list that is older than the one without it proves nothing.
    gone_at: known.goneAt !== null && known.goneAt > answer.at ? known.goneAt : null,
    vin: answer.vin,
    searched_at: check.searchedAt ?? known.searchedAt,
    search_number: check.searchNumber ?? known.searchNumber,
    certificate_number: check.certificateNumber ?? known.certificateNumber,
    ...(known.kind === 'ppsr' && endsAt ? { watch_ends_at: endsAt } : {}),
  }
}

/** Numbers, times and vehicles that an answer adds or corrects. */
async function correctFacts(db: Kysely<Tables>, pairs: readonly Pair[]): Promise<PastAnswer[]> {
  const corrected = pairs
    .map((pair) => ({ ...pair, merged: mergeListed(pair.known, pair) }))
    .filter(
      ({ answer, known, merged }) =>
        (known.goneAt !== null && known.goneAt < answer.at) ||
        known.vin !== merged.vin ||
        known.searchNumber !== merged.search_number ||
        known.certificateNumber !== merged.certificate_number ||
        known.searchedAt?.getTime() !== merged.searched_at?.getTime(),
    )
  for (const { answer, known, merged } of corrected) {
    await db
      .updateTable('core.vehicle_check')
      .set(merged)
      .where('group_id', '=', answer.groupId)
      .where('check_kind', '=', known.kind)
      .where('check_ref', '=', known.ref)
      .execute()
  }
  return corrected.map(({ answer }) => answer)
}

/** The known checks of the vehicle that its list no longer shows. A check that was added after the list is not gone. Pure. */
export function lostChecks(answer: PastAnswer, known: readonly KnownCheck[]): KnownCheck[] {
  if (!answer.isOfThisVehicle || answer.isComplete === false) return []
  const listed = new Set(answer.checks.map((check) => buildCheckRef(check, answer.vin)))
  return known.filter(
    ({ kind, ref, vin, goneAt, firstSeenAt }) =>
      kind === answer.kind &&
      vin === answer.vin &&
      !listed.has(ref) &&
      goneAt === null &&
      firstSeenAt < answer.at,
  )
}

/** Marks the checks of the vehicle that its list no longer shows. */
async function markGone(
  db: Kysely<Tables>,
  answers: readonly PastAnswer[],
  known: readonly KnownCheck[],
): Promise<PastAnswer[]> {
  const lost = answers.flatMap((answer) =>
    lostChecks(answer, known).map((check) => ({ answer, check })),
  )
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

/** Inserts new checks; returns those that no other process has inserted meanwhile. */
async function insertChecks(
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
  const owners = await findOwners(db, groupId, made)
  const checks = fresh.flatMap((one, index) => {
    const owner = owners[index]
    return owner ? [{ answer: one.answer, check: newCheck(one, owner) }] : []
  })
  if (checks.length === 0) return []
  const rows = await db
    .insertInto('core.vehicle_check')
    .values(checks.map(({ answer, check }) => knownCheckRow(answer, check, runId)).sort(byRowKey))
    .onConflict((conflict) => conflict.doNothing())
    .returning(['check_kind', 'check_ref'])
    .execute()
  const inserted = new Set(rows.map((row) => checkKey(row.check_kind as CheckKind, row.check_ref)))
  return checks.filter(({ check }) => inserted.has(checkKey(check.kind, check.ref)))
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
  return knownCheckRow(listed.answer, newCheck(listed, owner), runId)
}

function knownCheckRow({ groupId, at }: PastAnswer, check: KnownCheck, runId: number | null) {
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

type CheckRow = ReturnType<typeof knownCheckRow>

function byRowKey(a: CheckRow, b: CheckRow): number {
  const key = ({ rooftop_id, eval_id, check_kind, check_ref }: CheckRow) =>
    ({ rooftopId: rooftop_id, evalId: eval_id, kind: check_kind, ref: check_ref }) as const
  return compareKeys(key(a), key(b))
}

/** How long a signed link lives [A §8]. */
const linkLifeMs = 7 * 86_400_000

/** The row of the link that a list shows for a check. Pure. */
export function linkRow(
  { answer: { kind, at }, check }: ListedCheck,
  { rooftopId, evalId }: Pick<KnownCheck, 'rooftopId' | 'evalId'>,
) {
  return {
    ...{ rooftop_id: rooftopId, eval_id: evalId, link_kind: `${kind}_pdf`, link_ref: check.ref },
    ...{ url: check.pdfUrl, signed_at: at, expires_at: new Date(at.getTime() + linkLifeMs) },
  }
}

/** Stores the newest link of each check; removes the link of a check that is listed without one. */
async function signLinks(db: Kysely<Tables>, listed: readonly Pair[]): Promise<void> {
  const [signed, bare] = partition(listed, ({ check }) => check.pdfUrl !== null)
  await dropLinks(db, bare)
  const rows = signed
    .toSorted((a, b) => compareKeys(a.known, b.known))
    .map((pair) => linkRow(pair, pair.known))
  if (rows.length === 0) return
  await sql`
    insert into pii.signed_link as link
    select * from jsonb_populate_recordset(null::pii.signed_link, ${JSON.stringify(rows)}::jsonb)
    on conflict (rooftop_id, eval_id, link_kind, link_ref) do update
    set url = excluded.url, signed_at = excluded.signed_at, expires_at = excluded.expires_at
    where excluded.signed_at >= link.signed_at`.execute(db)
}

async function dropLinks(db: Kysely<Tables>, bare: readonly Pair[]): Promise<void> {
  if (bare.length === 0) return
  const { rooftopIds, evalIds, kinds, refs } = keyColumns(bare.map(({ known }) => known))
  await sql`
    delete from pii.signed_link as link
    using unnest(${rooftopIds}::int[], ${evalIds}::bigint[], ${kinds}::text[], ${refs}::text[],
      ${bare.map(({ answer }) => answer.at)}::timestamptz[]) as bare (rooftop_id, eval_id, kind, ref, at)
    where link.rooftop_id = bare.rooftop_id and link.eval_id = bare.eval_id
      and link.link_kind = bare.kind || '_pdf' and link.link_ref = bare.ref and link.signed_at < bare.at`.execute(
    db,
  )
}
