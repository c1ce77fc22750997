import { expect, test } from 'vitest'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { readStatus } from '#src/sync/explain/status.ts'
import { findRooftops, registerRooftops } from '#src/sync/run/rooftops.ts'
import { startRun } from '#src/sync/run/start-run.ts'
import { verifyRows } from '#src/sync/verify/verify-rows.ts'
import { localDay } from '#src/values/instant.ts'
import { buildMarts } from '#src/warehouse/db/marts.ts'
import { rebuildSums } from '../support/aggregates-fixture.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { someOf } from '../support/cases.ts'
import { until } from '../support/child.ts'
import { type Fixture, openFixture } from '../support/fixture.ts'
import { databaseLocks } from '../support/postgres.ts'

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

const snapshot = async ({ database }: Fixture) =>
  (
    await database.pool.query(`select (select json_agg(r order by rooftop_id) from core.rooftop as r) as rooftops,
      (select json_agg(e order by rooftop_id, eval_id) from core.evaluation as e) as evaluations`)
  ).rows[0]

test.each(
  someOf(
    [
      [{ currency: 'NZD' }, /currency AUD, and the config says NZD: set it back to AUD/],
      [{ odometerUnit: 'mi' }, /odometerUnit km, and the config says mi/],
      [{ region: 'GCC' }, /region AU, and the config says GCC/],
    ],
    1,
  ),
)('a change of %o is refused while the rooftop has rows', async (change, message) => {
  await using fixture = await loaded()
  const before = await snapshot(fixture)

  const changed = fixture.night(changedConfig(fixture, change))

  await expect(changed).rejects.toMatchObject({
    name: 'UsageError',
    message: expect.stringMatching(message),
  })
  expect(await snapshot(fixture)).toEqual(before)
})

test('another odometer unit is accepted while no reading is loaded, as before its name is known', async () => {
  await using fixture = await loaded()
  const { config } = changedConfig(fixture, { odometerUnit: 'mi' })
  for (const table of ['evaluation', 'evaluation_version'])
    await fixture.database.pool.query(`update core.${table} set odometer = null`)

  const [first] = await registerRooftops(fixture.context.db, config.rooftops)
  await fixture.database.pool.query(
    `update core.evaluation_version set odometer = 1 where ctid = (select min(ctid) from core.evaluation_version where rooftop_id = 1)`,
  )
  const back = registerRooftops(fixture.context.db, fixture.config.rooftops)

  expect(first).toMatchObject({ odometerUnit: 'mi' })
  await expect(back).rejects.toThrow(/odometerUnit mi, and the config says km/)
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
  expect((await pool.query('select * from core.vehicle_differences()')).rows).toEqual([])
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

test('a new time zone moves the days of price confirmations, also of evaluations whose own day does not change', {
  tags: 'ci',
}, async () => {
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
  await buildMarts(pool)
  const differences = async () => (await pool.query('select * from core.agg_differences()')).rows
  const pricing = async () =>
    (
      await pool.query<{ id: number; day: number }>(
        `select distinct rooftop_id as id,
           (now() at time zone time_zone)::date - average_age_days::int - date '2000-01-01' as day
         from mart.rpt_08_pricing_coverage join core.rooftop using (rooftop_id) order by 1`,
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
    expect(await pricing()).toEqual(
      before.map((one) => ({ ...one, day: moved.has(one.id) ? day : one.day })),
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

test.each(
  someOf(
    [
      { change: { timezone: 'Pacific/Honolulu' }, at: 1 },
      { change: { group: 'another-group' }, at: 1 },
      // A run at another rooftop of the group may load records of this one.
      { change: { group: 'another-group' }, at: 2 },
    ],
    1,
  ),
)(
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

test.each(
  someOf([{ timezone: 'Pacific/Honolulu' }, { currency: 'NZD' }, { odometerUnit: 'mi' }], 1),
)(
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

test.each(someOf([{ timezone: 'Pacific/Honolulu' }, { group: 'another-group' }], 1))(
  'a change of %o and the start of a run exclude each other',
  async (change) => {
    await using fixture = await openFixture({ sandbox: { now, rooftops: 3, evaluations: 40 } })
    await fixture.night()
    const { pool } = fixture.database
    const { db, config } = fixture.context
    const changed = changedConfig(fixture, change)
    const rooftops = await registerRooftops(db, config.rooftops)
    const plan = { command: 'sync', mode: 'sync', from: 0, until: null } as const
    const request = { plan, streams: [evaluations], rooftops: config.rooftops }
    const before = await snapshot(fixture)

    // The other process registers its rooftops while this one starts a run, and is the later one.
    const holder = await pool.connect()
    await holder.query('begin')
    await holder.query('select pg_advisory_xact_lock(7299, 0)')
    const registering = registerRooftops(changed.db, changed.config.rooftops)
    registering.catch(() => undefined)
    await untilWaiting(pool)
    await holder.query(
      `with run as (
         insert into ops.run (command, status, is_detached, source_started_at) values ('sync', 'running', true, now()) returning run_id)
       insert into ops.run_stream (run_id, rooftop_id, stream, status) select run_id, 2, 'evaluations', 'waiting' from run`,
    )
    await holder.query('commit')
    await expect(registering).rejects.toMatchObject({ name: 'BusyError' })
    expect(await snapshot(fixture)).toEqual(before)

    // It is the earlier one: this process would write with the old zone.
    await pool.query("update ops.run_stream set status = 'ok'; update ops.run set status = 'ok'")
    await registerRooftops(changed.db, changed.config.rooftops)
    await expect(startRun(fixture.context, request, rooftops, 0)).rejects.toMatchObject({
      name: 'BusyError',
      message: expect.stringContaining(`rooftop ${rooftops[0]!.uid}; nothing was started`),
    })
    const { rows } = await pool.query("select from ops.run where status = 'running'")
    expect(rows).toEqual([])
    holder.release()
  },
)

async function untilWaiting(pool: Fixture['database']['pool']): Promise<void> {
  await until(async () => {
    const { rows } = await pool.query(
      `select from ${databaseLocks} where locktype = 'advisory' and classid = 7299 and not granted`,
    )
    return rows.length > 0
  })
}

test('a rooftop that moves to another group leaves no row behind, in any table', async () => {
  const uids = ['one', 'two']
  const world = worldOf({
    rooftops: uids.map((uid, index) => aRooftop({ uid, dealerId: 101 + index, groupId: uid })),
    evaluations: uids.map((uid, index) => anEvaluation({ evalId: 1001 + index, rooftopUid: uid })),
    keys: uids.map((uid) => aKey({ name: uid, value: uid, rooftopUids: [uid] })),
  })
  await using fixture = await openFixture({ sandbox: { world, now } })
  await fixture.night()
  const { pool } = fixture.database
  // Both groups have the same check, as when a rooftop was in the config under a wrong group.
  await pool.query(`
    insert into core.vehicle_check (rooftop_id, eval_id, check_kind, check_ref, group_id, vin, first_seen_at)
    select rooftop_id, eval_id, 'ppsr', ref, group_id, vin, now() from core.evaluation cross join unnest(array['same', 'own-' || eval_id]) as ref;
    insert into core.watch_status_change (rooftop_id, eval_id, check_kind, check_ref, observed_at, to_status)
    select rooftop_id, eval_id, check_kind, check_ref, now(), 'watching' from core.vehicle_check;
    insert into pii.signed_link (rooftop_id, eval_id, link_kind, link_ref, url, signed_at, expires_at)
    select rooftop_id, eval_id, 'ppsr_pdf', check_ref, 'http://127.0.0.1/x', now(), now() + interval '1 day' from core.vehicle_check;
    insert into pii.archived_pdf (rooftop_id, eval_id, link_kind, link_ref, sha256, byte_count)
    select rooftop_id, eval_id, 'ppsr_pdf', check_ref, sha256((rooftop_id || check_ref)::bytea), 1 from core.vehicle_check`)
  const tablesWith = async (columns: readonly string[]) =>
    (
      await pool.query<{ name: string }>(
        `select attrelid::regclass::text as name from pg_attribute join pg_class on pg_class.oid = attrelid
         where relkind = 'r' and relnamespace in ('core'::regnamespace, 'pii'::regnamespace, 'raw'::regnamespace, 'ops'::regnamespace)
           and attname = any($1) group by attrelid having count(*) = $2 order by 1`,
        [columns, columns.length],
      )
    ).rows.map(({ name }) => name)
  const first = fixture.config.rooftops.find(({ uid }) => uid === 'one')!
  const second = fixture.config.rooftops.find(({ uid }) => uid === 'two')!

  await registerRooftops(fixture.context.db, [{ ...first, group: second.group }, second])

  const ofChecks = await tablesWith(['rooftop_id', 'eval_id', 'check_kind', 'check_ref'])
  const ofLinks = await tablesWith(['rooftop_id', 'eval_id', 'link_kind', 'link_ref'])
  const ofGroups = await tablesWith(['rooftop_id', 'group_id'])
  const left: Record<string, unknown> = {}
  for (const table of ofChecks)
    left[table] = (
      await pool.query(
        `select (select count(*)::int from ${table}) as rows, count(*)::int as lost from ${table} as own
         where not exists (select from core.vehicle_check as checked
           where (checked.rooftop_id, checked.eval_id, checked.check_kind, checked.check_ref)
             = (own.rooftop_id, own.eval_id, own.check_kind, own.check_ref))`,
      )
    ).rows[0]
  for (const table of ofLinks)
    left[table] = (
      await pool.query(
        `select (select count(*)::int from ${table}) as rows, count(*)::int as lost from ${table} as own
         where not exists (select from core.vehicle_check as checked
           where (checked.rooftop_id, checked.eval_id, checked.check_kind || '_pdf', checked.check_ref)
             = (own.rooftop_id, own.eval_id, own.link_kind, own.link_ref))`,
      )
    ).rows[0]
  for (const table of ofGroups)
    left[`${table} by group`] = (
      await pool.query(
        `select (select count(*)::int > 0 from ${table}) as rows, count(*)::int as lost
         from ${table} as own join core.rooftop using (rooftop_id) where own.group_id <> rooftop.group_id`,
      )
    ).rows[0]
  // A new table must be filled above, and be moved.
  expect(left).toEqual({
    'core.vehicle_check': { rows: 3, lost: 0 },
    'core.watch_status_change': { rows: 3, lost: 0 },
    'pii.archived_pdf': { rows: 3, lost: 0 },
    'pii.signed_link': { rows: 3, lost: 0 },
    'core.agg_appraisal by group': { rows: true, lost: 0 },
    'core.evaluation by group': { rows: true, lost: 0 },
    'core.rooftop by group': { rows: true, lost: 0 },
    'core.vehicle_check by group': { rows: true, lost: 0 },
  })
  // The file that no other check has.
  const { rows: files } = await pool.query('select sha256 from pii.erasure_file')
  expect(files).toHaveLength(1)
})
