import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import type { LoadOutcome, RecordWarning } from '../stream.ts'
import { type KnownCheck, knownChecks, ownersOf } from './known-checks.ts'
import type { CheckKind, PastCheck } from './past-checks.ts'
import { signLinks } from './signed-links.ts'
import {
  compare,
  keyColumns,
  moveStatuses,
  moves,
  statusWarnings,
  unknownStatuses,
} from './watch-statuses.ts'

/** Every check of one kind on one vehicle of a dealer group, as the source lists them. */
export interface PastAnswer {
  readonly groupId: number
  /** Upper case. */
  readonly vin: string
  readonly kind: CheckKind
  readonly checks: readonly PastCheck[]
  /** The source's time of the answer. */
  readonly at: Date
}

/** What an answer did to the warehouse. */
export interface PastLoaded {
  readonly outcome: LoadOutcome
  readonly warnings: readonly RecordWarning[]
  /** A watch that was known before has moved. */
  readonly hasMoved: boolean
}

interface Told {
  readonly answer: PastAnswer
  readonly check: PastCheck
}

/** 14 days a search [A §8]. */
const watchPeriodMs = 14 * 86_400_000

/**
 * Brings checks, their statuses and links to what the answers say, inside the caller's transaction. An answer is the whole
 * list of its vehicle, so a check that is listed no more is marked as gone. Nothing is written of what is as it was, but
 * for the links, which come freshly signed.
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
  const told = answers.flatMap((answer) => answer.checks.map((check) => ({ answer, check })))
  const unknown = await unknownStatuses(
    db,
    told.flatMap(({ check }) => check.watchStatus ?? []),
  )
  const vins = answers.map(({ vin }) => vin)
  const refs = told.map(({ check }) => check.ref)
  const before = byKey(await knownChecks(db, groupId, vins, refs))
  const fresh = told.filter(({ answer, check }) => !before.has(keyOf(answer.kind, check.ref)))
  const inserted = await insertChecks(db, fresh, runId)
  const known = new Map([...before, ...byKey(inserted.map(({ check }) => check))])
  const pairs = told.flatMap((one) => {
    const check = known.get(keyOf(one.answer.kind, one.check.ref))
    return check === undefined ? [] : [{ ...one, known: check }]
  })
  const seen = statusesSeen(pairs)
  const moved = seen.filter(moves)
  await moveStatuses(db, moved)
  const corrected = await correctFacts(db, pairs)
  const gone = await markGone(db, answers, [...before.values()])
  await signLinks(db, pairs)
  const hasMoved = new Set(
    moved.filter(({ check }) => check.status !== null).map(({ answer }) => answer),
  )
  const isNew = new Set(inserted.map(({ answer }) => answer))
  const isOther = new Set([...moved.map(({ answer }) => answer), ...corrected, ...gone])
  return new Map(
    answers.map((answer) => [
      answer,
      {
        outcome: isNew.has(answer) ? 'inserted' : isOther.has(answer) ? 'updated' : 'unchanged',
        warnings: seen
          .filter((one) => one.answer === answer)
          .flatMap((one) => statusWarnings(one, unknown)),
        hasMoved: hasMoved.has(answer),
      },
    ]),
  )
}

type Pair = Told & { readonly known: KnownCheck }

function statusesSeen(pairs: readonly Pair[]) {
  return pairs.flatMap(({ answer, check, known }) =>
    check.watchStatus === null
      ? []
      : [{ answer, check: known, status: check.watchStatus, at: answer.at }],
  )
}

function keyOf(kind: CheckKind, ref: string): string {
  return `${kind} ${ref}`
}

function byKey(checks: readonly KnownCheck[]): Map<string, KnownCheck> {
  return new Map(checks.map((check) => [keyOf(check.kind, check.ref), check]))
}

/** Those that another process has brought in meanwhile are left to it. */
async function insertChecks(
  db: Kysely<Tables>,
  fresh: readonly Told[],
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
  const landed = new Set(rows.map((row) => keyOf(row.check_kind as CheckKind, row.check_ref)))
  return checks.filter(({ check }) => landed.has(keyOf(check.kind, check.ref)))
}

function newCheck(
  { answer, check }: Told,
  owner: Pick<KnownCheck, 'rooftopId' | 'evalId'>,
): KnownCheck {
  const { ref, searchedAt, searchNumber, certificateNumber } = check
  const { kind, vin } = answer
  const untold = { status: null, statusSince: null, isTerminal: false, isGone: false }
  return { ...owner, kind, ref, vin, searchedAt, searchNumber, certificateNumber, ...untold }
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
  return compare(key(a), key(b))
}

/** Numbers and times that an answer adds or corrects; what it leaves out stays. A check that is listed again is not gone. */
async function correctFacts(db: Kysely<Tables>, pairs: readonly Pair[]): Promise<PastAnswer[]> {
  const corrected = pairs.filter(
    ({ check, known }) =>
      known.isGone ||
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

/** Checks of the vehicle that its list shows no more. */
async function markGone(
  db: Kysely<Tables>,
  answers: readonly PastAnswer[],
  known: readonly KnownCheck[],
): Promise<PastAnswer[]> {
  const lost = answers.flatMap((answer) => {
    const listed = new Set(answer.checks.map(({ ref }) => ref))
    return known
      .filter(({ vin, kind, ref, isGone }) => {
        return vin === answer.vin && kind === answer.kind && !isGone && !listed.has(ref)
      })
      .map((check) => ({ answer, check }))
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
