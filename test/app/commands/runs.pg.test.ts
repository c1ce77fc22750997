import { expect, test, vi } from 'vitest'
import { aKey, anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { someOf } from '../../support/cases.ts'
import { openScheduleFixture, type ScheduleFixture } from '../scheduler/schedule-fixture.ts'

vi.setConfig({ testTimeout: 180_000 })

/** Three rooftops in two dealer groups, an evaluation each. */
async function openGroups(): Promise<ScheduleFixture> {
  const createdAt = '2026-03-06T01:00:00Z'
  const world = worldOf({
    rooftops: [
      aRooftop({ uid: 'aaaa-north', name: 'Northside' }),
      aRooftop({ uid: 'aaaa-south', name: 'Southside', dealerId: 102 }),
      aRooftop({ uid: 'bbbb-rival', name: 'Rival', groupId: 'group-2', dealerId: 103 }),
    ],
    keys: [
      aKey({ name: 'one', value: 'canary-key-one', rooftopUids: ['aaaa-north', 'aaaa-south'] }),
      aKey({ name: 'two', value: 'canary-key-two', rooftopUids: ['bbbb-rival'] }),
    ],
    evaluations: [
      anEvaluation({ createdAt, rooftopUid: 'aaaa-north' }),
      anEvaluation({ createdAt, evalId: 1002, rooftopUid: 'aaaa-south' }),
      anEvaluation({ createdAt, evalId: 1003, rooftopUid: 'bbbb-rival' }),
    ],
  })
  return await openScheduleFixture({}, {}, world)
}

async function json({ run }: ScheduleFixture, ...args: readonly string[]) {
  const { code, stdout } = await run([...args, '--json'])
  return { code, document: JSON.parse(stdout) }
}

test('runs list and runs show print what happened at each rooftop, without SQL', async () => {
  await using fixture = await openGroups()
  const { sandbox } = fixture
  const { pool } = fixture.database
  sandbox.world.poison(1002, { UpdatedAt: 'never' })
  const broken = sandbox.faults.add({
    match: { path: '/getevallist', rooftopUid: 'bbbb-rival' },
    fault: { kind: 'status', status: 403 },
  })
  await fixture.run(['sync', 'evaluations'])
  broken.remove()
  await fixture.run(['sync', 'users', '--rooftop', 'Rival'])
  await fixture.run(['run', 'hourly'])
  await fixture.run(['backfill', 'evaluations', '--from', '2026-02-01', '--detach'])
  // A run that a killed process left, and one of last year.
  await pool.query(
    `insert into ops.run (command, arguments, source_started_at, heartbeat_at, started_at)
     values ('sync', '{"mode":"sync","from":0}', now(), now() - interval '1 hour', now() - interval '1 hour')`,
  )
  await pool.query(
    `update ops.run set started_at = now() - interval '300 days', finished_at = now() - interval '299 days' where run_id = 2`,
  )

  const all = await json(fixture, 'runs', 'list')
  const text = (await fixture.run(['runs', 'list'])).stdout
  const recent = await json(fixture, 'runs', 'list', '--since', '7d')
  const dated = await json(fixture, 'runs', 'list', '--since', '2020-01-01', '--limit', '2')
  const partial = await json(fixture, 'runs', 'list', '--status', 'partial')
  const rival = await json(fixture, 'runs', 'list', '--rooftop', 'bbbb', '--command', 'sync')
  const users = await json(fixture, 'runs', 'list', '--stream', 'users')
  const shown = await json(fixture, 'runs', 'show', '1')
  const shownText = (await fixture.run(['runs', 'show', '1'])).stdout
  const oneRooftop = await json(fixture, 'runs', 'show', '1', '--rooftop', 'southside')
  const job = (await fixture.run(['runs', 'show', '3'])).stdout

  const idsOf = ({ document }: { document: { runs: { runId: number }[] } }) =>
    document.runs.map(({ runId }) => runId)
  expect([all.code, idsOf(all), all.document.hasMore]).toEqual([0, [5, 4, 3, 2, 1], false])
  expect(all.document.runs[4]).toMatchObject({
    ...{ runId: 1, command: 'sync', mode: 'sync', lane: 'foreground', status: 'partial' },
    ...{ streams: ['evaluations'], rooftops: { all: 3, incomplete: 2, open: 0 }, errors: 1 },
    counts: { inserted: 1, quarantined: 1 },
    firstError: expect.stringContaining('403'),
  })
  expect(all.document.runs[0]).toMatchObject({ status: 'running', isAtWork: false })
  expect(text).toMatch(/^ {2}run +command +status +started +took +rooftops/)
  expect(text).toMatch(/\n {2}5 +sync +killed /)
  expect(text).toMatch(/\n {2}4 +backfill +(running, detached|waits for a worker) .* 3 \(3 open\)/)
  expect(text).toMatch(/\n {2}1 +sync +partial .* 3 \(2 incomplete\) /)
  expect(idsOf(recent)).toEqual([5, 4, 3, 1])
  expect([idsOf(dated), dated.document.hasMore]).toEqual([[5, 4], true])
  expect(idsOf(partial)).toContain(1)
  expect(idsOf(rival)).toEqual([2, 1])
  expect(rival.document.runs[1]).toMatchObject({ rooftops: { all: 1 }, counts: { inserted: 0 } })
  expect(idsOf(users)).toEqual([2])

  expect(shown.document).toMatchObject({
    ...{ runId: 1, status: 'partial', job: null, from: '2026-03-05T00:00:00.000Z', until: null },
    streams: { evaluations: { inserted: 1, quarantined: 1 } },
    rooftops: {
      'aaaa-north': {
        ...{ name: 'Northside', status: 'ok' },
        streams: {
          evaluations: { status: 'ok', error: null, inserted: 1, seconds: expect.any(Number) },
        },
      },
      'aaaa-south': { streams: { evaluations: { status: 'partial', quarantined: 1 } } },
      'bbbb-rival': { status: 'failed', streams: { evaluations: { status: 'failed' } } },
    },
  })
  expect(shownText).toMatch(/^Run 1: sync, partial, 20.* UTC to 20.* UTC \(.* s\)\n/)
  expect(shownText).toMatch(/Rival \(bbbb-rival\) +evaluations +failed/)
  expect(shownText).toMatch(
    /Not complete:\n.*Rival .*403.*\n.*Southside \(aaaa-south\): evaluations: 1 in quarantine/,
  )
  expect(shownText).not.toContain('canary-key')
  expect(Object.keys(oneRooftop.document.rooftops)).toEqual(['aaaa-south'])
  expect(oneRooftop.document.streams).toMatchObject({
    evaluations: { inserted: 0, quarantined: 1 },
  })
  expect(job).toMatch(/Job hourly, started by hand/)
})

test.each(
  someOf(
    [
      [['list', '--limit', '0'], '--limit 0 must be a whole number from 1'],
      [['list', '--since', 'yesterday'], '--since yesterday is not a date'],
      [['list', '--status', 'faild'], '--status faild is not a status (did you mean failed?)'],
      [
        ['list', '--rooftop', 'Nortside'],
        'is not in the warehouse (did you mean Northside (aaaa-north)?)',
      ],
      [
        ['list', '--rooftop', 'aaaa'],
        'matches 2 rooftops: Northside (aaaa-north), Southside (aaaa-south)',
      ],
      [['show', 'x'], '"x" is not the number of a run'],
      [['show', '77'], 'Run 77 does not exist'],
    ],
    2,
  ),
)('runs %j is refused with what to do', async (args, message) => {
  await using fixture = await openGroups()
  await fixture.run(['sync', 'users'])

  const { code, stdout, stderr } = await fixture.run(['runs', ...args])

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(message)
})

test('a run that reads other services than the config is named with them, and what its work waits for', async () => {
  await using fixture = await openGroups()
  const { pool } = fixture.database
  await fixture.run(['sync', 'users'])
  await fixture.run(['backfill', 'evaluations', '--from', '2026-02-01', '--detach'])
  const before = [await fixture.run(['runs', 'list']), await fixture.run(['status'])]
  await pool.query(`with moved as (
      insert into ops.source (appraisal_url, vehicle_data_url, is_sandbox)
      values ('https://old.example.com/v1', 'https://data.example.com', false) returning source_id)
    update ops.run set source_id = moved.source_id, heartbeat_at = now() - interval '2 minutes' from moved where run_id = 2`)

  const list = (await fixture.run(['runs', 'list'])).stdout
  const show = (await fixture.run(['runs', 'show', '2'])).stdout
  const status = (await fixture.run(['status'])).stdout
  const shown = await json(fixture, 'runs', 'show', '2')
  const busy = await fixture.run(['backfill', 'evaluations', '--from', '2026-02-01', '--detach'])
  const commands = [...show.matchAll(/"forecourt (backfill [^"]+)"/g)]
  const codes = []
  for (const [, command] of commands) codes.push((await fixture.run(command!.split(' '))).code)

  const services = 'https://old.example.com/v1 and https://data.example.com'
  const cure =
    'It waits for a "forecourt worker" whose config names these services; or go on with those of this config: "forecourt backfill --pause --run 2", then "forecourt backfill --resume --run 2"'
  expect(before.map(({ stdout }) => /example\.com|reads/.test(stdout))).toEqual([false, false])
  expect(list).toMatch(
    /^ +2 +backfill +waits for a worker .* https:\/\/old\.example\.com\/v1 and /m,
  )
  expect(list).toMatch(/^ +1 +sync .* the config$/m)
  expect(show).toContain(`  Reads ${services}, not those of the config. ${cure}`)
  expect(status.replaceAll(/\s+/g, ' ')).toContain(
    `it reads ${services}, not the services of the config. ${cure}`,
  )
  expect(shown.document.source).toEqual({
    ...{ appraisalUrl: 'https://old.example.com/v1', isSandbox: false },
    vehicleDataUrl: 'https://data.example.com',
  })
  expect(busy).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(`a worker that reads ${services}`),
  })
  expect(codes).toEqual([0, 0])
})

test('runs list says so when nothing ran', async () => {
  await using fixture = await openGroups()

  expect(await fixture.run(['runs', 'list'])).toMatchObject({
    code: 0,
    stdout: 'Nothing has run yet: start with "forecourt sync".\n',
  })
  expect(await fixture.run(['runs', 'list', '--status', 'failed'])).toMatchObject({
    code: 0,
    stdout: 'No run matches.\n',
  })
})
