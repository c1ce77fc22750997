import type pg from 'pg'
import { expect, test } from 'vitest'
import { until } from '../../support/child.ts'
import { openScheduleFixture } from '../scheduler/schedule-fixture.ts'

/** Takes the lock of the process that executes the job run. */
async function holdFirstAttempt(client: pg.PoolClient, fireId: number): Promise<void> {
  await client.query('select pg_advisory_lock(7309, $1::int)', [fireId * 8 + 1])
}

/** As if the evaluation had never been listed. */
async function forget(pool: pg.Pool, evalId: number): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `select table_schema || '.' || table_name as name
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where column_name = 'eval_id' and table_schema in ('core', 'pii') and table_type = 'BASE TABLE'`,
  )
  for (const { name } of rows) await pool.query(`delete from ${name} where eval_id = $1`, [evalId])
  await pool.query('delete from raw.payload where natural_key = $1', [String(evalId)])
}

test('run does a job now, records it as done by hand, and prints what came of it', async () => {
  await using fixture = await openScheduleFixture({ hourly: {} })

  const { code, stdout } = await fixture.run(['run', 'hourly', '--json'])

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    job: 'hourly',
    trigger: 'manual',
    slotAt: null,
    status: 'ok',
    runs: [{ runId: 1, status: 'ok', streams: { evaluations: { listed: 3, inserted: 3 } } }],
  })
  expect(await fixture.jobRuns()).toMatchObject([
    { cause: 'manual', status: 'ok', run_ids: [1], slot_at: null },
  ])
  const { rows } = await fixture.database.pool.query('select command from ops.run')
  expect(rows).toEqual([{ command: 'run hourly' }])
})

test('reconcile lists the whole history again, however old, and proves the coverage', {
  tags: 'ci',
}, async () => {
  await using fixture = await openScheduleFixture(
    {},
    { sync: { start: '2026-03-01', recheckDays: 1 } },
  )
  await fixture.run(['run', 'nightly'])
  const { pool } = fixture.database
  await forget(pool, 1002)
  const before = fixture.sandbox.requests.count('/getevallist')

  const hourly = await fixture.run(['run', 'hourly'])
  const listedByHourly = fixture.sandbox.requests.count('/getevallist') - before
  const reconcile = await fixture.run(['run', 'reconcile', '--json'])

  expect(hourly.code).toBe(0)
  const document = JSON.parse(reconcile.stdout)
  expect({ code: reconcile.code, error: document.error }).toEqual({ code: 0, error: undefined })
  expect(document.runs[0].streams.evaluations).toMatchObject({ windows: 10, inserted: 1 })
  expect(listedByHourly).toBeLessThan(6)
})

test('verify names the rows that differ, until a sync has read them again', {
  tags: 'ci',
}, async () => {
  await using fixture = await openScheduleFixture({})
  const { pool } = fixture.database
  const faults = async () =>
    (await pool.query<{ fault: string | null }>('select fault from ops.verification')).rows
  await fixture.run(['run', 'nightly'])
  await pool.query(
    'delete from core.evaluation where eval_id = (select max(eval_id) from core.evaluation)',
  )

  const wrong = await fixture.run(['run', 'verify', '--json'])
  const stored = await faults()
  await fixture.run(['run', 'nightly'])
  await pool.query('select core.agg_rebuild(rooftop_id) from core.rooftop')
  const right = await fixture.run(['run', 'verify', '--json'])

  expect(wrong.code).toBe(1)
  expect(JSON.parse(wrong.stdout)).toMatchObject({
    status: 'partial',
    error: expect.stringMatching(
      /^evaluations of .*: the stored rows of 1 window differ from what was listed; sums of the reports/,
    ),
  })
  expect(stored.filter(({ fault }) => fault !== null)).toHaveLength(1)
  expect(right.code).toBe(0)
  expect(JSON.parse(right.stdout)).toMatchObject({ status: 'ok', runs: [] })
  expect((await faults()).filter(({ fault }) => fault !== null)).toEqual([])
})

test('retention says what it deleted, and keeps the newest payload of each record', async () => {
  await using fixture = await openScheduleFixture({}, { retention: { rawDays: 30 } })
  const { pool } = fixture.database
  await fixture.run(['run', 'hourly'])
  await pool.query(`insert into raw.payload (rooftop_id, endpoint, natural_key, fetched_at, content_hash, body, run_id)
    select rooftop_id, endpoint, natural_key, fetched_at - interval '90 days', '\\x00', body, run_id from raw.payload`)

  const { code, stdout } = await fixture.run(['run', 'retention', '--json'])

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    job: 'retention',
    status: 'ok',
    runs: [],
    counts: { payloads: 3, quarantine: 0, links: 0, files: 0 },
  })
  const { rows } = await pool.query('select count(*)::int from raw.payload')
  expect(rows[0].count).toBe(3)
})

test('an unknown job is refused with the known ones, exit 2, and nothing is started', async () => {
  await using fixture = await openScheduleFixture({})

  const { code, stderr } = await fixture.run(['run', 'nigtly'])

  expect(code).toBe(2)
  expect(stderr).toMatch(
    /^Unknown job 'nigtly' \(did you mean nightly\?\); known are hourly, lake-export, nightly, .*watch-checks: see/,
  )
})

test('a job in the config that is not in jobs/ is refused by run, schedule and status alike', async () => {
  await using fixture = await openScheduleFixture({ hurly: { enabled: true } })

  const ends = await Promise.all([
    fixture.run(['run', 'hourly']),
    fixture.run(['schedule']),
    fixture.run(['status']),
  ])

  expect(ends.map(({ code }) => code)).toEqual([2, 2, 2])
  for (const { stderr } of ends)
    expect(stderr).toContain('jobs.hurly of the config is not a job (did you mean hourly?)')
})

test('while another run holds the same work, run exits 3; a job without its key, 2', {
  tags: 'ci',
}, async () => {
  await using fixture = await openScheduleFixture({}, { vehicleData: { apiKey: null } })
  const { pool } = fixture.database
  await fixture.run(['run', 'hourly'])
  // Another process is at work on it: its row, and the lock that its session holds.
  await pool.query("update ops.job_fire set status = 'running', attempt = 1")
  const other = await pool.connect()
  await holdFirstAttempt(other, 1)

  const busy = await fixture.run(['run', 'hourly', '--json'])
  other.release(true)
  const free = await fixture.run(['run', 'hourly'])
  const keyless = await fixture.run(['run', 'reprice'])

  expect(busy.code).toBe(3)
  expect(JSON.parse(busy.stdout).error).toMatch(
    /^hourly is at work \(job run 1, manual, process \d+/,
  )
  expect(free.code).toBe(0)
  expect((await fixture.jobRuns()).map(({ status }) => status)).toEqual(['died', 'ok'])
  expect([keyless.code, keyless.stderr]).toEqual([
    2,
    'reprice cannot run: vehicleData.apiKey is not set.\n',
  ])
})

test('run without a job lists the jobs, when they come next and how they ended', async () => {
  await using fixture = await openScheduleFixture({
    hourly: { schedule: '15 3 1 1 *', timezone: 'Asia/Kuwait' },
  })
  await fixture.run(['run', 'hourly'])

  const { code, stdout } = await fixture.run(['run', '--json'])
  const people = await fixture.run(['run'])

  const { jobs } = JSON.parse(stdout)
  expect(code).toBe(0)
  expect(jobs.hourly).toMatchObject({
    status: 'ok',
    kept: false,
    schedule: '15 3 1 1 *',
    timezone: 'Asia/Kuwait',
    nextSlotAt: expect.stringMatching(/^20\d\d-01-01T00:15:00.000Z$/),
    last: { trigger: 'manual', status: 'ok' },
  })
  expect(jobs.nightly).toMatchObject({ status: 'off', nextSlotAt: null, last: null })
  expect(people.stdout).toMatch(/hourly +ok +15 3 1 1 \* Asia\/Kuwait +20\d\d-01-01 00:15:00 /)
})

test('SIGTERM ends a run with 143 after a clean checkpoint', { tags: 'ci' }, async () => {
  await using fixture = await openScheduleFixture({})
  fixture.sandbox.faults.add({ match: { path: '/geteval' }, fault: { kind: 'slow', ms: 600_000 } })
  const child = fixture.start(['run', 'hourly', '--json'])
  // A request counts once it is answered.
  await until(() => fixture.sandbox.requests.count('/getevallist') > 0)

  child.kill('SIGTERM')

  const ended = await child.ended
  expect(ended.code).toBe(143)
  expect(JSON.parse(ended.stdout)).toMatchObject({ job: 'hourly', status: 'stopped' })
  expect((await fixture.jobRuns()).map(({ status }) => status)).toEqual(['stopped'])
})
