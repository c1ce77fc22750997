import { expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { readStatus } from '#src/sync/explain/status.ts'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import { anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { openFixture } from '../../support/fixture.ts'
import { openSmallWorld, type SmallWorld } from '../../support/small-world.ts'

const now = new Date('2026-03-10T06:30:00Z')
const hour = 3_600_000
const start = new Date('2025-01-01T00:00:00Z')

function twoRooftops() {
  const ids = [1001, 1002, 1003, 1004, 1005, 1006]
  return worldOf({
    rooftops: [aRooftop(), aRooftop({ uid: 'rooftop-2', dealerId: 102, name: 'Rooftop Two' })],
    evaluations: ids.map((evalId, index) =>
      anEvaluation({
        ...{
          evalId,
          vin: `JTMDFREV90D12345${index}`,
          createdAt: `2026-03-0${index + 2}T01:00:00Z`,
        },
        rooftopUid: index < 3 ? 'rooftop-1' : 'rooftop-2',
      }),
    ),
  })
}

async function report(world: SmallWorld, rooftop = 1): Promise<Record<string, unknown>> {
  const [row] = await world.rows(
    `select * from mart.rpt_15_data_freshness where rooftop_id = ${rooftop}`,
  )
  return row!
}

async function streamsOf(world: SmallWorld, rooftop = 1): Promise<Record<string, unknown>[]> {
  return await world.rows(
    `select * from mart.data_freshness where rooftop_id = ${rooftop} order by stream`,
  )
}

/** A good run of evaluations that ended two hours ago, of a list that was read without a gap until then. */
async function aGoodNight(world: SmallWorld): Promise<void> {
  const until = world.ago(2)
  await world.add('ops.run', {
    ...{ run_id: 1, started_at: world.ago(2), source_started_at: world.ago(2) },
    arguments: { mode: 'sync', from: start.getTime() / 1000 },
  })
  await world.add('ops.run_stream', { finished_at: world.ago(2) })
  const range = `{[${start.toISOString()},${until.toISOString()})}`
  await world.add('ops.coverage', { wanted: range, covered: range })
}

/** What the verification of each rooftop stores. */
async function verify(world: SmallWorld): Promise<void> {
  await world.rows(
    `insert into ops.verification (rooftop_id, stream, verified_at, late_completions)
     select rooftop_id, stream, now(), core.late_completions(rooftop_id, covered) from core.stream_status where stream = 'evaluations'
     on conflict (rooftop_id, stream) do update set late_completions = excluded.late_completions`,
  )
}

test('a rooftop without any loaded data has its rows, and is not trusted', async () => {
  await using world = await openSmallWorld()

  const row = await report(world, 3)
  const streams = await streamsOf(world, 3)

  expect(row).toMatchObject({
    ...{ rooftop_name: 'Rival', last_good_run_at: null, covered_to: null, hours_behind: null },
    ...{ open_gaps: null, quarantined: 0, vanished: 0, streams_failing: 0 },
    ...{ newest_completed_at: null, may_trust: false, reason: expect.stringMatching(/never/) },
  })
  expect(streams.map(({ stream }) => stream)).toEqual(allStreams.map(({ name }) => name).sort())
  for (const stream of streams)
    expect(stream).toMatchObject({
      ...{ status: 'never', last_good_run_at: null, last_attempt_at: null, covered_to: null },
      ...{ hours_behind: null, open_gaps: null, quarantined: 0, vanished: 0 },
      ...{ late_completions_expected: null, newest_fact_at: null },
      ...{ unprovable_windows: null, is_late: true },
    })
})

test('a rooftop whose last verification found wrong rows is not trusted, until one finds none', async () => {
  await using world = await openSmallWorld()
  await aGoodNight(world)
  const found = async (fault: string | null) => {
    await world.rows('delete from ops.verification')
    await world.rows(
      `insert into ops.verification (rooftop_id, stream, verified_at, fault) values (1, 'evaluations', now(), ${fault === null ? 'null' : `'${fault}'`})`,
    )
    const streams = await streamsOf(world)
    const { status, is_verified_wrong } = streams.find(({ stream }) => stream === 'evaluations')!
    const { may_trust, reason } = await report(world)
    return { status, is_verified_wrong, may_trust, reason }
  }

  expect(await found('3 rows are missing')).toEqual({
    ...{ status: 'partial', is_verified_wrong: true, may_trust: false },
    reason: 'the last verification found wrong rows',
  })
  expect(await found(null)).toEqual({
    ...{ status: 'ok', is_verified_wrong: false, may_trust: true, reason: null },
  })
})

test('a rooftop that left the config is retired, neither late nor failed, and no question of trust', async () => {
  await using world = await openSmallWorld()
  await aGoodNight(world)
  await world.rows(
    "update core.rooftop set left_config_at = now() - interval '3 days' where rooftop_id <= 2",
  )
  await world.rows(
    "update ops.run_stream set status = 'failed', finished_at = now() - interval '9 days'",
  )

  const retired = await report(world)
  const streams = await streamsOf(world)
  const neverLoaded = await report(world, 2)
  const other = await report(world, 3)

  const states = streams.map(({ status }) => status)
  expect(states).toEqual(allStreams.map(() => 'retired'))
  const words = { may_trust: null, reason: 'it left the config: it is loaded no more' }
  expect([retired, neverLoaded]).toMatchObject([words, words])
  expect(retired['left_config_at']).toEqual(streams[0]!['left_config_at'])
  expect(retired['left_config_at']).toBeInstanceOf(Date)
  expect(other).toMatchObject({ may_trust: false, left_config_at: null })
})

test('freshness agrees with "forecourt status", by the clock of the source, after good and failed nights', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture({
    sandbox: { now, world: twoRooftops() },
    sync: { start: '2026-03-01' },
    streams: allStreams,
  })
  const { database, config, sandbox } = fixture
  const compare = async () => {
    const rooftops = await registerRooftops(fixture.context.db, config.rooftops)
    const status = await readStatus(fixture.context.db, allStreams, rooftops, config)
    const { rows } = await database.pool.query('select * from mart.data_freshness')
    for (const row of rows) {
      const { uid } = rooftops.find(({ id }) => id === row.rooftop_id)!
      const own = status.rooftops[uid]!.streams[row.stream]!
      expect({
        ...{ of: `${uid} ${row.stream}`, status: row.status, quarantined: row.quarantined },
        coveredTo: row.covered_to?.toISOString() ?? null,
        lastGoodRunAt: row.last_good_run_at?.toISOString() ?? null,
        gaps: row.open_gaps ?? 0,
      }).toEqual({
        ...{ of: `${uid} ${row.stream}`, status: own.status, quarantined: own.quarantined },
        ...{ coveredTo: own.coveredTo, lastGoodRunAt: own.lastGoodRunAt, gaps: own.gaps },
      })
    }
    return rows.map((row) => row.status as string)
  }

  const before = await compare()
  await fixture.night()
  const good = await compare()
  const { rows: behind } = await database.pool.query(
    'select hours_behind::float, may_trust from mart.rpt_15_data_freshness',
  )
  sandbox.faults.add({ match: { path: '/getuserlist' }, fault: { kind: 'html' } })
  sandbox.world.add(anEvaluation({ evalId: 1007, createdAt: '2026-03-10T20:00:00Z' }))
  sandbox.world.poison(1007, { UpdatedAt: 'never' })
  await fixture.nightAfter(1)
  const bad = await compare()

  expect(new Set(before)).toEqual(new Set(['never']))
  expect(new Set(good)).toEqual(new Set(['ok']))
  expect(behind).toHaveLength(2)
  for (const row of behind) {
    expect(row.may_trust).toBe(true)
    expect(Math.abs(row.hours_behind)).toBeLessThan(1)
  }
  expect(bad).toContain('failed')
  expect(bad).toContain('partial')
})

test('what is covered ends at the first gap, and a gap is not to be trusted', async () => {
  await using world = await openSmallWorld()
  await aGoodNight(world)
  await world.add('ops.coverage', {
    rooftop_id: 2,
    wanted: '{[2026-01-01Z,2026-01-31Z)}',
    covered: '{[2026-01-01Z,2026-01-10Z),[2026-01-12Z,2026-01-20Z)}',
  })
  await world.add(
    'ops.window_certificate',
    { rooftop_id: 2, window_from: '2026-01-10Z', window_until: '2026-01-11Z', settled: false },
    { rooftop_id: 2, window_from: '2026-01-20Z', window_until: '2026-01-25Z', settled: false },
  )
  // The clock of the source had passed all of it.
  const run = { run_id: 2, arguments: { mode: 'backfill', from: 0 } }
  await world.add('ops.run', { ...run, source_started_at: '2026-02-01Z' })
  await world.add('ops.run_stream', { run_id: 2, rooftop_id: 2, finished_at: world.ago(1) })

  const [whole, torn] = [await report(world), await report(world, 2)]

  expect(whole).toMatchObject({ covered_to: world.ago(2), open_gaps: 0, hours_behind: '2.00' })
  expect(whole).toMatchObject({ may_trust: true, reason: null })
  expect(torn).toMatchObject({ covered_to: new Date('2026-01-11Z'), open_gaps: 2 })
  expect(torn).toMatchObject({ may_trust: false, reason: expect.stringMatching(/gap/) })
})

test('the newest attempt decides, a partial run is good, and replays and unfinished runs do not count', async () => {
  await using world = await openSmallWorld()
  await aGoodNight(world)
  await world.add(
    'ops.run',
    { run_id: 2, arguments: { mode: 'sync', from: 0 } },
    { run_id: 3, arguments: { mode: 'replay', from: 0 } },
    { run_id: 4, arguments: { mode: 'sync', from: start.getTime() / 1000 } },
  )
  await world.add(
    'ops.run_stream',
    { run_id: 1, stream: 'pricing', status: 'partial', finished_at: world.ago(2) },
    { run_id: 2, stream: 'pricing', status: 'failed', finished_at: world.ago(1) },
    { run_id: 1, stream: 'users', status: 'ok', finished_at: world.ago(30) },
    { run_id: 3, status: 'failed', finished_at: world.ago(0.5) },
    { run_id: 4, status: 'running' },
  )

  const streams = await streamsOf(world)

  expect(streams).toMatchObject([
    { stream: 'evaluations', status: 'ok', last_attempt_status: 'ok', hours_behind: '2.00' },
    {
      ...{ stream: 'pricing', status: 'failed', last_attempt_status: 'failed' },
      ...{ last_good_run_at: world.ago(2), last_attempt_at: world.ago(1) },
    },
    { stream: 'stock-prices', status: 'never' },
    { stream: 'users', status: 'late', covered_to: world.ago(2), hours_behind: '2.00' },
    { stream: 'vehicle-checks', status: 'never' },
  ])
  expect(await report(world)).toMatchObject({
    ...{ streams_failing: 1, may_trust: false, last_good_run_at: world.ago(2) },
    reason: 'failed at the last attempt: pricing',
  })
})

test('open quarantine and vanished records are counted, and a rooftop with quarantine is not trusted', async () => {
  await using world = await openSmallWorld()
  await aGoodNight(world)
  await world.add(
    'ops.quarantine',
    { natural_key: '1' },
    { natural_key: '2', resolved_at: world.ago(1) },
    { natural_key: '3', stream: 'pricing' },
    { natural_key: '4', rooftop_id: 2 },
  )
  await world.add('ops.vanished', { natural_key: '5' }, { natural_key: '6' })
  await world.add(
    'core.evaluation',
    { eval_id: 1 },
    { eval_id: 2, completed_date_local: '2026-02-01', completed_at: '2026-02-01T03:00:00Z' },
    { eval_id: 3, completed_date_local: '2026-02-01', completed_at: '2026-02-01T05:00:00Z' },
    { eval_id: 4, completed_date_local: '2026-02-02', gone_at: '2026-02-03' },
  )

  expect(await report(world)).toMatchObject({
    ...{ quarantined: 2, vanished: 2, may_trust: false, reason: '2 records in quarantine' },
    newest_completed_at: new Date('2026-02-01T05:00:00Z'),
  })
  expect((await streamsOf(world))[0]).toMatchObject({
    ...{ stream: 'evaluations', status: 'partial', quarantined: 1, vanished: 2 },
    newest_fact_at: new Date('2026-02-01T05:00:00Z'),
  })
})

test('expected late completions follow the late completions of the 180 days before the last 60', async () => {
  await using world = await openSmallWorld()
  await aGoodNight(world)
  const evaluation = (eval_id: number, hoursAgo: number, hours: number) => ({
    ...{ eval_id, entry_at: world.ago(hoursAgo), created_at: world.ago(hoursAgo) },
    completed_at: world.ago(hoursAgo - hours),
  })
  const daily = Array.from({ length: 180 }, (_, day) =>
    evaluation(day + 1, 2 + 24 * 60 + 24 * (day + 0.5), 48),
  )
  await world.add('core.evaluation', ...daily)
  await verify(world)
  const [even] = await streamsOf(world)
  await world.add(
    'core.evaluation',
    // A hundred days late: of it, sixty count.
    ...[1, 2, 3].map((eval_id) => evaluation(1000 + eval_id, 24 * 200, 24 * 100)),
    { ...evaluation(1010, 24 * 100, 24 * 30), gone_at: world.ago(1) },
    evaluation(1011, 24 * 10, 24 * 9),
    evaluation(1012, 24 * 300, 24 * 59),
  )
  const [same] = await streamsOf(world)
  await verify(world)
  const [late] = await streamsOf(world)

  expect(even).toHaveProperty('late_completions_expected', '2.0')
  expect(same).toHaveProperty('late_completions_expected', '2.0')
  expect(late).toHaveProperty('late_completions_expected', '3.0')
})

test('late completions are not estimated from less than 30 days, and are 0 without evaluations', async () => {
  await using world = await openSmallWorld()
  await aGoodNight(world)
  const young = `{[${new Date(world.ago(2).getTime() - 80 * 24 * hour).toISOString()},${world.ago(2).toISOString()})}`
  await world.add('ops.coverage', { rooftop_id: 2, wanted: young, covered: young })

  await verify(world)
  const [[old], [fresh]] = [await streamsOf(world), await streamsOf(world, 2)]

  expect(old).toHaveProperty('late_completions_expected', '0.0')
  expect(fresh).toHaveProperty('late_completions_expected', null)
})
