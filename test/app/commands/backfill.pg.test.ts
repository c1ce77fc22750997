import { expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { openChildFixture } from '../../support/child-fixture.ts'
import { smallFixture } from './sync-fixture.ts'

const late = { ...smallFixture(), sync: { start: '2026-03-06' } }

async function covered(pool: { query(text: string): Promise<{ rows: { covered: string }[] }> }) {
  const { rows } = await pool.query(
    `select covered::text from ops.coverage where stream = 'evaluations'`,
  )
  return rows[0]!.covered
}

test('backfill loads [from, to) and prints the shape of the contract', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const range = ['--from', '2026-03-02T01:00:00Z', '--to', '2026-03-04T01:00:00Z']

  const { code, document } = await warehouse.json(['backfill', 'evaluations', ...range])

  expect([code, document['status']]).toEqual([0, 'ok'])
  expect(Object.keys(document).sort()).toEqual([
    'finishedAt',
    'rooftops',
    'runId',
    'startedAt',
    'status',
    'streams',
  ])
  const { rows } = await warehouse.database.pool.query(
    'select eval_id from core.evaluation order by 1',
  )
  expect(rows.map(({ eval_id }) => eval_id)).toEqual([1001, 1002])
  expect(await covered(warehouse.database.pool)).toBe(
    '{["2026-03-02 01:00:00+00","2026-03-04 01:00:00+00")}',
  )
})

test('a second backfill of the same range lists nothing, a wider one only what is not covered', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const { requests } = fixture.sandbox
  await warehouse.json(['backfill', 'evaluations', '--from', '2026-03-02', '--to', '2026-03-04'])
  const before = requests.count('/getevallist')

  const again = await warehouse.json([
    'backfill',
    'evaluations',
    '--from',
    '2026-03-02',
    '--to',
    '2026-03-04',
  ])
  const listedAgain = requests.count('/getevallist') - before
  const wider = await warehouse.json([
    'backfill',
    'evaluations',
    '--from',
    '2026-03-01',
    '--to',
    '2026-03-05',
  ])

  expect([again.code, listedAgain]).toEqual([0, 0])
  expect(again.document['streams']!['evaluations']).toMatchObject({
    listed: 0,
    windows: 0,
    requests: 0,
  })
  expect(wider.document['streams']!['evaluations']).toMatchObject({ windows: 2, inserted: 1 })
})

test('a backfill never moves the incremental coverage backwards, and the next sync lists none of it again', async () => {
  await using fixture = await openChildFixture({ ...late, sync: { ...late.sync, recheckDays: 0 } })
  await using warehouse = await fixture.warehouse()
  const { pool } = warehouse.database
  await warehouse.night()
  const synced = await covered(pool)

  const { code } = await warehouse.json([
    'backfill',
    'evaluations',
    '--from',
    '2026-03-01',
    '--to',
    '2026-03-06',
  ])

  expect([synced, code]).toEqual(['{["2026-03-06 00:00:00+00","2026-03-07 00:00:00+00")}', 0])
  expect(await covered(pool)).toBe('{["2026-03-01 00:00:00+00","2026-03-07 00:00:00+00")}')
  const { streams } = await warehouse.night()
  expect(streams['evaluations']).toMatchObject({ inserted: 0, windows: 4 })
  expect((await warehouse.json(['verify'])).document).toMatchObject({
    status: 'ok',
    gaps: 0,
    overlaps: 0,
  })
})

test.for(['2026-03-10T06:30:00Z', '2026-04-01'])(
  'a backfill to %s, which the source has not reached, ends now',
  async (to) => {
    await using fixture = await openChildFixture(smallFixture())
    await using warehouse = await fixture.warehouse()

    await warehouse.json(['backfill', 'evaluations', '--from', '2026-03-09', '--to', to])

    const { rows } = await warehouse.database.pool.query(
      'select wanted::text, arguments from ops.run cross join ops.coverage',
    )
    expect(rows).toMatchObject([
      {
        wanted: '{["2026-03-09 00:00:00+00","2026-03-10 06:30:00+00")}',
        arguments: { until: null },
      },
    ])
    expect(fixture.sandbox.requests.count('/getevallist')).toBe(2)
    const { document } = await warehouse.json(['backfill', '--status'])
    expect(document['runs']).toMatchObject([{ to: '2026-03-10T06:30:00.000Z' }])
  },
)

test.for([[], ['--to', '2026-04-01']])(
  'a backfill from the future of the source is refused (%j)',
  async (to) => {
    await using fixture = await openChildFixture(smallFixture())
    await using warehouse = await fixture.warehouse()

    const done = await warehouse.run(['backfill', 'evaluations', '--from', '2026-03-20', ...to])

    expect(done.code).toBe(2)
    expect(done.stderr).toContain(
      '2026-03-20T00:00:00.000Z lies in the future of the source, whose time is 2026-03-10T06:30:00.000Z: there is nothing to load.',
    )
    const { rows } = await warehouse.database.pool.query('select from ops.run')
    expect(rows).toEqual([])
  },
)

test('backfill --dry-run calls nothing and writes no run', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()

  const { code, document } = await warehouse.json([
    'backfill',
    'evaluations',
    '--from',
    '2026-03-02',
    '--to',
    '2026-03-05',
    '--dry-run',
  ])

  expect([code, document['mode']]).toEqual([0, 'backfill'])
  expect([...document['plan']!]).toMatchObject([
    { stream: 'evaluations', gap: 3, recheck: 0, deep: 0 },
  ])
  expect(fixture.sandbox.requests.count()).toBe(0)
  const { rows } = await warehouse.database.pool.query('select from ops.run')
  expect(rows).toHaveLength(0)
})

test('backfill vehicle-checks needs no date, says in its plan what is left, and lists no windows', {
  tags: 'ci',
}, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await warehouse.night(allStreams)
  fixture.sandbox.clock.advance(200 * 86_400_000)
  await warehouse.database.pool.query('delete from ops.enrichment_state')

  const plan = await warehouse.json([
    'backfill',
    'vehicle-checks',
    '--to',
    '2026-03-05',
    '--dry-run',
  ])
  const begun = await warehouse.json(['backfill', 'vehicle-checks'])
  const status = await warehouse.json(['backfill', '--status'])
  const ordered = await warehouse.run(['backfill', 'vehicle-checks', '--oldest-first'])

  // All six are of one vehicle: its newest evaluation asks for both kinds of checks.
  expect(plan.document).toMatchObject({ plan: [{ stream: 'vehicle-checks', expectedReads: 2 }] })
  expect([begun.code, begun.document['status']]).toEqual([0, 'ok'])
  expect(begun.document['streams']).toMatchObject({ 'vehicle-checks': { requests: 2 } })
  expect(status.document['runs']![0]).toMatchObject({
    state: 'ok',
    windows: { done: 0, left: null },
  })
  expect(ordered).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--oldest-first is about windows'),
  })
})
