import {
  openCallIds,
  type OpenCall,
  settleOpenCall,
  takenRefs,
  takeOpenCall,
} from '../billing/open-calls.ts'
import {
  checkMadeBy,
  type Doubt,
  type ListedKind,
  mayStillRun,
  reservedAt,
  runsForMs,
} from '../billing/past-calls.ts'
import type { Budget } from '../contract/operation.ts'
import { messageOf, SyncError } from '../errors.ts'
import { findRooftops } from '../pipeline/rooftops.ts'
import { RecordIssues } from '../streams/stream.ts'
import { pastOperations } from '../streams/vehicle-checks/past-checks.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import { sleep } from '../values/sleep.ts'
import type { Desk, Past, PastSubject } from './api-desk.ts'
import { landPast, tellNotLanded } from './api-land.ts'
import { readPast } from './api-past.ts'

/** What the past checks say of a call of unknown outcome. */
export type Finding =
  | { readonly outcome: 'committed'; readonly ref: string; readonly past: Past }
  | { readonly outcome: 'released' }
  | { readonly outcome: 'open' }

type Looked = Omit<OpenCall, keyof AsyncDisposable>

/** Reads the past checks once. */
async function look(
  desk: Desk,
  call: Looked,
  rooftop: RooftopRow,
  signal: AbortSignal,
): Promise<Finding & { readonly at: Date }> {
  const { kind, evalId } = call
  const past = await readPast(desk, { kind, evalId, rooftop }, signal)
  const { at } = past
  const taken = await takenRefs(desk.db, call, reservedAt(call, past))
  const ref = checkMadeBy(call, past, taken)
  if (ref !== null) return { outcome: 'committed', ref, past, at }
  return { outcome: mayStillRun(call, past, kind) ? 'open' : 'released', at }
}

/** Between two looks after a failure, in seconds: most calls have ended soon after, and all in two minutes. */
const pauses = [0, 1, 4, 10, 15, 30, 30, 30]
/** So long after the first look nothing new means that there is nothing, in ms: the source may be slow to list a check. */
const graceMs = 30_000

/** A call of this process whose answer did not come. */
export interface LostCall extends Omit<Looked, 'ageMs'> {
  readonly rooftop: RooftopRow
  /** `performance.now()` of the reservation. */
  readonly reservedMs: number
  /** It was answered, though not readably: nothing is waited for. */
  readonly hasEnded: boolean
}

/** Looks again and again until the past checks say how a call of this process ended, for as long as it may run. Never
 *  rejects: what cannot be found out, or was interrupted, stays open. */
export async function findOutNow(desk: Desk, call: LostCall): Promise<Finding> {
  const { kind, reservedMs, rooftop, hasEnded } = call
  const enough = AbortSignal.timeout(runsForMs(kind) + 60_000)
  const signal = AbortSignal.any([desk.session.io.signal, enough])
  let first: { readonly at: Date; readonly ms: number } | undefined
  for (const pause of hasEnded ? pauses.slice(0, 2) : pauses) {
    try {
      await sleep(pause * 1000, [signal])
      const ageMs = performance.now() - reservedMs
      const { at, ...finding } = await look(desk, { ...call, ageMs }, rooftop, signal)
      first ??= { at, ms: performance.now() }
      const lookedForMs = Math.max(at.getTime() - first.at.getTime(), performance.now() - first.ms)
      if (finding.outcome === 'committed') return finding
      if (finding.outcome === 'released' && lookedForMs >= graceMs) return finding
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
  desk: Desk,
  about: { readonly budget: Budget; readonly rooftopId: number | null },
): Promise<void> {
  const ids = await openCallIds(desk.db, about)
  if (ids.length === 0) return
  const rooftops = await findRooftops(desk.db, desk.session.config.rooftops)
  for (const id of ids) {
    await using call = await takeOpenCall(desk.pool, id)
    if (call !== null) await settleOpen(desk, call, rooftops)
  }
}

async function settleOpen(desk: Desk, call: OpenCall, rooftops: readonly RooftopRow[]) {
  const { log, io } = desk.session
  const { callId, operation, evalId } = call
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
    finding = await look(desk, call, rooftop, io.signal)
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

async function conclude(desk: Desk, call: OpenCall, finding: Finding, what: object): Promise<void> {
  const { log } = desk.session
  const { outcome } = finding
  if (outcome === 'open') {
    log.warn(what, 'an earlier call has an unknown outcome: it may still be running at the source')
    return
  }
  if (outcome === 'released') {
    await settleOpenCall(desk.db, call.callId, outcome, { note: nothingFound, checkRef: null })
    log.warn(what, `an earlier call has left no trace: ${nothingFound}`)
    return
  }
  const { ref, past } = finding
  await settleOpenCall(desk.db, call.callId, outcome, { note: wasFound, checkRef: ref })
  log.warn({ ...what, check: ref }, `an earlier call went through: ${wasFound}`)
  await landPast(desk, past, null).catch((error: unknown) => tellNotLanded(desk, call, error))
}

/** Notes of the ledger. */
export const wasFound = 'Found among the past checks: it was billed.'
export const nothingFound = 'Not among the past checks: it was not billed.'

/** How often a running report is looked for: every 10 to 15 s. */
const reportEveryMs = 10_000

/** Waits for the report that is running for an evaluation, by reading alone; null when it takes longer than a report may. */
export async function awaitReport(
  desk: Desk,
  subject: PastSubject,
  before: Past | null,
): Promise<{ readonly ref: string; readonly past: Past } | null> {
  const { io, log } = desk.session
  const base = before ?? (await readPast(desk, subject))
  const knownRefs = base.checks.map(({ ref }) => ref)
  const until = performance.now() + runsForMs(subject.kind)
  while (performance.now() < until) {
    await sleep(reportEveryMs, [io.signal])
    try {
      const past = await readPast(desk, subject)
      const doubt: Doubt = { knownRefs, sourceAt: base.at, ageMs: 0 }
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
