import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { evaluations as stream } from '#src/streams/evaluations/evaluations.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { isProved } from '#src/sync/verify/verify.ts'
import { anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { type Fixture, type FixtureOptions, openFixture } from '../support/fixture.ts'
import { verifyStream } from '../support/verify-stream.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

vi.setConfig({ testTimeout: 120_000 })

const now = new Date('2026-03-10T02:00:00Z')

/** Rooftops without evaluations, but for one of yesterday at `rooftop-1`, and those of the draft. */
async function quietFixture(
  rooftops: number,
  drafts: Parameters<typeof anEvaluation>[0][] = [],
  options: Pick<FixtureOptions, 'sync' | 'http' | 'rooftops'> = {},
): Promise<Fixture> {
  const uids = Array.from({ length: rooftops }, (_, index) => `rooftop-${index + 1}`)
  const old = { rooftopUid: 'rooftop-1', createdAt: new Date('2026-03-09T01:00:00Z') }
  const world = worldOf({
    rooftops: uids.map((uid, index) => aRooftop({ uid, name: uid, dealerId: 101 + index })),
    evaluations: [old, ...drafts].map((draft, index) =>
      anEvaluation({ evalId: 1000 + index, ...draft }),
    ),
  })
  return await openFixture({
    sandbox: { world, now },
    sync: { start: '2026-03-04', recheckDays: 3 },
    streams: [stream],
    ...options,
  })
}

/** Faults in rows and certificates; must be empty. */
async function faultsOf({ sandbox, database, context, config }: Fixture): Promise<unknown[]> {
  const rows = differences(
    sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop'),
    await warehouseTruth(database.pool, 'rooftop'),
  )
  const found = []
  for (const rooftop of await findRooftops(context.db, config.rooftops)) {
    const at = sandbox.clock.now()
    const result = await verifyStream(context.db, stream.records!, rooftop, config.sync, at)
    if (!isProved(result)) found.push(result)
  }
  return [...rows, ...found]
}

/** The certificates that the newest run wrote, by rooftop. */
async function certified({ database: { pool } }: Fixture): Promise<Record<string, number>> {
  const { rows } = await pool.query(
    `select rooftop_uid as uid, count(*)::int as windows from ops.window_certificate join core.rooftop using (rooftop_id)
     where run_id = (select max(run_id) from ops.run) group by 1`,
  )
  return Object.fromEntries(rows.map(({ uid, windows }) => [uid, windows]))
}

async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  await work()
  const count = query.mock.calls.length
  query.mockRestore()
  return count
}

test('a night without anything new certifies every window again, with few statements for many rooftops', async () => {
  const counts: number[] = []
  for (const rooftops of [10, 40]) {
    await using fixture = await quietFixture(rooftops)
    await fixture.night()
    const lists = fixture.sandbox.requests.count('/getevallist')

    counts.push(await statementsOf(() => fixture.nightAfter(1)))

    const windows = await certified(fixture)
    expect(Object.keys(windows)).toHaveLength(rooftops)
    expect(new Set(Object.values(windows)).size).toBe(1)
    expect(fixture.sandbox.requests.count('/getevallist') - lists).toBe(
      rooftops * windows['rooftop-2']!,
    )
    const { rows } = await fixture.database.pool.query(
      `select status, sum(windows)::int as windows, sum(requests)::int as requests, count(*)::int as rooftops from ops.run_stream
       where run_id = (select max(run_id) from ops.run) group by 1`,
    )
    const all = rooftops * windows['rooftop-2']!
    expect(rows).toEqual([{ status: 'ok', windows: all, requests: expect.any(Number), rooftops }])
    expect(rows[0].requests).toBeGreaterThanOrEqual(all)
    expect(await faultsOf(fixture)).toEqual([])
  }

  expect((counts[1]! - counts[0]!) / 30).toBeLessThan(3)
})

test('what is not idle is found among idle rooftops: a new record, a dead list, a quarantined, a lost and a misplaced one', {
  tags: 'ci',
}, async () => {
  const at = (rooftopUid: string, createdAt: string, more = {}) => ({
    rooftopUid,
    createdAt: new Date(createdAt),
    ...more,
  })
  await using fixture = await quietFixture(14, [
    at('rooftop-2', '2026-03-10T20:00:00Z'),
    // Completed late: created in a window that was certified empty.
    at('rooftop-3', '2026-03-08T20:00:00Z', { completedAt: new Date('2026-03-10T20:00:00Z') }),
    at('rooftop-6', '2026-03-08T05:00:00Z'),
    at('rooftop-7', '2026-03-08T06:00:00Z'),
  ])
  const { sandbox, database } = fixture
  const { pool } = database
  await fixture.night()
  const idOf = async (uid: string) =>
    (await pool.query('select rooftop_id as id from core.rooftop where rooftop_uid = $1', [uid]))
      .rows[0].id as number
  sandbox.faults.add({
    match: { path: '/getevallist', rooftopUid: 'rooftop-4' },
    fault: { kind: 'status', status: 403 },
  })
  await pool.query(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, run_id, window_from, window_until)
     values ('evaluations', $1, '77', '[]', '{}', 1, '2026-03-08', '2026-03-09')`,
    [await idOf('rooftop-5')],
  )
  // Stored, but the certificate says that its window is empty; the record is gone from the source since.
  await pool.query(
    `update ops.window_certificate set listed = 0, loaded = 0 where rooftop_id = $1`,
    [await idOf('rooftop-6')],
  )
  sandbox.world.vanish(1003, new Date('2026-03-10T03:00:00Z'))
  // The sum of a certificate is broken.
  await pool.query(
    `update ops.window_certificate set loaded = 0 where rooftop_id = $1 and listed = 1`,
    [await idOf('rooftop-7')],
  )
  // Not due tonight, and still not proved.
  await pool.query(
    `update ops.window_certificate set proof = 'unprovable' where rooftop_id = $1 and window_from = '2026-03-05'`,
    [await idOf('rooftop-8')],
  )

  const report = await fixture.nightAfter(1)

  const statuses = Object.entries(report.rooftops).map(([uid, { status }]) => [uid, status])
  const bad = Object.fromEntries(statuses.filter(([, status]) => status !== 'ok'))
  expect(bad).toEqual({ 'rooftop-4': 'failed', 'rooftop-8': 'partial' })
  const { rows: open } = await pool.query('select from ops.quarantine where resolved_at is null')
  expect(open).toEqual([])
  const { rows } = await pool.query(
    'select eval_id::int as id, gone_at is not null as gone from core.evaluation order by 1',
  )
  expect(rows).toEqual([
    { id: 1000, gone: false },
    { id: 1001, gone: false },
    { id: 1002, gone: false },
    { id: 1003, gone: true },
    { id: 1004, gone: false },
  ])
  const windows = await certified(fixture)
  expect(Object.keys(windows)).toHaveLength(13)
  expect(windows).not.toHaveProperty('rooftop-4')
  const { rows: broken } = await pool.query(
    'select from ops.window_certificate where listed <> loaded + quarantined + vanished',
  )
  expect(broken).toEqual([])
})

test('work that is taken from one of many rooftops before their commit holds up no other', async () => {
  await using fixture = await quietFixture(9)
  const { pool } = fixture.database
  await fixture.night()
  let taken = 0
  const crashPoint = (name: string) => {
    if (name !== 'window-listed' || taken++ > 0) return
    // Simulates another worker that takes one of the keys over.
    void pool.query(
      `update pgboss.job set retry_count = retry_count + 1, state = 'retry', start_after = now()
       where singleton_key = 'evaluations/rooftop-6' and state = 'active'`,
    )
  }

  const report = await fixture.nightAfter(1, {
    crashPoint: (name) => {
      crashPoint(name)
    },
  })

  expect(taken).toBeGreaterThan(0)
  expect(report.status).toBe('ok')
  expect(Object.keys(await certified(fixture))).toHaveLength(9)
  expect(await faultsOf(fixture)).toEqual([])
})

test('a first load and a stopped night leave rooftops to slices of their own', async () => {
  await using fixture = await quietFixture(9)
  const stop = new AbortController()

  const first = await fixture.night()
  const stopped = await fixture
    .nightAfter(1, {
      signal: stop.signal,
      crashPoint: (name) => {
        if (name === 'window-listed') stop.abort(new Error('SIGTERM'))
      },
    })
    .catch((error: unknown) => error)
  const between = await certified(fixture)
  const last = await fixture.night()

  expect(first.status).toBe('ok')
  expect(stopped).toBeDefined()
  expect(between).toEqual({})
  expect(last.status).toBe('ok')
  expect(Object.keys(await certified(fixture))).toHaveLength(9)
  expect(await faultsOf(fixture)).toEqual([])
})

test('a rooftop whose lists hang holds up no other, and none is listed twice', {
  tags: 'ci',
}, async () => {
  await using fixture = await quietFixture(9, [], { http: { timeoutSeconds: 120 } })
  const { sandbox } = fixture
  await fixture.night()
  const lists = sandbox.requests.count('/getevallist')
  const hanging = sandbox.faults.add({
    match: { path: '/getevallist', rooftopUid: 'rooftop-4' },
    fault: { kind: 'slow', ms: 600_000 },
  })

  const night = fixture.nightAfter(1)
  const others = expect
    .poll(async () => Object.keys(await certified(fixture)), { timeout: 30_000 })
    .toHaveLength(8)
  await others.finally(() => hanging.remove())
  const report = await night

  expect(report.status).toBe('ok')
  const windows = Object.values(await certified(fixture))
  expect(windows).toHaveLength(9)
  const listed = windows.reduce((sum, count) => sum + count, 0)
  expect(sandbox.requests.count('/getevallist') - lists).toBe(listed)
  expect(await faultsOf(fixture)).toEqual([])
})

/** What the second night writes for each of these rooftops, after half a year of history under the default settings. */
async function secondNight(
  rooftops: readonly string[],
  drafts: Parameters<typeof quietFixture>[1],
) {
  const options = { sync: { start: '2025-09-10' }, rooftops }
  await using fixture = await quietFixture(7, drafts, options)
  const { sandbox, database } = fixture
  await fixture.night()
  sandbox.requests.reset()

  const report = await fixture.nightAfter(1)

  expect(report.status).toBe('ok')
  const { rows } = await database.pool.query(
    `select rooftop_uid as uid,
       (select to_jsonb(part) - '{run_id,rooftop_id,began_at,finished_at}'::text[] from ops.run_stream as part
        where part.rooftop_id = rooftop.rooftop_id and run_id = 2) as work,
       (select to_jsonb(own) - 'rooftop_id' from ops.coverage as own where own.rooftop_id = rooftop.rooftop_id) as coverage,
       (select json_agg(to_jsonb(own) - 'rooftop_id' order by window_from) from ops.window_certificate as own
        where own.rooftop_id = rooftop.rooftop_id) as certificates
     from core.rooftop`,
  )
  const lists = Map.groupBy(sandbox.requests.entries('/getevallist'), (sent) => sent.rooftopUid)
  const written = Object.fromEntries(rows.map(({ uid, ...own }) => [uid, own]))
  const faults = await faultsOf(fixture)
  return { written, listsOf: (uid: string) => lists.get(uid)!.length, faults }
}

test('half a year without anything is one batch under the default settings, and writes what a rooftop alone writes', {
  tags: 'ci',
}, async () => {
  const fresh = { rooftopUid: 'rooftop-7', createdAt: new Date('2026-03-10T20:00:00Z') }
  const uids = Array.from({ length: 7 }, (_, index) => `rooftop-${index + 1}`)

  const alone = await secondNight(['rooftop-2'], [])
  const together = await secondNight(uids, [fresh])

  const windows = alone.listsOf('rooftop-2')
  expect(windows).toBeGreaterThan(64)
  expect(alone.written['rooftop-2'].certificates.length).toBeGreaterThan(180)
  expect(together.faults).toEqual([])
  for (const uid of ['rooftop-2', 'rooftop-3', 'rooftop-6']) {
    expect(together.written[uid], uid).toEqual(alone.written['rooftop-2'])
    expect(together.listsOf(uid)).toBe(windows)
  }
  // The newest window of `rooftop-7` has a record, so that no other is listed in the batch.
  expect(together.listsOf('rooftop-7')).toBeLessThanOrEqual(windows + 2)
})
