import { hostname, userInfo } from 'node:os'
import type pg from 'pg'
import { doubtfulCalls, type Outcome, reserveCall, settleCall } from '../billing/ledger.ts'
import { outcomeOf } from '../billing/outcome.ts'
import type { RooftopConfig } from '../config.ts'
import type { Operation } from '../contract/operation.ts'
import { messageOf } from '../errors.ts'
import { registerRooftops } from '../pipeline/rooftops.ts'
import type { ServiceAnswer } from '../sources/service-client.ts'
import type { Session } from './session.ts'

/** What a billable call is about. */
export interface BillableSubject {
  readonly operation: Operation
  readonly rooftop: RooftopConfig | null
  readonly naturalKey: string | null
}

/** Sends a billable call within its daily budget: reserved in the warehouse before, settled after. A call whose outcome
 *  nobody knows stays reserved and is not sent again. UsageError when the budget allows none. */
export async function withinBudget<T extends ServiceAnswer<unknown>>(
  session: Session,
  { operation, rooftop, naturalKey }: BillableSubject,
  send: () => Promise<T>,
): Promise<T> {
  const budget = operation.budget!
  const { pool, db } = await session.warehouse('write')
  const [row] = rooftop === null ? [] : await registerRooftops(db, [rooftop])
  const doubtful = await doubtfulCalls(db, { operation: operation.name, naturalKey })
  if (doubtful.length > 0)
    session.log.warn(
      { callIds: doubtful },
      `an earlier ${operation.name} for ${naturalKey} has an unknown outcome: this one may be a second bill`,
    )
  // Interrupted before anything was sent: nothing is reserved.
  session.io.signal.throwIfAborted()
  const callId = await reserveCall(pool, {
    operation: operation.name,
    budget,
    allowed: session.config.budget[budget],
    rooftopId: row?.id ?? null,
    naturalKey,
    requestedBy: requester(),
  })
  const settle = settler(session, pool, callId)
  let answer: T
  try {
    answer = await send()
  } catch (error) {
    const outcome = outcomeOf(error, operation.statuses)
    const status = (error as { status?: number }).status ?? null
    await settle(outcome, { status, note: messageOf(error) })
    if (outcome === 'unknown')
      session.log.warn(
        { callId, operation: operation.name },
        'whether it was billed is not known: it stays reserved in ops.billable_call',
      )
    throw error
  }
  await settle('committed', { status: answer.status, note: null })
  return answer
}

/** Tells the ledger how the call ended, and never fails for it: what was paid for, or why it failed, must still be shown. */
function settler({ log }: Session, pool: pg.Pool, callId: number) {
  return async (outcome: Outcome, facts: Parameters<typeof settleCall>[3]): Promise<void> => {
    const told = () => settleCall(pool, callId, outcome, facts)
    await told()
      .catch(told)
      .catch((error: unknown) =>
        log.error(
          { callId, outcome, err: error },
          'the ledger could not be told how the call ended: it stays reserved in ops.billable_call',
        ),
      )
  }
}

function requester(): string {
  return `${userName()}@${hostname()}`.slice(0, 120)
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a number without a name.
    return String(process.getuid?.() ?? 'unknown')
  }
}
