import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openOperations } from '#src/web/operations/operations.ts'
import { startOperationsServer } from '#src/web/operations/server.ts'
import { aKey, anEvaluation, worldOf } from '../../support/build-world.ts'
import type { Fixture } from '../../support/fixture.ts'
import { anyPort, openEndpoints } from './endpoints.ts'
import { faultsOf, parseExposition, seriesOf } from './exposition.ts'

/** The server as the tests' database user sees it, without the database of the fixture. */
async function withoutWarehouse({ database }: Fixture): Promise<void> {
  await database[Symbol.asyncDispose]()
}

test('a scrape reports the work of the process and the warehouse in a night, in the format of Prometheus', async () => {
  await using endpoints = await openEndpoints()
  const { fixture } = endpoints
  fixture.sandbox.world.poison(1002, { UpdatedAt: 'never' })

  await fixture.night()
  const { status, type, text } = await endpoints.get('/metrics')

  expect({ status, type }).toEqual({
    status: 200,
    type: 'text/plain; version=0.0.4; charset=utf-8',
  })
  expect(faultsOf(parseExposition(text))).toEqual([])
  const series = seriesOf(text)
  const keyName = Object.keys(fixture.config.keys)[0]!
  const sent = `forecourt_requests_total{service="appraisal",endpoint="/geteval",key="${keyName}",status="2xx"}`
  expect(series.get(sent)).toBe(fixture.sandbox.requests.count('/geteval'))
  expect(Object.fromEntries(series)).toMatchObject({
    'forecourt_rows_total{stream="evaluations",outcome="inserted"}': 5,
    'forecourt_rows_total{stream="evaluations",outcome="quarantined"}': 1,
    'forecourt_slices_total{stream="users",outcome="done"}': 1,
    'forecourt_quarantined_records{stream="evaluations"}': 1,
    'forecourt_quarantined_records{stream="users"}': 0,
    forecourt_warehouse_up: 1,
    forecourt_rooftops: 1,
    forecourt_schema_version: expect.toSatisfy((version: number) => version >= 9),
    'forecourt_runs_running{lane="foreground"}': 0,
    'forecourt_stream_late_rooftops{stream="evaluations"}': 0,
    'forecourt_coverage_gaps{stream="evaluations"}': 0,
    // The clock of the source is frozen: listed up to the second of the scrape, except for the time passed on our clock.
    'forecourt_queue_slices{state="waiting"}': 0,
    'forecourt_billable_calls_allowed{budget="ppsrSearch"}': 0,
  })
  const lag = series.get('forecourt_stream_lag_max_seconds{stream="evaluations"}')!
  expect(lag).toBeGreaterThanOrEqual(0)
  expect(lag).toBeLessThan(60)
  expect([...series.keys()].filter((name) => name.startsWith('forecourt_rooftop_'))).toEqual([])
})

test('a scrape holds no secret, no address and no name of a dealer', async () => {
  const keysOfWorld = [aKey({ name: 'group-au', value: 'the-value-of-a-key' })]
  const evaluations = [anEvaluation({ evalId: 1001, createdAt: '2026-03-02T01:00:00Z' })]
  const world = worldOf({ evaluations, keys: keysOfWorld })
  await using endpoints = await openEndpoints({ perRooftop: true }, world)
  const { fixture } = endpoints
  await fixture.night()

  const { text } = await endpoints.get('/metrics')

  const { keys, rooftops, warehouse, vehicleData } = fixture.config
  expect(text).toContain('key="group-au"')
  const secrets = [
    ...Object.values(keys).map(({ value }) => value),
    ...rooftops.map(({ name }) => name),
    ...[vehicleData.apiKey!, warehouse.url!, new URL(warehouse.url!).hostname, 'http://'],
  ]
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
})

test('series per rooftop appear only when configured', { tags: 'ci' }, async () => {
  await using endpoints = await openEndpoints({ perRooftop: true })
  await endpoints.fixture.night()

  const names = [...(await endpoints.series()).keys()]

  const own = names.filter((name) => name.startsWith('forecourt_rooftop_'))
  expect(own).toContain(
    'forecourt_rooftop_stream_lag_seconds{rooftop="rooftop-1",stream="evaluations"}',
  )
  expect(own).toContain(
    'forecourt_rooftop_last_good_run_age_seconds{rooftop="rooftop-1",stream="users"}',
  )
})

test('before the first night every rooftop is late, and its lag counts from sync.start', async () => {
  await using endpoints = await openEndpoints()

  const series = await endpoints.series()

  expect(series.get('forecourt_stream_never_run_rooftops{stream="users"}')).toBe(1)
  expect(series.get('forecourt_stream_late_rooftops{stream="evaluations"}')).toBe(1)
  expect(series.get('forecourt_stream_lag_max_seconds{stream="evaluations"}')).toBeGreaterThan(
    86_400,
  )
  expect(series.has('forecourt_stream_lag_max_seconds{stream="users"}')).toBe(false)
  expect(series.has('forecourt_job_late{job="nightly"}')).toBe(false)
})

test('a coverage gap, a scheduled job and a waiting delivery are reported', {
  tags: 'ci',
}, async () => {
  await using endpoints = await openEndpoints()
  const { pool } = endpoints.fixture.database
  await endpoints.fixture.night()
  await pool.query(`delete from ops.window_certificate where window_from = (
    select min(window_from) from ops.window_certificate where stream = 'evaluations')`)
  await pool.query(
    `update ops.coverage set covered = '{}', wanted = wanted + tstzmultirange(tstzrange('2025-01-01', '2025-01-02'))`,
  )
  await pool.query(
    `insert into ops.job (job_name, schedule, time_zone, known_since) values ('nightly', '0 2 * * *', 'UTC', now() - interval '9 days')`,
  )
  await pool.query(`insert into ops.webhook_delivery (event, rooftop_id, eval_id, body_hash, state, source_received_at, received_at)
    select 'ON_COMPLETE', rooftop_id, 1001, sha256('x'), 'waiting', now(), now() - interval '2 minutes' from core.rooftop limit 1`)

  const series = await endpoints.series()

  expect(series.get('forecourt_coverage_gaps{stream="evaluations"}')).toBeGreaterThanOrEqual(1)
  expect(series.get('forecourt_coverage_gap_rooftops{stream="evaluations"}')).toBe(1)
  expect(series.get('forecourt_job_late{job="nightly"}')).toBe(1)
  expect(series.get('forecourt_webhook_deliveries_waiting')).toBe(1)
  expect(series.get('forecourt_webhook_oldest_waiting_seconds')).toBeGreaterThanOrEqual(120)
})

test('a part that does not answer does not hide others, and many scrapes read it once', {
  tags: 'ci',
}, async () => {
  await using endpoints = await openEndpoints()
  const { pool } = endpoints.fixture.database
  await endpoints.fixture.night()
  const locker = await pool.connect()
  await locker.query('begin; lock table ops.quarantine in access exclusive mode')

  const all = await Promise.all(Array.from({ length: 20 }, () => endpoints.series()))
  const { rows } = await pool.query(`select count(*)::int as asking from pg_stat_activity
    where datname = current_database() and application_name = 'forecourt operations'`)
  await locker.query('rollback')
  locker.release()

  for (const series of all) {
    expect(series.get('forecourt_warehouse_up')).toBe(1)
    expect(series.get('forecourt_warehouse_part_up{part="quarantine"}')).toBe(0)
    expect(series.has('forecourt_quarantined_records{stream="users"}')).toBe(false)
    expect(series.get('forecourt_stream_late_rooftops{stream="users"}')).toBe(0)
  }
  expect(rows[0].asking).toBeLessThanOrEqual(2)
})

test('a process is ready while its warehouse answers with the schema that it knows', async () => {
  await using endpoints = await openEndpoints()
  const { pool } = endpoints.fixture.database

  const good = await endpoints.get('/readyz')
  await pool.query(
    `insert into ops.schema_migration (version, name, checksum) values (9999, 'later', 'x')`,
  )
  await new Promise((done) => setTimeout(done, 1100))
  const newer = await endpoints.get('/readyz')

  expect(good).toMatchObject({ status: 200, text: '{"status":"ok"}' })
  expect(newer.status).toBe(503)
  expect(JSON.parse(newer.text)).toEqual({
    status: 'not ready',
    reason: expect.stringContaining('This warehouse is newer: it has migration 9999'),
  })
})

test('a process that is stopping lives, and is not ready', async () => {
  await using endpoints = await openEndpoints()

  endpoints.stop()
  const [alive, ready] = [await endpoints.get('/healthz'), await endpoints.get('/readyz')]

  expect(alive).toMatchObject({ status: 200, text: '{"status":"ok"}' })
  expect(ready).toMatchObject({
    status: 503,
    text: '{"status":"not ready","reason":"it is stopping"}',
  })
})

test('without its warehouse a process is alive, not ready, and still reports its own metrics', async () => {
  await using endpoints = await openEndpoints()
  await endpoints.fixture.night()
  await withoutWarehouse(endpoints.fixture)

  const [alive, ready] = [await endpoints.get('/healthz'), await endpoints.get('/readyz')]
  const series = await endpoints.series()

  expect([alive.status, ready.status]).toEqual([200, 503])
  expect(JSON.parse(ready.text).reason).toMatch(/does not exist|terminat/)
  expect(series.get('forecourt_warehouse_up')).toBe(0)
  expect(series.get('forecourt_slices_total{stream="users",outcome="done"}')).toBe(1)
  expect([...series.keys()].some((name) => name.startsWith('forecourt_stream_'))).toBe(false)
})

test('an unknown path is 404, and the error of a used port says what to do', async () => {
  await using endpoints = await openEndpoints()
  const operations = await openOperations(endpoints.fixture.context)
  const first = await startOperationsServer(operations, anyPort)
  const port = Number(new URL(first.url).port)

  const second = startOperationsServer(operations, { ...anyPort, port })

  await expect(second).rejects.toThrow(/^Cannot listen on port \d+ .*--operations-port/)
  expect(await endpoints.get('/metrics/all')).toMatchObject({ status: 404 })
  expect(await endpoints.get('/metrics?x=1')).toMatchObject({ status: 200 })
  await first[Symbol.asyncDispose]()
  await operations[Symbol.asyncDispose]()
})

const promtool = '/usr/bin/promtool'
test.skipIf(!existsSync(promtool))(
  'promtool finds no fault with a scrape',
  { tags: 'ci' },
  async () => {
    await using endpoints = await openEndpoints({ perRooftop: true })
    await endpoints.fixture.night()
    const { text } = await endpoints.get('/metrics')

    const output = await new Promise<string>((done) => {
      const child = execFile(promtool, ['check', 'metrics'], (error, stdout, stderr) =>
        done(`${error?.code ?? 0} ${stdout}${stderr}`),
      )
      child.stdin!.end(text)
    })

    expect(output).toBe('0 ')
  },
)
