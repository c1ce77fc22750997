import { sql } from 'kysely'
import type pg from 'pg'
import type { Budget } from '../contract/operation.ts'
import type { Db } from '../db/transaction.ts'
import { letGo, ownerLocks } from './ledger.ts'
import { type Doubt, type ListedKind, listedKindOf } from './past-calls.ts'

/** A call that nobody knows the outcome of and whose process is gone; held against other processes until it is disposed. */
export interface OpenCall extends Doubt, AsyncDisposable {
  readonly callId: number
  readonly operation: string
  readonly kind: ListedKind
  readonly rooftopId: number
  readonly evalId: number
}

/** Ids of the calls whose outcome can be found out, oldest first: those that count in a budget, and all of a rooftop. */
export async function openCallIds(
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
    .filter(({ operation }) => listedKindOf(operation) !== null)
    .map(({ call_id }) => Number(call_id))
}

interface Row {
  readonly operation: string
  readonly rooftop_id: number
  readonly natural_key: string
  readonly known_refs: string[] | null
  readonly source_at: Date | null
  readonly age_ms: number
}

/** Takes a call whose process is gone, to find out how it ended; null while that process lives, another one has taken it,
 *  or it is settled. */
export async function takeOpenCall(pool: pg.Pool, callId: number): Promise<OpenCall | null> {
  const holder = await pool.connect()
  try {
    const { rows: locks } = await holder.query<{ free: boolean }>(
      'select pg_try_advisory_lock($1, $2::int) as free',
      [ownerLocks, callId],
    )
    if (!locks[0]!.free) {
      holder.release()
      return null
    }
    const row = await readOpen(holder, callId)
    if (row === null) {
      await letGo(holder, callId)
      return null
    }
    return { ...described(callId, row), [Symbol.asyncDispose]: () => letGo(holder, callId) }
  } catch (error) {
    // The lock goes with the connection.
    holder.release(error as Error)
    throw error
  }
}

async function readOpen(client: pg.ClientBase, callId: number): Promise<Row | null> {
  const { rows } = await client.query<Row>(
    `select operation, rooftop_id, natural_key, known_refs, source_at,
       (extract(epoch from clock_timestamp() - at) * 1000)::float8 as age_ms
     from ops.billable_call where call_id = $1 and state = 'reserved'`,
    [callId],
  )
  return rows[0] ?? null
}

function described(callId: number, row: Row): Omit<OpenCall, keyof AsyncDisposable> {
  return {
    callId,
    operation: row.operation,
    kind: listedKindOf(row.operation)!,
    rooftopId: row.rooftop_id,
    evalId: Number(row.natural_key),
    knownRefs: row.known_refs,
    sourceAt: row.source_at,
    ageMs: row.age_ms,
  }
}

/** Checks that cannot be what the call made: other calls did, or, where the past checks were not read before it, the
 *  warehouse had them before the reservation (`since`, source time). */
export async function takenRefs(
  db: Db,
  { callId, operation, kind, knownRefs }: Taken,
  since: Date,
): Promise<Set<string>> {
  const { rows } = await sql<{ ref: string }>`
    select check_ref as ref from ops.billable_call
    where operation = ${operation} and state = 'committed' and check_ref is not null and call_id <> ${callId}
    union
    select check_ref from core.vehicle_check
    where ${knownRefs === null}::boolean and check_kind = ${kind} and first_seen_at < ${since}::timestamptz`.execute(
    db,
  )
  return new Set(rows.map(({ ref }) => ref))
}

type Taken = Pick<OpenCall, 'callId' | 'operation' | 'kind' | 'knownRefs'>

/** Says what was found out about a call that this process did not send; a call that is settled meanwhile stays as it is. */
export async function settleOpenCall(
  db: Db,
  callId: number,
  outcome: 'committed' | 'released',
  { note, checkRef }: { readonly note: string; readonly checkRef: string | null },
): Promise<void> {
  await sql`
    update ops.billable_call set state = ${outcome}, settled_at = now(), check_ref = ${checkRef},
      note = left(concat_ws(' ', nullif(note, ''), ${note}::text), 400)
    where call_id = ${callId} and state = 'reserved'`.execute(db)
}
