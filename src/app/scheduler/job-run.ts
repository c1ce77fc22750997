import { sql } from 'kysely'
import type { Context } from '../../context.ts'
import { BusyError, errorText, SyncError, UsageError } from '../../errors.ts'
import { scrubber } from '../../log.ts'
import { sleep } from '../../values/sleep.ts'
import { isConnectionLoss } from '../../warehouse/db/connect.ts'
import { HeldLock } from '../../warehouse/db/held-lock.ts'
import { RetryOnConnectionLoss } from '../../warehouse/db/retry-on-connection-loss.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { listSecrets } from '../config/read.ts'
import { type Claim, jobRunLock } from './claim-slot.ts'
import { type JobWorkResult, runJobWork } from './job-work.ts'
import type { PlannedJob } from './load-jobs.ts'

const heartbeatMs = 10_000
/** How often the lock is checked. */
const lockMs = 1_000
/** How long recording the end of a job run is retried while Postgres is down. */
const maxOutageSeconds = 60
/** The first and the longest wait between tries while the source or the warehouse cannot be reached. */
const unreachableMs = [5_000, 60_000] as const
/** How often a job that waits for another run checks whether it has ended. */
const busyPollMs = 2_000

/** How a job run ended. */
export interface JobRunReport {
  readonly job: string
  readonly fireId: number
  readonly trigger: Claim['cause']
  readonly slotAt: string | null
  readonly status: JobWorkResult['status'] | 'stopped' | 'skipped'
  readonly startedAt: string
  readonly finishedAt: string
  readonly runs: JobWorkResult['runs']
  readonly counts?: JobWorkResult['counts']
  readonly error?: string
}

type Outcome = Pick<JobRunReport, 'status' | 'runs' | 'counts' | 'error'> & { thrown?: unknown }

/** Executes a claimed job run and records how it ended; `thrown` is why it failed. Throws only when the warehouse is lost for long. */
export async function executeJobRun(
  context: Context,
  job: PlannedJob,
  claim: Claim,
): Promise<{ readonly report: JobRunReport; readonly thrown?: unknown }> {
  const { log, pool, db } = context
  const about = { job: job.name, fireId: claim.fireId, slot: claim.slot }
  const lock = HeldLock.fromSession(pool, claim.holder, jobRunLock(claim))
  const beats = [
    setInterval(() => {
      heartbeat(db, claim).catch((error) => log.warn({ err: error, ...about }, 'heartbeat failed'))
    }, heartbeatMs),
    setInterval(() => {
      lock.ensureHeld().catch((error) => log.warn({ err: error, ...about }, 'lock not renewed'))
    }, lockMs),
  ]
  try {
    const { thrown, ...outcome } = await attempt(context, job, claim)
    const retry = new RetryOnConnectionLoss(context, maxOutageSeconds)
    const report = await retry.run(() => record(context, job, claim, outcome))
    return thrown === undefined ? { report } : { report, thrown }
  } finally {
    beats.map(clearInterval)
    lock.release()
  }
}

/** Runs the work until it ends, the budget is used up, or a signal comes. */
async function attempt(context: Context, job: PlannedJob, claim: Claim): Promise<Outcome> {
  const hide = scrubber(listSecrets(context.config))
  const budget = AbortSignal.timeout(job.budgetMinutes * 60_000)
  const signal = AbortSignal.any([context.signal, budget])
  try {
    const result = await whenFree(job, claim, signal, () => runJobWork({ ...context, signal }, job))
    if (context.signal.aborted && (await isCutShort(context, result)))
      return { ...result, status: 'stopped' }
    const isSpent = budget.aborted && (await isCutShort(context, result))
    return isSpent ? { ...result, ...budgetSpent(job) } : result
  } catch (thrown) {
    if (context.signal.aborted) return { status: 'stopped', runs: [], thrown }
    if (budget.aborted) return { runs: [], ...budgetSpent(job) }
    const error = hide(errorText(thrown))
    const status = thrown instanceof BusyError ? 'skipped' : 'failed'
    return { status, runs: [], error, thrown }
  }
}

/** Whether a signal stopped one of the runs; a signal after everything is done stops nothing. */
async function isCutShort({ db }: Context, { runs }: JobWorkResult): Promise<boolean> {
  const { rows } = await sql<{ cut: boolean }>`
    select exists (
      select from ops.run
      where run_id = any(${runs.map(({ runId }) => runId)}::bigint[])
        and status = 'stopped') as cut`.execute(db)
  return rows[0]!.cut
}

function budgetSpent({ budgetMinutes, work }: PlannedJob) {
  const stopped = `stopped after its budget of ${budgetMinutes} minutes`
  // An export makes new files visible at its end alone, and "every" lists from the newest window on.
  if (work.kind === 'lake')
    return {
      status: 'failed',
      error: `${stopped}, and the next slot begins again: "forecourt lake export" has no budget`,
    } as const
  if (work.kind === 'sync' && work.windows === 'every')
    return { status: 'failed', error: `${stopped}, and the next slot begins again` } as const
  return { status: 'partial', error: `${stopped}; the next slot continues` } as const
}

/**
 * Runs the work once no other run holds it, and the source and the warehouse can be reached. It waits as long as the job allows;
 * a manual run does not wait.
 */
async function whenFree(
  job: PlannedJob,
  { cause }: Claim,
  signal: AbortSignal,
  work: () => Promise<JobWorkResult>,
): Promise<JobWorkResult> {
  const until = performance.now() + (cause === 'manual' ? 0 : job.waitMinutes * 60_000)
  const [first, longest] = unreachableMs
  let unreachable: number = first
  for (;;) {
    let waitMs = busyPollMs
    try {
      return await work()
    } catch (error) {
      if (isUnreachable(error)) {
        waitMs = unreachable
        unreachable = Math.min(longest, unreachable * 2)
      } else if (!(error instanceof BusyError)) throw error
      if (performance.now() + waitMs > until) throw error
    }
    await sleep(waitMs, [signal])
  }
}

/** Whether the source could not be reached before the run started, or Postgres was lost for too long. */
function isUnreachable(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return (
    (error instanceof UsageError && cause instanceof SyncError) ||
    isConnectionLoss(error) ||
    isConnectionLoss(cause)
  )
}

async function heartbeat(db: Db, { fireId, attempt: number }: Claim): Promise<void> {
  await sql`
    update ops.job_fire set heartbeat_at = clock_timestamp()
    where fire_id = ${fireId} and attempt = ${number} and status = 'running'`.execute(db)
}

/** Records the end of a job run, unless another process has taken it over. */
async function record(
  { db, log }: Context,
  job: PlannedJob,
  claim: Claim,
  outcome: Omit<Outcome, 'thrown'>,
): Promise<JobRunReport> {
  const runIds = outcome.runs.map(({ runId }) => runId)
  const { rows } = await sql<{ startedAt: Date; finishedAt: Date; isOurs: boolean }>`
    with ended as (
      update ops.job_fire set status = ${outcome.status}, error = ${outcome.error ?? null},
        run_ids = run_ids || ${runIds}::bigint[], finished_at = clock_timestamp()
      where fire_id = ${claim.fireId} and attempt = ${claim.attempt} and status = 'running' returning fire_id
    )
    select claimed_at as "startedAt", clock_timestamp() as "finishedAt", exists (select from ended) as "isOurs"
    from ops.job_fire where fire_id = ${claim.fireId}`.execute(db)
  const { startedAt, finishedAt, isOurs } = rows[0]!
  if (!isOurs) log.warn({ fireId: claim.fireId }, `${job.name} was taken over by another process`)
  return {
    job: job.name,
    fireId: claim.fireId,
    trigger: claim.cause,
    slotAt: claim.slot?.toISOString() ?? null,
    ...outcome,
    startedAt: startedAt.toISOString(),
    finishedAt: finishedAt.toISOString(),
  }
}
