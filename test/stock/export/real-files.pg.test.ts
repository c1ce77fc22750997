import { createReadStream, existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { isKnownHeader } from '#src/stock/csv/map/aliases.ts'
import { readCsv } from '#src/stock/csv/read/read-csv.ts'
import { escapeFormula } from '#src/stock/csv/write/escape-formula.ts'
import { runsEveryCase } from '../../support/cases.ts'
import { openExportFixture } from './export-fixture.ts'

// The twelve real files. They must not be published, so they are outside the repository.

const folder = fileURLToPath(new URL('../../../../shared/data/stock-csv/', import.meta.url))
const isHere = existsSync(folder)
if (!isHere) console.warn('skipped: the real files of ../shared/data/stock-csv are not here')

/** A file without a key uses any column: most rows are rejected then, but exported too. */
const files = [
  ['au_gumtree_cars_info.csv', 'AU', 'stock_number=ID'],
  ['br_volvo_tab_decimalcomma.csv', 'AU', 'stock_number=model'],
  ['ksa_syarah_semicolon.csv', 'GCC', 'stock_number=#1'],
  ['uae_auction_lots_from_xlsx.csv', 'GCC'],
  ['uae_used_cars.csv', 'GCC', 'stock_number=#1'],
  ['us_auction_lot_paddedvin.csv', 'US', 'odometer=mileage'],
  ['us_carscom_stockhash.csv', 'US'],
  ['us_dealer_NULLs.csv', 'US'],
  ['us_homenet_dealer_longtext.csv', 'US'],
  ['us_pipe_preamble_noheader.csv', 'US', 'stock_number=#1'],
  ['us_quirk_badvins.csv', 'US'],
  ['za_autotrader_sepline.csv', 'AU'],
] as const

const chosen = files.filter((_, at) => runsEveryCase || at % 4 === 1)

test.skipIf(!isHere).each(chosen)('%s is exported with every row and cell', async (...file) => {
  const [name, region, map] = file
  await using fixture = await openExportFixture({ region })
  const source = await readCsv(createReadStream(folder + name), {
    market: region,
    isKnownName: isKnownHeader,
  })
  const records: (readonly string[])[] = []
  for await (const batch of source.batches) records.push(...batch.map(({ cells }) => cells))
  const maps = map === undefined ? [] : ['--map', map]

  const bytes = await readFile(folder + name)
  const { document } = await fixture.importList(name, bytes, ...maps, '--allow-mass-removal')
  const id = String(document['importId'])
  const { stdout } = await fixture.exportList('--rooftop', 'north', '--original', id, '--no-bom')

  const { width, dialect, preamble, header } = source
  const from_line = preamble.length + (dialect.sepLine ? 1 : 0) + 1
  const options = { delimiter: dialect.delimiter, relax_column_count: true, from_line }
  const cells: string[][] = parse(stdout, options).slice(header?.rows ?? 0)
  const body = cells.map((row) => [...row.slice(0, width), ...row.slice(width + 13)])
  const padded = (row: readonly string[]) => [
    ...row,
    ...Array<string>(Math.max(0, width - row.length)).fill(''),
  ]
  expect(document['records']).toBe(records.length)
  expect(body).toEqual(records.map((row) => padded(row.map(escapeFormula))))
  expect(cells.every((row) => row[width + 11] !== '')).toBe(true)
})
