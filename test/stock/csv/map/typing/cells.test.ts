import { expect, test } from 'vitest'
import { dallas, dubai, kuwait, sydney, typeColumn, typeTable } from '../table.ts'

type Options = typeof sydney

const pricesOf = (values: readonly string[], options: Options = sydney, header = 'Price') =>
  typeColumn(header, values, options).rows.map(({ unit }) => unit?.asking_price)
const kmOf = (values: readonly string[], options: Options = sydney, header = 'Odometer') =>
  typeColumn(header, values, options).rows.map(({ unit }) => unit?.odometer_km)
const codesOf = (table: ReturnType<typeof typeColumn>) =>
  table.rows.flatMap(({ issues }) => issues.map(({ code, severity }) => `${code} ${severity}`))
const columnCodes = (table: ReturnType<typeof typeColumn>) =>
  table.styles.issues.map(({ code }) => code)

test('prices are read as dealers write them', () => {
  const written = [
    ...['$39,998', 'R 619 900', 'AED 165,000', '239900.01', '12\u00a0990', '619\u202f900'],
    ...['45k', "1'234'567.50", '165,000/-', '$25,000 drive away', 'Rs.500', '12,34,567', '.5'],
  ]

  const amounts = written.map((text) => pricesOf([text])[0])

  expect(amounts).toEqual([
    ...['39998.000', '619900.000', '165000.000', '239900.010', '12990.000', '619900.000'],
    ...['45000.000', '1234567.500', '165000.000', '25000.000', '500.000', '1234567.000', '0.500'],
  ])
})

test('a point or comma before three digits means thousands, unless the column proves decimals', () => {
  expect(pricesOf(['229.950', '1.299.950'])).toEqual(['229950.000', '1299950.000'])
  expect(pricesOf(['165.000,50', '12.990'])).toEqual(['165000.500', '12990.000'])
  expect(pricesOf(['165,000.50', '12,990'])).toEqual(['165000.500', '12990.000'])
  expect(columnCodes(typeColumn('Price', ['229.950']))).toEqual(['NUMBER_STYLE_ASSUMED'])
  expect(columnCodes(typeColumn('Price', ['229.950', '1.299.950']))).toEqual([])
})

test('a column with decimal points and decimal commas is read cell by cell, with a warning', () => {
  const table = typeColumn('Price', ['1,234.50', '1.234,50'])

  expect(table.rows.map(({ unit }) => unit?.asking_price)).toEqual(['1234.500', '1234.500'])
  expect(columnCodes(table)).toEqual(['NUMBER_STYLE_MIXED'])
})

test('dinars and rials have three decimals if the column or the size of the amounts proves it', () => {
  expect(pricesOf(['4500.000', '850.000'], kuwait)).toEqual(['4500.000', '850.000'])
  expect(pricesOf(['4,500.000', '850.000'], kuwait)).toEqual(['4500.000', '850.000'])
  expect(pricesOf(['850.000', '720.500'], kuwait)).toEqual(['850.000', '720.500'])
  expect(pricesOf(['3.500', '12.990'], kuwait)).toEqual(['3500.000', '12990.000'])
  expect(columnCodes(typeColumn('Price', ['850.000'], kuwait))).toEqual(['NUMBER_STYLE_ASSUMED'])
})

test('Arabic and Persian digits, marks and thousands are read', () => {
  expect(pricesOf(['١٦٥٠٠٠', '۱۶۵۰۰۰', '١٦٥٬٠٠٠', '١٦٥٠٠٠٫٥', '\u200f١٦٥،٠٠٠'], dubai)).toEqual([
    ...['165000.000', '165000.000', '165000.000', '165000.500', '165000.000'],
  ])
  expect(kmOf(['٤٥٬٠٠٠ كم', '45 ألف'], dubai)).toEqual([45_000, 45_000])
})

test("the cell's currency overrides the header and the rooftop, and a foreign one is reported", () => {
  const table = typeColumn('Price (SAR)', ['165,000', 'AED 90,000'], dubai)

  expect(table.rows.map(({ unit }) => unit?.currency_code)).toEqual(['SAR', 'AED'])
  expect(codesOf(typeColumn('Price', ['US$ 25,000'], sydney))).toEqual(['CURRENCY_DIFFERS warning'])
})

test('a price on application is a flag without a price, not an error', () => {
  const table = typeColumn('Price', ['POA', 'Negotiable', 'on request', 'على السوم', '20000'])

  expect(table.rows.map(({ unit }) => [unit?.asking_price, unit?.price_on_application])).toEqual([
    ...Array(4).fill([null, true]),
    ['20000.000', false],
  ])
  expect(codesOf(table)).toEqual(Array(4).fill('PRICE_POA info'))
})

test('a placeholder is null without an issue, and 0 is not a price', () => {
  const empty = ['', 'NULL', 'N/A', 'NA', '-', '- / -', '–', 'nan', 'None', 'TBA', 'Not Priced']

  expect(pricesOf([...empty, '0.00', '25000'])).toEqual([
    ...empty.map(() => null),
    null,
    '25000.000',
  ])
  expect(codesOf(typeColumn('Price', [...empty, '0', '0.00', '25000']))).toEqual(
    Array(1).fill('ZERO_PRICE warning'),
  )
})

test('words are left out with a warning; invalid digits reject the row', () => {
  const table = typeColumn('Price', [
    'new arrival',
    '12,3,45',
    '-500',
    '10000 - 12000',
    '25000',
    '26000',
  ])

  expect(codesOf(table)).toEqual([
    ...['type-error warning', 'type-error error', 'constraint-error error', 'type-error error'],
  ])
  expect(table.rows.map(({ status }) => status)).toEqual([
    ...['accepted', 'rejected', 'rejected', 'rejected', 'accepted', 'accepted'],
  ])
})

test('every issue has its line, its column, the original text and a hint', () => {
  const { rows } = typeColumn('Price', ['25000', '26000', ' 1,2,3 '])

  expect(rows[2]!.issues).toEqual([
    {
      ...{ code: 'type-error', severity: 'error', line: 4, column: 'Price', text: ' 1,2,3 ' },
      hint: 'this is not an amount of money: correct the cell or leave it empty',
    },
  ])
  expect(rows[2]!.key).toEqual({ stockNo: 'S2X', vin: null })
})

test('odometers are kilometres: by cell, header, unit column, then market', () => {
  expect(kmOf(['150,000km', '93206 mi', '45210.5'])).toEqual([150_000, 150_001, 45_211])
  expect(kmOf(['10,000'], dallas)).toEqual([16_093])
  expect(kmOf(['10,000'], dallas, 'Odometer (km)')).toEqual([10_000])
  expect(kmOf(['10,000'], sydney, 'Miles')).toEqual([16_093])
  expect(kmOf(['10,000'], { ...dallas, odometerUnit: 'km' })).toEqual([10_000])
  expect(typeColumn('Miles', ['10,000']).rows[0]!.unit?.extras).toMatchObject({
    ...{ odometer: '10000', odometer_unit: 'mi' },
  })
})

test('an assumed unit is reported, and a warning if the median reading is unusual', () => {
  expect(columnCodes(typeColumn('Odometer', ['45000', '90000'], dallas))).toEqual(['UNIT_ASSUMED'])
  expect(columnCodes(typeColumn('Odometer', ['160000', '190000'], dallas))).toEqual([
    'UNIT_DOUBTED',
  ])
  expect(columnCodes(typeColumn('Odometer (mi)', ['160000', '190000'], dallas))).toEqual([])
})

test('0 on the odometer gives a warning for a used vehicle, not for a new one', () => {
  expect(codesOf(typeColumn('Odometer', ['0', '90000', '80000', '70000']))).toEqual([
    'ZERO_ODOMETER warning',
  ])
})

test('model years are taken from years, MY codes and dates, and never guessed', () => {
  const years = ['2019', '2019.0', 'MY19', 'MY 2019', '01/03/2019', '2025/26', '2035', '20x4', '19']

  const table = typeColumn('Model Year', [...years, ...Array(30).fill('2020')])

  expect(table.rows.slice(0, 9).map(({ unit }) => unit?.model_year)).toEqual([
    ...[2019, 2019, 2019, 2019, 2019, null, null, null, null],
  ])
  expect(new Set(codesOf(table))).toEqual(
    new Set(['type-error warning', 'constraint-error warning']),
  )
})

test('a unit column and a currency column apply to each row', () => {
  const { rows } = typeTable(
    ['Stock No', 'mileage.value', 'mileage.unit', 'Price', 'Currency'],
    [
      ['A1X', '10000', 'MI', '5000', 'USD'],
      ['A2X', '10000', 'km', '5000', ''],
    ],
  )

  expect(rows.map(({ unit }) => [unit?.odometer_km, unit?.currency_code])).toEqual([
    [16_093, 'USD'],
    [10_000, 'AUD'],
  ])
})

test('a new vehicle may have 0 km and no price', () => {
  const { rows } = typeTable(
    ['Stock No', 'is_new', 'Odometer', 'Price', 'Cost'],
    [
      ['A1X', 'TRUE', '0', '0', '0'],
      ['A2X', 'FALSE', '50000', '9000', '7000'],
      ['A3X', 'FALSE', '60000', '8000', '6000'],
    ],
  )

  expect(rows[0]!.unit).toMatchObject({ odometer_km: 0, asking_price: null, cost: null })
  expect(rows[0]!.issues.map(({ severity }) => severity)).toEqual(['info'])
})

test('an old car that has run a few hundred kilometres is reported, and a recent one that has run too many', () => {
  const table = (condition: string) =>
    typeTable(
      ['Stock No', 'Year', 'Odometer', 'Condition'],
      [
        ['A1X', '2014', '98', condition],
        ['A2X', '2014', '98000', condition],
        ['A3X', '2024', '98', condition],
        ['A4X', '2021', '999', condition],
        ['A5X', '2025', '850k', condition],
        ['A6X', '2025', '399000', condition],
        ['A7X', '2014', '999999', 'Used'],
      ],
    )

  const used = table('Used').rows

  expect(used.map(({ unit }) => unit?.odometer_km)).toEqual([
    ...[98, 98_000, 98, 999, 850_000, 399_000, 999_999],
  ])
  expect(used.map(({ issues }) => issues.map(({ code }) => code))).toEqual([
    ...[['ODOMETER_DOUBTED'], [], [], ['ODOMETER_DOUBTED'], ['ODOMETER_DOUBTED'], []],
    ['ODOMETER_DOUBTED'],
  ])
  expect(codesOf(table('New'))).toEqual(['ODOMETER_DOUBTED warning'])
})

test('a unit column may have letters, and one that is no unit is reported', () => {
  const { rows } = typeTable(
    ['Stock No', 'Odometer', 'Odometer Unit'],
    [
      ['A1X', '10000', 'M'],
      ['A2X', '10000', 'K'],
      ['A3X', '10000', 'Meilen'],
    ],
  )

  expect(rows.map(({ unit }) => unit?.odometer_km)).toEqual([16_093, 10_000, 10_000])
  expect(rows.map(({ issues }) => issues.map(({ column, code }) => [column, code]))).toEqual([
    ...[[], [], [['Odometer Unit', 'type-error']]],
  ])
})

test('a price before tax is reported, by its cell or by the header', () => {
  const cells = ['$24,990 + GST', '24990 plus gst', '24990 ex. VAT', '24990 inc GST', '24990 + ORC']
  const written = typeColumn('Price', cells)

  expect(codesOf(written)).toEqual(Array(3).fill('PRICE_WITHOUT_TAX warning'))
  expect(written.rows.map(({ unit }) => unit?.asking_price)).toEqual(cells.map(() => '24990.000'))
  for (const header of ['Price Ex', 'Price Excl.', 'PriceExGST', 'Prix HT', 'Nettopreis'])
    expect(columnCodes(typeColumn(header, ['24990', '21990'])), header).toContain(
      'PRICE_WITHOUT_TAX',
    )
  for (const header of ['Price Inc', 'Price', 'Prix TTC', 'Price GST incl'])
    expect(columnCodes(typeColumn(header, ['24990', '21990'])), header).not.toContain(
      'PRICE_WITHOUT_TAX',
    )
})

test('a dollar sign at a rooftop that sells in another currency is reported once', () => {
  const cells = ['$45,000', '$52,500', '61000']
  const gulf = typeColumn('Price', cells, dubai)
  const withCurrency = typeTable(
    ['Stock No', 'Price', 'Currency'],
    cells.map((cell, at) => [`S${at}X`, cell, 'USD']),
    dubai,
  )

  expect(gulf.styles.issues).toMatchObject([{ code: 'CURRENCY_DIFFERS', severity: 'warning' }])
  expect(gulf.styles.issues[0]!.hint).toContain('such amounts were stored in AED')
  expect(columnCodes(typeColumn('Price ($)', ['45000', '52500'], dubai))).toEqual([
    'CURRENCY_DIFFERS',
  ])
  expect(columnCodes(typeColumn('Price', cells, sydney))).toEqual([])
  expect(columnCodes(typeColumn('Price', ['AED 45,000', '52500'], dubai))).toEqual([])
  expect(columnCodes(withCurrency)).toEqual([])
})
