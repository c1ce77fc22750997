import { type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
import type { Budget } from '../../api/contract/operation.ts'
import { BusyError, UsageError } from '../../errors.ts'
import { utcText } from '../../values/instant.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { type Db, dbOn, openDb } from '../../warehouse/db/transaction.ts'
import { listedKind, listOperation, type PastList } from './past-calls.ts'

/** A requested billable call. */
export interface BillableCall {
  readonly operation: string
  readonly budget: Budget
  /** Calls that the config allows per day. */
  readonly allowed: number
  /** `core.rooftop`; null where the call names none. */
  readonly rooftopId: number | null
  readonly naturalKey: string | null
  /** `user@host`. */
  readonly requestedBy: string
  /** The past checks just before the call; null: not read, or no operation lists them. */
  readonly before: PastList | null
  /** Pay although an earlier call for the same subject is still valid, or has an unknown outcome. */
  readonly again: boolean
}

/** How a call ended. With `unknown` it stays reserved and counts, since it may have been billed. */
export type Outcome = 'committed' | 'released' | 'unknown'

/** The stored facts of how a call ended. `note` holds no answer body. */
export interface OutcomeFacts {
  readonly status: number | null
  readonly note: string | null
  /** The check that it made. */
  readonly checkRef?: string | null
}

/** A reserved call; until it is disposed, other processes see that its owner is alive. */
interface Reservation extends AsyncDisposable {
  readonly callId: number
}

/** UsageError when the config allows none at all. */
export function requireBudget({ operation, budget, allowed }: BillableCall): void {
  if (allowed === 0)
    throw new UsageError(
      `budget.${budget} is 0, so ${operation} is never called: set it to the number of paid calls allowed per day.`,
    )
}

/** Reserves one of today's calls (UTC, by the clock of the database) before it is sent. All processes together get at most `allowed`.
 *  When it rejects, nothing was sent: UsageError when no call is left, or an earlier call for the same subject is still valid or may
 *  have been billed; BusyError while another process makes the same call. */
export async function reserveCall(pool: pg.Pool, call: BillableCall): Promise<Reservation> {
  requireBudget(call)
  const holder = await pool.connect()
  const db = dbOn(holder)
  try {
    await sql`begin`.execute(db)
    // One process at a time per budget, between counting and reserving.
    await sql`select ${lockSql.wait('budget', sql`hashtext(${call.budget})`)}`.execute(db)
    await requireRoom(db, call)
    await requireNoDoubt(db, call)
    if (!call.again) await requireNoneValid(db, call)
    const callId = await insertCall(db, call)
    // Locked before any other process can see the row; a session lock, so that it ends with the process.
    await sql`select ${lockSql.waitSession('call', callId)}`.execute(db)
    await sql`commit`.execute(db)
    return { callId, [Symbol.asyncDispose]: () => unlockCall(holder, callId) }
  } catch (error) {
    await releaseAfter(holder, sql`rollback`)
    throw error
  }
}

/** Releases the lock of a call. */
export async function unlockCall(holder: pg.PoolClient, callId: number): Promise<void> {
  await releaseAfter(holder, sql`select ${lockSql.unlockSession('call', callId)}`)
}

/** The connection returns to the pool after its last statement, or is closed when it is broken. */
async function releaseAfter(holder: pg.PoolClient, last: RawBuilder<unknown>): Promise<void> {
  const broken = await last.execute(dbOn(holder)).then(
    () => undefined,
    (error: Error) => error,
  )
  holder.release(broken)
}

async function requireRoom(db: Db, call: BillableCall): Promise<void> {
  const { rows } = await sql<{ used: number }>`
    select count(*)::int as used from ops.billable_call
    where budget = ${call.budget} and state <> 'released'
      and day = (now() at time zone 'UTC')::date`.execute(db)
  const used = rows[0]!.used
  if (used >= call.allowed) throw spent(call, used)
}

interface PaidCall {
  readonly call_id: number
  readonly at: Date
  readonly requested_by: string
}

interface Doubtful extends PaidCall {
  readonly is_dead: boolean
}

/** SQL: a row `call` has the subject of a call. An EvalID is unique only within its dealer group; a VIN names the same vehicle in all.
 *  A call whose group is unknown may be of any. */
function isSameSubject({ operation, naturalKey, rooftopId }: BillableCall) {
  const rooftop = listedKind(operation) === null ? null : rooftopId
  return sql`call.operation = ${operation} and call.natural_key is not distinct from ${naturalKey}
    and coalesce((select group_id from core.rooftop where rooftop_id = call.rooftop_id)
      = (select group_id from core.rooftop where rooftop_id = ${rooftop}::int), true)`
}

/** Throws when an earlier call for the same subject has an unknown outcome and no later one was paid for. */
async function requireNoDoubt(db: Db, call: BillableCall): Promise<void> {
  const { rows } = await sql<Doubtful>`
    select call_id, at, requested_by, ${lockSql.try('call', sql`call_id`)} as is_dead
    from ops.billable_call as call
    where ${isSameSubject(call)} and state = 'reserved'
      and call_id > (select coalesce(max(call_id), 0) from ops.billable_call as call
        where ${isSameSubject(call)} and state = 'committed')
    order by call_id`.execute(db)
  const living = rows.find(({ is_dead }) => !is_dead)
  if (living !== undefined) throw underWay(call, living)
  if (rows[0] !== undefined && !call.again) throw doubted(call, rows[0])
}

/** Days for which the answer of a paid call is valid. A PPSR search is watched for 14 days [A §8]. The documents state no time for
 *  the others: we assume the same for a report, and one day for a price. */
const validDays: Readonly<Record<Budget, number>> = {
  ppsrSearch: 14,
  carHistory: 14,
  historyCheck: 14,
  prediction: 1,
}

async function requireNoneValid(db: Db, call: BillableCall): Promise<void> {
  const { rows } = await sql<PaidCall>`
    select call_id, at, requested_by from ops.billable_call as call
    where ${isSameSubject(call)} and state = 'committed' and at > now() - make_interval(days => ${validDays[call.budget]})
    order by call_id desc limit 1`.execute(db)
  if (rows[0] !== undefined) throw stillValid(call, rows[0])
}

async function insertCall(db: Db, call: BillableCall): Promise<number> {
  const { before } = call
  const { rows } = await sql<{ call_id: number }>`
    insert into ops.billable_call
      (operation, budget, rooftop_id, natural_key, day, state, requested_by, known_refs, source_at)
    values (${call.operation}, ${call.budget}, ${call.rooftopId}, ${call.naturalKey}, (now() at time zone 'UTC')::date,
      'reserved', ${call.requestedBy}, ${before?.checks.map(({ ref }) => ref) ?? null},
      ${before?.isDated ? before.at : null}) returning call_id`.execute(db)
  return Number(rows[0]!.call_id)
}

/** Stores how a call ended. Called by the process that sent it. */
export async function settleCall(
  pool: pg.Pool,
  callId: number,
  outcome: Outcome,
  { status, note, checkRef = null }: OutcomeFacts,
): Promise<void> {
  await openDb(pool)
    .updateTable('ops.billable_call')
    .set({
      state: outcome === 'unknown' ? 'reserved' : outcome,
      settled_at: outcome === 'unknown' ? null : sql<Date>`now()`,
      http_status: status,
      note: note?.slice(0, 400) ?? null,
      check_ref: checkRef?.slice(0, 80) ?? null,
    })
    .where('call_id', '=', callId as never)
    .execute()
}

/** Stores the check that a call made, when its answer did not name it. */
export async function saveCheckRef(db: Db, callId: number, checkRef: string): Promise<void> {
  await db
    .updateTable('ops.billable_call')
    .set({ check_ref: checkRef.slice(0, 80) })
    .where('call_id', '=', callId as never)
    .execute()
}

function spent({ operation, budget, allowed }: BillableCall, used: number): UsageError {
  return new UsageError(
    `budget.${budget} allows ${allowed} calls a day, and ${used} are used today (UTC): ${operation} was not called. ` +
      `Wait until tomorrow or raise it; ops.billable_call lists them.`,
  )
}

function underWay({ operation, naturalKey }: BillableCall, other: Doubtful): BusyError {
  return new BusyError(
    `${operation} for ${naturalKey} is being called or checked by another process ` +
      `(call ${other.call_id}, ${named(other)}): nothing was sent. Wait until it has ended.`,
  )
}

function stillValid(
  { operation, budget, naturalKey }: BillableCall,
  earlier: PaidCall,
): UsageError {
  const listing = listOperation(operation)
  const days = validDays[budget]
  const shown =
    listing === null
      ? 'Its answer is in raw.payload, where --rooftop was given'
      : `See it for free with the same --rooftop: forecourt api ${listing} --evalid ${naturalKey}`
  return new UsageError(
    `${operation} for ${naturalKey} was paid for ${named(earlier)} (call ${earlier.call_id}) and is valid for ` +
      `${days} ${days === 1 ? 'day' : 'days'}: nothing was sent. ${shown}. --again pays for another one.`,
  )
}

function doubted({ operation, naturalKey }: BillableCall, earlier: Doubtful): UsageError {
  const why =
    listedKind(operation) === null
      ? 'no operation lists past calls, so its outcome cannot be found here: ask the provider'
      : 'the past checks do not show it yet (it may still be running, or they cannot be read): try again in 15 minutes'
  return new UsageError(
    `An earlier ${operation} for ${naturalKey} (call ${earlier.call_id}, ${named(earlier)}) may have been billed: ` +
      `${why}. Nothing was sent; --again sends it although it may cost twice.`,
  )
}

function named({ at, requested_by }: PaidCall): string {
  return `by ${requested_by} at ${utcText(at)}`
}
