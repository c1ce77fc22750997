import { readPastChecks } from '../../api/contract/appraisal/past-checks.ts'
import { DeadlineExceeded } from '../../api/sources/http-exchange.ts'
import { unknownOutcome } from '../../api/sources/status-rules.ts'
import { errorText, SyncError } from '../../errors.ts'
import type {
  BillingContext,
  PaidResult,
  PastChecks,
  PastSubject,
  ReservedCall,
} from './billing-context.ts'
import { awaitReport, type Finding, findOutcome } from './find-outcome.ts'
import { foundNote, notFoundNote } from './open-calls.ts'
import { loadOrWarn } from './store-answer.ts'

type Listed = ReservedCall & { readonly listed: PastSubject }

/** Handles a call whose answer was lost: reads whether it took effect, and returns the check that it made instead of the answer.
 *  Rejects with the original error when it made none, or when that cannot be found. */
export async function recoverAnswer(
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
export async function waitForRunningReport(
  billing: BillingContext,
  call: Listed,
): Promise<PaidResult> {
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
        `Read it later: forecourt api getpastcarhistory --evalid ${evalId} --rooftop ${listed.rooftop.uid}`,
    )
  log.warn({ evalId, check: report.ref }, 'this is the report that was running')
  return answerFromCheck(billing, call, report.past, report.ref)
}

/** The check, as the source lists it, as a replacement of a lost answer. */
export function answerFromCheck(
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
export function refusedUntilTomorrow({ operation }: ReservedCall, error: unknown): SyncError {
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
