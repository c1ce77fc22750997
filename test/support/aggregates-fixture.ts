import type pg from 'pg'
import { refreshSums } from '#src/warehouse/db/sums.ts'
import { dbOn, inTransaction } from '#src/warehouse/db/transaction.ts'
import type { FactChange, SmallEvaluation, SmallLine } from './aggregates.ts'
import { applyChange, changeFacts, touchedBy } from './aggregates-apply.ts'
import {
  countEvaluations,
  countPricing,
  countRecon,
  type RowTexts,
  storedRows,
} from './aggregates-counted.ts'
import { countAppraisals, countRepeats } from './aggregates-counted-vehicles.ts'
import type { TestDatabase } from './postgres.ts'

/** An evaluation that all sums count. */
export const sampleEvaluation: SmallEvaluation = {
  ...{ rooftop: 1, id: 1, day: '2026-01-31', user: 7, currency: 'KWD', price: '10.125' },
  ...{ photos: 8, hero: 'manual', source: 'CreatedAt', seconds: 300, gone: false },
  ...{ vin: 'JTMDFREV90D123456', recon: null },
}
/** A line of it. */
export const sampleLine: SmallLine = {
  ...{ rooftop: 1, id: 1, first: 1, line: 1, last: null, type: 'paint', cost: '99.995' },
}

const counts = {
  agg_evaluation_day: countEvaluations,
  agg_recon_day: countRecon,
  agg_pricing_day: countPricing,
  agg_repeat_vehicle: countRepeats,
  agg_appraisal: countAppraisals,
} as const
const tables = Object.keys(counts) as (keyof typeof counts)[]

/** The rows of all aggregates, by table. */
export type Aggregates = Readonly<Record<string, RowTexts>>

/** The rows that all of them hold. */
export async function allStored(pool: pg.Pool): Promise<Aggregates> {
  const rows = tables.map(async (table) => [table, await storedRows(pool, table)] as const)
  return Object.fromEntries(await Promise.all(rows))
}

/** The expected rows of all of them, counted from the facts outside the database. */
export async function allCounted(pool: pg.Pool): Promise<Aggregates> {
  const rows = tables.map(async (table) => [table, await counts[table](pool)] as const)
  return Object.fromEntries(await Promise.all(rows))
}

/** Lines first: they are counted when their evaluation comes. */
export async function writeFacts(
  { pool }: TestDatabase,
  evaluations: readonly SmallEvaluation[],
  lines: readonly SmallLine[],
): Promise<void> {
  await inSession(pool, async (client) => {
    await applyChange(client, { does: 'lines', lines })
    for (const evaluation of evaluations)
      await applyChange(client, { does: 'insert', evaluation, lines: [] })
  })
}

/** On a connection of its own, which is thrown away where the work fails. */
export async function inSession(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<void>,
): Promise<void> {
  const client = await pool.connect()
  let broken = true
  try {
    await work(client)
    broken = false
  } finally {
    client.release(broken)
  }
}

/** What a session does before it commits or rolls back. */
export interface Transaction {
  readonly changes: readonly FactChange[]
  readonly ends: string
}

// A deadlock, and a key that the other one has taken: the transaction has done nothing.
const refusals = new Set(['40P01', '23505'])

/** Transactions one after the other; one that is refused has done nothing. */
export async function performAll(pool: pg.Pool, chain: readonly Transaction[]): Promise<void> {
  await inSession(pool, async (client) => {
    await client.query("set deadlock_timeout = '20ms'")
    for (const { changes, ends } of chain) {
      await client.query('begin')
      try {
        for (const change of changes) await changeOwned(client, change)
        await refreshSums(dbOn(client), [1, 2], changes.flatMap(touchedBy))
        await client.query(ends)
      } catch (error) {
        await client.query('rollback')
        if (!refusals.has((error as { code?: string }).code ?? '')) throw error
      }
    }
    await client.query('reset deadlock_timeout')
  })
}

/** Lines, a price, and what moves with an evaluation are written only while it cannot change, as the pipeline does. */
async function changeOwned(client: pg.PoolClient, change: FactChange): Promise<void> {
  const isMove = change.does === 'move' || change.does === 'move back to front'
  if (!('lines' in change || 'asking' in change || isMove) || 'evaluation' in change)
    return await changeFacts(client, change)
  const ids = isMove ? [change.id] : touchedBy(change)
  const { rows } = await client.query<{ eval_id: number }>(
    'select eval_id from core.evaluation where eval_id = any($1) order by eval_id for share',
    [ids],
  )
  const owned = new Set(rows.map(({ eval_id }) => eval_id))
  if ('lines' in change)
    await changeFacts(client, { ...change, lines: change.lines.filter(({ id }) => owned.has(id)) })
  else if (owned.has(ids[0]!)) await changeFacts(client, change)
}

/** Changes facts by the given statements, and brings all sums up to date, in one transaction. */
export async function changeAll(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<unknown>,
): Promise<void> {
  const known =
    'select eval_id as id from core.evaluation union select eval_id from core.agg_appraisal'
  await inTransaction(pool, async ({ client, db }) => {
    await work(client)
    const { rows } = await client.query<{ id: number }>(known)
    await refreshSums(
      db,
      [1, 2],
      rows.map(({ id }) => id),
    )
  })
}

/** Calculates all sums again, after facts that a test wrote by SQL. */
export async function rebuildSums(client: pg.Pool | pg.PoolClient): Promise<void> {
  await client.query('select core.agg_rebuild(rooftop_id) from core.rooftop')
  await client.query('select core.vehicle_rebuild(group_id) from core.rooftop_group')
}

/** What the warehouse says of its own days. */
export async function differences(
  pool: pg.Pool,
  rooftop: number | null = null,
): Promise<unknown[]> {
  const { rows } = await pool.query('select * from core.agg_differences($1) order by 1, 2, 3', [
    rooftop,
  ])
  return rows
}

/** Whether a session of this database waits for a lock. */
export async function isWaiting(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length > 0
}

/** The position of every row of the sums by day: an update moves a row. */
export async function rowPositions(pool: pg.Pool, where = ''): Promise<unknown[]> {
  const { rows } = await pool.query(
    `select ctid::text, xmin::text from core.agg_evaluation_day ${where}
     union all select ctid::text, xmin::text from core.agg_recon_day ${where}
     union all select ctid::text, xmin::text from core.agg_appraisal ${where}`,
  )
  return rows
}

/** The same of its vehicles. */
export async function repeatDifferences(
  pool: pg.Pool,
  group: number | null = null,
): Promise<unknown[]> {
  const { rows } = await pool.query('select * from core.vehicle_differences($1) order by 1, 2, 3', [
    group,
  ])
  return rows
}
