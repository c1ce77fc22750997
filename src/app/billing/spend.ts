import { sql } from 'kysely'
import type { Budget } from '../../api/contract/operation.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** A billable call. */
export interface BilledCall {
  readonly callId: number
  readonly operation: string
  readonly state: 'reserved' | 'committed' | 'released'
  /** EvalID, VIN or code of the request. */
  readonly subject: string | null
  /** VIN of the evaluation if the warehouse has it, else the requested VIN. */
  readonly vin: string | null
  /** Uid. */
  readonly rooftop: string | null
  /** `user@host`. */
  readonly by: string
  readonly at: string
  /** check_ref of the check that it made, where it is known. */
  readonly check: string | null
  /** Why it was released, how its outcome was found, or what is unknown. */
  readonly note: string | null
}

/** Today's use (UTC) of one budget. */
export interface Spend {
  readonly allowed: number
  /** Committed and reserved. */
  readonly used: number
  /** Of these, calls of unknown outcome: they may have been billed. */
  readonly unknown: number
  /** Newest first, released ones included; at most 50. */
  readonly calls: readonly BilledCall[]
  /** Calls of earlier days with an unknown outcome; newest first, at most 50. */
  readonly open: readonly BilledCall[]
}

/** Today's use of each budget that allows or has used a call: how much, by which user, on which vehicle, and the calls of earlier days
 *  whose outcome is still unknown. */
export async function readSpend(
  db: Db,
  budgets: Readonly<Record<Budget, number>>,
): Promise<Partial<Record<Budget, Spend>>> {
  const calls = await callsOfTodayAndOpen(db)
  const spend: Partial<Record<Budget, Spend>> = {}
  for (const [budget, allowed] of Object.entries(budgets) as [Budget, number][]) {
    const budgetCalls = calls.filter((call) => call.budget === budget)
    if (allowed > 0 || budgetCalls.length > 0) spend[budget] = countSpend(allowed, budgetCalls)
  }
  return spend
}

function countSpend(allowed: number, calls: readonly Row[]): Spend {
  const today = calls.filter(({ isToday }) => isToday)
  const earlier = calls.filter(({ isToday }) => !isToday)
  const count = (state: BilledCall['state']) => today.filter((call) => call.state === state).length
  const unknown = count('reserved')
  return {
    allowed,
    used: unknown + count('committed'),
    unknown,
    calls: today.slice(0, 50).map(shown),
    open: earlier.slice(0, 50).map(shown),
  }
}

function shown({ budget: _budget, isToday: _isToday, at, ...call }: Row): BilledCall {
  return { ...call, at: at.toISOString() }
}

interface Row extends Omit<BilledCall, 'at'> {
  readonly budget: string
  readonly isToday: boolean
  readonly at: Date
}

async function callsOfTodayAndOpen(db: Db): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select call.call_id as "callId", call.operation, call.state, call.natural_key as subject,
      coalesce(evaluation.vin, case when length(subject.name) = 17 then subject.name end) as vin,
      rooftop.rooftop_uid as rooftop, call.requested_by as by, call.at, call.check_ref as check, call.note,
      call.budget, call.day = (now() at time zone 'UTC')::date as "isToday"
    from ops.billable_call as call
    cross join lateral (select split_part(call.natural_key, '/', 1) as name) as subject
    left join core.rooftop using (rooftop_id)
    left join core.evaluation as evaluation on evaluation.rooftop_id = call.rooftop_id
      and evaluation.eval_id = case when call.natural_key ~ '^\\d{1,15}$' then call.natural_key::bigint end
    where call.day = (now() at time zone 'UTC')::date or call.state = 'reserved'
    order by call.call_id desc`.execute(db)
  return rows
}
