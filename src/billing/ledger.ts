import { sql } from 'kysely'
import type pg from 'pg'
import type { Budget } from '../contract/operation.ts'
import { type Db, inTransaction } from '../db/transaction.ts'
import { UsageError } from '../errors.ts'

/** A billable call that somebody asks for. */
export interface BillableCall {
  readonly operation: string
  readonly budget: Budget
  /** How many the config allows a day. */
  readonly allowed: number
  /** `core.rooftop`; null where the call names none. */
  readonly rooftopId: number | null
  readonly naturalKey: string | null
  /** `user@host`. */
  readonly requestedBy: string
}

/** How a call ended. `unknown` keeps the reservation: it counts, since it may have been billed. */
export type Outcome = 'committed' | 'released' | 'unknown'

/** Takes one of today's calls (UTC, by the database's clock) before it is sent, and gives its id. However many processes
 *  ask at once, no more than `allowed` get one. UsageError when none is left: nothing was sent. */
export async function reserveCall(pool: pg.Pool, call: BillableCall): Promise<number> {
  const { operation, budget, allowed, rooftopId, naturalKey, requestedBy } = call
  if (allowed === 0)
    throw new UsageError(
      `budget.${budget} is 0, so ${operation} is never called: set it to how many calls a day may cost money.`,
    )
  return inTransaction(pool, async ({ db }) => {
    // One at a time per budget: counting and taking must not be apart.
    await sql`select pg_advisory_xact_lock(${budgetLocks}, hashtext(${budget}))`.execute(db)
    const today = sql<string>`(now() at time zone 'UTC')::date`
    const { used } = await db
      .selectFrom('ops.billable_call')
      .select(({ fn }) => fn.countAll<string>().as('used'))
      .where('budget', '=', budget)
      .where('day', '=', today)
      .where('state', '<>', 'released')
      .executeTakeFirstOrThrow()
    if (Number(used) >= allowed) throw spent(call, Number(used))
    const { call_id } = await db
      .insertInto('ops.billable_call')
      .values({
        operation,
        budget,
        rooftop_id: rooftopId,
        natural_key: naturalKey,
        day: today,
        state: 'reserved',
        requested_by: requestedBy,
      })
      .returning('call_id')
      .executeTakeFirstOrThrow()
    return Number(call_id)
  })
}

/** Calls of the same operation on the same subject whose outcome nobody knows: a repeat may cost twice. */
export async function doubtfulCalls(
  db: Db,
  { operation, naturalKey }: Pick<BillableCall, 'operation' | 'naturalKey'>,
): Promise<number[]> {
  const rows = await db
    .selectFrom('ops.billable_call')
    .select('call_id')
    .where('operation', '=', operation)
    .where('natural_key', '=', naturalKey)
    .where('state', '=', 'reserved')
    .orderBy('call_id')
    .execute()
  return rows.map(({ call_id }) => Number(call_id))
}

/** Says how a reserved call ended. `note` holds no answer body. */
export async function settleCall(
  pool: pg.Pool,
  callId: number,
  outcome: Outcome,
  facts: { readonly status: number | null; readonly note: string | null },
): Promise<void> {
  await inTransaction(pool, async ({ db }) => {
    await db
      .updateTable('ops.billable_call')
      .set({
        state: outcome === 'unknown' ? 'reserved' : outcome,
        settled_at: outcome === 'unknown' ? null : sql<Date>`now()`,
        http_status: facts.status,
        note: facts.note?.slice(0, 400) ?? null,
      })
      .where('call_id', '=', callId as never)
      .execute()
  })
}

/** First key of the advisory locks of the budgets; the second is the budget's name. */
const budgetLocks = 7302

function spent({ operation, budget, allowed }: BillableCall, used: number): UsageError {
  return new UsageError(
    `budget.${budget} allows ${allowed} calls a day, and ${used} are used today (UTC): ${operation} was not called. ` +
      `Wait until tomorrow or raise it; ops.billable_call lists them.`,
  )
}
