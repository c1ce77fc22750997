import { expect, test } from 'vitest'
import { loadJobs } from '#src/scheduler/catalogue.ts'
import { keepSchedule } from '#src/scheduler/scheduler.ts'
import { until } from '../support/child.ts'
import { openScheduleHouse, type ScheduleHouse } from '../scheduler/schedule-house.ts'

async function status(house: ScheduleHouse) {
  const { code, stdout } = await house.run(['status', '--json'])
  const { status: overall, jobs } = JSON.parse(stdout)
  return { code, overall, hourly: jobs.hourly }
}

for (const [signal, code] of [
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)
  test(`${signal} ends the scheduler with ${code}: no new fire, and the job at a clean checkpoint`, async () => {
    await using house = await openScheduleHouse({ hourly: { schedule: '* * * * * *' } })
    const fault = { kind: 'slow', ms: 600_000 } as const
    house.sandbox.faults.add({ match: { path: '/geteval' }, fault })
    const child = house.start(['schedule'])
    // A request counts once it is answered.
    await until(() => house.sandbox.requests.count('/getevallist') > 0)

    child.kill(signal)

    const ended = await child.ended
    expect([ended.code, ended.signal]).toEqual([code, null])
    const fires = (await house.fires()).filter((fire) => fire.status !== 'skipped')
    expect(fires.map((fire) => fire.status)).toEqual(['stopped'])
    const runs = await house.database.pool.query('select status from ops.run')
    expect(runs.rows).toEqual([{ status: 'stopped' }])
  })

test('status tells the last run, the next slot and what is late; without a scheduler nothing is', async () => {
  await using house = await openScheduleHouse({ hourly: { schedule: '0 * * * *' } })
  const { pool } = house.database
  await house.run(['sync'])
  const without = await status(house)
  await using context = await house.context({ signal: AbortSignal.abort() })
  const hourly = (await loadJobs(context.config)).filter(({ off }) => off === null)
  await keepSchedule(context, hourly)
  const promised = await status(house)

  await pool.query("update ops.job set known_since = now() - interval '2 days'")
  const late = await status(house)
  await house.run(['run', 'hourly'])
  const again = await status(house)

  expect(without.hourly).toMatchObject({ status: 'never', kept: false, last: null })
  expect(promised).toMatchObject({
    code: 0,
    overall: 'ok',
    hourly: { status: 'never', kept: true },
  })
  expect(late).toMatchObject({ code: 1, overall: 'missed', hourly: { status: 'late' } })
  expect(late.hourly.error).toMatch(/^nothing good came of the slot of .* within 180 minutes: is a/)
  expect(again).toMatchObject({
    code: 0,
    overall: 'ok',
    hourly: { status: 'ok', last: { trigger: 'manual', status: 'ok' } },
  })
  expect(Date.parse(again.hourly.nextSlotAt) % 3_600_000).toBe(0)
})

test('a config that switches every job off is refused', async () => {
  await using house = await openScheduleHouse({})

  const { code, stderr } = await house.run(['schedule'])

  expect(code).toBe(2)
  expect(stderr).toContain('Every job is switched off')
})
