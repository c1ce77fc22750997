import { notFoundNote, foundNote } from '../billing/open-calls.ts'
import { messageOf, SyncError } from '../errors.ts'
import { DeadlineExceeded } from '../sources/http-exchange.ts'
import { unknownOutcome } from '../sources/http-fault.ts'
import type {
  BillingContext,
  PaidResult,
  PastChecks,
  PastSubject,
  ReservedCall,
} from './api-billing-context.ts'
import { awaitReport, type Finding, findOutcome } from './api-find-outcome.ts'
import { loadOrWarn } from './api-load.ts'
import { findItem } from './api-past-checks.ts'

type Listed = ReservedCall & { readonly listed: PastSubject }

/** A call whose answer was lost: finds out by reading whether it took effect. The check that it made stands in for its answer;
 *  rejects with what went wrong when it made none, or when that cannot be told. */
export async function recoverAnswer(
  desk: BillingContext,
  call: ReservedCall,
  error: unknown,
): Promise<PaidResult> {
  const { operation, listed, callId } = call
  const { log } = desk.session
  const what = { callId, operation: operation.name }
  if (listed === null) {
    if (!isPaid(error))
      log.warn(what, 'whether it was billed cannot be found out: it stays reserved and counts')
    throw error
  }
  log.warn(what, 'the answer did not come: reading the past checks to see whether it went through')
  const finding = await findOut(desk, { ...call, listed }, error)
  const status = (error as { status?: number }).status ?? null
  if (finding.outcome === 'committed') {
    const { ref, past } = finding
    await call.settle('committed', { status, note: foundNote, checkRef: ref })
    log.warn(
      { ...what, check: ref },
      'it went through: here is the check as the past checks show it',
    )
    return answerFromCheck(desk, call, past, ref)
  }
  // An answer that came and cannot be read was paid for, whatever the list shows.
  if (isPaid(error)) throw error
  if (finding.outcome === 'released') {
    await call.settle('released', { status, note: `${notFoundNote} ${messageOf(error)}` })
    throw withAdvice(error, 'It took no effect: no past check is new, so nothing was billed.')
  }
  const advice =
    'It may have been billed: it stays reserved, and the next billable call finds out first.'
  throw withAdvice(error, advice)
}

function isPaid(error: unknown): boolean {
  const { status } = error as { status?: number }
  return status !== undefined && status >= 200 && status < 300
}

async function findOut(desk: BillingContext, call: Listed, error: unknown): Promise<Finding> {
  const { callId, operation, reservedMs, before, listed } = call
  const { kind, evalId, rooftop } = listed
  return await findOutcome(desk, {
    ...{ callId, operation: operation.name, kind, evalId, rooftop, rooftopId: rooftop.id },
    knownRefs: before?.checks.map(({ ref }) => ref) ?? null,
    sourceAt: before?.isDated ? before.at : null,
    waitedMs: performance.now() - reservedMs,
    hasTimedOut: (error as Error).cause instanceof DeadlineExceeded,
    // What was answered has ended: one look tells.
    hasEnded: isPaid(error),
  })
}

/** The source runs a report for the evaluation already: waits for that one instead of asking for another. */
export async function waitForRunningReport(
  desk: BillingContext,
  call: Listed,
): Promise<PaidResult> {
  const { operation, listed, before } = call
  const { log } = desk.session
  const { evalId } = listed
  log.warn(
    { operation: operation.name, evalId },
    'a report is running for this evaluation: nothing was billed, waiting for that one',
  )
  const report = await awaitReport(desk, listed, before)
  if (report === null)
    throw new SyncError(
      'retry',
      `The report that runs for evaluation ${evalId} did not come; this call was refused and not billed. ` +
        `Look for it later: forecourt api getpastcarhistory --evalid ${evalId} --rooftop ${listed.rooftop.uid}`,
    )
  log.warn({ evalId, check: report.ref }, 'this is the report that was running')
  return answerFromCheck(desk, call, report.past, report.ref)
}

/** The check in place of an answer that is lost. */
export function answerFromCheck(
  desk: BillingContext,
  { operation }: Pick<ReservedCall, 'operation'>,
  past: PastChecks,
  ref: string,
): PaidResult {
  const finish = async () => await loadOrWarn(desk, past, operation.name)
  return { body: findItem(desk, past, ref) ?? null, finish }
}

/** The day's throttle: nothing was billed, and a repeat today is in vain. */
export function refusedUntilTomorrow({ operation }: ReservedCall, error: unknown): SyncError {
  const message = `${messageOf(error)} Nothing was billed: the source takes no more ${operation.name} until tomorrow.`
  return new SyncError('park', message, { cause: error, status: 429 })
}

/** The error with what was found out in place of the advice to find it out. */
function withAdvice(error: unknown, advice: string): SyncError {
  const said = messageOf(error).replace(unknownOutcome.advice, '').trim()
  const verdict = error instanceof SyncError ? error.errorAction : 'abort'
  const { status } = error as { status?: number }
  const details = { cause: error, ...(status === undefined ? {} : { status }) }
  return new SyncError(verdict, `${said.replace(/[.\s]*$/, '')}. ${advice}`, details)
}
