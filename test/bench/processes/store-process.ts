import { pipeline } from 'node:stream/promises'
import { type Kysely, sql } from 'kysely'
import type pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { evaluationRecords } from '#src/streams/evaluations/evaluation-records.ts'
import { type Incoming, loadRecords, savePayloads } from '#src/sync/records/load-records.ts'
import { findRooftops, registerRooftops } from '#src/sync/run/rooftops.ts'
import { bodyHash } from '#src/values/content-hash.ts'
import type { RooftopRow } from '#src/values/rooftop.ts'
import { defaultWire } from '#src/values/wire.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { refreshSums } from '#src/warehouse/db/sums.ts'
import { inTransaction, openDb, type Tx } from '#src/warehouse/db/transaction.ts'
import { configOf } from '../bench-config.ts'
import { evaluationBody } from '../evaluation-body.ts'
import { readFilledTables } from '../filled-tables.ts'
import { answerMessages } from './bench-process.ts'

/** The method of storing prepared rows of evaluations; answered with evaluations a second. */
export interface StoreOrder {
  readonly how: StoreWay
  readonly warehouse: string
  readonly evaluations: number
}

/** load: by the pipeline, with the sums of the reports; copy: COPY of its rows; multi-row and row-by-row: upserts. */
export type StoreWay = 'load' | 'copy' | 'multi-row' | 'row-by-row'

const batchSize = 1_000
/** Seconds: thirty a day. */
const apart = 2_880
const day = Date.UTC(2025, 0, 1) / 1000

interface Batch {
  readonly incoming: readonly Incoming[]
  readonly payloads: Parameters<typeof savePayloads>[4]
}

/** The rows of a batch by table, as COPY writes them. */
type CopiedBatch = ReadonlyMap<string, string>

let ready:
  | {
      batches: readonly Batch[]
      copied: CopiedBatch[]
      rows: Map<string, object[]>[]
      columns: ReadonlyMap<string, readonly string[]>
    }
  | undefined

async function store({ how, warehouse, evaluations: count }: StoreOrder): Promise<number> {
  const pool = await openPool(warehouse, { applicationName: 'bench', max: 2 })
  try {
    const config = configOf({
      warehouse,
      source: 'http://127.0.0.1/v1',
      rooftops: 1,
      start: '2026-06-01',
      concurrency: 1,
    })
    await registerRooftops(openDb(pool), config.rooftops)
    const [rooftop] = await findRooftops(openDb(pool), config.rooftops)
    ready ??= {
      ...{ batches: batchesOf(rooftop!, count), copied: [], rows: [] },
      columns: await readFilledTables(pool),
    }
    const startedMs = performance.now()
    for (let at = 0; at < ready.batches.length; at += 1) {
      await ways[how](pool, rooftop!, at)
      // As the pipeline does from time to time.
      if (at < 2) await pool.query('select ops.refresh_statistics()')
    }
    const seconds = (performance.now() - startedMs) / 1000
    if (how === 'load' && ready.copied.length === 0) await remember(pool, ready)
    return count / seconds
  } finally {
    await pool.end()
  }
}

const ways: Record<StoreWay, (pool: pg.Pool, rooftop: RooftopRow, at: number) => Promise<void>> = {
  load: async (pool, rooftop, at) => {
    const { incoming, payloads } = ready!.batches[at]!
    await inTransaction(
      pool,
      async (tx) => {
        await loadRecords(tx, evaluationRecords, rooftop, incoming, defaultWire.appraisal)
        await savePayloads(tx, evaluationRecords.endpoint, rooftop, 1, payloads)
        const ids = incoming.map(({ id }) => id)
        await refreshSums(tx.db, [rooftop.groupId], ids)
      },
      'slice',
    )
  },
  copy: async (pool, _rooftop, at) => await copyBatch(pool, at),
  'multi-row': async (pool, _rooftop, at) => {
    await inTransaction(pool, async (tx) => await upsert(tx, at, 1_000))
  },
  'row-by-row': async (pool, _rooftop, at) => {
    await inTransaction(pool, async (tx) => await upsert(tx, at, 1))
  },
}

async function copyBatch(pool: pg.Pool, at: number): Promise<void> {
  await inTransaction(pool, async ({ client }) => {
    for (const [table, text] of ready!.copied[at]!) {
      const target = `${table} (${ready!.columns.get(table)})`
      await pipeline([Buffer.from(text)], client.query(copyFrom(`copy ${target} from stdin`)))
    }
  })
}

/** Upserts at most `most` rows per statement, within the limit of parameters of Postgres. */
async function upsert({ db }: Tx, at: number, most: number): Promise<void> {
  for (const [table, rows] of ready!.rows[at]!) {
    const names = ready!.columns.get(table)!
    const size = Math.max(1, Math.min(most, Math.floor(60_000 / names.length)))
    for (let from = 0; from < rows.length; from += size) {
      const update = Object.fromEntries(names.map((name) => [name, sql.ref(`excluded.${name}`)]))
      await (db as unknown as Kysely<Record<string, Record<string, unknown>>>)
        .insertInto(table)
        .values(rows.slice(from, from + size) as Record<string, unknown>[])
        .onConflict((conflict) =>
          conflict.columns(keys.get(table)! as never[]).doUpdateSet(update as never),
        )
        .execute()
    }
  }
}

function batchesOf(rooftop: RooftopRow, count: number): Batch[] {
  const batches: Batch[] = []
  for (let from = 1; from <= count; from += batchSize) {
    const ids = Array.from({ length: Math.min(batchSize, count + 1 - from) }, (_, at) => from + at)
    const texts = ids.map((evalId) =>
      evaluationBody({ evalId, dealerId: 1, createdAt: day + evalId * apart, revision: 0 }, 1),
    )
    const fetchedAt = new Date('2026-06-30T00:00:00Z')
    const origin = { fetchedAt, runId: 1, listedIn: null }
    const incoming = ids.map((id, at) => {
      const record = evaluationRecords.normalise(
        JSON.parse(texts[at]!),
        id,
        rooftop,
        defaultWire.appraisal,
        fetchedAt,
      )
      return { id, record, origin }
    })
    const payloads = texts.map((text, at) => ({
      naturalKey: String(ids[at]),
      text,
      hash: bodyHash(text),
      fetchedAt,
    }))
    batches.push({ incoming, payloads })
  }
  return batches
}

const keys = new Map<string, string[]>()

/** The rows that the load wrote, for the other methods. */
async function remember(pool: pg.Pool, into: NonNullable<typeof ready>): Promise<void> {
  for (const { incoming } of into.batches) {
    const copied = new Map<string, string>()
    const rows = new Map<string, object[]>()
    for (const [table, columns] of into.columns) {
      const [first, last] = [incoming[0]!.id, incoming.at(-1)!.id]
      const id = table === 'raw.payload' ? 'natural_key::bigint' : 'eval_id'
      const chosen = `select ${columns} from ${table} where ${id} between ${first} and ${last}`
      copied.set(table, await copyOf(pool, chosen))
      rows.set(table, (await pool.query(chosen)).rows.map(storable))
      if (!keys.has(table)) keys.set(table, await keyOf(pool, table))
    }
    into.copied.push(copied)
    into.rows.push(rows)
  }
}

/** pg encodes an array as a Postgres array; here it must be JSON. */
function storable(row: object): object {
  const cells = Object.entries(row).map(([name, value]) => {
    const isJson = name === 'body' && typeof value === 'object' && value !== null
    return [name, isJson ? JSON.stringify(value) : value]
  })
  return Object.fromEntries(cells)
}

async function copyOf(pool: pg.Pool, query: string): Promise<string> {
  const client = await pool.connect()
  const parts: Buffer[] = []
  for await (const part of client.query(copyTo(`copy (${query}) to stdout`))) parts.push(part)
  client.release()
  return Buffer.concat(parts).toString('utf8')
}

async function keyOf(pool: pg.Pool, table: string): Promise<string[]> {
  const { rows } = await pool.query(
    `select a.attname as name from pg_index as i join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
     where i.indrelid = $1::regclass and i.indisprimary`,
    [table],
  )
  return rows.map(({ name }) => name)
}

answerMessages((order) => store(order as StoreOrder))
