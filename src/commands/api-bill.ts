import { hostname, userInfo } from 'node:os'
import { doubtfulCalls, reserveCall, settleCall } from '../billing/ledger.ts'
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
  const callId = await reserveCall(pool, {
    operation: operation.name,
    budget,
    allowed: session.config.budget[budget],
    rooftopId: row?.id ?? null,
    naturalKey,
    requestedBy: requester(),
  })
  try {
    const answer = await send()
    await settleCall(pool, callId, 'committed', { status: answer.status, note: null })
    return answer
  } catch (error) {
    const outcome = outcomeOf(error, operation.statuses)
    const status = (error as { status?: number }).status ?? null
    await settleCall(pool, callId, outcome, { status, note: messageOf(error) })
    if (outcome === 'unknown')
      session.log.warn(
        { callId, operation: operation.name },
        'whether it was billed is not known: it stays reserved in ops.billable_call',
      )
    throw error
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
