import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { readCsv } from '#src/stock/csv/read/read-csv.ts'
import { type CliResult, runInProcess } from '../../support/cli.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** A warehouse, a folder with a config, and the two stock commands. Rooftop `empty` never has stock. */
export interface ExportFixture extends AsyncDisposable {
  readonly database: TestDatabase
  readonly folder: string
  /** Runs `stock import … --json` with the bytes as a file of that name; throws if it is refused. */
  importList(
    name: string,
    bytes: Buffer | string,
    ...args: readonly string[]
  ): Promise<ImportResult>
  /** Runs `stock export …`. */
  exportList(...args: readonly string[]): Promise<CliResult>
  file(name: string): Promise<string>
  price(stockNo: string, draft?: Partial<Price>): Promise<void>
}

export interface ImportResult extends CliResult {
  readonly document: Readonly<Record<string, unknown>>
}

export interface Price {
  readonly retail: string | null
  readonly error: string | null
  readonly vin: string | null
}

type Rooftop = Partial<NonNullable<ConfigInput['rooftops']>[number]>

export async function openExportFixture(rooftop: Rooftop = {}): Promise<ExportFixture> {
  const database = await createTestDatabase()
  const home = await temporaryFolder()
  const config = join(home.path, 'forecourt.yaml')
  await writeFile(config, JSON.stringify(configFor(database.url, rooftop)))
  const run = (args: readonly string[]) =>
    runInProcess(['--config', config, 'stock', ...args], { cwd: home.path })
  return {
    database,
    folder: home.path,
    importList: async (name, bytes, ...args) => {
      const file = join(home.path, name)
      await writeFile(file, bytes)
      const ran = await run(['import', file, '--rooftop', 'north', ...args, '--json'])
      if (ran.code > 1) throw new Error(`stock import: ${ran.stderr}`)
      return { ...ran, document: JSON.parse(ran.stdout) as ImportResult['document'] }
    },
    exportList: (...args) => run(['export', ...args]),
    file: (name) => readFile(join(home.path, name), 'utf8'),
    price: (stockNo, draft = {}) => insertPrice(database, stockNo, draft),
    [Symbol.asyncDispose]: async () => {
      await database[Symbol.asyncDispose]()
      await home[Symbol.asyncDispose]()
    },
  }
}

function configFor(url: string, rooftop: Rooftop): ConfigInput {
  const own = { key: 'first', timezone: 'Australia/Sydney', currency: 'AUD' }
  return {
    warehouse: { url },
    keys: { first: { value: 'first-key', kind: 'partner', region: rooftop.region ?? 'AU' } },
    rooftops: [
      { ...own, uid: 'north', name: 'North', ...rooftop },
      { ...own, uid: 'empty', name: 'Empty', region: rooftop.region ?? 'AU' },
    ],
  }
}

async function insertPrice(
  { pool }: TestDatabase,
  stockNo: string,
  draft: Partial<Price>,
): Promise<void> {
  const { retail = '25000.500', error = null } = draft
  await pool.query(
    `insert into core.stock_price_observation (rooftop_id, stock_no, price_source, observed_at, last_confirmed_at,
       is_current, vin, retail, retail_low, retail_high, wholesale, currency_code, error, value_hash, run_id)
     select rooftop_id, stock_no, 'price_batch', '2026-03-09T14:00:00Z', '2026-03-10T14:00:00Z', true,
       case when $4 then $5 else vin end, $2::numeric, $2::numeric - 1000, $2::numeric + 1000, $2::numeric * 0.8,
       currency_code, $3, '\\x00', 1
     from core.stock_unit where stock_no = $1`,
    [stockNo, retail, error, draft.vin !== undefined, draft.vin ?? null],
  )
}

export interface Table {
  readonly names: readonly string[]
  readonly rows: readonly Readonly<Record<string, string>>[]
}

/** CSV text as our own reader reads it, rows by column name. */
export async function tableOf(text: string): Promise<Table> {
  const { names, records } = await recordsOf(text)
  const rows = records.map((cells) =>
    Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ''])),
  )
  return { names, rows }
}

/** The same as arrays of cells. */
export async function recordsOf(
  text: string,
): Promise<{ readonly names: readonly string[]; readonly records: (readonly string[])[] }> {
  const file = await readCsv(Readable.from([Buffer.from(text)]))
  const records: (readonly string[])[] = []
  for await (const batch of file.batches) records.push(...batch.map(({ cells }) => cells))
  return { names: file.header?.names ?? [], records }
}
