import { type CheckKind, pastOperations } from '../../api/contract/appraisal/past-checks.ts'
import type { Budget } from '../../api/contract/operation.ts'
import { errorText, SyncError } from '../../errors.ts'
import { findRooftops } from '../../sync/run/rooftops.ts'
import { RecordIssues } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { sleep } from '../../values/sleep.ts'
import {
  type BillingContext,
  type PastChecks,
  type PastSubject,
  readPast,
} from './billing-context.ts'
import {
  ageOfCall,
  foundNote,
  listOpenCalls,
  lockOpenCall,
  notFoundNote,
  type OpenCall,
  refsOfOtherCalls,
  type SearchedCall,
  settleOpenCall,
} from './open-calls.ts'
import {
  checkMadeBy,
  type EndedWait,
  endedAfterMs,
  longestWait,
  maxRunMs,
  mayStillRun,
  reservedAt,
  type UnknownCall,
} from './past-calls.ts'
import { loadOrWarn } from './store-answer.ts'

/** The outcome of a call according to the past checks. */
export type Finding =
  | { readonly outcome: 'committed'; readonly ref: string; readonly past: PastChecks }
  | { readonly outcome: 'released' }
  | { readonly outcome: 'open' }

/** Reads the past checks once. */
async function searchOnce(
  billing: BillingContext,
  call: SearchedCall,
  { rooftop, signal, ...wait }: EndedWait & { rooftop: RooftopRow; signal: AbortSignal },
): Promise<Finding> {
  const { kind, evalId } = call
  const past = await readPast(billing, { kind, evalId, rooftop }, signal)
  const others = await refsOfOtherCalls(billing.db, call, reservedAt(call, past))
  const ref = checkMadeBy(call, past, others)
  if (ref !== null) return { outcome: 'committed', ref, past }
  return { outcome: mayStillRun(call, past, endedAfterMs(kind, wait)) ? 'open' : 'released' }
}

/** Seconds before each search after a failure: most calls end soon, and all within two and a half minutes. */
const pauses = [0, 1, 4, 10, 15, 30, 30, 30, 30, 10]

/** A call of this process without an answer. */
interface LostCall extends Omit<SearchedCall, 'ageMs'>, EndedWait {
  readonly rooftop: RooftopRow
  /** It was answered unreadably, so it has ended: there is no need to wait. */
  readonly hasEnded: boolean
}

/** Reads the past checks repeatedly until they show how a call of this process ended, for as long as it may run, and for a minute when
 *  that is unknown. Never rejects: when the outcome cannot be found, or on an interruption, the call stays open. */
export async function findOutcome(billing: BillingContext, call: LostCall): Promise<Finding> {
  const { callId, kind, hasEnded, hasTimedOut } = call
  const enough = AbortSignal.timeout(maxRunMs(kind) + 60_000)
  const signal = AbortSignal.any([billing.signal, enough])
  for (const pause of pauses.slice(0, hasEnded ? 2 : hasTimedOut ? 6 : undefined)) {
    try {
      await sleep(pause * 1000, [signal])
      const ageMs = await ageOfCall(billing.db, callId)
      const finding = await searchOnce(billing, { ...call, ageMs }, { ...call, signal })
      if (finding.outcome !== 'open') return finding
    } catch (error) {
      if (signal.aborted || !mayReadLater(error, kind)) break
    }
  }
  return { outcome: 'open' }
}

/** Whether a later read may succeed: not when the source refused it, or when its answer cannot be read. */
function mayReadLater(error: unknown, kind: CheckKind): boolean {
  if (!(error instanceof SyncError)) return false
  return error.status === undefined || !Object.hasOwn(pastOperations[kind].statuses, error.status)
}

/** Whether past checks cannot be listed: the source refuses it with a documented error, or its answer cannot be read. */
export function isUnlistable(error: unknown, kind: CheckKind): boolean {
  return error instanceof RecordIssues || (error instanceof SyncError && !mayReadLater(error, kind))
}

/** Finds the outcome of calls that a crash, an interruption or a failure left open, only by reading: those that count in the budget,
 *  and all of the rooftop. Calls of living processes are left to them. */
export async function settleOpenCalls(
  billing: BillingContext,
  about: { readonly budget: Budget; readonly rooftopId: number | null },
): Promise<void> {
  const open = await listOpenCalls(billing.db, about)
  if (open.length === 0) return
  const rooftops = await findRooftops(billing.db, billing.config.rooftops)
  for (const callId of open) {
    await using call = await lockOpenCall(billing.pool, callId)
    if (call !== null) await settleOpen(billing, call, rooftops)
  }
}

/** Settles one open call. When its outcome cannot be read it stays open, so that it still counts in the budget. */
async function settleOpen(
  billing: BillingContext,
  call: OpenCall,
  rooftops: readonly RooftopRow[],
) {
  const { log, signal, config } = billing
  const { callId, operation, evalId, kind } = call
  const what = { callId, operation, evalId }
  const rooftop = rooftops.find(({ id }) => id === call.rooftopId)
  if (rooftop === undefined) {
    log.warn(
      what,
      'an earlier call has an unknown outcome, and the config has no rooftop with which to check it',
    )
    return
  }
  let finding: Finding
  try {
    const wait = longestWait(kind, config.http.timeoutSeconds)
    finding = await searchOnce(billing, call, { ...wait, rooftop, signal })
  } catch (error) {
    signal.throwIfAborted()
    log.warn(
      { ...what, reason: errorText(error) },
      'an earlier call has an unknown outcome, which cannot be checked now',
    )
    return
  }
  if (finding.outcome === 'open') {
    log.warn(what, 'an earlier call has an unknown outcome: it may still be running at the source')
    return
  }
  if (finding.outcome === 'released') {
    await settleOpenCall(billing.db, callId, null)
    log.warn(what, `an earlier call had no effect: ${notFoundNote}`)
    return
  }
  const { ref, past } = finding
  await settleOpenCall(billing.db, callId, ref)
  log.warn({ ...what, check: ref }, `an earlier call took effect: ${foundNote}`)
  await loadOrWarn(billing, past, operation)
}

/** Interval of reading while a report runs: every 10 to 15 s. */
const reportEveryMs = 10_000

/** Waits for the report that is running for an evaluation, by reading alone; null when it takes longer than a report may. */
export async function awaitReport(
  billing: BillingContext,
  subject: PastSubject,
  before: PastChecks | null,
): Promise<{ readonly ref: string; readonly past: PastChecks } | null> {
  const { signal, log } = billing
  const base = before ?? (await readPast(billing, subject))
  const knownRefs = base.checks.map(({ ref }) => ref)
  const until = performance.now() + maxRunMs(subject.kind)
  while (performance.now() < until) {
    await sleep(reportEveryMs, [signal])
    try {
      const past = await readPast(billing, subject)
      const doubt: UnknownCall = { knownRefs, sourceAt: base.at, ageMs: 0 }
      const ref = checkMadeBy(doubt, past, new Set())
      if (ref !== null) return { ref, past }
      log.info({ evalId: subject.evalId }, 'the report is still running')
    } catch (error) {
      signal.throwIfAborted()
      if (!mayReadLater(error, subject.kind)) throw error
    }
  }
  return null
}
