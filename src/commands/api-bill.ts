import { hostname, userInfo } from 'node:os'
import {
  type BillableCall,
  saveCheckRef,
  requireBudget,
  reserveCall,
  settleCall,
} from '../billing/ledger.ts'
import { markSeen, findUnseenCall } from '../billing/open-calls.ts'
import { outcomeOf, throttleOf } from '../billing/outcome.ts'
import { listedKindOf } from '../billing/past-calls.ts'
import { messageOf, SyncError } from '../errors.ts'
import { checkRefOf } from '../streams/vehicle-checks/past-checks.ts'
import type { ServiceAnswer } from '../sources/service-client.ts'
import type {
  BillableSubject,
  BillingContext,
  PaidResult,
  PastChecks,
  PastSubject,
  ReservedCall,
} from './api-billing-context.ts'
import { isUnlistable, settleOpenCalls } from './api-find-outcome.ts'
import { checkRefInAnswer, storeAnswer, storeCounts, loadPast, warnNotLoaded } from './api-load.ts'
import { readPast } from './api-past-checks.ts'
import {
  recoverAnswer,
  refusedUntilTomorrow,
  answerFromCheck,
  waitForRunningReport,
} from './api-recover.ts'

/** Sends a billable call once, within its daily budget: what earlier calls have left open is found out, the call is reserved in
 *  the warehouse, sent, settled. One whose answer is lost is looked for among the past checks and never sent again; to a
 *  repeat, what it made is the answer. UsageError when the budget allows none or a repeat may cost twice, BusyError while
 *  another process makes the same call. */
export async function pay(
  desk: BillingContext,
  subject: BillableSubject,
  send: () => Promise<ServiceAnswer<unknown>>,
): Promise<PaidResult> {
  const { io, config } = desk.session
  const { operation, rooftop, naturalKey, again } = subject
  const budget = operation.budget!
  const rooftopId = rooftop?.id ?? null
  const [allowed, requestedBy] = [config.budget[budget], requester()]
  const name = operation.name
  await settleOpenCalls(desk, { budget, rooftopId })
  const listed = listedSubject(subject)
  const unseen = again || listed === null ? null : await showUnseen(desk, subject, listed)
  if (unseen !== null) return unseen
  const asked: BillableCall = {
    ...{ operation: name, budget, allowed, rooftopId, naturalKey, requestedBy, again },
    before: null,
  }
  requireBudget(asked)
  const before = listed === null ? null : await readBefore(desk, listed)
  // Interrupted before anything was sent: nothing is reserved.
  io.signal.throwIfAborted()
  await using reservation = await reserveCall(desk.pool, { ...asked, before })
  const { callId } = reservation
  const settle = settler(desk, callId)
  if (io.signal.aborted) await settle('released', { status: null, note: 'Interrupted: not sent.' })
  io.signal.throwIfAborted()
  const reservedMs = performance.now()
  return await sendReserved(desk, { ...subject, callId, reservedMs, listed, before, settle }, send)
}

function listedSubject({ operation, rooftop, naturalKey }: BillableSubject): PastSubject | null {
  const kind = listedKindOf(operation.name)
  if (kind === null || rooftop === null) return null
  return { kind, evalId: Number(naturalKey), rooftop }
}

/** What an earlier call has made, whose answer nobody has seen; null when there is none. */
async function showUnseen(
  desk: BillingContext,
  { operation }: BillableSubject,
  listed: PastSubject,
): Promise<PaidResult | null> {
  const { db, session } = desk
  const { evalId, rooftop } = listed
  const subject = { operation: operation.name, naturalKey: String(evalId), rooftopId: rooftop.id }
  const earlier = await findUnseenCall(db, subject)
  if (earlier === null) return null
  const past = await readPast(desk, listed).catch((error: unknown) => {
    session.io.signal.throwIfAborted()
    throw unsent(error)
  })
  const paid = answerFromCheck(desk, { operation }, past, earlier.ref)
  session.log.warn(
    { operation: operation.name, evalId, callId: earlier.callId, check: earlier.ref },
    'nothing was sent: this is the check that an earlier call has paid for; --again pays for another one',
  )
  const finish = async (last: unknown) => {
    await markSeen(db, earlier)
    await paid.finish(last)
  }
  return { body: paid.body, finish }
}

/** The past checks before the call: what is new afterwards tells whether it took effect. Null where the source refuses to list
 *  them. A source that fails to answer a read is paid for nothing. */
async function readBefore(desk: BillingContext, listed: PastSubject): Promise<PastChecks | null> {
  const { io, log } = desk.session
  try {
    return await readPast(desk, listed)
  } catch (error) {
    io.signal.throwIfAborted()
    if (!isUnlistable(error, listed.kind)) throw unsent(error)
    const reason = messageOf(error)
    log.info({ reason }, 'the past checks cannot be listed: the call is sent without')
    return null
  }
}

function unsent(error: unknown): SyncError {
  const verdict = error instanceof SyncError ? error.errorAction : 'retry'
  const message = `Nothing was sent that costs money: ${messageOf(error)}`
  return new SyncError(verdict, message, { cause: error })
}

async function sendReserved(
  desk: BillingContext,
  call: ReservedCall,
  send: () => Promise<ServiceAnswer<unknown>>,
): Promise<PaidResult> {
  let answer: ServiceAnswer<unknown>
  try {
    answer = await send()
  } catch (error) {
    return await afterFailure(desk, call, error)
  }
  const { operation, rooftop, naturalKey, listed } = call
  const { status, body, text } = answer
  const { appraisal } = desk.session.config.wire
  const checkRef = listed === null ? null : checkRefInAnswer(operation, body, appraisal)
  await call.settle('committed', { status, note: null, checkRef })
  const at = answer.date ?? new Date()
  const paid = { operation, rooftop, naturalKey, at }
  const runId = await storeAnswer(desk, { ...paid, text })
  const finish = async (last: unknown) => {
    if (listed !== null) await land(desk, { ...call, listed }, { body, checkRef, runId })
    else if (last !== body && rooftop !== null)
      await storeAnswer(desk, { ...paid, text: JSON.stringify(last) })
  }
  return { body, finish }
}

async function afterFailure(
  desk: BillingContext,
  call: ReservedCall,
  error: unknown,
): Promise<PaidResult> {
  const { statuses } = call.operation
  const outcome = outcomeOf(error, call.operation)
  const status = (error as { status?: number }).status ?? null
  await call.settle(outcome, { status, note: messageOf(error) })
  const throttle = throttleOf(error, statuses)
  if (throttle === 'running' && call.listed !== null)
    return await waitForRunningReport(desk, { ...call, listed: call.listed })
  if (throttle !== null) throw refusedUntilTomorrow(call, error)
  if (outcome === 'released') throw error
  return await recoverAnswer(desk, call, error)
}

interface Answered {
  readonly body: unknown
  readonly checkRef: string | null
  readonly runId: number | null
}

/** Brings the check that was paid for into the warehouse, or says when it is loaded; never rejects. */
async function land(
  desk: BillingContext,
  call: ReservedCall & { readonly listed: PastSubject },
  { body, checkRef, runId }: Answered,
): Promise<void> {
  const { operation, listed, before, callId } = call
  try {
    const past = await readPast(desk, listed)
    const known = new Set(before?.checks.map(({ ref }) => ref))
    const made =
      past.checks.find(({ ref }) => ref === checkRef) ??
      past.checks.find(({ ref }) => !known.has(ref))
    if (made !== undefined && made.ref !== checkRef) await saveCheckRef(desk.db, callId, made.ref)
    const vin = await loadPast(desk, past, runId)
    if (made === undefined) throw new Error('the past checks do not list it yet')
    const ref = checkRefOf(made, vin)
    if (ref !== made.ref) await saveCheckRef(desk.db, callId, ref)
    if (listed.kind === 'ppsr') await storeCounts(desk, listed.rooftop, ref, body)
  } catch (error) {
    warnNotLoaded(desk, operation.name, error)
  }
}

/** Tells the ledger how the call ended, and never fails for it: what was paid for, or why it failed, must still be shown. */
function settler(
  { session: { log }, pool }: BillingContext,
  callId: number,
): ReservedCall['settle'] {
  return async (outcome, facts) => {
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
