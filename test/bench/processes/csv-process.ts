import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { parse } from 'csv-parse'
import { from as copyFrom } from 'pg-copy-streams'
import { makeConfig } from '#src/app/config/read.ts'
import { growInSmallSteps } from '#src/heap.ts'
import { isKnownHeader } from '#src/stock/csv/map/aliases.ts'
import { proposeMapping } from '#src/stock/csv/map/mapping.ts'
import { startStyles } from '#src/stock/csv/map/typing/column-styles.ts'
import { rowTyper } from '#src/stock/csv/map/typing/row.ts'
import type { CsvRecord } from '#src/stock/csv/read/csv-file.ts'
import { readCsv } from '#src/stock/csv/read/read-csv.ts'
import { importStock } from '#src/stock/import/import-stock.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { answerMessages } from './bench-process.ts'

/** The task for a list; answered with rows a second. */
export type CsvOrder =
  | { readonly what: 'parse' | 'type'; readonly file: string }
  | { readonly what: 'import'; readonly file: string; readonly url: string }
  | { readonly what: 'copy'; readonly tables: readonly CopiedTable[]; readonly url: string }

/** Rows in a file that COPY has written and can read. */
export interface CopiedTable {
  readonly name: string
  readonly file: string
  readonly rows: number
}

const sampleSize = 500

async function rowsPerSecond(order: CsvOrder): Promise<number> {
  const startedMs = performance.now()
  const rows = await does[order.what](order as never)
  return (rows * 1000) / (performance.now() - startedMs)
}

const does = { parse: parseAlone, type: typeRows, import: importList, copy: copyTables }

async function parseAlone({ file }: { readonly file: string }): Promise<number> {
  let records = 0
  for await (const _ of createReadStream(file).pipe(parse())) records += 1
  return records - 1
}

async function typeRows({ file }: { readonly file: string }): Promise<number> {
  growInSmallSteps()
  const csv = await readCsv(createReadStream(file), { market: 'AU', isKnownName: isKnownHeader })
  const batches = csv.batches[Symbol.asyncIterator]()
  const sample: CsvRecord[] = []
  while (sample.length < sampleSize) sample.push(...(await batches.next()).value)
  const mapping = proposeMapping(
    csv.header!.names,
    sample.map(({ cells }) => cells),
  )
  const styles = startStyles(mapping, { market: 'AU', currency: 'AUD', today: '2026-06-30' })
  for (const { cells } of sample) styles.observe({ cells })
  const type = rowTyper(mapping, styles.styles())
  let accepted = sample.filter((record) => type(record).status === 'accepted').length
  for (let next = await batches.next(); !next.done; next = await batches.next())
    for (const record of next.value) {
      styles.observe({ cells: record.cells })
      if (type(record).status === 'accepted') accepted += 1
    }
  return accepted
}

async function importList({ file, url }: { readonly file: string; readonly url: string }) {
  growInSmallSteps()
  const pool = await openPool(url, { applicationName: 'bench', max: 2 })
  const config = makeConfig(
    {
      keys: { au: { value: 'key', kind: 'partner', region: 'AU' } },
      rooftops: [
        { uid: 'dealer', name: 'Dealer', key: 'au', timezone: 'Australia/Sydney', currency: 'AUD' },
      ],
    },
    '.',
  )
  const services = {
    warehouse: { pool, db: openDb(pool), config },
    signal: new AbortController().signal,
  }
  const { accepted } = await importStock(services, {
    ...({ file, mode: 'snapshot', dryRun: false, maps: [], rejects: null } as const),
    ...{
      allowMassRemoval: false,
      allowMassChange: false,
      importedBy: 'bench',
      now: new Date('2026-06-30T00:00:00Z'),
    },
    rooftop: config.rooftops[0]!,
  })
  await pool.end()
  return accepted
}

/** In one transaction, as the import. */
async function copyTables(order: Extract<CsvOrder, { what: 'copy' }>): Promise<number> {
  const pool = await openPool(order.url, { applicationName: 'bench', max: 1 })
  const client = await pool.connect()
  await client.query('begin')
  for (const { name, file } of order.tables)
    await pipeline(createReadStream(file), client.query(copyFrom(`copy ${name} from stdin`)))
  await client.query('commit')
  client.release()
  await pool.end()
  return order.tables[0]!.rows
}

answerMessages((order) => rowsPerSecond(order as CsvOrder))
