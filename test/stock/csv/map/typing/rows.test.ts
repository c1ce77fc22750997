import { expect, test } from 'vitest'
import { proposeMapping } from '#src/stock/csv/map/mapping.ts'
import { startStyles } from '#src/stock/csv/map/typing/column-styles.ts'
import { rowTyper } from '#src/stock/csv/map/typing/row.ts'
import type { TypableRecord } from '#src/stock/csv/map/typing/typed-row.ts'
import { stockNumbers, sydney, typeTable } from '../table.ts'

const names = ['Stock No', 'VIN', 'Rego', 'Make', 'Model', 'Badge', 'Price', 'Colour', 'Radio code']
const cells = ['U1', '5TDXZ3DC2KS015402', '1ab-0 cd', ' Toyota ', 'Camry', '', '20,000', 'Red', '7']

/** Types one record of that header, as the reader gives it. */
function typeRecord(record: Partial<TypableRecord>) {
  const mapping = proposeMapping(names, [cells])
  const type = rowTyper(mapping, startStyles(mapping, sydney).styles())
  return type({ line: 2, cells, ...record })
}

test('a row has the columns of core.stock_unit, and the other mapped cells by field', () => {
  expect(typeRecord({}).unit).toEqual({
    stock_no: 'U1',
    vin: '5TDXZ3DC2KS015402',
    adcode: null,
    plate: '1AB0CD',
    make: 'Toyota',
    model: 'Camry',
    variant: null,
    model_year: null,
    odometer_km: null,
    asking_price: '20000.000',
    cost: null,
    currency_code: 'AUD',
    acquired_on: null,
    price_on_application: false,
    extras: { colour_exterior: 'Red' },
  })
})

test('a record that the reader could not repair is rejected with its key, a repaired one gets a warning', () => {
  const problem = { code: 'extra-cell', message: '10 cells instead of 9' } as const

  const broken = typeRecord({ problem: { ...problem, repaired: false } })
  const repaired = typeRecord({ problem: { ...problem, repaired: true } })

  expect(broken).toMatchObject({ status: 'rejected', unit: null, key: { stockNo: 'U1' } })
  expect(broken.issues).toMatchObject([{ code: 'extra-cell', severity: 'error', column: null }])
  expect(repaired).toMatchObject({ status: 'accepted', issues: [{ severity: 'warning' }] })
})

test('blank rows, totals and repeated headers are not vehicles', () => {
  const rows = [
    Array(9).fill(' '),
    ['Total', '', '', '', '', '', '20,000', '', ''],
    ['', '', '', 'الإجمالي', '', '', '20,000', '', ''],
    names,
  ]

  const typed = rows.map((row) => typeRecord({ cells: row }))

  expect(typed.map(({ status }) => status)).toEqual(Array(4).fill('skipped'))
  expect(typed.map(({ issues }) => issues[0]?.code)).toEqual([
    ...['blank-row', 'TOTALS_ROW', 'TOTALS_ROW', 'repeated-header'],
  ])
})

test('a vehicle with the name Total is a vehicle', () => {
  expect(typeRecord({ cells: ['T100', ...cells.slice(1)] }).status).toBe('accepted')
  expect(typeRecord({ cells: ['Total', ...cells.slice(1)] }).status).toBe('accepted')
})

test('a title fills make, model, variant and year', () => {
  const titles = ['2015 Ford Kuga 2.0 TDCi Trend AWD Auto', '2021 Land Rover Defender 110']
  const others = ['2019 Toyota Hilux SR5', 'nice car with many extras', '2018 Kia Rio']
  const forms = [
    ...['* MY18 Land Rover Range Rover Sport', 'Toyota Land Cruiser Prado (2019)'],
    ...['2017 BMW 3 Series 320i', 'Peugeot 2008', 'Toyota, Corolla Cross, GX, 2022'],
  ]

  const { rows } = typeTable(
    ['Stock No', 'Vehicle'],
    [...titles, ...others, ...forms].map((title, index) => [`S${index}X`, title]),
  )

  expect(rows.slice(0, 2).map(({ unit }) => unit)).toMatchObject([
    { make: 'Ford', model: 'Kuga', variant: '2.0 TDCi Trend AWD Auto', model_year: 2015 },
    { make: 'Land Rover', model: 'Defender', variant: '110', model_year: 2021 },
  ])
  expect(rows[3]).toMatchObject({
    unit: { make: null, model: null, model_year: null },
    issues: [{ severity: 'warning', column: 'Vehicle', hint: expect.stringContaining('make') }],
  })
  expect(rows.slice(5).map(({ unit }) => unit)).toMatchObject([
    { make: 'Land Rover', model: 'Range Rover', variant: 'Sport', model_year: 2018 },
    { make: 'Toyota', model: 'Land Cruiser', variant: 'Prado', model_year: 2019 },
    { make: 'BMW', model: '3 Series', variant: '320i', model_year: 2017 },
    { make: 'Peugeot', model: '2008', variant: null, model_year: null },
    { make: 'Toyota', model: 'Corolla Cross', variant: 'GX', model_year: 2022 },
  ])
})

test('a row with a stock number and nothing else is a vehicle, with a warning', () => {
  const full = stockNumbers.map((number) => [number, 'Kia', 'Rio', '15990'])
  const bare = ['U9001', 'U9002'].map((number) => [number, '', '', ''])

  const { rows } = typeTable(['Stock No', 'Make', 'Model', 'Price'], [...full, ...bare])
  const alone = typeTable(['Stock No'], [['S900X'], ['S901X']])

  expect(rows.map(({ issues }) => issues.length)).toEqual([...full.map(() => 0), 1, 1])
  expect(rows.at(-1)).toMatchObject({ status: 'accepted', issues: [{ code: 'NO_DETAILS' }] })
  expect(alone.rows.flatMap(({ issues }) => issues)).toEqual([])
})

test('a model without its make is a warning, as where the make is written once for several rows', () => {
  const { rows } = typeTable(
    ['Stock No', 'Make', 'Model'],
    [
      ['U1001', 'Kia', 'Rio'],
      ['U1002', '', 'Sportage'],
      ['U1003', 'Ford', 'Ranger'],
    ],
  )

  expect(rows.map(({ issues }) => issues.map(({ code }) => code))).toEqual([[], ['NO_MAKE'], []])
})

test('both colours of a combined cell are separated', () => {
  const { rows } = typeTable(['Stock No', 'ColourExtInt'], [['S1X', 'White / Black']])

  expect(rows[0]!.unit?.extras).toMatchObject({
    ...{ colour_exterior: 'White', colour_interior: 'Black' },
  })
})

test('text that Postgres cannot store is cleaned', () => {
  const bad = 'Cam\u0000ry \ud800'

  const { unit } = typeRecord({ cells: [...cells.slice(0, 4), bad, '', '', 'Red\u0000', ''] })

  expect(unit?.model).toBe('Cam ry \ufffd')
  expect(unit?.extras['colour_exterior']).toBe('Red\ufffd')
})

test('prose in a column of names is left out with a warning', () => {
  const typed = typeRecord({
    cells: [...cells.slice(0, 4), 'very long '.repeat(30), '', '', '', ''],
  })

  expect(typed).toMatchObject({
    status: 'accepted',
    unit: { model: null },
    issues: [{ code: 'constraint-error', severity: 'warning', column: 'Model' }],
  })
})

test('a plate of a placeholder and punctuation is not a plate: its export would be read as empty', () => {
  const plates = ['N/A-', 'n/a.', ' T.B.A ', '- - -', 'UNREG.']

  const typed = plates.map((plate) => typeRecord({ cells: cells.with(2, plate) }))

  expect(typed.map(({ unit }) => unit?.plate)).toEqual(plates.map(() => null))
})

test('a row whose cells are shifted past the model year is rejected', () => {
  const header = ['Stock No', 'Make', 'Model', 'Year', 'Odometer', 'Price']
  const sound = Array.from({ length: 20 }, (_, at) => [
    ...[`U${2001 + at}`, 'Kia', 'Rio', '2019', '45000', '18990'],
  ])
  const rows = [
    ['U1001', 'Toyota', 'Corolla', '2019', '45000', '18990'],
    ['U1002', 'Toyota', 'Corolla', 'Sedan', '2019', '45000'],
    ['U1003', 'Corolla', '2019', '45,000', '18990', ''],
    ['U1004', 'Peugeot', '2008', '2021', '31000', '19990'],
    ['U1005', 'Peugeot', '2008', 'TBA', '2021', '19990'],
    ['U1006', 'Kia', 'Rio', '19', '2021', '15990'],
    ['U1007', 'Kia', 'Rio', 'new', '12', '25990'],
  ]

  const typed = typeTable(header, [...rows, ...sound]).rows.slice(0, rows.length)

  expect(typed.map(({ status }) => status)).toEqual([
    ...['accepted', 'rejected', 'rejected', 'accepted', 'accepted', 'accepted', 'accepted'],
  ])
  expect(typed[1]!.issues.map(({ code }) => code)).toContain('SHIFTED_CELLS')
  expect(typed[2]!.key.stockNo).toBe('U1003')
})
