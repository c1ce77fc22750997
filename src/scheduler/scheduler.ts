import { schedule, type ScheduledTask } from 'node-cron'
import type { Context } from '../context.ts'
import { assertSchemaKnown } from '../db/migrate.ts'
import { RetryOnConnectionLoss } from '../db/retry-on-connection-loss.ts'
import { messageOf, OutdatedError } from '../errors.ts'
import type { Log } from '../log.ts'
import { Alerts } from './alerts.ts'
import type { PlannedJob } from './load-jobs.ts'
import { type Claim, claimSlot } from './claim-slot.ts'
import { executeJobRun } from './job-run.ts'
import { clockAhead, findDueJobs, registerJobs } from './due-jobs.ts'
import { nextSlot } from './slots.ts'

/** Besides the jobs' alarms: finds what a wrong clock, a dead process or a night without any process left undone. */
const sweepMs = 5_000
/** A process that carries out so many leaves what else is due to others, or to a later look. */
const mostFires = 6
/** How long a job may take to reach its checkpoint once the process is to stop. */
const drainMs = 25_000
const clockToleranceMs = 5_000

/**
 * Keeps the schedule until the context's signal: node-cron wakes this process at each job's times, a sweep every few seconds,
 * and the database decides, by its own clock, what is due and who carries it out. Any number of processes may do so at once.
 * false: a job would not stop in time. Its row says "running", and another scheduler takes it over once this process is gone.
 * OutdatedError when the warehouse has been migrated beyond this version.
 */
export async function runScheduler(
  context: Context,
  jobs: readonly PlannedJob[],
): Promise<boolean> {
  const { pool, log, signal } = context
  const patience = new RetryOnConnectionLoss(context, null)
  const aheadMs = await patience.run(() => clockAhead(pool))
  warnOfClock(log, Math.round(aheadMs))
  await patience.run(() => registerJobs(pool, jobs))
  const scheduler = new Scheduler(context, jobs)
  const alarms = jobs.map((job) => alarm(job, () => scheduler.wake()))
  // No alarm of node-cron: those wait for a wall clock, which may be set back.
  const sweep = setInterval(() => scheduler.wake(), sweepMs)
  const now = new Date(Date.now() - aheadMs)
  for (const { name, slots, timezone } of jobs)
    log.info({ job: name, next: nextSlot(slots, now), timezone }, `${name} is scheduled`)
  scheduler.wake()
  const stopped = new Promise<void>((stop) => signal.addEventListener('abort', () => stop()))
  if (!signal.aborted) await Promise.race([stopped, scheduler.outdated.promise])
  clearInterval(sweep)
  for (const task of alarms) await task.destroy()
  const hasStopped = await scheduler.drain()
  if (scheduler.outdatedBy !== null) throw scheduler.outdatedBy
  return hasStopped
}

function alarm({ schedule: expression, timezone }: PlannedJob, wake: () => void): ScheduledTask {
  const logger = { info() {}, warn() {}, error() {}, debug() {} }
  return schedule(expression, wake, { timezone, logger, suppressMissedWarning: true })
}

class Scheduler {
  readonly #context: Context
  readonly #jobs: readonly PlannedJob[]
  readonly #alerts: Alerts
  readonly #fires = new Map<number, Promise<void>>()
  /** Resolves once the warehouse is found to be newer than this process, which then begins nothing any more. */
  readonly outdated = Promise.withResolvers<void>()
  outdatedBy: OutdatedError | null = null
  #looking: Promise<void> | null = null
  #telling: Promise<void> | null = null
  #again = false

  constructor(context: Context, jobs: readonly PlannedJob[]) {
    this.#context = context
    this.#jobs = jobs
    this.#alerts = new Alerts(context, jobs)
  }

  /** Looks for what is due; while it looks already, once more afterwards. */
  wake(): void {
    this.#again = true
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
  }

  /** Waits for the jobs under way, which the signal has told to stop, as long as a stop may take. Did they? */
  async drain(): Promise<boolean> {
    const late = new Promise<false>((done) => setTimeout(done, drainMs, false).unref())
    return await Promise.race([this.#end(), late])
  }

  async #end(): Promise<true> {
    await this.#looking
    await this.#telling
    await Promise.all(this.#fires.values())
    return true
  }

  async #look(): Promise<void> {
    const { pool, log, signal } = this.#context
    while (this.#again && !signal.aborted && this.outdatedBy === null) {
      this.#again = false
      try {
        await assertSchemaKnown(pool, this.#context.schemaVersion)
        const due = await findDueJobs(pool, this.#jobs, [...this.#fires.keys()])
        for (const { job, slot } of due) {
          if (signal.aborted || this.#fires.size >= mostFires) break
          await this.#claim(job, slot)
        }
        this.#tellOfJobs()
      } catch (error) {
        if (error instanceof OutdatedError) {
          this.outdatedBy = error
          return this.outdated.resolve()
        }
        log.error(`the schedule could not be looked at, the next look follows: ${messageOf(error)}`)
      }
    }
  }

  /** Beside the looking: a receiver that is slow must hold no job up. */
  #tellOfJobs(): void {
    this.#telling ??= this.#alerts
      .reportJobs()
      .catch((error) => this.#context.log.error(`alerts could not be sent: ${messageOf(error)}`))
      .finally(() => {
        this.#telling = null
      })
  }

  async #claim(job: PlannedJob, slot: Date): Promise<void> {
    const { pool, log } = this.#context
    const claimed = await claimSlot(pool, job.name, slot)
    if (claimed.kind === 'skipped')
      log.warn({ job: job.name, slot }, `${job.name} is skipped: ${claimed.reason}`)
    if (claimed.kind !== 'claimed') return
    const { claim } = claimed
    const fire = this.#carryOut(job, claim).finally(() => this.#fires.delete(claim.fireId))
    this.#fires.set(claim.fireId, fire)
  }

  /** Whatever happens to a job, the scheduler lives on. */
  async #carryOut(job: PlannedJob, claim: Claim): Promise<void> {
    const { log } = this.#context
    const about = { job: job.name, fireId: claim.fireId, slot: claim.slot, attempt: claim.attempt }
    log.info(about, `${job.name} begins${claim.madeUp ? ', to make up for a missed slot' : ''}`)
    try {
      const { report } = await executeJobRun(this.#context, job, claim)
      const isGood = report.status === 'ok' || report.status === 'stopped'
      const what = `${job.name} ended: ${report.status}${report.error ? `: ${report.error}` : ''}`
      log[isGood ? 'info' : 'warn']({ ...about, status: report.status }, what)
      if (report.status !== 'stopped') await this.#alerts.reportObjectives()
    } catch (error) {
      log.error(about, `${job.name} could not be ended: ${messageOf(error)}`)
    }
  }
}

/** What is due goes by the database's clock; a machine whose own is wrong has other troubles, and should know. */
function warnOfClock(log: Log, aheadMs: number): void {
  if (Math.abs(aheadMs) <= clockToleranceMs) return
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1)
  log.warn(
    { aheadMs },
    `this machine's clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database's; jobs go by the database's: set it right (NTP)`,
  )
}
