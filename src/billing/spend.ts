import { sql } from 'kysely'
import type { Budget } from '../contract/operation.ts'
import type { Db } from '../db/transaction.ts'

/** A billable call of today. */
export interface BilledCall {
  readonly operation: string
  readonly state: 'reserved' | 'committed' | 'released'
  /** EvalID, VIN or code, as it was asked for. */
  readonly subject: string | null
  /** Of the evaluation, where the warehouse has it; else the VIN that was asked for. */
  readonly vin: string | null
  /** Uid. */
  readonly rooftop: string | null
  /** `user@host`. */
  readonly by: string
  readonly at: string
}

/** What today (UTC) has cost of one budget. */
export interface Spend {
  readonly allowed: number
  /** Committed and reserved. */
  readonly used: number
  /** Of these, how many may or may not have been billed. */
  readonly unknown: number
  /** Newest first, released ones included; at most 50. */
  readonly calls: readonly BilledCall[]
}

/** Today's spend of each budget that allows or has used anything: how much, by whom, on which vehicle. */
export async function readSpend(
  db: Db,
  budgets: Readonly<Record<Budget, number>>,
): Promise<Partial<Record<Budget, Spend>>> {
  const calls = await callsOfToday(db)
  const spend: Partial<Record<Budget, Spend>> = {}
  for (const [budget, allowed] of Object.entries(budgets) as [Budget, number][]) {
    const own = calls.filter((call) => call.budget === budget)
    const count = (state: BilledCall['state']) => own.filter((call) => call.state === state).length
    if (allowed === 0 && own.length === 0) continue
    const unknown = count('reserved')
    const used = unknown + count('committed')
    spend[budget] = { allowed, used, unknown, calls: own.slice(0, 50).map(withoutBudget) }
  }
  return spend
}

function withoutBudget({ budget: _, at, ...call }: Row): BilledCall {
  return { ...call, at: at.toISOString() }
}

interface Row extends Omit<BilledCall, 'at'> {
  readonly budget: string
  readonly at: Date
}

async function callsOfToday(db: Db): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select call.operation, call.state, call.natural_key as subject,
      coalesce(evaluation.vin, case when length(call.natural_key) = 17 then call.natural_key end) as vin,
      rooftop.rooftop_uid as rooftop, call.requested_by as by, call.at, call.budget
    from ops.billable_call as call
    left join core.rooftop using (rooftop_id)
    left join core.evaluation as evaluation on evaluation.rooftop_id = call.rooftop_id
      and evaluation.eval_id::text = call.natural_key
    where call.day = (now() at time zone 'UTC')::date
    order by call.call_id desc`.execute(db)
  return rows
}
