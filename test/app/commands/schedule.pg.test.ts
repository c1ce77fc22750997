import { expect, test } from 'vitest'
import { loadJobs } from '#src/app/scheduler/load-jobs.ts'
import { runScheduler } from '#src/app/scheduler/scheduler.ts'
import { someOf } from '../../support/cases.ts'
import { until } from '../../support/child.ts'
import { openScheduleFixture, type ScheduleFixture } from '../scheduler/schedule-fixture.ts'

async function status(fixture: ScheduleFixture) {
  const { code, stdout } = await fixture.run(['status', '--json'])
  const { status: overall, jobs } = JSON.parse(stdout)
  return { code, overall, hourly: jobs.hourly }
}

for (const [signal, code] of someOf(
  [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ],
  1,
))
  test(`${signal} ends the scheduler with ${code}: no new job run, and the job at a clean checkpoint`, async () => {
    await using fixture = await openScheduleFixture({ hourly: { schedule: '* * * * * *' } })
    const fault = { kind: 'slow', ms: 600_000 } as const
    fixture.sandbox.faults.add({ match: { path: '/geteval' }, fault })
    const child = fixture.start(['schedule'])
    // A request counts once it is answered.
    await until(() => fixture.sandbox.requests.count('/getevallist') > 0)

    child.kill(signal)

    const ended = await child.ended
    expect([ended.code, ended.signal]).toEqual([code, null])
    const jobRuns = (await fixture.jobRuns()).filter((jobRun) => jobRun.status !== 'skipped')
    expect(jobRuns.map((jobRun) => jobRun.status)).toEqual(['stopped'])
    const runs = await fixture.database.pool.query('select status from ops.run')
    expect(runs.rows).toEqual([{ status: 'stopped' }])
  })

test('status shows the last run, the next slot and what is late; without a scheduler nothing is late', async () => {
  await using fixture = await openScheduleFixture({ hourly: { schedule: '0 * * * *' } })
  const { pool } = fixture.database
  await fixture.run(['sync'])
  const without = await status(fixture)
  await using context = await fixture.context({ signal: AbortSignal.abort() })
  const hourly = (await loadJobs(context.config)).filter(({ disabledReason: off }) => off === null)
  await runScheduler(context, hourly)
  const promised = await status(fixture)

  await pool.query("update ops.job set known_since = now() - interval '2 days'")
  const late = await status(fixture)
  await fixture.run(['run', 'hourly'])
  const again = await status(fixture)

  expect(without.hourly).toMatchObject({ status: 'never', kept: false, last: null })
  expect(promised).toMatchObject({
    code: 0,
    overall: 'ok',
    hourly: { status: 'never', kept: true },
  })
  expect(late).toMatchObject({ code: 1, overall: 'missed', hourly: { status: 'late' } })
  expect(late.hourly.error).toMatch(/^no good run for the slot of .* within 180 minutes: is a/)
  expect(again).toMatchObject({
    code: 0,
    overall: 'ok',
    hourly: { status: 'ok', last: { trigger: 'manual', status: 'ok' } },
  })
  expect(Date.parse(again.hourly.nextSlotAt) % 3_600_000).toBe(0)
})

test('a config that switches every job off is refused', async () => {
  await using fixture = await openScheduleFixture({})

  const { code, stderr } = await fixture.run(['schedule'])

  expect(code).toBe(2)
  expect(stderr).toContain('Every job is switched off')
})
