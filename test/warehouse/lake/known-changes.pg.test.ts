import { join } from 'node:path'
import fc from 'fast-check'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { exportLake, type LakeReport, type LakeServices } from '#src/warehouse/lake/export-lake.ts'
import type { Month } from '#src/warehouse/lake/partitions.ts'
import { readLakeTables } from '#src/warehouse/lake/tables.ts'
import { readChanges } from '#src/warehouse/lake/warehouse-state.ts'
import { FolderStore } from '#src/warehouse/store/folder-store.ts'
import { openMartWarehouse } from '../../support/marts-fixture.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'
import { differences } from './compare.ts'
import { type DuckDb, openDuckDb } from './duckdb.ts'
import { shortenCalendar } from './lake-fixture.ts'
import { plantedChanges } from './planted-changes.ts'
import { exportUntilKnown, restingDigests, restingTables, staleTables } from './stale.ts'

const log = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

let database: TestDatabase
let home: TemporaryFolder
let duck: DuckDb

beforeAll(async () => {
  database = await openMartWarehouse()
  await shortenCalendar(database.pool)
  home = await temporaryFolder()
  duck = await openDuckDb()
}, 300_000)

afterAll(async () => {
  await duck[Symbol.asyncDispose]()
  await home[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

async function exported(options: Partial<LakeServices> = {}): Promise<LakeReport> {
  const { signal } = new AbortController()
  const { pool } = database
  const services = { pool, log, signal, crashPoint: () => {}, keepHours: 0, ...options }
  return await exportLake(services, new FolderStore(lake()))
}

function lake(): string {
  return join(home.path, 'lake')
}

test('no table that is compared by its changes has a column about the time of the query, or reads what is not recorded', async () => {
  const { rows } = await database.pool.query<{ name: string; texts: string }>(
    `with recursive reads as (
       select oid as mart, oid as view from pg_class where relnamespace = 'mart'::regnamespace
       union select reads.mart, used.refobjid
       from reads join pg_rewrite as rule on rule.ev_class = reads.view
       join pg_depend as used on used.objid = rule.oid and used.classid = 'pg_rewrite'::regclass and used.refclassid = 'pg_class'::regclass
     )
     select mart.relname as name, string_agg(pg_get_viewdef(view), ';') as texts
     from reads join pg_class as mart on mart.oid = mart join pg_class as source on source.oid = view and source.relkind = 'v' group by 1`,
  )
  const texts = new Map(rows.map((row) => [row.name, row.texts]))
  const isAboutNow = (name: string) => /now\(\)|current_|clock_|random/i.test(texts.get(name)!)

  const db = openDb(database.pool)
  const tables = await readLakeTables(db)
  const { rows: snapshots } = await database.pool.query('select pg_current_snapshot()::text as now')
  const unchanged = await readChanges(db, snapshots[0].now, tables)

  expect([...restingTables].filter(isAboutNow)).toEqual([])
  expect(isAboutNow('rpt_08_pricing_coverage')).toBe(true)
  // Of a table that reads something else nothing would be known.
  expect([...unchanged.keys()].sort()).toEqual([...restingTables].sort())
  expect(new Set([...unchanged.values()].flatMap((months) => [...months]))).toEqual(new Set())
})

test('the warehouse knows the months of any single change, and an export after all of them has them', async () => {
  const { pool } = database
  await exportUntilKnown(pool, exported)
  const db = openDb(pool)
  const tables = await readLakeTables(db)
  let before = await restingDigests(pool)
  const missed: unknown[] = []

  for (const [n, [name, make]] of Object.entries(plantedChanges).entries()) {
    const { rows } = await pool.query<{ now: string }>('select pg_current_snapshot()::text as now')
    await pool.query(make(n))
    const known = await readChanges(db, rows[0]!.now, tables)
    const after = await restingDigests(pool)
    const changed = changedMonths(before, after)
    const unknown = changed.filter(([table, month]) => !isKnown(known, table, month))
    if (changed.length === 0 || unknown.length > 0) missed.push([name, changed.length, unknown])
    before = after
  }
  const { isEverythingCompared } = await exported()

  expect(missed).toEqual([['a person has left the list', 0, []]])
  expect([isEverythingCompared, await staleTables(lake(), before)]).toEqual([false, []])
  expect(await differences(pool, duck, lake())).toEqual([])
}, 600_000)

test('prices that are only confirmed change nothing but the times of it', async () => {
  const { pool } = database
  const db = openDb(pool)
  const tables = await readLakeTables(db)
  const changedBy = async (statement: string) => {
    const { rows } = await pool.query<{ now: string }>('select pg_current_snapshot()::text as now')
    await pool.query(statement)
    const known = await readChanges(db, rows[0]!.now, tables)
    const names = known.keys().filter((name) => known.get(name)!.size > 0)
    const isCompared = (name: string) => restingTables.has(name) && !known.has(name)
    return [...names, ...tables.map(({ name }) => name).filter(isCompared)].sort()
  }
  await exportUntilKnown(pool, exported)
  const confirm = "set last_confirmed_at = last_confirmed_at + interval '1 day' where is_current"

  const confirmed = await changedBy(`update core.price_observation ${confirm}`)
  const stock = await changedBy(`update core.stock_price_observation ${confirm}`)
  // One of them has another price.
  const other = await changedBy(
    "update core.price_observation set last_confirmed_at = last_confirmed_at + interval '1 day', retail = retail + (eval_id = (select max(eval_id) from core.price_observation where is_current and retail is not null))::int where is_current",
  )

  expect(confirmed).toEqual(['appraisal_accuracy', 'fact_price_confirmation'])
  expect(stock).toEqual(['fact_stock_price_confirmation'])
  expect(other).toEqual(
    expect.arrayContaining(['evaluation_wide', 'fact_price_observation', 'appraisal_accuracy']),
  )
  await exported()
  expect(await differences(pool, duck, lake())).toEqual([])
})

test('exports between random changes of several sessions at once miss none', async () => {
  const { pool } = database
  const names = Object.keys(plantedChanges)
  const steps = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.record({ does: fc.constantFrom(...names), n: fc.nat(999) }) },
      { weight: 2, arbitrary: fc.constant('export' as const) },
    ),
    { minLength: 8, maxLength: 16 },
  )
  await exportUntilKnown(pool, exported)
  let partly = 0
  let changes = 0
  let givenUp = 0

  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 1, max: 3 }), async (all, open) => {
      const sessions: pg.PoolClient[] = []
      for (const step of all) {
        if (step === 'export') {
          if (!(await exported()).isEverythingCompared) partly += 1
          continue
        }
        const client = await pool.connect()
        await client.query("begin; set local lock_timeout = '50ms'")
        // Two sessions may want the same row, and a number may be there already.
        const isMade = await client.query(plantedChanges[step.does]!(step.n)).then(
          () => true,
          () => false,
        )
        sessions.push(client)
        changes += 1
        // Some are open while others change the same rows, and while exports read.
        if (!isMade || sessions.length > open)
          givenUp += await end(sessions.splice(step.n % sessions.length, 1))
      }
      await exported()
      givenUp += await end(sessions)
      await exported()
      expect(await staleTables(lake(), await restingDigests(pool))).toEqual([])
    }),
    { numRuns: 4, endOnFailure: true },
  )

  expect(partly).toBeGreaterThan(0)
  expect(givenUp).toBeLessThan(changes / 10)
  expect(await differences(pool, duck, lake())).toEqual([])
}, 900_000)

// The last one: nothing is left of these tables.
test('an export after a table was emptied has it', async () => {
  const { pool } = database
  await exportUntilKnown(pool, exported)
  const missed: unknown[] = []

  for (const name of [
    'agg_recon_day',
    'vehicle',
    'agg_evaluation_day',
    'evaluation_version',
    'evaluation',
  ]) {
    await pool.query(`truncate core.${name}`)
    const marts = await restingDigests(pool)
    const changed = await staleTables(lake(), marts)
    const { isEverythingCompared } = await exported()
    const stale = await staleTables(lake(), marts)
    if (changed.length === 0 || isEverythingCompared || stale.length > 0)
      missed.push([name, changed, isEverythingCompared, stale])
  }

  expect(missed).toEqual([])
  expect(await differences(pool, duck, lake())).toEqual([])
}, 300_000)

type Marts = Awaited<ReturnType<typeof restingDigests>>

/** The months that have other rows, each with its table. */
function changedMonths(before: Marts, after: Marts): (readonly [table: string, month: Month])[] {
  return [...after].flatMap(([table, months]) => {
    const old = before.get(table)!
    return [...new Set([...months.keys(), ...old.keys()])]
      .filter((month) => months.get(month) !== old.get(month))
      .map((month) => [table, month] as const)
  })
}

/** Whether an export that knows these changes reads a month again; a table that is not among them is read whole. */
function isKnown(
  known: Awaited<ReturnType<typeof readChanges>>,
  table: string,
  month: Month,
): boolean {
  const months = known.get(table)
  // Rows without a month are compared with any other.
  return months === undefined || months.has(month) || (month === null && months.size > 0)
}

/** Commits the sessions; returns how many gave up, and so have done nothing. */
async function end(sessions: readonly pg.PoolClient[]): Promise<number> {
  let givenUp = 0
  for (const client of sessions) {
    // Vehicles are calculated when it commits: another session may have calculated the same ones, and be open.
    await client.query('commit').catch((error: { code?: string }) => {
      if (error.code !== '55P03') throw error
      givenUp += 1
    })
    client.release()
  }
  return givenUp
}
