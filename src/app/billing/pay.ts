import { buildCheckRef, readPastChecks } from '../../api/contract/appraisal/past-checks.ts'
import { DeadlineExceeded } from '../../api/sources/http-exchange.ts'
import type { ServiceAnswer } from '../../api/sources/service-client.ts'
import { unknownOutcome, wasAccepted } from '../../api/sources/status-rules.ts'
import { errorText, type Meaning, SyncError } from '../../errors.ts'
import { givenCounts, writeCounts } from '../../streams/vehicle-checks/certificate-counts.ts'
import { rooftopOptions } from '../../values/shell.ts'
import {
  type BillableSubject,
  type BillingContext,
  type PaidResult,
  type PastChecks,
  type PastSubject,
  type ReservedCall,
  readPast,
} from './billing-context.ts'
import {
  awaitReport,
  type Finding,
  findOutcome,
  isUnlistable,
  settleOpenCalls,
} from './find-outcome.ts'
import {
  type BillableCall,
  requireBudget,
  reserveCall,
  saveCheckRef,
  settleCall,
} from './ledger.ts'
import {
  foundNote,
  lockUnshownCall,
  markShown,
  notFoundNote,
  refsOfOtherCalls,
} from './open-calls.ts'
import { type AnsweredCheck, checkInAnswer, listedKind } from './past-calls.ts'
import {
  loadOrWarn,
  loadPast,
  readAnsweredCheck,
  storeAnswer,
  warnNotLoaded,
} from './store-answer.ts'

/** Sends a billable call once, within its daily budget: settles open earlier calls, reserves the call in the warehouse, sends it and
 *  settles it. When its answer is lost, the call is searched among the past checks and never sent again; a repeat gets the check that
 *  it made. UsageError when the budget allows no call or a repeat may cost twice, BusyError while another process makes the same call. */
export async function pay(
  billing: BillingContext,
  subject: BillableSubject,
  send: () => Promise<ServiceAnswer<unknown>>,
): Promise<ShownResult> {
  const { signal, config, requestedBy } = billing
  const { operation, rooftop, naturalKey, again } = subject
  const budget = operation.budget!
  const rooftopId = rooftop?.id ?? null
  const allowed = config.budget[budget]
  const name = operation.name
  await settleOpenCalls(billing, { budget, rooftopId })
  const listed = listedSubject(subject)
  const earlier = again || listed === null ? null : await showEarlier(billing, subject, listed)
  if (earlier !== null) return earlier
  const billable: BillableCall = {
    ...{ operation: name, budget, allowed, rooftopId, naturalKey, requestedBy, again },
    before: null,
  }
  requireBudget(billable)
  const before = listed === null ? null : await readBefore(billing, listed)
  // Interrupted before anything was sent: nothing is reserved.
  signal.throwIfAborted()
  const reservation = await reserveCall(billing.pool, { ...billable, before })
  return await untilShown<never>(billing, reservation, async () => {
    const { callId } = reservation
    const settle = settler(billing, callId)
    if (signal.aborted) await settle('released', { status: null, note: 'Interrupted: not sent.' })
    signal.throwIfAborted()
    const reservedMs = performance.now()
    const call = { ...subject, callId, reservedMs, listed, before, settle }
    return await sendReserved(billing, call, send)
  })
}

/** The result of a call that is locked until it is disposed: meanwhile no other process shows it. */
type ShownResult = PaidResult & AsyncDisposable

/** The result of a locked call, which stays locked. It is marked as shown when its answer was shown; until then a repeat may show it,
 *  when it gets the lock, and pays nothing. Without a result the lock is released. */
async function untilShown<Missing extends null>(
  { db, log }: BillingContext,
  lock: { readonly callId: number } & AsyncDisposable,
  getResult: () => Promise<PaidResult | Missing>,
): Promise<ShownResult | Missing> {
  const { callId } = lock
  const unlock = async () => await lock[Symbol.asyncDispose]()
  try {
    const result = await getResult()
    if (result === null) {
      await unlock()
      return result
    }
    const finish = async (last: unknown) => {
      await markShown(db, callId).catch((error: unknown) =>
        log.warn(
          { callId, err: error },
          'the call is not marked as shown: a repeat shows it again',
        ),
      )
      await result.finish(last)
    }
    return { body: result.body, finish, [Symbol.asyncDispose]: unlock }
  } catch (error) {
    await unlock()
    throw error
  }
}

/** The subject of the past checks; null when no operation lists what this one makes. */
function listedSubject({ operation, rooftop, naturalKey }: BillableSubject): PastSubject | null {
  const kind = listedKind(operation.name)
  if (kind === null || rooftop === null) return null
  return { kind, evalId: Number(naturalKey), rooftop }
}

/** The check of an earlier call whose answer was never shown; null when there is none, or it is not listed yet. */
async function showEarlier(
  billing: BillingContext,
  { operation }: BillableSubject,
  listed: PastSubject,
): Promise<ShownResult | null> {
  const { log, signal } = billing
  const { evalId, rooftop } = listed
  const subject = { operation: operation.name, naturalKey: String(evalId), rooftopId: rooftop.id }
  const earlier = await lockUnshownCall(billing, subject)
  if (earlier === null) return null
  return await untilShown<null>(billing, earlier, async () => {
    const past = await readPast(billing, listed).catch((error: unknown) => {
      signal.throwIfAborted()
      throw unsent(error)
    })
    if (!past.checks.some(({ ref }) => ref === earlier.ref)) return null
    log.warn(
      { operation: operation.name, evalId, callId: earlier.callId, check: earlier.ref },
      'nothing was sent: an earlier call has paid for this check; --again pays for another one',
    )
    return answerFromCheck(billing, { operation }, past, earlier.ref)
  })
}

/** The past checks before the call: a new check after it shows that it took effect. Null when the source refuses to list them. When
 *  the source does not answer, nothing is sent. */
async function readBefore(
  billing: BillingContext,
  listed: PastSubject,
): Promise<PastChecks | null> {
  const { signal, log } = billing
  try {
    return await readPast(billing, listed)
  } catch (error) {
    signal.throwIfAborted()
    if (!isUnlistable(error, listed.kind)) throw unsent(error)
    const reason = errorText(error)
    log.info({ reason }, 'past checks cannot be listed: the call is sent without them')
    return null
  }
}

/** The error of a read before the call, with the fact that nothing was paid. */
function unsent(error: unknown): SyncError {
  const errorAction = error instanceof SyncError ? error.errorAction : 'retry'
  const message = `No billable call was sent: ${errorText(error)}`
  return new SyncError(errorAction, message, { cause: error })
}

/** Sends a reserved call and settles it as paid. The answer is stored before it is shown, so that a crash cannot lose it. */
async function sendReserved(
  billing: BillingContext,
  call: ReservedCall,
  send: () => Promise<ServiceAnswer<unknown>>,
): Promise<PaidResult> {
  let answer: ServiceAnswer<unknown>
  try {
    answer = await send()
  } catch (error) {
    return await afterFailure(billing, call, error)
  }
  const { operation, rooftop, naturalKey, listed } = call
  const { status, body, text } = answer
  const { appraisal } = billing.config.wire
  const check = readAnsweredCheck(operation, body, appraisal)
  const checkRef = listed === null ? null : check.ref
  await call.settle('committed', { status, note: null, checkRef })
  const at = answer.date ?? new Date()
  const paid = { operation, rooftop, naturalKey, at }
  const runId = await storeAnswer(billing, { ...paid, text })
  const finish = async (last: unknown) => {
    if (listed !== null)
      await loadPaidCheck(billing, { ...call, listed }, { ...check, body, runId })
    else if (last !== body && rooftop !== null)
      await storeAnswer(billing, { ...paid, text: JSON.stringify(last) })
  }
  return { body, finish }
}

const outcomes = { yes: 'committed', no: 'released', unknown: 'unknown' } as const

/** Settles a failed call by what the error shows. Waits for a running report, and searches the check when the answer is lost. */
async function afterFailure(
  billing: BillingContext,
  call: ReservedCall,
  error: unknown,
): Promise<PaidResult> {
  const { meaning } = error as { meaning?: Meaning }
  const outcome = outcomes[wasAccepted(error)]
  const status = (error as { status?: number }).status ?? null
  await call.settle(outcome, { status, note: errorText(error) })
  if (meaning === 'reportRunning' && call.listed !== null)
    return await waitForRunningReport(billing, { ...call, listed: call.listed })
  if (meaning === 'quotaUsed') throw refusedUntilTomorrow(call, error)
  if (outcome === 'released') throw error
  return await recoverAnswer(billing, call, error)
}

interface Answered extends AnsweredCheck {
  readonly body: unknown
  readonly runId: number | null
}

/** Loads the paid check into the warehouse, or logs when it will be loaded; never rejects. */
async function loadPaidCheck(
  billing: BillingContext,
  call: Listed,
  answer: Answered,
): Promise<void> {
  const { db, config } = billing
  const { operation, listed, before, callId } = call
  const { kind, evalId, rooftop } = listed
  try {
    const past = await readPast(billing, listed)
    const knownRefs = before?.checks.map(({ ref }) => ref) ?? null
    const subject = { callId, operation: operation.name, kind, evalId, rooftopId: rooftop.id }
    const others = await refsOfOtherCalls(db, { ...subject, knownRefs }, past.at)
    const check = checkInAnswer(answer, past.checks, before, others)
    if (check !== undefined && check.ref !== answer.ref) await saveCheckRef(db, callId, check.ref)
    const vin = await loadPast(billing, past, answer.runId)
    if (check === undefined) throw new Error('the past checks do not show yet which one it made')
    const ref = buildCheckRef(check, vin)
    if (ref !== check.ref) await saveCheckRef(db, callId, ref)
    // Only the answer of a search has counts, and the number of the certificate.
    if (kind === 'ppsr')
      await writeCounts(db, rooftop.groupId, ref, givenCounts(answer.body, config.wire.appraisal))
  } catch (error) {
    warnNotLoaded(billing, operation.name, error)
  }
}

/** Stores how the call ended. It never fails: the paid result, or the reason of a failure, must still be shown. */
function settler({ log, pool }: BillingContext, callId: number): ReservedCall['settle'] {
  return async (outcome, facts) => {
    const store = () => settleCall(pool, callId, outcome, facts)
    await store()
      .catch(store)
      .catch((error: unknown) =>
        log.error(
          { callId, outcome, err: error },
          'the outcome of the call could not be stored: it stays reserved in ops.billable_call',
        ),
      )
  }
}

type Listed = ReservedCall & { readonly listed: PastSubject }

/** Handles a call whose answer was lost: reads whether it took effect, and returns the check that it made instead of the answer.
 *  Rejects with the original error when it made none, or when that cannot be found. */
async function recoverAnswer(
  billing: BillingContext,
  call: ReservedCall,
  error: unknown,
): Promise<PaidResult> {
  const { operation, listed, callId } = call
  const { log } = billing
  const what = { callId, operation: operation.name }
  if (listed === null) {
    if (!isPaid(error))
      log.warn(what, 'it is unknown whether the call was billed: it stays reserved and counts')
    throw error
  }
  log.warn(what, 'no answer: reading the past checks to find whether the call took effect')
  const finding = await findOut(billing, { ...call, listed }, error)
  const status = (error as { status?: number }).status ?? null
  if (finding.outcome === 'committed') {
    const { ref, past } = finding
    await call.settle('committed', { status, note: foundNote, checkRef: ref })
    log.warn(
      { ...what, check: ref },
      'the call took effect: the answer is the check from the past checks',
    )
    return answerFromCheck(billing, call, past, ref)
  }
  // An unreadable answer was paid for, whatever the list shows.
  if (isPaid(error)) throw error
  if (finding.outcome === 'released') {
    await call.settle('released', { status, note: `${notFoundNote} ${errorText(error)}` })
    throw withAdvice(error, 'It took no effect: no past check is new, so nothing was billed.')
  }
  const advice =
    'It may have been billed: it stays reserved, and the next billable call checks it first.'
  throw withAdvice(error, advice)
}

/** A 2xx answer was paid for, even when it cannot be read. */
function isPaid(error: unknown): boolean {
  const { status } = error as { status?: number }
  return status !== undefined && status >= 200 && status < 300
}

async function findOut(billing: BillingContext, call: Listed, error: unknown): Promise<Finding> {
  const { callId, operation, reservedMs, before, listed } = call
  const { kind, evalId, rooftop } = listed
  return await findOutcome(billing, {
    ...{ callId, operation: operation.name, kind, evalId, rooftop, rooftopId: rooftop.id },
    knownRefs: before?.checks.map(({ ref }) => ref) ?? null,
    sourceAt: before?.isDated ? before.at : null,
    waitedMs: performance.now() - reservedMs,
    hasTimedOut: (error as Error).cause instanceof DeadlineExceeded,
    // An answered call has ended: one search is enough.
    hasEnded: isPaid(error),
  })
}

/** The source already runs a report for the evaluation: waits for it instead of requesting another. */
async function waitForRunningReport(billing: BillingContext, call: Listed): Promise<PaidResult> {
  const { operation, listed, before } = call
  const { log } = billing
  const { evalId } = listed
  log.warn(
    { operation: operation.name, evalId },
    'a report is already running for this evaluation: nothing was billed, waiting for it',
  )
  const report = await awaitReport(billing, listed, before)
  if (report === null)
    throw new SyncError(
      'retry',
      `The report that runs for evaluation ${evalId} did not arrive; this call was refused and not billed. ` +
        `Read it later: forecourt api getpastcarhistory --evalid ${evalId}${rooftopOptions(listed.rooftop.uid)}`,
    )
  log.warn({ evalId, check: report.ref }, 'this is the report that was running')
  return answerFromCheck(billing, call, report.past, report.ref)
}

/** The check, as the source lists it, as a replacement of a lost answer. */
function answerFromCheck(
  billing: BillingContext,
  { operation }: Pick<ReservedCall, 'operation'>,
  past: PastChecks,
  ref: string,
): PaidResult {
  const finish = async () => await loadOrWarn(billing, past, operation.name)
  const { appraisal } = billing.config.wire
  const items: readonly unknown[] = Array.isArray(past.body) ? past.body : []
  const body = items.find((item) => readPastChecks([item], appraisal)[0]?.ref === ref)
  return { body: body ?? null, finish }
}

/** The error of the daily throttle: nothing was billed, and a repeat today would be refused too. */
function refusedUntilTomorrow({ operation }: ReservedCall, error: unknown): SyncError {
  const message = `${errorText(error)} Nothing was billed: the source accepts no more ${operation.name} until tomorrow.`
  return new SyncError('park', message, { cause: error, status: 429 })
}

/** The error with `advice` instead of the general advice for an unknown outcome. */
function withAdvice(error: unknown, advice: string): SyncError {
  const message = errorText(error).replace(unknownOutcome.advice, '').trim()
  const errorAction = error instanceof SyncError ? error.errorAction : 'abort'
  const { status } = error as { status?: number }
  const details = { cause: error, ...(status === undefined ? {} : { status }) }
  return new SyncError(errorAction, `${message.replace(/[.\s]*$/, '')}. ${advice}`, details)
}
