import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { type Config, makeConfig } from '#src/app/config/read.ts'
import { importStock } from '#src/stock/import/import-stock.ts'
import type { ImportRequest, StockImportReport } from '#src/stock/import/request.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

export const now = new Date('2026-03-10T06:30:00Z')
const uids = ['north', 'south', 'gulf'] as const

/** A warehouse with three rooftops, and a folder for lists. */
export interface ImportFixture extends AsyncDisposable {
  readonly pool: pg.Pool
  readonly folder: string
  readonly config: Config
  /** Writes a file of the folder and gives its path. */
  write(name: string, content: string | Uint8Array): Promise<string>
  /** Imports a list, by default as a snapshot of `north`. */
  import(content: string | Uint8Array, changes?: Changes): Promise<StockImportReport>
  importFile(file: string, changes?: Changes): Promise<StockImportReport>
  rows<Row extends pg.QueryResultRow>(query: string): Promise<Row[]>
  /** Everything that an import may change. */
  content(): Promise<Record<string, readonly object[]>>
}

type Changes = Partial<Omit<ImportRequest, 'rooftop'>> & {
  readonly rooftop?: (typeof uids)[number]
  /** Instead of the one in the config. */
  readonly timezone?: string
  readonly crashPoint?: (name: string) => void
  readonly signal?: AbortSignal
}

export async function openImportFixture(graceDays = 3): Promise<ImportFixture> {
  const database = await createTestDatabase()
  const folder = await temporaryFolder()
  const { pool } = database
  const config = configFor(graceDays, folder.path)
  const write = async (name: string, content: string | Uint8Array) => {
    const file = join(folder.path, name)
    await writeFile(file, content)
    return file
  }
  const importFile = async (file: string, changes: Changes = {}) => {
    const { rooftop = 'north', timezone, crashPoint, signal, ...asked } = changes
    const configured = config.rooftops.find(({ uid }) => uid === rooftop)!
    const request = {
      ...({ file, mode: 'snapshot', dryRun: false, maps: [], rejects: null, now } as const),
      ...{ allowMassRemoval: false, allowMassChange: false, importedBy: 'tester' },
      ...asked,
      rooftop: { ...configured, ...(timezone === undefined ? {} : { timezone }) },
    }
    const services = {
      warehouse: { pool, db: openDb(pool), config },
      signal: signal ?? new AbortController().signal,
      ...(crashPoint ? { crashPoint } : {}),
    }
    return await importStock(services, request)
  }
  let count = 0
  return {
    ...{ pool, config, write, importFile, folder: folder.path },
    import: async (content, changes) =>
      await importFile(await write(`list-${++count}.csv`, content), changes),
    rows: async (query) => (await pool.query(query)).rows,
    content: async () => await contentOf(pool),
    [Symbol.asyncDispose]: async () => {
      await database[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

function configFor(graceDays: number, homeDir: string): Config {
  const rooftops = uids.map((uid) => ({
    ...{ uid, name: uid.toUpperCase(), key: uid === 'gulf' ? 'gulf' : 'au' },
    ...{ timezone: 'Australia/Sydney', currency: uid === 'gulf' ? 'AED' : 'AUD' },
  }))
  const keys = {
    au: { value: 'key-of-the-group', kind: 'partner', region: 'AU' },
    gulf: { value: 'key-of-the-gulf', kind: 'partner', region: 'GCC' },
  } as const
  return makeConfig({ keys, rooftops, stock: { graceDays } }, homeDir)
}

/** With xmin and ctid, which change when a row is written again. */
async function contentOf(pool: pg.Pool): Promise<Record<string, readonly object[]>> {
  const tables = [
    ...['core.stock_unit', 'core.stock_import', 'core.stock_import_row', 'core.stock_unit_change'],
    ...['ops.stock_mapping', 'core.rooftop'],
  ]
  const content: Record<string, readonly object[]> = {}
  for (const table of tables) {
    const { rows } = await pool.query(`select xmin, ctid, * from ${table} order by ctid`)
    content[table] = rows
  }
  return content
}

export interface Vehicle {
  readonly stockNo: string
  readonly vin: string
  readonly price: string
  readonly km: string
}

/** A vehicle with a valid VIN; each `index` gives another one. */
export function aVehicle(index: number, changes: Partial<Vehicle> = {}): Vehicle {
  return {
    stockNo: `S${String(index).padStart(4, '0')}`,
    vin: vinOf(index),
    price: String(20_000 + index),
    km: String(45_000 + index * 7),
    ...changes,
  }
}

export function vehicles(count: number, from = 1): Vehicle[] {
  return Array.from({ length: count }, (_, index) => aVehicle(from + index))
}

/** A list as a DMS writes it. */
export function listOf(units: readonly Vehicle[]): string {
  const lines = units.map(
    ({ stockNo, vin, price, km }) => `${stockNo},${vin},Toyota,Corolla,2019,${km},${price},Red`,
  )
  return ['Stock Number,VIN,Make,Model,Year,Odometer (km),Price,Colour', ...lines, ''].join('\r\n')
}

const worth = Object.fromEntries(
  [...'0123456789', ...'ABCDEFGH', ...'JKLMN', 'P', 'R', ...'STUVWXYZ'].map((letter, at) => [
    letter,
    at < 10 ? at : [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9][at - 10]!,
  ]),
)
const weights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2]

/** A VIN of its own for each number, with the check digit that belongs to it. */
export function vinOf(index: number): string {
  const letters = [...`JTDBR32E0${30_000_000 + index}`]
  const sum = letters.reduce((all, letter, at) => all + worth[letter]! * weights[at]!, 0)
  letters[8] = sum % 11 === 10 ? 'X' : String(sum % 11)
  return letters.join('')
}
