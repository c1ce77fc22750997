import { expect, test, vi } from 'vitest'
import { until } from '../../support/child.ts'
import { openScheduleFixture, type ScheduleFixture } from '../scheduler/schedule-fixture.ts'

vi.setConfig({ testTimeout: 180_000 })

const history = ['backfill', 'evaluations', '--from', '2025-06-01']

async function json({ run }: ScheduleFixture, args: readonly string[]) {
  const { code, stdout, stderr } = await run([...args, '--json'])
  return { code, document: stdout === '' ? stderr : JSON.parse(stdout) }
}

async function backfills(fixture: ScheduleFixture) {
  return (await json(fixture, ['backfill', '--status'])).document.runs
}

async function uncovered({ database }: ScheduleFixture): Promise<string> {
  const { rows } = await database.pool.query(
    `select (wanted - covered)::text as gap from ops.coverage where stream = 'evaluations'`,
  )
  return rows[0]!.gap
}

test('a backfill that is paused in the middle ends cleanly, and --resume goes on where it was', async () => {
  await using fixture = await openScheduleFixture({})
  const { requests, faults } = fixture.sandbox
  const slow = faults.add({ match: { path: '/getevallist' }, fault: { kind: 'slow', ms: 50 } })
  const began = json(fixture, history)
  await until(async () => (await backfills(fixture))[0]?.windows.done > 0)

  const paused = await json(fixture, ['backfill', '--pause'])

  const end = await began
  slow.remove()
  expect(paused).toEqual({ code: 0, document: { paused: [1] } })
  expect([end.code, end.document.paused]).toEqual([0, true])
  const [backfill] = await backfills(fixture)
  const { done, left } = backfill.windows
  expect(backfill).toMatchObject({ state: 'paused', secondsLeft: null, resumedBy: null })
  expect(backfill.rooftops).toEqual({ done: 0, all: 1 })
  expect([done > 0, left > 0, done + left]).toEqual([true, true, 283])

  const listed = requests.count('/getevallist')
  const resumed = await json(fixture, ['backfill', '--resume'])

  expect([resumed.code, resumed.document.status]).toEqual([0, 'ok'])
  // The newest four windows were listed before, and are not settled yet.
  expect(requests.count('/getevallist') - listed).toBe(left + 4)
  const [second, first] = await backfills(fixture)
  expect(second).toMatchObject({ state: 'ok', resumes: 1, windows: { done: left + 4, left: 0 } })
  expect(first).toMatchObject({ state: 'paused', resumedBy: 2 })
  expect(await json(fixture, ['backfill', '--resume'])).toMatchObject({ code: 2 })
  expect(await uncovered(fixture)).toMatch(/^\{\[/)
})

test('what is resumed is the run with the most left, not the one that others have finished', {
  tags: 'ci',
}, async () => {
  await using fixture = await openScheduleFixture({})
  await json(fixture, [...history, '--detach'])
  await json(fixture, ['backfill', '--pause'])
  await json(fixture, history)
  const left = (await backfills(fixture)).map(
    ({ windows }: { windows: { left: number } }) => windows.left,
  )
  const further = ['backfill', 'evaluations', '--from', '2024-01-01', '--to', '2024-02-01']
  await json(fixture, [...further, '--detach'])
  await fixture.database.pool.query(`update ops.run set status = 'stopped' where run_id = 3`)

  const resumed = await json(fixture, ['backfill', '--resume'])

  expect(left).toEqual([0, 0])
  expect(resumed.document).toMatchObject({ runId: 4, status: 'ok' })
  expect((await backfills(fixture))[0]).toMatchObject({ runId: 4, resumes: 3 })
})

test('the command that a pause prints goes on with that run, whichever other one has more left', async () => {
  await using fixture = await openScheduleFixture({})
  await json(fixture, [...history, '--detach'])
  await json(fixture, ['backfill', '--pause'])
  const week = ['backfill', 'evaluations', '--from', '2025-03-01', '--to', '2025-03-08']
  await json(fixture, [...week, '--detach'])

  const { stdout } = await fixture.run(['backfill', '--pause'])
  const [, command = ''] = /"forecourt ([^"]+)" continues it/.exec(stdout)!
  const resumed = await json(fixture, command.split(' '))

  expect(resumed.document).toMatchObject({ runId: 3, status: 'ok' })
  expect((await backfills(fixture))[0]).toMatchObject({ runId: 3, resumes: 2 })
})

test('a detached backfill is paused before anybody took it, and nothing of it begins', async () => {
  await using fixture = await openScheduleFixture({})
  const detached = await json(fixture, [...history, '--detach'])
  const refused = await json(fixture, history)

  await json(fixture, ['backfill', '--pause', '--run', '1'])
  const before = fixture.sandbox.requests.count('/getevallist')
  const night = await json(fixture, ['sync', 'users'])

  expect(detached).toEqual({ code: 0, document: { runId: 1, detached: true, pieces: 1 } })
  expect(refused.code).toBe(3)
  expect(night.code).toBe(0)
  expect(fixture.sandbox.requests.count('/getevallist')).toBe(before)
  expect(await backfills(fixture)).toMatchObject([
    { runId: 1, state: 'paused', windows: { done: 0, left: 283 }, loaded: 0 },
  ])
})

test('--status says how fast a running backfill goes and how long it will take', async () => {
  await using fixture = await openScheduleFixture({})
  await json(fixture, [...history, '--detach'])
  const { pool } = fixture.database
  await pool.query(`update ops.run set started_at = now() - interval '10 minutes'`)
  await pool.query(
    `insert into ops.run_pace select 1, date_trunc('minute', now()) - make_interval(mins => m), 31, 310 from generate_series(1, 5) as m
     union all select 1, date_trunc('minute', now()) - interval '30 minutes', 9999, 9999`,
  )

  const [backfill] = await backfills(fixture)
  const { stdout } = await fixture.run(['backfill', '--status'])

  // Five whole minutes and a part of the one that runs: 155 windows in 300 to 360 seconds.
  expect(backfill).toMatchObject({ state: 'running', isDetached: true })
  expect(backfill.perMinute.windows).toBeGreaterThanOrEqual(26)
  expect(backfill.perMinute.windows).toBeLessThanOrEqual(31)
  expect(backfill.secondsLeft).toBeGreaterThanOrEqual(540)
  expect(backfill.secondsLeft).toBeLessThanOrEqual(660)
  expect(stdout).toMatch(
    /running, detached +2025-06-01 00:00:00 UTC +2026-03-10 [0-9:]{8} UTC +0 of 1 .+ 1?\d min/,
  )
})

test('--status knows no windows of a stream that has none', { tags: 'ci' }, async () => {
  await using fixture = await openScheduleFixture({})
  await json(fixture, ['backfill', 'vehicle-checks', '--from', '2025-06-01', '--detach'])

  const [backfill] = await backfills(fixture)
  const { stdout } = await fixture.run(['backfill', '--status'])

  expect(backfill.windows).toEqual({ done: 0, left: null })
  expect(stdout).toMatch(/0 of 1 +0 +- +0 /)
})

test('--oldest-first lists the oldest windows first, and without it the newest come first', {
  tags: 'ci',
}, async () => {
  await using fixture = await openScheduleFixture({})
  const lists = () =>
    fixture.sandbox.requests
      .entries('/getevallist')
      .map(({ body }) => Number((body as { startdate: unknown }).startdate))

  await json(fixture, [
    'backfill',
    'evaluations',
    '--from',
    '2025-10-01',
    '--to',
    '2026-01-01',
    '--oldest-first',
  ])
  const oldest = lists()
  await json(fixture, ['backfill', 'evaluations', '--from', '2025-07-01', '--to', '2025-10-01'])
  const newest = lists().slice(oldest.length)

  expect([oldest.length, newest.length]).toEqual([92, 92])
  expect(oldest[0]).toBeLessThan(oldest.at(-1)!)
  expect(newest[0]).toBeGreaterThan(newest.at(-1)!)
})

test.each([
  [['--pause', '--resume'], 'cannot both be done'],
  [['--pause', 'evaluations'], 'leave out streams'],
  [['--resume', '--from', '2024-01-01'], 'leave out streams'],
  [['evaluations', '--from', '2024-01-01', '--run', '3'], '--run goes with'],
  [['--status', '--run', '7'], '--run goes with'],
  [['--status', '--detach'], '--detach goes with'],
  [['--pause', '--detach'], '--detach goes with'],
  [['--pause', '--run', 'x'], 'must be a whole number'],
  [['--pause', '--run', '77'], 'is not a running backfill'],
])('backfill %j is refused with what to do', async (args, message) => {
  await using fixture = await openScheduleFixture({})

  const { code, stderr } = await fixture.run(['backfill', ...args])

  expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
})
