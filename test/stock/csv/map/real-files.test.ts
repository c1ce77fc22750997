import { createReadStream, existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isKnownHeader } from '#src/stock/csv/map/aliases.ts'
import type { Mapping } from '#src/stock/csv/map/column-mapping.ts'
import { proposeMapping } from '#src/stock/csv/map/mapping.ts'
import { parseOverrides } from '#src/stock/csv/map/overrides.ts'
import { startStyles } from '#src/stock/csv/map/typing/column-styles.ts'
import { rowTyper } from '#src/stock/csv/map/typing/row.ts'
import type { TypedRow } from '#src/stock/csv/map/typing/typed-row.ts'
import type { TypingOptions } from '#src/stock/csv/map/typing/typing-options.ts'
import type { CsvRecord } from '#src/stock/csv/read/csv-file.ts'
import { readCsv } from '#src/stock/csv/read/read-csv.ts'
import { dallas, dubai, fieldsOf, sydney } from './table.ts'

// The twelve real files. They must not be published, so they are outside the repository.

const folder = fileURLToPath(new URL('../../../../../shared/data/stock-csv/', import.meta.url))
const isHere = existsSync(folder)
if (!isHere) console.warn('skipped: the real files of ../shared/data/stock-csv are not here')

interface Outcome {
  readonly mapping: Mapping
  readonly rows: readonly TypedRow[]
  readonly count: Readonly<Record<TypedRow['status'], number>>
  /** The number of issues by `code severity`. */
  readonly codes: Readonly<Record<string, number>>
}

async function typeFile(
  name: string,
  options: TypingOptions,
  maps: readonly string[] = [],
): Promise<Outcome> {
  const file = await readCsv(createReadStream(folder + name), {
    market: options.market,
    isKnownName: isKnownHeader,
  })
  const records: CsvRecord[] = []
  for await (const batch of file.batches) records.push(...batch)
  const names = file.header?.names ?? null
  const overrides = parseOverrides(maps, names, file.width)
  const sample = records.slice(0, 500).map(({ cells }) => cells)
  const mapping = proposeMapping(names, sample, {
    overrides,
    headerRows: file.header?.rowNames ?? [],
  })
  const evidence = startStyles(mapping, options)
  for (const { cells } of records) evidence.observe({ cells })
  const rows = records.map(rowTyper(mapping, evidence.styles()))
  return { mapping, rows, count: counted(rows.map(({ status }) => status)), codes: codesOf(rows) }
}

function counted(statuses: readonly TypedRow['status'][]): Outcome['count'] {
  const count = { accepted: 0, rejected: 0, skipped: 0 }
  for (const status of statuses) count[status] += 1
  return count
}

function codesOf(rows: readonly TypedRow[]): Record<string, number> {
  const codes: Record<string, number> = {}
  for (const { issues } of rows)
    for (const { code, severity } of issues)
      codes[`${code} ${severity}`] = (codes[`${code} ${severity}`] ?? 0) + 1
  return codes
}

const pretoria: TypingOptions = { ...sydney, currency: 'ZAR' }
const riyadh: TypingOptions = { ...dubai, currency: 'SAR' }

test.skipIf(!isHere)(
  'za_autotrader: stock numbers, rand with blanks, dates and years',
  async () => {
    const { mapping, count, codes, rows } = await typeFile('za_autotrader_sepline.csv', pretoria)

    expect(mapping.status).toBe('sure')
    expect(fieldsOf(mapping)).toMatchObject({
      ...{ StockNumber: 'stock_number', RegistrationNumber: 'plate', Make: 'make', Model: 'model' },
      ...{ RegistrationYear: 'model_year', PriceFormatted: 'price_asking', Variant: 'variant' },
      ...{ MileageValue: 'odometer', Age: 'days_in_stock', CreateDate: 'received_date' },
    })
    expect(rows[0]!.unit).toMatchObject({
      ...{ stock_no: 'UF8917', asking_price: '619900.000', currency_code: 'ZAR' },
      ...{ odometer_km: 55_000, acquired_on: '2025-02-25', model_year: 2023 },
    })
    expect([count, codes]).toEqual([{ accepted: 22, rejected: 0, skipped: 0 }, {}])
  },
)

test.skipIf(!isHere)(
  'ksa_syarah: Type is the model, Origin the spec, and there is no key',
  async () => {
    const { mapping, count, codes } = await typeFile('ksa_syarah_semicolon.csv', riyadh)

    expect(fieldsOf(mapping)).toMatchObject({
      ...{ Make: 'make', Type: 'model', Year: 'model_year', Origin: 'gcc_spec' },
      ...{ Condition: 'condition', Mileage: 'odometer', Price: 'price_asking' },
    })
    expect(mapping).toMatchObject({ status: 'unsure', key: null })
    expect(mapping.questions.map(({ code }) => code)).toEqual(['NO_KEY_COLUMN'])
    expect(count).toEqual({ accepted: 0, rejected: 2499, skipped: 0 })
    expect(codes).toEqual({
      ...{ 'primary-key error': 2499, 'PRICE_POA info': 399 },
      'ODOMETER_DOUBTED warning': 154,
    })
  },
)

test.skipIf(!isHere)(
  'au_gumtree: Type is the body, Status the condition, ID is asked about',
  async () => {
    const { mapping } = await typeFile('au_gumtree_cars_info.csv', sydney)
    const answered = await typeFile('au_gumtree_cars_info.csv', sydney, ['stock_number=ID'])

    expect(fieldsOf(mapping)).toMatchObject({
      ...{
        Brand: 'make',
        Model: 'model',
        Variant: 'variant',
        Series: 'series',
        Year: 'model_year',
      },
      ...{ Kilometers: 'odometer', Price: 'price_asking', Type: 'body', Status: 'condition' },
    })
    expect(mapping.questions.flatMap(({ maps }) => maps)).toEqual(['stock_number=ID'])
    expect(answered.mapping.status).toBe('sure')
    expect(answered.count).toEqual({ accepted: 3999, rejected: 0, skipped: 0 })
    expect(answered.codes).toEqual({ 'EXCEL_ERROR warning': 1, 'ODOMETER_DOUBTED warning': 7 })
  },
)

test.skipIf(!isHere)(
  'us_carscom: dates as stock numbers, and seven VINs with a wrong digit',
  async () => {
    const { mapping, count, codes, rows } = await typeFile('us_carscom_stockhash.csv', dallas)
    const dated = rows.filter(({ issues }) =>
      issues.some(({ code }) => code === 'STOCK_LOOKS_LIKE_DATE'),
    )

    expect(fieldsOf(mapping)).toMatchObject({
      ...{ 'Stock#': 'stock_number', VIN: 'vin', Make: 'make', Model: 'model', Year: 'model_year' },
      ...{ Price: 'price_asking', Mileage: 'odometer', State: 'location' },
    })
    expect(mapping.status).toBe('sure')
    expect(dated.map(({ unit }) => unit?.stock_no)).toEqual([
      'Nov-97',
      'Mar-84',
      'Dec-08',
      'Nov-89',
    ])
    expect(rows.some(({ unit }) => unit?.stock_no === '0230058A')).toBe(true)
    expect(rows[0]!.unit).toMatchObject({ asking_price: '39998.000', odometer_km: 47_320 })
    expect(count).toEqual({ accepted: 3077, rejected: 4, skipped: 0 })
    expect(codes).toEqual({
      ...{ 'VIN_CHECK_DIGIT error': 4, 'VIN_CHECK_DIGIT info': 3 },
      ...{ 'STOCK_LOOKS_LIKE_DATE warning': 4, 'VIN_AS_KEY warning': 40 },
      'ODOMETER_DOUBTED warning': 1,
    })
  },
)

test.skipIf(!isHere)(
  'us_pipe: a file without a header is proposed, and confirmed by position',
  async () => {
    const { mapping } = await typeFile('us_pipe_preamble_noheader.csv', dallas)
    const answered = await typeFile('us_pipe_preamble_noheader.csv', dallas, [
      ...['stock_number=#1', 'model_year=#2', 'make=#3', 'model=#4', 'odometer=#7'],
      'price_asking=#8',
    ])

    expect(mapping).toMatchObject({ status: 'unsure', hasHeader: false, key: 'stock_number' })
    expect(fieldsOf(mapping)).toMatchObject({ '#1': 'stock_number', '#2': 'model_year' })
    expect(answered.mapping.status).toBe('sure')
    expect(answered.rows.map(({ issues }) => issues.map(({ code }) => code))).toEqual([
      ...[['constraint-error'], ['constraint-error'], ['ODOMETER_DOUBTED'], ['ODOMETER_DOUBTED']],
    ])
    expect(answered.count).toEqual({ accepted: 2, rejected: 2, skipped: 0 })
  },
)

test.skipIf(!isHere)('uae_used_cars: everything is mapped, but there is no key', async () => {
  const { mapping, count } = await typeFile('uae_used_cars.csv', dubai)

  expect(fieldsOf(mapping)).toMatchObject({
    ...{ Make: 'make', Model: 'model', Year: 'model_year', Price: 'price_asking' },
    ...{ Mileage: 'odometer', 'Body Type': 'body', Location: 'location' },
  })
  expect(mapping).toMatchObject({ status: 'unsure', key: null })
  expect(count).toEqual({ accepted: 0, rejected: 2999, skipped: 0 })
})

test.skipIf(!isHere)('uae_auction_lots: make and model are swapped and Lot# repeats', async () => {
  const { mapping, count, rows } = await typeFile('uae_auction_lots_from_xlsx.csv', dubai)

  expect(mapping.status).toBe('sure')
  expect(fieldsOf(mapping)).toEqual({
    ...{ 'S#': 'row_index', 'Fleet#': 'stock_number', 'Reg#': 'plate', 'Chassis#': 'vin' },
    ...{ 'Current Location': 'location', 'Type / Model': 'make', Make: 'model' },
    ...{ Color: 'colour_exterior', Year: 'model_year', KM: 'odometer' },
  })
  expect(rows[0]!.unit).toMatchObject({
    ...{ stock_no: 'FL001', vin: null, plate: 'ABC123', make: 'Toyota', model: 'Camry' },
    ...{ model_year: 2020, odometer_km: 45_000, extras: { chassis: 'CH123456' } },
  })
  expect(count).toEqual({ accepted: 5, rejected: 0, skipped: 0 })
})

test.skipIf(!isHere)(
  'us_dealer_NULLs: the text NULL is empty, and all VINs are valid',
  async () => {
    const { mapping, count, codes, rows } = await typeFile('us_dealer_NULLs.csv', dallas)

    expect(mapping.status).toBe('sure')
    expect(fieldsOf(mapping)).toMatchObject({
      ...{ stock_number: 'stock_number', vin: 'vin', make: 'make', year: 'model_year' },
      ...{ selling_price: 'price_asking', invoice_amount: 'cost', miles: 'odometer' },
      ...{ is_new: 'condition', trim: 'variant', msrp: 'price_msrp' },
    })
    expect(count).toEqual({ accepted: 287, rejected: 0, skipped: 0 })
    expect(rows.filter(({ unit }) => unit?.asking_price === null)).toHaveLength(174)
    expect(codes).toEqual({ 'ZERO_PRICE warning': 2, 'ZERO_ODOMETER warning': 1 })
  },
)

test.skipIf(!isHere)('us_homenet: without a stock number the VIN is the key', async () => {
  const { mapping, count, rows } = await typeFile('us_homenet_dealer_longtext.csv', dallas)

  expect(mapping).toMatchObject({ status: 'sure', key: 'vin' })
  expect(fieldsOf(mapping)).toMatchObject({
    ...{ VIN: 'vin', Make: 'make', Year: 'model_year', SellingPrice: 'price_asking' },
    ...{ Miles: 'odometer', NewUsed: 'condition', Trim: 'variant' },
  })
  expect(rows.every(({ unit }) => unit?.stock_no === unit?.vin)).toBe(true)
  expect(count).toEqual({ accepted: 138, rejected: 0, skipped: 0 })
})

test.skipIf(!isHere)(
  'us_quirk_badvins: Age is days in stock, and three VINs are valid',
  async () => {
    const { mapping, count, codes } = await typeFile('us_quirk_badvins.csv', dallas)

    expect(mapping.status).toBe('sure')
    expect(fieldsOf(mapping)).toMatchObject({
      ...{ StockType: 'condition', StockNumber: 'stock_number', VIN: 'vin', Year: 'model_year' },
      ...{ Odometer: 'odometer', Age: 'days_in_stock', Price: 'price_asking', Cost: 'cost' },
    })
    expect(codes['VIN_CHECK_DIGIT error']! + codes['VIN_CHECK_DIGIT info']!).toBe(97)
    expect(count).toEqual({ accepted: 80, rejected: 20, skipped: 0 })
  },
)

test.skipIf(!isHere)(
  'br_volvo: a point before three digits is thousands, and there is no key',
  async () => {
    const { mapping, count } = await typeFile('br_volvo_tab_decimalcomma.csv', {
      ...{ ...sydney, currency: 'BRL' },
    })
    const answered = await typeFile(
      'br_volvo_tab_decimalcomma.csv',
      { ...sydney, currency: 'BRL' },
      ['stock_number=model'],
    )

    expect(fieldsOf(mapping)).toMatchObject({ model: 'model', price: 'price_asking' })
    expect(mapping).toMatchObject({ status: 'unsure', key: null })
    expect(count).toEqual({ accepted: 0, rejected: 14, skipped: 0 })
    expect(answered.rows[0]!.unit?.asking_price).toBe('229950.000')
  },
)

test.skipIf(!isHere)(
  'us_auction_lot: VINs with blanks, prices of 0, and a column Condition without a condition',
  async () => {
    const { mapping, count, codes, rows } = await typeFile('us_auction_lot_paddedvin.csv', dallas)

    expect(mapping.status).toBe('sure')
    expect(fieldsOf(mapping)).toEqual({
      ...{ Column1: 'row_index', price: 'price_asking', brand: 'make', model: 'model' },
      ...{ year: 'model_year', mileage: 'odometer', color: 'colour_exterior', vin: 'vin' },
      ...{ lot: 'stock_number', state: 'location' },
    })
    expect(rows[0]!.unit).toMatchObject({ vin: 'JTEZU11F88K007763', asking_price: '6300.000' })
    expect(count).toEqual({ accepted: 2499, rejected: 0, skipped: 0 })
    expect(codes).toEqual({
      ...{ 'VIN_LENGTH info': 1, 'ODOMETER_DOUBTED warning': 23 },
      ...{ 'ZERO_PRICE warning': 43, 'ZERO_ODOMETER warning': 6 },
    })
  },
)
