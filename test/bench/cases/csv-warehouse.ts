import { execFile, spawnSync } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { openPool } from '#src/warehouse/db/connect.ts'
import { migrate } from '#src/warehouse/db/migrate.ts'
import { startServer } from '../../support/postgres-server.ts'
import { databaseUrl } from '../../support/postgres-url.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import type { BenchCase, BenchOptions, PreparedCase } from '../bench-case.ts'
import { type BenchProcess, startProcess } from '../processes/bench-process.ts'
import type { CopiedTable, CsvOrder } from '../processes/csv-process.ts'
import { writeStockList } from '../stock-list.ts'

const template = 'forecourt_bench'
const turn = 'forecourt_bench_turn'
const written = ['core.stock_import_row', 'core.stock_unit', 'core.stock_unit_change']
const shared = {
  unit: 'rows/s',
  what: 'a stock list of 200,000 rows and 20 columns imported into an empty warehouse',
} as const

/** How fast a stock list is in the warehouse, beside a parser that does nothing with what it reads. */
export const csvWarehouse: BenchCase = {
  name: 'csv-warehouse',
  ...shared,
  referenceWhat: 'csv-parse alone over the same file, for await (… of parse())',
  target: { of: 'ratio', least: 0.22 },
  prepare: async (options) =>
    await prepared(options, async ({ file, worker }) => {
      const alone = worker()
      return () => alone.ask({ what: 'parse', file } satisfies CsvOrder)
    }),
}

/** The same beside what Postgres needs for these rows when they are ready. */
export const csvCopy: BenchCase = {
  name: 'csv-copy',
  ...shared,
  referenceWhat: `${hasPsql() ? 'psql \\copy' : 'COPY'} of the rows that the import wrote, into the same three tables`,
  target: { of: 'ratio', least: 0.5 },
  thorough: true,
  prepare: async (options) =>
    await prepared(options, async ({ fixture, worker, rows, ours, file }) => {
      const tables = await fixture.inTurn(async (url) => {
        await ours.ask({ what: 'import', file, url } satisfies CsvOrder)
        return await writeTables(url, fixture.folder, rows)
      })
      if (hasPsql()) return () => fixture.inTurn((url) => copyByPsql(url, tables))
      const copier = worker()
      return () =>
        fixture.inTurn((url) => copier.ask({ what: 'copy', tables, url } satisfies CsvOrder))
    }),
}

interface Parts {
  readonly fixture: Setup
  readonly file: string
  readonly rows: number
  readonly ours: BenchProcess
  readonly worker: () => BenchProcess
}

async function prepared(
  { quick }: BenchOptions,
  referenceOf: (parts: Parts) => Promise<() => Promise<number>>,
): Promise<PreparedCase> {
  await using started = new AsyncDisposableStack()
  const folder = started.use(await temporaryFolder()).path
  const fixture = started.use(await openSetup(folder))
  const file = join(folder, 'list.csv')
  const rows = quick ? 20_000 : 200_000
  await writeStockList(file, rows)
  const worker = () => started.use(startProcess('csv-process.ts', 0))
  const ours = worker()
  const reference = await referenceOf({ fixture, file, rows, ours, worker })
  const all = started.move()
  return {
    reference,
    measure: () =>
      fixture.inTurn((url) => ours.ask({ what: 'import', file, url } satisfies CsvOrder)),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

interface Setup extends AsyncDisposable {
  readonly folder: string
  /** Gives an empty warehouse of its own to each turn. */
  inTurn<T>(work: (url: string) => Promise<T>): Promise<T>
}

async function openSetup(folder: string): Promise<Setup> {
  const server = await startServer({ durable: true })
  const admin = await openPool(server.url, { applicationName: 'bench', max: 1 })
  await admin.query(`create database ${template}`)
  await inPool(databaseUrl(server.url, template), migrate)
  return {
    folder,
    async inTurn(work) {
      await admin.query(`create database ${turn} template ${template}`)
      await admin.query('checkpoint')
      const result = await work(databaseUrl(server.url, turn))
      await admin.query(`drop database ${turn} with (force)`)
      return result
    },
    [Symbol.asyncDispose]: async () => {
      await admin.end()
      await server.stop()
    },
  }
}

async function writeTables(url: string, folder: string, rows: number): Promise<CopiedTable[]> {
  return await inPool(url, async (pool) => {
    const tables: CopiedTable[] = []
    for (const name of written) {
      const file = join(folder, name)
      const client = await pool.connect()
      await pipeline(client.query(copyTo(`copy ${name} to stdout`)), createWriteStream(file))
      client.release()
      tables.push({ name, file, rows })
    }
    return tables
  })
}

function hasPsql(): boolean {
  return spawnSync('psql', ['--version']).status === 0
}

/** Rows a second, in one transaction, as the import. */
async function copyByPsql(url: string, tables: readonly CopiedTable[]): Promise<number> {
  const commands = tables.flatMap(({ name, file }) => ['-c', `\\copy ${name} from '${file}'`])
  const startedMs = performance.now()
  await promisify(execFile)('psql', [url, '-X', '-q', '-1', '-v', 'ON_ERROR_STOP=1', ...commands])
  return (tables[0]!.rows * 1000) / (performance.now() - startedMs)
}

async function inPool<T>(url: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = await openPool(url, { applicationName: 'bench', max: 2 })
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}
