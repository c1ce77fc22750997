import { type Context, noProgress } from '../../context.ts'
import { errorText, FencedError, SyncError, UsageError } from '../../errors.ts'
import { endingSpan, errorType } from '../../tracing.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { explainConnectionLoss } from '../../warehouse/db/connect.ts'
import { RetryOnConnectionLoss } from '../../warehouse/db/retry-on-connection-loss.ts'
import { countDue } from '../windows/due-windows.ts'
import { readKeyStates } from './key-states.ts'
import { recordRetiredRooftops, registerRooftops } from './rooftops.ts'
import { finishRun, type Run, readRun, readRunProgress } from './run-ledger.ts'
import { endFinishedRuns } from './run-lock.ts'
import { type RunReport, reportRun } from './run-report.ts'
import { openRunSpan, setRunEnd } from './run-spans.ts'
import {
  listsWindows,
  type RunRequest,
  recordFailedRun,
  type StartedRun,
  startRun,
} from './start-run.ts'
import type { SliceJob, Stream } from './stream.ts'
import { runWorkLoop } from './work-loop.ts'
import { enqueue } from './work-queue.ts'

/** How long a run waits for a lost Postgres: long enough for a restart. */
const maxOutageSeconds = 30

/** Rooftops whose due windows are in memory at once while they are counted. */
const countedAtOnce = 50

/** How a run ended that this process waited for. */
type RunEnd = 'done' | 'stopped' | 'paused'

/**
 * One run: the source's clock → the run's row → work for every stream × rooftop → slices until done → report.
 * BusyError when another live run of its lane holds some of the same work; a dead run's work is taken over.
 */
export async function runStreams(context: Context, request: RunRequest): Promise<RunReport> {
  const { report } = await runToEnd(context, request)
  return report
}

/** As `runStreams`, and returns how the run ended. */
export async function runToEnd(context: Context, request: RunRequest): Promise<EndedRun> {
  const { ended } = await startHere(context, request)
  return await ended
}

/** A run that has ended, or that this process works on no more. */
interface EndedRun {
  readonly report: RunReport
  readonly end: RunEnd
}

/** Starts a run that this process works on until it ends; returns once it has started, with its id and its end. */
export async function startHere(
  context: Context,
  request: RunRequest,
): Promise<{ readonly runId: number; readonly ended: Promise<EndedRun> }> {
  const span = openRunSpan(request)
  try {
    const { known, rooftops, sourceStart } = await span.within(() => prepareRun(context, request))
    const started = await startRun(context, request, rooftops, sourceStart)
    const { runId } = started.run
    span.set(() => ({ 'forecourt.run.id': runId }))
    const ended = endingSpan(span, async () => {
      const end = await workUntilDone(context, request, { known, rooftops, started })
      setRunEnd(span, end)
      return end
    })
    return { runId, ended }
  } catch (error) {
    span.fail(errorType(error))
    span.end()
    throw error
  }
}

async function workUntilDone(
  context: Context,
  request: RunRequest,
  { known, rooftops, started }: WorkOfRun,
): Promise<EndedRun> {
  const { run, lock } = started
  try {
    const retry = new RetryOnConnectionLoss(context, maxOutageSeconds)
    context.crashPoint('run-started')
    await retry.run(() => enqueue(context, started.workKeys, started.takenOver))
    const onSlice = await trackProgress(context, request, run, rooftops)
    await runWorkLoop(context, {
      streams: request.streams,
      rooftops: known,
      runId: run.runId,
      // An urgent run takes no slices of other runs, which it would have to wait for.
      ...(run.lane === 'event' ? { minLane: run.lane, concurrency: 1 } : {}),
      retry,
      isDone: async () => (await readRunProgress(context.db, run.runId)) !== 'open',
      keepAlive: async () => await lock?.keep(context.db),
      onSlice,
    })
    context.progress.end()
    return await retry.run(() => endRun(context, run, rooftops))
  } catch (error) {
    throw explainConnectionLoss(error)
  } finally {
    lock?.release()
  }
}

interface WorkOfRun {
  /** All rooftops of the config. */
  readonly known: readonly RooftopRow[]
  readonly rooftops: readonly RooftopRow[]
  readonly started: StartedRun
}

/** Starts a run that no process waits for: workers do its work and end it. */
export async function startDetached(context: Context, request: RunRequest): Promise<StartedRun> {
  const { rooftops, sourceStart } = await prepareRun(context, request)
  const plan = { ...request.plan, isDetached: true }
  const started = await startRun(context, { ...request, plan }, rooftops, sourceStart)
  await enqueue(context, started.workKeys, started.takenOver)
  return started
}

/** Measures the source's clock and registers the rooftops, before the run's row exists. */
async function prepareRun(context: Context, request: RunRequest) {
  if (request.plan.mode !== 'replay') {
    try {
      await measureClock(context)
    } catch (error) {
      // A stop is not a fault of the source.
      if (context.signal.aborted || !(await recordFailedRun(context, request, errorText(error))))
        throw error
      throw new SyncError('abort', errorText(error), { cause: error })
    }
    warnOfSkew(context)
  }
  // What the run wants ends here: a second later than the source's own time of its lists would stay a gap until the next run.
  const sourceStart = toUnixSeconds(context.appraisal.clock.leastNow())
  const known = await registerRooftops(context.db, context.config.rooftops, context.log)
  await recordRetiredRooftops(context.db, context.config)
  // Also here, since a short run ends before its process does the regular clean-up.
  await endFinishedRuns(context.db)
  const chosen = new Set(request.rooftops.map(({ uid }) => uid))
  return { known, rooftops: known.filter(({ uid }) => chosen.has(uid)), sourceStart }
}

/** Ends the run with the status of its streams, or as stopped or paused. */
async function endRun(
  context: Context,
  { runId }: Run,
  rooftops: readonly RooftopRow[],
): Promise<EndedRun> {
  await context.storeKeyAnswers()
  const progress = await readRunProgress(context.db, runId)
  const report = await reportWithRefusals(context, runId, rooftops)
  if (progress === 'paused') return { report, end: 'paused' }
  // A signal after everything is done stops nothing.
  const status = progress === 'done' ? report.status : 'stopped'
  try {
    const finishedAt = await finishRun(context.db, runId, status)
    context.crashPoint('run-finished')
    const end = progress === 'done' ? 'done' : 'stopped'
    const ended = { ...report, finishedAt: finishedAt.toISOString() }
    if (end === 'done') return { report: ended, end }
    const { cause = 'a signal' } = (context.signal.reason ?? {}) as { cause?: unknown }
    return { report: { ...ended, stoppedBy: String(cause) }, end }
  } catch (error) {
    if (!(error instanceof FencedError)) throw error
    return {
      report: await reportWithRefusals(context, runId, rooftops),
      end: await endedAs(context, runId, error),
    }
  }
}

async function reportWithRefusals(
  { db, config }: Context,
  runId: number,
  rooftops: readonly RooftopRow[],
): Promise<RunReport> {
  const report = await reportRun(db, runId, rooftops)
  const keys = new Set(report.missing?.flatMap(({ refusedKey }) => refusedKey ?? []))
  if (keys.size === 0) return report
  const states = await readKeyStates(db, config, [...keys])
  const refused = states.flatMap(({ key, refusal }) => (refusal === null ? [] : [[key, refusal]]))
  return { ...report, refusals: Object.fromEntries(refused) }
}

/** How the run ended when another process was faster: it paused the run, or ended it with no work left. */
async function endedAs({ db }: Context, runId: number, error: FencedError): Promise<RunEnd> {
  const run = await readRun(db, runId)
  if (run?.status === 'paused') return 'paused'
  if (run !== null && ['ok', 'partial', 'failed'].includes(run.status)) return 'done'
  throw error
}

/** Counts finished windows against those due at the start, for the progress bars. */
async function trackProgress(
  context: Context,
  request: RunRequest,
  run: Run,
  rooftops: readonly RooftopRow[],
) {
  if (context.progress === noProgress) return async () => {}
  const totals = new Map<string, number>()
  const windowed = listsWindows(run)
    ? request.streams.filter(({ records }) => records !== undefined)
    : []
  for (const { name } of windowed)
    for (let from = 0; from < rooftops.length; from += countedAtOnce) {
      const some = rooftops.slice(from, from + countedAtOnce)
      const scopes = { rooftopIds: some.map(({ id }) => id), stream: name, run }
      const due = await countDue(context.db, scopes, context.config.sync)
      for (const { id, uid } of some) totals.set(`${name}/${uid}`, due.get(id)!)
    }
  const done = new Map<string, number>()
  return async (
    { stream, rooftop }: SliceJob<Stream>,
    { counts }: { counts: { windows: number; listed: number } },
  ) => {
    const key = `${stream.name}/${rooftop.uid}`
    done.set(key, (done.get(key) ?? 0) + (stream.records ? counts.windows : 1))
    const total = Math.max(totals.get(key) ?? 1, done.get(key)!)
    context.progress.slice({
      stream: stream.name,
      rooftop: rooftop.name,
      done: done.get(key)!,
      total,
      records: counts.listed,
    })
  }
}

/** Measures the source's clock. UsageError when the source cannot be reached, before the run starts. */
async function measureClock({ appraisal, config, signal }: Context): Promise<void> {
  try {
    await appraisal.measureClock({ signal })
  } catch (cause) {
    if (!(cause instanceof SyncError)) throw cause
    let fault: unknown = cause
    while (fault instanceof SyncError && fault.cause !== undefined) fault = fault.cause
    throw new UsageError(
      `The source at ${config.appraisal.baseUrl} cannot be reached (${errorText(fault)}): start it, or correct appraisal.baseUrl in the config.`,
      { cause },
    )
  }
}

function warnOfSkew({ appraisal, log }: Context): void {
  const hours = Math.abs(appraisal.clock.offsetMs) / 3_600_000
  if (hours * 60 > 1)
    log.warn(
      { offsetMs: appraisal.clock.offsetMs },
      `the source's clock differs from ours by ${hours.toFixed(2)} h; the run uses the source's clock`,
    )
}
