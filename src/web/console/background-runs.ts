import { Alerts } from '../../app/scheduler/alerts.ts'
import { claimManually } from '../../app/scheduler/claim-slot.ts'
import { executeJobRun } from '../../app/scheduler/job-run.ts'
import { findJob, loadJobs } from '../../app/scheduler/load-jobs.ts'
import type { Context } from '../../context.ts'
import { errorText, UsageError } from '../../errors.ts'
import { startHere } from '../../sync/run/run-streams.ts'
import type { RunRequest } from '../../sync/run/start-run.ts'

/** Runs that this process works on while it serves. They stop at a clean checkpoint when the context's signal aborts. */
export class BackgroundRuns {
  readonly #context: Context
  readonly #open = new Set<Promise<void>>()

  constructor(context: Context) {
    this.#context = context
  }

  /** Starts a run and gives its id. BusyError when another run holds the same work. */
  async start(request: RunRequest): Promise<number> {
    const { log } = this.#context
    const { runId, ended } = await startHere(this.#context, request)
    const logEnd = async () => {
      const { report } = await ended
      log.info({ runId, status: report.status }, 'run ended')
    }
    this.#track(logEnd(), { runId })
    return runId
  }

  /** Starts a job by hand, as "forecourt run" does, and gives the id of its run. BusyError when it is running for the same services anywhere, UsageError
   *  when there is no such job or it cannot run. */
  async startJob(name: string): Promise<number> {
    const { config, pool, log, queue } = this.#context
    const jobs = await loadJobs(config)
    const job = findJob(jobs, name)
    if (job.missingSetting !== null)
      throw new UsageError(`${job.name} cannot run: ${job.missingSetting}.`)
    const claim = await claimManually(pool, { sourceId: queue.sourceId, jobName: job.name })
    const about = { job: job.name, fireId: claim.fireId }
    log.info(about, `${job.name} starts by hand`)
    const execute = async () => {
      const { report } = await executeJobRun(this.#context, job, claim)
      log.info({ ...about, status: report.status }, `${job.name} ended: ${report.status}`)
      // At once: no scheduler may be running, which would check again.
      const alerts = new Alerts(this.#context, jobs, 0)
      await alerts.reportJobs()
      if (report.status !== 'stopped') await alerts.reportObjectives()
    }
    this.#track(execute(), about)
    return claim.fireId
  }

  #track(work: Promise<unknown>, about: object): void {
    const done = work.then(
      () => {},
      (error: unknown) => this.#context.log.error(about, `the run failed: ${errorText(error)}`),
    )
    this.#open.add(done)
    void done.finally(() => this.#open.delete(done))
  }

  /** Resolves when none of them is at work. */
  async ended(): Promise<void> {
    await Promise.all(this.#open)
  }
}
