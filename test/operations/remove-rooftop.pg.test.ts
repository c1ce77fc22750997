import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findRooftops } from '#src/pipeline/rooftops.ts'
import { verifyAggregates } from '#src/pipeline/verify-aggregates.ts'
import { allStreams } from '#src/streams/all.ts'
import { type Fixture, runNight } from '../support/fixture.ts'
import { reportedFixture } from '../support/reports-fixture.ts'

const script = new URL('../../sql/operations/remove-rooftop.sql', import.meta.url)

let fixture: Fixture

beforeAll(async () => {
  fixture = await reportedFixture(7, 100)
}, 180_000)

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]()
})

test('the script deletes every row of a rooftop and of no other, and the rooftop can come back', async () => {
  const [leaving, ...others] = fixture.config.rooftops
  const before = await rowsByRooftop()
  const orphansBefore = await orphans()

  await remove(leaving!.uid)

  const after = await rowsByRooftop()
  expect(before[leaving!.uid]!['core.evaluation']).toBeGreaterThan(10)
  expect(before[leaving!.uid]!['core.stock_unit']).toBeGreaterThan(1)
  expect([after[leaving!.uid], after['none']]).toEqual([undefined, undefined])
  for (const { uid } of others) expect(after[uid]).toEqual(before[uid])
  expect(await orphans()).toEqual(orphansBefore)
  const { db, config } = fixture.context
  expect(await verifyAggregates(db, await findRooftops(db, others))).toEqual([])

  // What had rows could not change its currency; a rooftop that comes back can.
  const rooftops = [{ ...leaving!, currency: 'NZD' }, ...others]
  const report = await runNight({ ...fixture.context, config: { ...config, rooftops } }, allStreams)

  expect(report.status).toBe('ok')
  const loaded = (await rowsByRooftop())[leaving!.uid]!
  expect(loaded['core.evaluation']).toBeGreaterThan(10)
  expect(await verifyAggregates(db, await findRooftops(db, rooftops))).toEqual([])
})

test('the script changes nothing where no rooftop has the uid', async () => {
  const before = await rowsByRooftop()

  await expect(remove('nowhere')).rejects.toThrow('no rooftop has the uid nowhere')

  expect(await rowsByRooftop()).toEqual(before)
})

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
       (select count(*)::int from core.app_user where user_id not in (select user_id from core.app_user_rooftop)) as users`,
  )
  return rows[0]
}
