import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { findWrongAggregates } from '#src/sync/verify/verify-aggregates.ts'
import { rebuildSums } from '../../support/aggregates-fixture.ts'
import { type Fixture, runNight } from '../../support/fixture.ts'
import { reportedFixture } from '../../support/reports-fixture.ts'

const script = new URL('../../../sql/operations/remove-rooftop.sql', import.meta.url)

let fixture: Fixture

beforeAll(async () => {
  fixture = await reportedFixture(7, 120)
}, 180_000)

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]()
})

test('the script deletes every row of a rooftop and of no other, and the rooftop can come back', async () => {
  const [leaving, ...others] = fixture.config.rooftops
  await addSalespeople(leaving!.uid, others[0]!.uid)
  await rebuildSums(fixture.database.pool)
  const before = await rowsByRooftop()
  const orphansBefore = await orphans()

  await remove(leaving!.uid)

  const after = await rowsByRooftop()
  expect(before[leaving!.uid]!['core.evaluation']).toBeGreaterThan(10)
  expect(before[leaving!.uid]!['core.stock_unit']).toBeGreaterThan(1)
  expect([after[leaving!.uid], after['none']]).toEqual([undefined, undefined])
  for (const { uid } of others) expect(after[uid]).toEqual(before[uid])
  expect(await orphans()).toEqual(orphansBefore)
  expect(await addedSalespeople()).toEqual([
    'in a list here, a version there',
    'in a list here, an evaluation there',
    'in an evaluation here, a list there',
  ])
  const { db, config } = fixture.context
  const wrongAggregates = async (all: typeof others) => {
    const found = await findRooftops(db, all)
    return (await Promise.all(findWrongAggregates.map((find) => find(db, found)))).flat()
  }
  expect(await wrongAggregates(others)).toEqual([])

  // What had rows could not change its currency; a rooftop that comes back can.
  const rooftops = [{ ...leaving!, currency: 'NZD' }, ...others]
  const report = await runNight({ ...fixture.context, config: { ...config, rooftops } }, allStreams)

  expect(report.status).toBe('ok')
  const loaded = (await rowsByRooftop())[leaving!.uid]!
  expect(loaded['core.evaluation']).toBeGreaterThan(10)
  expect(await wrongAggregates(rooftops)).toEqual([])
})

test('the script changes nothing where no rooftop has the uid', async () => {
  const before = await rowsByRooftop()

  await expect(remove('nowhere')).rejects.toThrow('no rooftop has the uid nowhere')

  expect(await rowsByRooftop()).toEqual(before)
})

/** Adds salespeople whose evaluations and lists do not agree; `display_name` says where each is named. */
async function addSalespeople(here: string, there: string): Promise<void> {
  const { pool } = fixture.database
  const add = async (
    name: string,
    ...named: readonly (readonly [statement: string, uid: string])[]
  ) => {
    const { rows } = await pool.query<{ user_id: string }>(
      `insert into core.app_user (group_id, display_name, is_generated_link_account, is_active, in_user_list)
       select group_id, $1, false, true, true from core.rooftop where rooftop_uid = $2 returning user_id`,
      [name, here],
    )
    const id = rows[0]!.user_id
    await pool.query(
      `insert into pii.app_user_email (user_id, group_id, email)
       select user_id, group_id, user_id || '@example.com' from core.app_user where user_id = $1`,
      [id],
    )
    for (const [statement, uid] of named)
      expect((await pool.query(statement, [id, uid])).rowCount).toBe(1)
  }
  const list = `insert into core.app_user_rooftop (rooftop_id, user_id, is_active)
    select rooftop_id, $1, true from core.rooftop where rooftop_uid = $2`
  const oneOf = (
    table: string,
  ) => `update ${table} set user_id = $1 where (rooftop_id, eval_id, version_no) = (
    select rooftop_id, eval_id, version_no from ${table} join core.rooftop using (rooftop_id) left join core.app_user using (user_id)
    where rooftop_uid = $2 and coalesce(display_name, '') not like 'in %' limit 1)`
  const evaluation = oneOf('core.evaluation')
  const version = oneOf('core.evaluation_version')
  await add('in a list here, an evaluation there', [list, here], [evaluation, there])
  await add('in a list here, a version there', [list, here], [version, there])
  await add('in an evaluation here', [evaluation, here])
  await add('in a version here', [version, here])
  await add('in an evaluation here, a list there', [evaluation, here], [list, there])
}

async function addedSalespeople(): Promise<string[]> {
  const { rows } = await fixture.database.pool.query<{ name: string }>(
    `select display_name as name from core.app_user join pii.app_user_email using (user_id)
     where display_name like 'in %' order by display_name collate "C"`,
  )
  return rows.map(({ name }) => name)
}

async function remove(uid: string): Promise<void> {
  const client = await fixture.database.pool.connect()
  try {
    await client.query(`select set_config('forecourt.uid', $1, false)`, [uid])
    await client.query(await readFile(script, 'utf8'))
  } finally {
    client.release()
  }
}

/** How many rows each table has of each rooftop; the sums of the reports and the ledger of paid calls are left out. */
async function rowsByRooftop(): Promise<Record<string, Record<string, number>>> {
  const { pool } = fixture.database
  const tables = await pool.query<{ name: string }>(
    `select table_schema || '.' || table_name as name from information_schema.columns
     join information_schema.tables using (table_schema, table_name)
     where column_name = 'rooftop_id' and table_type = 'BASE TABLE' and table_name not like 'agg\\_%'
       and table_name <> 'billable_call' order by 1`,
  )
  const counted: Record<string, Record<string, number>> = {}
  for (const { name } of tables.rows) {
    const { rows } = await pool.query<{ uid: string; count: number }>(
      `select coalesce(r.rooftop_uid, 'none') as uid, count(*)::int as count
       from ${name} as one left join core.rooftop as r on r.rooftop_id = one.rooftop_id group by 1`,
    )
    for (const { uid, count } of rows) counted[uid] = { ...counted[uid], [name]: count }
  }
  return counted
}

async function orphans(): Promise<Record<string, number>> {
  const { rows } = await fixture.database.pool.query(
    `select
       (select count(*)::int from core.stock_import_row where import_id not in (select import_id from core.stock_import)) as import_rows,
       (select count(*)::int from ops.price_batch_unit where batch_no not in (select batch_no from ops.price_batch)) as batch_units,
       (select count(*)::int from core.evaluation where user_id not in (select user_id from core.app_user)) as evaluations,
       (select count(*)::int from core.evaluation_version where user_id not in (select user_id from core.app_user)) as versions,
       (select count(*)::int from pii.app_user_email where user_id not in (
         select user_id from core.app_user_rooftop
         union select user_id from core.evaluation where user_id is not null
         union select user_id from core.evaluation_version where user_id is not null)) as emails`,
  )
  return rows[0]
}
