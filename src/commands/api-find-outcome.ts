import {
  ageOfCall,
  notFoundNote,
  listOpenCalls,
  type OpenCall,
  settleOpenCall,
  takenRefs,
  lockOpenCall,
  foundNote,
} from '../billing/open-calls.ts'
import {
  checkMadeBy,
  type UnknownCall,
  endedAfterMs,
  type EndedWait,
  type ListedKind,
  mayStillRun,
  reservedAt,
  maxRunMs,
  longestWait,
} from '../billing/past-calls.ts'
import type { Budget } from '../contract/operation.ts'
import { messageOf, SyncError } from '../errors.ts'
import { findRooftops } from '../pipeline/rooftops.ts'
import { RecordIssues } from '../streams/record.ts'
import { pastOperations } from '../streams/vehicle-checks/past-checks.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import { sleep } from '../values/sleep.ts'
import type { BillingContext, PastChecks, PastSubject } from './api-billing-context.ts'
import { loadOrWarn } from './api-load.ts'
import { readPast } from './api-past-checks.ts'

/** What the past checks say of a call of unknown outcome. */
export type Finding =
  | { readonly outcome: 'committed'; readonly ref: string; readonly past: PastChecks }
  | { readonly outcome: 'released' }
  | { readonly outcome: 'open' }

type Looked = Omit<OpenCall, keyof AsyncDisposable>

/** Reads the past checks once. */
async function look(
  desk: BillingContext,
  call: Looked,
  { rooftop, signal, ...wait }: EndedWait & { rooftop: RooftopRow; signal: AbortSignal },
): Promise<Finding> {
  const { kind, evalId } = call
  const past = await readPast(desk, { kind, evalId, rooftop }, signal)
  const taken = await takenRefs(desk.db, call, reservedAt(call, past))
  const ref = checkMadeBy(call, past, taken)
  if (ref !== null) return { outcome: 'committed', ref, past }
  return { outcome: mayStillRun(call, past, endedAfterMs(kind, wait)) ? 'open' : 'released' }
}

/** Between two looks after a failure, in seconds: most calls have ended soon after, and all in two minutes and a half. */
const pauses = [0, 1, 4, 10, 15, 30, 30, 30, 30, 10]

/** A call of this process whose answer did not come. */
export interface LostCall extends Omit<Looked, 'ageMs'>, EndedWait {
  readonly rooftop: RooftopRow
  /** It was answered, though not readably: nothing is waited for. */
  readonly hasEnded: boolean
}

/** Looks again and again until the past checks say how a call of this process ended, for as long as it may run; for a minute
 *  where that is not known. Never rejects: what cannot be found out, or was interrupted, stays open. */
export async function findOutcome(desk: BillingContext, call: LostCall): Promise<Finding> {
  const { callId, kind, hasEnded, hasTimedOut } = call
  const enough = AbortSignal.timeout(maxRunMs(kind) + 60_000)
  const signal = AbortSignal.any([desk.session.io.signal, enough])
  for (const pause of pauses.slice(0, hasEnded ? 2 : hasTimedOut ? 6 : undefined)) {
    try {
      await sleep(pause * 1000, [signal])
      const ageMs = await ageOfCall(desk.db, callId)
      const finding = await look(desk, { ...call, ageMs }, { ...call, signal })
      if (finding.outcome !== 'open') return finding
    } catch (error) {
      if (signal.aborted || !mayReadLater(error, kind)) break
    }
  }
  return { outcome: 'open' }
}

/** Whether another read may succeed where this one failed: not where the source has refused it, or is not understood. */
function mayReadLater(error: unknown, kind: ListedKind): boolean {
  if (!(error instanceof SyncError)) return false
  return error.status === undefined || !Object.hasOwn(pastOperations[kind].statuses, error.status)
}

/** Whether past checks cannot be read because the source refuses it with a documented error, or is not understood. */
export function isUnlistable(error: unknown, kind: ListedKind): boolean {
  return error instanceof RecordIssues || (error instanceof SyncError && !mayReadLater(error, kind))
}

/** Finds out, by reading alone, how calls ended that a crash, an interruption or a failure has left open: those that count in
 *  the budget, and all of the rooftop. What a living process holds is left to it. */
export async function settleOpenCalls(
  desk: BillingContext,
  about: { readonly budget: Budget; readonly rooftopId: number | null },
): Promise<void> {
  const open = await listOpenCalls(desk.db, about)
  if (open.length === 0) return
  const rooftops = await findRooftops(desk.db, desk.session.config.rooftops)
  for (const callId of open) {
    await using call = await lockOpenCall(desk.pool, callId)
    if (call !== null) await settleOpen(desk, call, rooftops)
  }
}

async function settleOpen(desk: BillingContext, call: OpenCall, rooftops: readonly RooftopRow[]) {
  const { log, io, config } = desk.session
  const { callId, operation, evalId, kind } = call
  const what = { callId, operation, evalId }
  const rooftop = rooftops.find(({ id }) => id === call.rooftopId)
  if (rooftop === undefined) {
    log.warn(
      what,
      'an earlier call has an unknown outcome, and the config has no rooftop to look with',
    )
    return
  }
  let finding: Finding
  try {
    const wait = longestWait(kind, config.http.timeoutSeconds)
    finding = await look(desk, call, { ...wait, rooftop, signal: io.signal })
  } catch (error) {
    io.signal.throwIfAborted()
    const reason = messageOf(error)
    log.warn(
      { ...what, reason },
      'an earlier call has an unknown outcome, and cannot be looked into',
    )
    return
  }
  await conclude(desk, call, finding, what)
}

async function conclude(
  desk: BillingContext,
  call: OpenCall,
  finding: Finding,
  what: object,
): Promise<void> {
  const { log } = desk.session
  const { outcome } = finding
  if (outcome === 'open') {
    log.warn(what, 'an earlier call has an unknown outcome: it may still be running at the source')
    return
  }
  if (outcome === 'released') {
    await settleOpenCall(desk.db, call.callId, null)
    log.warn(what, `an earlier call has left no trace: ${notFoundNote}`)
    return
  }
  const { ref, past } = finding
  await settleOpenCall(desk.db, call.callId, ref)
  log.warn({ ...what, check: ref }, `an earlier call went through: ${foundNote}`)
  await loadOrWarn(desk, past, call.operation)
}

/** How often a running report is looked for: every 10 to 15 s. */
const reportEveryMs = 10_000

/** Waits for the report that is running for an evaluation, by reading alone; null when it takes longer than a report may. */
export async function awaitReport(
  desk: BillingContext,
  subject: PastSubject,
  before: PastChecks | null,
): Promise<{ readonly ref: string; readonly past: PastChecks } | null> {
  const { io, log } = desk.session
  const base = before ?? (await readPast(desk, subject))
  const knownRefs = base.checks.map(({ ref }) => ref)
  const until = performance.now() + maxRunMs(subject.kind)
  while (performance.now() < until) {
    await sleep(reportEveryMs, [io.signal])
    try {
      const past = await readPast(desk, subject)
      const doubt: UnknownCall = { knownRefs, sourceAt: base.at, ageMs: 0 }
      const ref = checkMadeBy(doubt, past, new Set())
      if (ref !== null) return { ref, past }
      log.info({ evalId: subject.evalId }, 'the report is still running')
    } catch (error) {
      io.signal.throwIfAborted()
      if (!mayReadLater(error, subject.kind)) throw error
    }
  }
  return null
}
