import { sql } from 'kysely'
import type pg from 'pg'
import type { Budget } from '../../api/contract/operation.ts'
import { BusyError, UsageError } from '../../errors.ts'
import { utcText } from '../../values/instant.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { type Db, openDb } from '../../warehouse/db/transaction.ts'
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
  try {
    await holder.query('begin')
    // One process at a time per budget, between counting and reserving.
    await holder.query(`select ${lockSql.wait('budget', 'hashtext($1)')}`, [call.budget])
    await requireRoom(holder, call)
    await requireNoDoubt(holder, call)
    if (!call.again) await requireNoneValid(holder, call)
    const callId = await insertCall(holder, call)
    // Locked before any other process can see the row; a session lock, so that it ends with the process.
    await holder.query(`select ${lockSql.waitSession('call', '$1')}`, [callId])
    await holder.query('commit')
    return { callId, [Symbol.asyncDispose]: () => unlockCall(holder, callId) }
  } catch (error) {
    const broken = await holder.query('rollback').then(
      () => undefined,
      (cause: Error) => cause,
    )
    holder.release(broken)
    throw error
  }
}

/** Releases the lock of a call; the connection returns to the pool, or is closed when it is broken. */
export async function unlockCall(holder: pg.PoolClient, callId: number): Promise<void> {
  const broken = await holder.query(`select ${lockSql.unlockSession('call', '$1')}`, [callId]).then(
    () => undefined,
    (error: Error) => error,
  )
  holder.release(broken)
}

async function requireRoom(client: pg.ClientBase, call: BillableCall): Promise<void> {
  const { rows } = await client.query<{ used: number }>(
    `select count(*)::int as used from ops.billable_call
     where budget = $1 and state <> 'released' and day = (now() at time zone 'UTC')::date`,
    [call.budget],
  )
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

/** SQL: a row `call` has the subject of a call ($1 to $3: `subjectOf`). A call whose group is unknown may be of any. */
const isSameSubject = `call.operation = $1 and call.natural_key is not distinct from $2
  and coalesce((select group_id from core.rooftop where rooftop_id = call.rooftop_id)
    = (select group_id from core.rooftop where rooftop_id = $3::int), true)`

/** An EvalID is unique only within its dealer group; a VIN names the same vehicle in all. */
function ledgerSubject({ operation, naturalKey, rooftopId }: BillableCall): readonly unknown[] {
  return [operation, naturalKey, listedKind(operation) === null ? null : rooftopId]
}

/** Throws when an earlier call for the same subject has an unknown outcome and no later one was paid for. */
async function requireNoDoubt(client: pg.ClientBase, call: BillableCall): Promise<void> {
  const { rows } = await client.query<Doubtful>(
    `select call_id, at, requested_by, ${lockSql.try('call', 'call_id')} as is_dead
     from ops.billable_call as call
     where ${isSameSubject} and state = 'reserved'
       and call_id > (select coalesce(max(call_id), 0) from ops.billable_call as call
         where ${isSameSubject} and state = 'committed')
     order by call_id`,
    [...ledgerSubject(call)],
  )
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

async function requireNoneValid(client: pg.ClientBase, call: BillableCall): Promise<void> {
  const { rows } = await client.query<PaidCall>(
    `select call_id, at, requested_by from ops.billable_call as call
     where ${isSameSubject} and state = 'committed' and at > now() - make_interval(days => $4)
     order by call_id desc limit 1`,
    [...ledgerSubject(call), validDays[call.budget]],
  )
  if (rows[0] !== undefined) throw stillValid(call, rows[0])
}

async function insertCall(client: pg.ClientBase, call: BillableCall): Promise<number> {
  const { before } = call
  const { rows } = await client.query<{ call_id: number }>(
    `insert into ops.billable_call
       (operation, budget, rooftop_id, natural_key, day, state, requested_by, known_refs, source_at)
     values ($1, $2, $3, $4, (now() at time zone 'UTC')::date, 'reserved', $5, $6, $7) returning call_id`,
    [
      call.operation,
      call.budget,
      call.rooftopId,
      call.naturalKey,
      call.requestedBy,
      before?.checks.map(({ ref }) => ref) ?? null,
      before?.isDated ? before.at : null,
    ],
  )
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
