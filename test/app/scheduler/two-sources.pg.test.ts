import { expect, test } from 'vitest'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { Alerts } from '#src/app/scheduler/alerts.ts'
import { claimManually } from '#src/app/scheduler/claim-slot.ts'
import { readJobStatuses } from '#src/app/scheduler/job-status.ts'
import { loadJobs, type PlannedJob } from '#src/app/scheduler/load-jobs.ts'
import { registerJobs, runScheduler } from '#src/app/scheduler/scheduler.ts'
import { lastSlot } from '#src/app/scheduler/slots.ts'
import type { Context } from '#src/context.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { until } from '../../support/child.ts'
import { untilFreeLocksCount } from '../../support/postgres.ts'
import { openReceiver } from './alert-receivers.ts'
import { openScheduleFixture, type ScheduleFixture } from './schedule-fixture.ts'

/** A schedule whose newest slot was two hours ago. */
function twoHoursAgo(): string {
  const at = new Date(Date.now() - 2 * 3_600_000)
  return `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`
}

async function hourlyOf({ config }: Context): Promise<PlannedJob> {
  return (await loadJobs(config)).find(({ name }) => name === 'hourly')!
}

/** A fixture whose config names another sandbox, on the warehouse of the first. */
async function openOther(
  { database }: ScheduleFixture,
  jobs: NonNullable<ConfigInput['jobs']>,
  settings: ConfigInput = {},
): Promise<ScheduleFixture> {
  return await openScheduleFixture(jobs, { warehouse: { url: database.url }, ...settings })
}

/** Runs the scheduler of a context until it is disposed. */
function keep(context: Context, jobs: readonly PlannedJob[]): AsyncDisposable {
  const stop = new AbortController()
  const ended = runScheduler({ ...context, signal: stop.signal }, jobs)
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error('stopped by the test'))
      await ended
    },
  }
}

test('the schedulers of two services on one warehouse each run the slot', async () => {
  const jobs = { hourly: { schedule: twoHoursAgo() } }
  await using fixture = await openScheduleFixture(jobs)
  await using other = await openOther(fixture, jobs)
  await using context = await fixture.context()
  await using otherContext = await other.context()
  const { pool } = fixture.database
  const hourly = await hourlyOf(context)
  for (const one of [context, otherContext])
    await registerJobs(openDb(pool), one.queue.sourceId, [hourly])
  await pool.query("update ops.job set known_since = now() - interval '3 days'")
  await untilFreeLocksCount(pool)
  const hasEnded = async (count: number) =>
    (await fixture.jobRuns()).filter(({ status }) => status === 'ok').length === count

  {
    await using _first = keep(context, [hourly])
    await until(() => hasEnded(1))
    await using _second = keep(otherContext, [hourly])
    await until(() => hasEnded(2))
  }

  const slot = lastSlot(hourly.slots, new Date())
  const { rows } = await pool.query(
    `select slot_at as slot, job_fire.status, attempt, appraisal_url as url from ops.job_fire
     join ops.run on run_id = any(run_ids) join ops.source on source.source_id = run.source_id order by fire_id`,
  )
  const url = ({ config }: Context) => config.appraisal.baseUrl
  expect(rows).toEqual([
    { slot, status: 'ok', attempt: 1, url: url(context) },
    { slot, status: 'ok', attempt: 1, url: url(otherContext) },
  ])
}, 60_000)

test('a job of another service is neither at work nor failed here, and its alert stays open', async () => {
  await using receiver = await openReceiver()
  const [jobs, settings] = [{ hourly: {} }, { alerts: { url: receiver.url, afterMinutes: 0 } }]
  await using fixture = await openScheduleFixture(jobs, settings)
  await using other = await openOther(fixture, jobs, settings)
  await using context = await fixture.context()
  await using otherContext = await other.context()
  const { pool, db } = context
  const claimed = async ({ queue }: Context) => {
    const { holder } = await claimManually(pool, { sourceId: queue.sourceId, jobName: 'hourly' })
    holder.release(true)
  }
  await claimed(context)
  await claimed(otherContext)
  await pool.query(
    "update ops.job_fire set status = 'failed', error = 'the disk is full', finished_at = now() where source_id = $1",
    [context.queue.sourceId],
  )

  const planned = await loadJobs(context.config)
  const stateOf = async ({ config }: Context) =>
    (await readJobStatuses(db, config, planned))['hourly']?.status
  const states = [await stateOf(context), await stateOf(otherContext)]
  const [ours, theirs] = [new Alerts(context, planned), new Alerts(otherContext, planned)]
  for (const alerts of [ours, theirs, ours, theirs]) await alerts.reportJobs()

  expect(states).toEqual(['failed', 'running'])
  expect(receiver.got.map(({ state, what }) => [state, what])).toEqual([
    ['raised', 'hourly failed: the disk is full'],
  ])
}, 60_000)
