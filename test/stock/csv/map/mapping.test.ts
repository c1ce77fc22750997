import { expect, test } from 'vitest'
import { proposeMapping, toRemembered } from '#src/stock/csv/map/mapping.ts'
import { mappingLines, unsureText } from '#src/stock/csv/map/mapping-text.ts'
import { parseOverrides } from '#src/stock/csv/map/overrides.ts'
import { fieldsOf, mapColumns, stockNumbers, twelve } from './table.ts'

const stock = ['Stock No', stockNumbers] as const
const makes = ['Make', twelve('Toyota', 'Ford', 'BMW', 'Kia')] as const

test('each column has its field, a confidence, the reason and samples as in the file', () => {
  const mapping = mapColumns([stock, makes, ['Price (AED)', twelve('AED 165,000', ' 89,500')]])

  expect(mapping).toMatchObject({ status: 'sure', key: 'stock_number', questions: [] })
  expect(mapping.columns[2]).toMatchObject({
    header: 'Price (AED)',
    field: 'price_asking',
    source: 'header',
    currency: 'AED',
    samples: ['AED 165,000', ' 89,500'],
  })
  expect(mapping.columns[2]!.confidence).toBeGreaterThan(0.9)
  expect(mapping.columns[2]!.evidence).toContain('its header can mean price_asking')
})

test('an unknown column is stored without a field', () => {
  const mapping = mapColumns([stock, makes, ['Radio code', twelve('1234', '5678')]])

  expect(mapping.columns[2]).toMatchObject({ field: null, evidence: ['its header is unknown'] })
  expect(mapping.status).toBe('sure')
})

test('VINs are found under an unknown header', () => {
  const vins = stockNumbers.map((text, index) => `6T1BF3FK0GX10${1000 + index}${text.slice(0, 0)}`)
  const mapping = mapColumns([['Passport of the car', vins], makes])

  expect(mapping).toMatchObject({ status: 'sure', key: 'vin' })
  expect(mapping.columns[0]).toMatchObject({ field: 'vin', source: 'values' })
})

test('a file without a key column is reported with the column that might be one', () => {
  const without = mapColumns([makes, ['Price', twelve('10000', '20000')]])
  const perhaps = mapColumns([makes, ['Lot tag', stockNumbers]])

  expect(without).toMatchObject({ status: 'unsure', key: null })
  expect(without.questions).toMatchObject([{ code: 'NO_KEY_COLUMN', maps: [] }])
  expect(perhaps.questions).toMatchObject([
    { code: 'NO_KEY_COLUMN', maps: ['stock_number=Lot tag'] },
  ])
})

test('a header that its values contradict is asked about, never dropped silently', () => {
  const vin = mapColumns([stock, makes, ['VIN', twelve('see file', 'on request')]])
  const number = mapColumns([['Stock No', twelve('A')], makes])

  expect(vin.questions).toMatchObject([{ code: 'MAPPING_LOW_CONFIDENCE', maps: ['vin=VIN'] }])
  expect(number.questions.flatMap(({ maps }) => maps)).toContain('stock_number=Stock No')
})

test('an empty column gets the field of its header and is not a key', () => {
  const mapping = mapColumns([['Stock No', twelve('')], makes, ['Cost', twelve('')]])

  expect(fieldsOf(mapping)).toEqual({ 'Stock No': 'stock_number', Make: 'make', Cost: 'cost' })
  expect(mapping).toMatchObject({ status: 'unsure', key: null })
})

test('a header without rows is mapped by its names', () => {
  const mapping = proposeMapping(['Stock No', 'VIN', 'Price'], [])

  expect(mapping).toMatchObject({ status: 'sure', key: 'stock_number' })
})

test("the user's --map overrides header and values", () => {
  const columns = [['ID', stockNumbers], makes, ['Price', twelve('20000', '30000')]] as const
  const names = columns.map(([name]) => name)
  const overrides = parseOverrides(['stock_no=ID', 'price_asking='], names)

  const mapping = mapColumns(columns, { overrides })

  expect(mapping).toMatchObject({ status: 'sure', key: 'stock_number' })
  expect(mapping.columns[0]).toMatchObject({ confidence: 1, source: 'override' })
  expect(fieldsOf(mapping)).toEqual({ ID: 'stock_number', Make: 'make' })
})

test('a confirmed mapping is remembered only for that header', () => {
  const columns = [['ID', stockNumbers], makes] as const
  const overrides = parseOverrides(['stock_number=ID'], ['ID', 'Make'])
  const remembered = toRemembered(mapColumns(columns, { overrides }))

  const again = mapColumns(columns, { remembered })
  const spelt = mapColumns([['id ', stockNumbers], makes], { remembered })
  const other = mapColumns([...columns, ['Colour', twelve('red')]], { remembered })

  expect(again).toMatchObject({ status: 'sure', key: 'stock_number' })
  expect(again.columns[0]).toMatchObject({ source: 'remembered', confidence: 1 })
  expect(spelt.status).toBe('sure')
  expect(other.status).toBe('unsure')
})

test('a remembered field that no longer exists leaves its column unknown', () => {
  const columns = [stock, ['Radio code', twelve('1234', '5678')]] as const
  const { fingerprint } = mapColumns(columns)
  const remembered = { fingerprint, columns: ['stock_number', 'a_field_of_old'], absent: [] }

  const mapping = mapColumns(columns, { remembered })

  expect(fieldsOf(mapping)).toEqual({ 'Stock No': 'stock_number' })
})

test('a file without a header is mapped by its values and must be confirmed', () => {
  const rows = stockNumbers.map((text, index) => [
    text,
    ...[`6T1BF3FK0GX10${1000 + index}`, makes[1][index]!, String(2010 + index)],
    ...[`${20 + index}990.00`, String(31_000 + index * 997)],
  ])

  const proposed = proposeMapping(null, rows)
  const confirmation = parseOverrides(['stock_number=#1', 'vin=#2', 'price_asking=#5'], null, 6)
  const confirmed = proposeMapping(null, rows, { overrides: confirmation })
  const again = proposeMapping(null, rows, { remembered: toRemembered(confirmed) })

  expect(fieldsOf(proposed)).toEqual({
    ...{ '#1': 'stock_number', '#2': 'vin', '#3': 'make', '#4': 'model_year' },
    ...{ '#5': 'price_asking', '#6': 'odometer' },
  })
  expect(proposed.status).toBe('unsure')
  expect(proposed.columns.every(({ confidence }) => confidence <= 0.5)).toBe(true)
  expect(fieldsOf(confirmed)).toEqual({ '#1': 'stock_number', '#2': 'vin', '#5': 'price_asking' })
  expect([confirmed.status, again.status]).toEqual(['sure', 'sure'])
})

test('the text of an unsure mapping shows every column and the arguments to type', () => {
  const mapping = mapColumns([["Shop's no", stockNumbers], makes])

  expect(mappingLines(mapping)).toEqual([
    "#1  Shop's no  (not mapped)        U1001 · U1014 · U1027",
    '#2  Make       make          99 %  Toyota · Ford · BMW',
  ])
  expect(unsureText(mapping)).toContain("--map 'stock_number=Shop'\\''s no'")
})

test('the answers to a question are quoted for a shell', () => {
  const mapping = mapColumns([["Shop's no", stockNumbers], makes])
  const map = "odometer:thousands=Dealer's km ($)"
  const question = { code: 'ODOMETER_DOUBTED', message: 'Which?', maps: [map] } as const
  const questions = [
    { ...question, readings: [{ map, name: 'odometer:thousands', meaning: 'thousands' }] },
  ]

  expect(unsureText({ ...mapping, questions })).toContain(
    "Answer with --map 'odometer:thousands=Dealer'\\''s km ($)' (thousands).",
  )
})

test('a table of any width and raggedness is mapped without an error', () => {
  expect(proposeMapping([], []).status).toBe('unsure')
  expect(proposeMapping(null, [[], ['a'], ['a', 'b']]).columns).toHaveLength(2)
  expect(proposeMapping(['Stock No'], [['U1', 'more', 'cells'], []]).columns).toHaveLength(1)
})

test('in a header of two rows the lower name counts if both together are unknown', () => {
  const headerRows = [
    ['Unit', 'Unit', 'Money'],
    ['Stock No', 'Make', 'Asking Price'],
  ]
  const rows = stockNumbers.map((number) => [number, 'Toyota', '20000'])

  const mapping = proposeMapping(
    headerRows[0]!.map((name, index) => `${name} ${headerRows[1]![index]}`),
    rows,
    { headerRows },
  )

  expect(mapping.columns.map(({ field }) => field)).toEqual([
    'stock_number',
    'make',
    'price_asking',
  ])
})
