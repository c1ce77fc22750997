import type pg from 'pg'
import { openPool } from '#src/warehouse/db/connect.ts'
import { prepareWarehouse } from '#src/warehouse/warehouse.ts'
import { startServer } from '../support/postgres-server.ts'
import { databaseUrl } from '../support/postgres-url.ts'
import { type BenchProcess, startProcess } from './processes/bench-process.ts'
import type { PipelineOrder, PipelineResult } from './processes/pipeline-process.ts'
import type {
  SourceCounts,
  SourceOrder,
  SourceQuestion,
  SourceReady,
} from './processes/source-process.ts'

/** Size and behaviour of the source of a benchmark. */
export interface BenchFixtureOptions {
  readonly rooftops: number
  /** In all. */
  readonly evaluations: number
  /** Days over which they were created, up to an hour ago. Default: 2, so that each is young enough to be read every night. */
  readonly days?: number
  readonly latencyMs?: number
  /** Default: no, so that every evaluation is read again. */
  readonly listShowsUpdates?: boolean
  readonly concurrency?: number
}

/** A source in a separate process, and warehouses. */
export interface BenchFixture extends AsyncDisposable {
  readonly rooftops: number
  readonly evaluations: number
  /** An empty warehouse; replaces an earlier one with the same name. */
  warehouse(name: string): Promise<BenchWarehouse>
  /** Each run has a new process, so that its memory is measured alone. */
  sync(warehouse: BenchWarehouse, changes?: Partial<PipelineOrder>): Promise<PipelineResult>
  ask(question: SourceQuestion): Promise<SourceCounts>
  readonly source: string
  readonly start: string
  /** A process that the caller ends. */
  process(script: string): BenchProcess
}

/** A migrated database and its measurements. */
export interface BenchWarehouse extends AsyncDisposable {
  readonly url: string
  readonly pool: pg.Pool
  /** Bytes of WAL that the work writes in the whole server. */
  walOf(work: () => Promise<unknown>): Promise<number>
}

// Where the system puts it: the source, the pipeline and Postgres share the machine.
const anyCore = Number.MAX_SAFE_INTEGER
const daySeconds = 86_400
const template = 'forecourt_bench_template'

/** Starts Postgres with durable settings, as in production, and the source. */
export async function openBenchFixture(options: BenchFixtureOptions): Promise<BenchFixture> {
  const { rooftops, evaluations, days = 2, latencyMs = 0, listShowsUpdates = false } = options
  await using started = new AsyncDisposableStack()
  const server = started.adopt(await startServer({ durable: true }), (one) => one.stop())
  const admin = started.adopt(
    await openPool(server.url, { applicationName: 'bench', max: 1 }),
    (pool) => pool.end(),
  )
  await makeTemplate(admin, server.url)
  started.defer(() => dropDatabase(admin, template))
  const stub = started.use(startProcess('source-process.ts', anyCore))
  const until = Math.floor(Date.now() / 1000) - 3600
  const from = until - days * daySeconds
  const perRooftop = Math.ceil(evaluations / rooftops)
  const order: SourceOrder = {
    rooftops,
    evaluations: perRooftop,
    from,
    until,
    latencyMs,
    listShowsUpdates,
  }
  const { url: source } = await stub.ask<SourceReady>(order)
  const start = new Date(from * 1000).toISOString().slice(0, 10)
  const all = started.move()
  return {
    rooftops,
    evaluations: perRooftop * rooftops,
    source,
    start,
    process: (script) => startProcess(script, anyCore),
    warehouse: (name) => openBenchWarehouse(admin, server.url, name),
    ask: (question) => stub.ask(question),
    async sync({ url }, changes = {}) {
      await using runner = startProcess('pipeline-process.ts', anyCore)
      const sync = {
        warehouse: url,
        source,
        rooftops,
        start,
        concurrency: options.concurrency ?? 32,
        ...changes,
      }
      const result = await runner.ask<PipelineResult>(sync)
      if (result.status !== 'ok') throw new Error(`A sync of the benchmark ended ${result.status}`)
      return result
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

async function openBenchWarehouse(
  admin: pg.Pool,
  server: string,
  name: string,
): Promise<BenchWarehouse> {
  const database = `forecourt_bench_${name}`
  await dropDatabase(admin, database)
  await admin.query(`create database ${database} template ${template}`)
  const url = databaseUrl(server, database)
  const pool = await openPool(url, { applicationName: 'bench', max: 4 })
  await admin.query('checkpoint')
  return {
    url,
    pool,
    async walOf(work) {
      const before = await walPosition(admin)
      await work()
      return (await walPosition(admin)) - before
    },
    [Symbol.asyncDispose]: async () => {
      await pool.end()
      await dropDatabase(admin, database)
    },
  }
}

/** The template of the warehouses: migrated once, so that no run counts the writes of the migration. */
async function makeTemplate(admin: pg.Pool, server: string): Promise<void> {
  await dropDatabase(admin, template)
  await admin.query(`create database ${template} template template0 encoding 'UTF8'`)
  const url = databaseUrl(server, template)
  const pool = await openPool(url, { applicationName: 'bench', max: 4 })
  try {
    await prepareWarehouse(pool)
  } finally {
    // A template may have no connections while it is copied.
    await pool.end()
  }
}

async function dropDatabase(admin: pg.Pool, name: string): Promise<void> {
  await admin.query(`drop database if exists ${name} with (force)`)
}

async function walPosition(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`,
  )
  return rows[0].bytes
}
