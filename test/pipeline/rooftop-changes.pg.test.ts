import { expect, test } from 'vitest'
import { findRooftops, registerRooftops } from '#src/pipeline/rooftops.ts'
import { readStatus } from '#src/pipeline/status.ts'
import { verifyRows } from '#src/pipeline/verify-rows.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { localDay } from '#src/values/instant.ts'
import { type Fixture, openFixture } from '../support/fixture.ts'
import { rebuildSums } from '../support/aggregates-fixture.ts'

const now = new Date('2026-03-10T02:00:00Z')
const loaded = async () => {
  const fixture = await openFixture({ sandbox: { now, rooftops: 3, evaluations: 120 } })
  await fixture.night()
  return fixture
}

/** The config of the fixture with other settings for its first rooftop. */
function changedConfig({ config, context }: Fixture, change: object) {
  const [first, ...others] = config.rooftops
  return { ...context, config: { ...config, rooftops: [{ ...first!, ...change }, ...others] } }
}

const rowsOf = async ({ database }: Fixture) =>
  (
    await database.pool.query<{ created_at: Date; completed_at: Date; days: string[] }>(
      `select eval_id, created_at, completed_at, array[created_date_local, completed_date_local]::text[] as days
       from core.evaluation where rooftop_id = 1 order by eval_id`,
    )
  ).rows

/** Evaluations that the sums count, by rooftop. */
const evaluationsOf = async ({ database }: Fixture) => {
  const { rows } = await database.pool.query<{ id: number; known: number }>(
    `select rooftop_id as id, count(*)::int as known from core.evaluation
     where gone_at is null and completed_date_local is not null group by 1`,
  )
  return new Map(rows.map(({ id, known }) => [id, known]))
}

const snapshot = async ({ database }: Fixture) =>
  (
    await database.pool.query(`select (select json_agg(r order by rooftop_id) from core.rooftop as r) as rooftops,
      (select json_agg(e order by rooftop_id, eval_id) from core.evaluation as e) as evaluations`)
  ).rows[0]

test.each([
  [{ currency: 'NZD' }, /currency AUD, and the config says NZD: set it back to AUD/],
  [{ odometerUnit: 'mi' }, /odometerUnit km, and the config says mi/],
  [{ region: 'GCC' }, /region AU, and the config says GCC/],
])('a change of %o is refused while the rooftop has rows', async (change, message) => {
  await using fixture = await loaded()
  const before = await snapshot(fixture)

  const changed = fixture.night(changedConfig(fixture, change))

  await expect(changed).rejects.toMatchObject({
    name: 'UsageError',
    message: expect.stringMatching(message),
  })
  expect(await snapshot(fixture)).toEqual(before)
})

test('a rooftop without rows takes any currency', async () => {
  await using fixture = await openFixture({ sandbox: { now, rooftops: 3, evaluations: 0 } })
  const { db } = fixture.context
  await registerRooftops(db, fixture.config.rooftops)

  const { config } = changedConfig(fixture, { currency: 'NZD' })
  const [first] = await registerRooftops(db, config.rooftops)

  expect(first).toMatchObject({ currency: 'NZD' })
  expect((await snapshot(fixture)).rooftops[0]).toMatchObject({ currency_code: 'NZD' })
})

test('a new time zone recalculates all local days and sums in one command, and makes no version', async () => {
  await using fixture = await loaded()
  const { pool } = fixture.database
  const zone = 'Pacific/Honolulu'
  const before = await rowsOf(fixture)
  const versions =
    'select eval_id, version_no, changed_fields from core.evaluation_version where version_no > 1'
  const { rows: versionsBefore } = await pool.query(versions)
  const warned: unknown[] = []
  const { context } = fixture
  const log = Object.assign(Object.create(context.log), {
    warn: (...args: unknown[]) => warned.push(args),
  })

  await fixture.night({ ...changedConfig(fixture, { timezone: zone }), log })

  const after = await rowsOf(fixture)
  expect(after.map(({ days }) => days)).toEqual(
    after.map((row) => [localDay(row.created_at, zone), localDay(row.completed_at, zone)]),
  )
  expect(after.map(({ days }) => days)).not.toEqual(before.map(({ days }) => days))
  expect(warned).toContainEqual([
    expect.objectContaining({ to: zone }),
    expect.stringContaining('local days and sums recalculated'),
  ])
  expect((await pool.query('select * from core.agg_differences()')).rows).toEqual([])
  expect((await pool.query('select * from core.repeat_differences()')).rows).toEqual([])
  expect((await pool.query(versions)).rows).toEqual(versionsBefore)

  // A later read of the evaluation counts as unchanged.
  await pool.query(
    "update core.evaluation set content_hash = '\\x00', source_updated_at = created_at - interval '1 day'",
  )
  await pool.query("update raw.payload set content_hash = '\\x00'")
  await fixture.nightAfter(1, changedConfig(fixture, { timezone: zone }))
  expect((await pool.query(versions)).rows).toEqual(versionsBefore)
  const read = "select eval_id from core.evaluation where content_hash <> '\\x00'"
  expect((await pool.query(read)).rows).not.toEqual([])
})

test('a new time zone moves the days of price confirmations, also of evaluations whose own day does not change', async () => {
  await using fixture = await loaded()
  const { pool } = fixture.database
  // Ten to midnight in UTC is another day in New Zealand, but not in Hawaii.
  await pool.query(
    `insert into core.price_observation (rooftop_id, eval_id, price_source, observed_at, last_confirmed_at, is_current, as_of_date,
       currency_code, confidence, value_hash, run_id)
     select rooftop_id, eval_id, 'pricing_ai', '2026-03-09T23:50:00Z', '2026-03-09T23:50:00Z', true, '2026-03-09',
       currency_code, 'High', '\\x00', run_id from core.evaluation`,
  )
  await rebuildSums(pool)
  const differences = async () => (await pool.query('select * from core.agg_differences()')).rows
  const pricing = async () =>
    (
      await pool.query<{ id: number; days: number }>(
        'select rooftop_id as id, sum(confirmed_days)::int as days from core.agg_pricing_day group by 1 order by 1',
      )
    ).rows
  const { db } = fixture.context
  const { rooftops } = fixture.config

  // One rooftop of a group, several of it, and all.
  const moves = [
    { zone: 'Pacific/Honolulu', moving: rooftops.slice(0, 1), day: 9564 },
    { zone: 'Pacific/Auckland', moving: rooftops.slice(0, 2), day: 9565 },
    { zone: 'UTC', moving: rooftops, day: 9564 },
  ]
  for (const { zone, moving, day } of moves) {
    const before = await pricing()
    const zoned = moving.map((rooftop) => ({ ...rooftop, timezone: zone }))
    const rows = await registerRooftops(db, zoned)
    const moved = new Set(rows.map(({ id }) => id))
    const status = await readStatus(db, [], rows, fixture.config)

    for (const { uid } of rows)
      expect(status.rooftops[uid]!.zoneChange).toMatchObject({ to: zone, at: expect.any(String) })

    expect(await differences()).toEqual([])
    const known = await evaluationsOf(fixture)
    expect(await pricing()).toEqual(
      before.map(({ id, days }) => ({ id, days: moved.has(id) ? known.get(id)! * day : days })),
    )
  }
})

/** Everything that a change of a time zone or dealer group writes. */
const written = async (fixture: Fixture) => {
  const tables = ['core.rooftop_group', 'core.agg_appraisal', 'core.app_user', 'ops.run']
  const { rows } = await fixture.database.pool.query(
    `select ${tables.map((table) => `(select json_agg(t order by t) from ${table} as t) as "${table}"`).join(', ')}`,
  )
  return { ...rows[0], ...(await snapshot(fixture)) }
}

test.each([
  { change: { timezone: 'Pacific/Honolulu' }, at: 1 },
  { change: { group: 'another-group' }, at: 1 },
  // A run at another rooftop of the group may load records of this one.
  { change: { group: 'another-group' }, at: 2 },
])(
  'a change of $change is refused while a run at rooftop $at of the group works',
  async ({ change, at }) => {
    await using fixture = await openFixture({ sandbox: { now, rooftops: 2, evaluations: 40 } })
    await fixture.night()
    const { pool } = fixture.database
    const { rows: groups } = await pool.query('select distinct group_id from core.rooftop')
    await pool.query(
      `with run as (
       insert into ops.run (command, status, is_detached, source_started_at)
       values ('backfill', 'running', true, now()) returning run_id)
     insert into ops.run_stream (run_id, rooftop_id, stream, status)
     select run_id, $1, 'evaluations', 'waiting' from run`,
      [at],
    )
    const before = await written(fixture)
    const { config, ...context } = changedConfig(fixture, change)
    // What comes before the refused change in the config is not written either.
    const [first, second] = config.rooftops
    const renamed = { ...config, rooftops: [{ ...second!, name: 'Renamed' }, first!] }

    const changed = fixture.night({ ...context, config: renamed })

    await expect(changed).rejects.toMatchObject({
      name: 'BusyError',
      message: expect.stringMatching(
        /^Run 2 is at work .* has changed in the config; nothing was started\. Wait for it to end/,
      ),
    })
    expect(groups).toHaveLength(1)
    expect(await written(fixture)).toEqual(before)
  },
)

test.each([{ timezone: 'Pacific/Honolulu' }, { currency: 'NZD' }, { odometerUnit: 'mi' }])(
  'verify --rows goes by the settings that the rows were loaded with, also after a change of %o in the config',
  async (change) => {
    await using fixture = await loaded()
    const { context } = fixture
    const { config } = changedConfig(fixture, change)
    const differing = async () => {
      const rooftops = await findRooftops(context.db, config.rooftops)
      const { rows } = await verifyRows(context, [evaluations], rooftops, null, context.signal)
      return rows.map(({ columns }) => columns.map(({ column }) => column))
    }

    expect(await differing()).toEqual([])

    await fixture.database.pool.query(
      `update core.evaluation set created_date_local = created_date_local + 1
       where (rooftop_id, eval_id) = (select rooftop_id, min(eval_id) from core.evaluation where rooftop_id = 1 group by 1)`,
    )
    expect(await differing()).toEqual([['created_date_local']])
  },
)
