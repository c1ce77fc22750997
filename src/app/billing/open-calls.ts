import { sql } from 'kysely'
import type pg from 'pg'
import type { CheckKind } from '../../api/contract/appraisal/past-checks.ts'
import type { Budget } from '../../api/contract/operation.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { type Db, dbOn } from '../../warehouse/db/transaction.ts'
import { unlockCall } from './ledger.ts'
import { listedKind, type UnknownCall } from './past-calls.ts'

/** A call of unknown outcome that is searched among the past checks. */
export interface SearchedCall extends UnknownCall {
  readonly callId: number
  readonly operation: string
  readonly kind: CheckKind
  readonly rooftopId: number
  readonly evalId: number
}

/** One whose process has ended; locked against other processes until it is disposed. */
export type OpenCall = SearchedCall & AsyncDisposable

/** Two calls with the same subject request the same. */
interface CallSubject {
  readonly operation: string
  /** EvalID as text. */
  readonly naturalKey: string
  readonly rooftopId: number
}

/** Ids of the calls whose outcome can be found, oldest first: those that count in a budget, and all of a rooftop. */
export async function listOpenCalls(
  db: Db,
  { budget, rooftopId }: { readonly budget: Budget; readonly rooftopId: number | null },
): Promise<number[]> {
  const rows = await db
    .selectFrom('ops.billable_call')
    .select(['call_id', 'operation'])
    .where('state', '=', 'reserved')
    .where('rooftop_id', 'is not', null)
    .where(({ eb, or }) =>
      or([
        eb('budget', '=', budget),
        ...(rooftopId === null ? [] : [eb('rooftop_id', '=', rooftopId)]),
      ]),
    )
    .orderBy('call_id')
    .execute()
  return rows
    .filter(({ operation }) => listedKind(operation) !== null)
    .map(({ call_id }) => Number(call_id))
}

/** Locks a call whose process has ended, to find its outcome; null while that process is alive, another one has locked the call, or
 *  it is settled. */
export async function lockOpenCall(pool: pg.Pool, callId: number): Promise<OpenCall | null> {
  return await lockCall(pool, callId, async (db) => {
    const call = await readOpen(db, callId)
    return call === null ? null : { ...call, kind: listedKind(call.operation)! }
  })
}

/** What `read` gives, with the lock of a call whose process has ended; null while another process has the lock, or for null. */
async function lockCall<Found extends object>(
  pool: pg.Pool,
  callId: number,
  read: (db: Db) => Promise<Found | null>,
): Promise<(Found & AsyncDisposable) | null> {
  const holder = await pool.connect()
  const db = dbOn(holder)
  try {
    const { rows: locks } = await sql<{ free: boolean }>`
      select ${lockSql.trySession('call', callId)} as free`.execute(db)
    if (!locks[0]!.free) {
      holder.release()
      return null
    }
    const found = await read(db)
    if (found === null) {
      await unlockCall(holder, callId)
      return null
    }
    return { ...found, [Symbol.asyncDispose]: () => unlockCall(holder, callId) }
  } catch (error) {
    // The lock ends with the connection.
    holder.release(error as Error)
    throw error
  }
}

const ageMs = sql`(extract(epoch from clock_timestamp() - at) * 1000)::float8`

/** How long ago a call was reserved, in ms. */
export async function ageOfCall(db: Db, callId: number): Promise<number> {
  const { rows } = await sql<{ age: number }>`
    select ${ageMs} as age from ops.billable_call where call_id = ${callId}`.execute(db)
  return rows[0]!.age
}

async function readOpen(db: Db, callId: number) {
  const { rows } = await sql<Omit<SearchedCall, 'kind'>>`
    select call_id as "callId", operation, rooftop_id as "rooftopId", natural_key::bigint as "evalId",
      known_refs as "knownRefs", source_at as "sourceAt", ${ageMs} as "ageMs"
    from ops.billable_call where call_id = ${callId} and state = 'reserved'`.execute(db)
  return rows[0] ?? null
}

/** Refs of the dealer group that the call cannot have made: other calls made them, or, when the past checks were not read before it,
 *  the warehouse had them before the reservation (`since`, source time). In another group the same ref is another check. Where a ref
 *  is unique only within its vehicle, the warehouse adds the VIN as a prefix, which is removed here. */
export async function refsOfOtherCalls(
  db: Db,
  {
    callId,
    operation,
    kind,
    rooftopId,
    evalId,
    knownRefs,
  }: Omit<SearchedCall, 'sourceAt' | 'ageMs'>,
  since: Date,
): Promise<Set<string>> {
  const { rows } = await sql<{ ref: string }>`
    with own as (
      select group_id, (select upper(vin) || '-' from core.evaluation
        where evaluation.group_id = rooftop.group_id and eval_id = ${evalId} and length(vin) = 17 limit 1) as prefix
      from core.rooftop where rooftop_id = ${rooftopId}
    ), other as (
      select check_ref from ops.billable_call join core.rooftop using (rooftop_id) join own using (group_id)
      where operation = ${operation} and state = 'committed' and check_ref is not null and call_id <> ${callId}
      union
      select check_ref from core.vehicle_check join own using (group_id)
      where ${knownRefs === null}::boolean and check_kind = ${kind} and first_seen_at < ${since}::timestamptz
    )
    select case when starts_with(check_ref, prefix) then substr(check_ref, length(prefix) + 1) else check_ref end as ref
    from other cross join own`.execute(db)
  return new Set(rows.map(({ ref }) => ref))
}

/** Notes in the ledger, for a person: nothing reads them. */
export const notFoundNote = 'Not among the past checks: it was not billed.'
export const foundNote = 'Found among the past checks: it was billed.'

/** Stores the outcome of a call that this process did not send: the check that it made, or null for none. A call that was settled
 *  meanwhile does not change. */
export async function settleOpenCall(
  db: Db,
  callId: number,
  checkRef: string | null,
): Promise<void> {
  const [state, note] = checkRef === null ? ['released', notFoundNote] : ['committed', foundNote]
  await sql`
    update ops.billable_call set state = ${state}, settled_at = now(), check_ref = ${checkRef},
      note = left(concat_ws(' ', ${note}::text, note), 400)
    where call_id = ${callId} and state = 'reserved'`.execute(db)
}

/** A call that took effect and whose result was not shown yet. */
interface UnshownCall {
  readonly callId: number
  readonly ref: string
}

/** The newest call for the subject, if it took effect and its result was not shown yet: another call would pay twice. It is locked, so
 *  that one process alone shows it; null also while the process that paid is alive. */
export async function lockUnshownCall(
  { db, pool }: { readonly db: Db; readonly pool: pg.Pool },
  subject: CallSubject,
): Promise<(UnshownCall & AsyncDisposable) | null> {
  const call = await findUnshownCall(db, subject)
  if (call === null) return null
  return await lockCall(pool, call.callId, async () => {
    // It may have been shown until it was locked.
    const now = await findUnshownCall(db, subject)
    return now?.callId === call.callId ? now : null
  })
}

async function findUnshownCall(
  db: Db,
  { operation, naturalKey, rooftopId }: CallSubject,
): Promise<UnshownCall | null> {
  const { rows } = await sql<UnshownCall & { readonly isUnshown: boolean }>`
    select call_id::int as "callId", check_ref as ref, shown_at is null and check_ref is not null as "isUnshown"
    from ops.billable_call join core.rooftop using (rooftop_id)
    where operation = ${operation} and natural_key = ${naturalKey} and state = 'committed'
      and group_id = (select group_id from core.rooftop where rooftop_id = ${rooftopId})
    order by call_id desc limit 1`.execute(db)
  const [newest] = rows
  return newest?.isUnshown ? { callId: newest.callId, ref: newest.ref } : null
}

/** Marks the result of a paid call as shown: the next repeat needs --again. */
export async function markShown(db: Db, callId: number): Promise<void> {
  await sql`
    update ops.billable_call set shown_at = now()
    where call_id = ${callId} and state = 'committed' and shown_at is null`.execute(db)
}
