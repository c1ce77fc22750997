import { join } from 'node:path'
import { expect, test } from 'vitest'
import { claimManually, claimSlot } from '#src/app/scheduler/claim-slot.ts'
import { executeJobRun } from '#src/app/scheduler/job-run.ts'
import { loadJobs, type PlannedJob } from '#src/app/scheduler/load-jobs.ts'
import { registerJobs, runScheduler } from '#src/app/scheduler/scheduler.ts'
import { lastSlot } from '#src/app/scheduler/slots.ts'
import type { Context } from '#src/context.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { until } from '../../support/child.ts'
import { databaseLocks, untilFreeLocksCount } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openScheduleFixture, type ScheduleFixture } from './schedule-fixture.ts'

/** A schedule whose newest slot was two hours ago. */
function twoHoursAgo(): string {
  const at = new Date(Date.now() - 2 * 3_600_000)
  return `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`
}

async function hourlyOf({ config }: Context): Promise<PlannedJob> {
  return (await loadJobs(config)).find(({ name }) => name === 'hourly')!
}

const jobOf = ({ queue }: Context, jobName: string) => ({ sourceId: queue.sourceId, jobName })

/** Registers a job as known for some days. */
async function knownForDays(
  { pool, queue }: Context,
  job: PlannedJob,
  days: number,
): Promise<Date> {
  await registerJobs(openDb(pool), queue.sourceId, [job])
  await pool.query('update ops.job set known_since = now() - make_interval(days => $1)', [days])
  await untilFreeLocksCount(pool)
  return lastSlot(job.slots, new Date())!
}

/** Runs the scheduler in this process until `stop`. */
async function keep(fixture: ScheduleFixture, job: PlannedJob) {
  const ends = new AbortController()
  const context = await fixture.context({ signal: ends.signal })
  const ended = runScheduler(context, [job])
  return {
    ended,
    stop: async () => {
      ends.abort(new Error('stopped by the test'))
      await ended
      await context[Symbol.asyncDispose]()
    },
  }
}

const shown = (jobRuns: Awaited<ReturnType<ScheduleFixture['jobRuns']>>) =>
  jobRuns.map(({ status, attempt, slot_at }) => ({ status, attempt, slot_at }))

test('of the missed nights only the newest is run, once, at start, by one of two schedulers', async () => {
  await using fixture = await openScheduleFixture({ hourly: { schedule: twoHoursAgo() } })
  await using context = await fixture.context()
  const job = await hourlyOf(context)
  const slot = await knownForDays(context, job, 3)

  const [one, other] = [await keep(fixture, job), await keep(fixture, job)]
  await until(async () => (await fixture.jobRuns()).some(({ status }) => status === 'ok'))
  await Promise.all([one.stop(), other.stop()])
  const again = await keep(fixture, job)
  await again.stop()

  const jobRuns = await fixture.jobRuns()
  expect(shown(jobRuns)).toEqual([{ status: 'ok', attempt: 1, slot_at: slot }])
  expect(jobRuns[0]!.made_up).toBe(true)
})

test('a new job has missed no slot, nor has one whose schedule was changed', async () => {
  await using fixture = await openScheduleFixture({ hourly: { schedule: twoHoursAgo() } })
  await using context = await fixture.context()
  const job = await hourlyOf(context)
  const { pool } = fixture.database
  const slot = lastSlot(job.slots, new Date())!

  await registerJobs(openDb(pool), context.queue.sourceId, [job])
  const fresh = await claimSlot(pool, jobOf(context, 'hourly'), slot)
  await pool.query("update ops.job set known_since = now() - interval '3 days'")
  await registerJobs(openDb(pool), context.queue.sourceId, [
    { ...job, timezone: 'Australia/Sydney' },
  ])
  const changed = await claimSlot(pool, jobOf(context, 'hourly'), slot)

  expect([fresh.kind, changed.kind]).toEqual(['none', 'none'])
  expect(await fixture.jobRuns()).toEqual([])
})

test('a job run whose process ended is taken over; the earlier attempt can record nothing', async () => {
  await using fixture = await openScheduleFixture({ hourly: { schedule: twoHoursAgo() } })
  await using context = await fixture.context()
  const job = await hourlyOf(context)
  const slot = await knownForDays(context, job, 1)
  const first = await claimSlot(context.pool, jobOf(context, 'hourly'), slot)
  if (first.kind !== 'claimed') throw new Error('not claimed')
  const whileAlive = await claimSlot(context.pool, jobOf(context, 'hourly'), slot)
  // To the others this appears as its death: its session is gone, although it continues.
  const { rows } = await first.claim.holder.query('select pg_backend_pid() as pid')
  await fixture.database.pool.query('select pg_terminate_backend($1, 5000)', [rows[0].pid])
  await until(() =>
    first.claim.holder.query('select 1').then(
      () => false,
      () => true,
    ),
  )

  const second = await claimSlot(context.pool, jobOf(context, 'hourly'), slot)
  if (second.kind !== 'claimed') throw new Error('not taken over')
  await executeJobRun(context, job, first.claim)
  const afterTheFirst = await fixture.jobRuns()
  await executeJobRun(context, job, second.claim)

  expect(whileAlive.kind).toBe('none')
  expect(shown(afterTheFirst)).toEqual([{ status: 'running', attempt: 2, slot_at: slot }])
  expect(shown(await fixture.jobRuns())).toEqual([{ status: 'ok', attempt: 2, slot_at: slot }])
})

test.for([0, 9])(
  'a job that was stopped %d times has failed once its process has ended 5 times',
  async (stops) => {
    await using fixture = await openScheduleFixture({ hourly: { schedule: twoHoursAgo() } })
    await using context = await fixture.context()
    const job = await hourlyOf(context)
    const slot = await knownForDays(context, job, 1)
    const stopped = { ...context, signal: AbortSignal.abort(new Error('stopped by the test')) }

    const claims = []
    for (let claim = 1; claim <= stops + 7; claim++) {
      const claimed = await claimSlot(context.pool, jobOf(context, 'hourly'), slot)
      claims.push(claimed.kind)
      if (claimed.kind !== 'claimed') continue
      if (claim <= stops) await executeJobRun(stopped, job, claimed.claim)
      else claimed.claim.holder.release(true)
      await until(async () => {
        const { rows } = await fixture.database.pool.query(
          `select from ${databaseLocks} where locktype = 'advisory' and classid = 7309`,
        )
        return rows.length === 0
      })
    }

    expect(claims).toEqual([...Array(stops + 5).fill('claimed'), 'none', 'none'])
    const [jobRun] = await fixture.jobRuns()
    expect([jobRun!.status, jobRun!.error]).toEqual([
      'failed',
      'its process ended 5 times before the job did',
    ])
  },
)

test('a slot is skipped while the job is running, and a manual run is refused', async () => {
  await using fixture = await openScheduleFixture({ hourly: { schedule: '* * * * * *' } })
  await using context = await fixture.context()
  const job = await hourlyOf(context)
  await knownForDays(context, job, 1)
  const [earlier, later] = [new Date('2026-03-10T01:00:00Z'), new Date('2026-03-10T02:00:00Z')]
  await fixture.database.pool.query("update ops.job set known_since = '2026-01-01'")
  const running = await claimSlot(context.pool, jobOf(context, 'hourly'), earlier)
  if (running.kind !== 'claimed') throw new Error('not claimed')

  const next = await claimSlot(context.pool, jobOf(context, 'hourly'), later)
  const manual = claimManually(context.pool, jobOf(context, 'hourly'))

  await expect(manual).rejects.toThrow(
    /^hourly is at work \(job run 1, slot 2026-03-10T01:00:00.000Z/,
  )
  expect(next).toMatchObject({ kind: 'skipped', reason: expect.stringContaining('still running') })
  await executeJobRun(context, job, running.claim)
  expect(shown(await fixture.jobRuns())).toEqual([
    { status: 'ok', attempt: 1, slot_at: earlier },
    { status: 'skipped', attempt: 1, slot_at: later },
  ])
})

test('a slot during a manual run waits for its end', { tags: 'ci' }, async () => {
  await using fixture = await openScheduleFixture({ hourly: { schedule: '* * * * * *' } })
  await using context = await fixture.context()
  const job = await hourlyOf(context)
  await knownForDays(context, job, 1)
  await fixture.database.pool.query("update ops.job set known_since = '2026-01-01'")
  const slot = new Date('2026-03-10T01:00:00Z')
  const manual = await claimManually(context.pool, jobOf(context, 'hourly'))

  const meanwhile = await claimSlot(context.pool, jobOf(context, 'hourly'), slot)
  await executeJobRun(context, job, manual)
  const afterwards = await claimSlot(context.pool, jobOf(context, 'hourly'), slot)

  expect(meanwhile).toEqual({ kind: 'none' })
  expect(afterwards).toMatchObject({ kind: 'claimed', claim: { slot } })
  if (afterwards.kind === 'claimed') await executeJobRun(context, job, afterwards.claim)
})

test('a job that throws is recorded with its reason, and the scheduler continues', {
  tags: 'ci',
}, async () => {
  const nowhere = { appraisal: { baseUrl: 'http://127.0.0.1:9/v1' } }
  await using fixture = await openScheduleFixture({ hourly: { schedule: '* * * * * *' } }, nowhere)
  await using context = await fixture.context()

  const { stop } = await keep(fixture, await hourlyOf(context))
  await until(async () => (await fixture.jobRuns()).length > 2)
  await stop()

  const jobRuns = (await fixture.jobRuns()).slice(0, 2)
  expect(jobRuns.map(({ status }) => status)).toEqual(['failed', 'failed'])
  expect(jobRuns[0]!.error).toMatch(/^The source at http:\/\/127\.0\.0\.1:9\/v1 cannot be reached/)
})

test('a scheduler continues after all its connections were cut', { tags: 'ci' }, async () => {
  await using fixture = await openScheduleFixture({ hourly: { schedule: '* * * * * *' } })
  await using context = await fixture.context()
  const { pool } = fixture.database
  const good = async () => (await fixture.jobRuns()).filter(({ status }) => status === 'ok').length
  const { stop } = await keep(fixture, await hourlyOf(context))
  await until(async () => (await good()) > 0)

  await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`)
  const before = await good()
  await until(async () => (await good()) > before)
  await stop()

  const left = (await fixture.jobRuns()).slice(0, -1).filter(({ status }) => status === 'running')
  expect(left).toEqual([])
})

test('a failed job is recorded with the errors of its rooftops', async () => {
  await using fixture = await openScheduleFixture({ hourly: { schedule: twoHoursAgo() } })
  await using context = await fixture.context()
  fixture.sandbox.faults.add({ match: { path: '/getevallist' }, fault: { kind: 'html' } })

  await executeJobRun(
    context,
    await hourlyOf(context),
    await claimManually(context.pool, jobOf(context, 'hourly')),
  )

  const [jobRun] = await fixture.jobRuns()
  expect(jobRun).toMatchObject({ status: 'failed', cause: 'manual', slot_at: null })
  expect(jobRun!.error).toMatch(/^rooftop-1: evaluations: .*web page, not JSON/)
  expect(jobRun!.run_ids).toHaveLength(1)
})

test.for([
  ['hourly', 'partial', '; the next slot continues'],
  ['reconcile', 'failed', ', and the next slot begins again'],
  [
    ...(['lake-export', 'failed'] as const),
    ', and the next slot begins again: "forecourt lake export" has no budget',
  ],
] as const)('%s that does not end within its budget is %s', async ([name, status, text]) => {
  await using folder = await temporaryFolder()
  const lake = { to: join(folder.path, 'lake') }
  await using fixture = await openScheduleFixture({ [name]: { enabled: true } }, { lake })
  await using context = await fixture.context()
  const job = (await loadJobs(context.config)).find((one) => one.name === name)!
  const claim = await claimManually(context.pool, jobOf(context, job.name))

  const { report } = await executeJobRun(context, { ...job, budgetMinutes: 0 }, claim)

  const error = `stopped after its budget of 0 minutes${text}`
  expect(report).toMatchObject({ status, error })
})

test('the next scheduler continues a stopped job run', { tags: 'ci' }, async () => {
  await using fixture = await openScheduleFixture({ hourly: { schedule: twoHoursAgo() } })
  await using context = await fixture.context()
  const job = await hourlyOf(context)
  const slot = await knownForDays(context, job, 1)
  const slow = fixture.sandbox.faults.add({ fault: { kind: 'slow', ms: 1500 } })

  const first = await keep(fixture, job)
  // A request counts when it is answered; the evaluations are not read yet.
  await until(() => fixture.sandbox.requests.count('/getevallist') > 0)
  await first.stop()
  const stopped = await fixture.jobRuns()
  slow.remove()
  const second = await keep(fixture, job)
  await until(async () => (await fixture.jobRuns()).some(({ status }) => status === 'ok'))
  await second.stop()

  expect(shown(stopped)).toEqual([{ status: 'stopped', attempt: 1, slot_at: slot }])
  expect(shown(await fixture.jobRuns())).toEqual([{ status: 'ok', attempt: 2, slot_at: slot }])
  const { rows } = await fixture.database.pool.query('select count(*)::int from core.evaluation')
  expect(rows[0].count).toBe(3)
})

test('a job waits for another run that holds its work, as long as its setting allows', {
  tags: 'ci',
}, async () => {
  await using fixture = await openScheduleFixture({ hourly: { schedule: twoHoursAgo() } })
  await using context = await fixture.context()
  const hourly = await hourlyOf(context)
  const slow = fixture.sandbox.faults.add({
    match: { path: '/geteval' },
    fault: { kind: 'slow', ms: 600_000 },
  })
  const holder = executeJobRun(
    context,
    hourly,
    await claimManually(context.pool, jobOf(context, 'holder')),
  )
  await until(() => slow.hits > 0)

  const impatient = await executeJobRun(
    context,
    hourly,
    await claimManually(context.pool, jobOf(context, 'impatient')),
  )
  const waitingJob = { ...hourly, waitMinutes: 1 }
  const slot = await knownForDays(context, waitingJob, 1)
  const claimed = await claimSlot(context.pool, jobOf(context, 'hourly'), slot)
  if (claimed.kind !== 'claimed') throw new Error('not claimed')
  slow.remove()
  const waited = await executeJobRun(context, waitingJob, claimed.claim)
  await holder

  expect(impatient.report).toMatchObject({
    status: 'skipped',
    error: expect.stringMatching(/^Run \d+ is at work on evaluations/),
  })
  expect(waited.report).toMatchObject({ status: 'ok', slotAt: slot.toISOString() })
})
