import { expect, test } from 'vitest'
import { proposeMapping, toRemembered } from '#src/stock/csv/map/mapping.ts'
import { mappingSummary } from '#src/stock/csv/map/mapping-text.ts'
import { parseOverrides } from '#src/stock/csv/map/overrides.ts'
import { fieldsOf, mapColumns, stockNumbers, twelve } from './table.ts'

// A column whose header names a field is mapped or asked about, whatever its cells are; it is never left out silently.

const stock = ['Stock No', stockNumbers] as const
const makes = ['Make', twelve('Toyota', 'Ford', 'BMW', 'Kia')] as const

const mapsOf = ({ questions: doubts }: ReturnType<typeof mapColumns>) =>
  doubts.flatMap(({ maps }) => maps)

test.for([
  ['Year', 'model_year', ['2012.0', '2015.0']],
  ['Year', 'model_year', ['2,012', '2,015']],
  ['Year', 'model_year', ['MY12', 'MY15.5']],
  ['Price', 'price_asking', ['18990 SEK', '21500 SEK']],
  ['Odometer', 'odometer', ['15tkm', '120 tkm']],
] as const)('%s with %o of %o is mapped', ([header, field, cells]) => {
  const mapping = mapColumns([stock, makes, [header, twelve(...cells)]])

  expect(fieldsOf(mapping)[header]).toBe(field)
  expect(mapping.status).toBe('sure')
})

test.for([
  ['Year', 'model_year', ['2012/2013', '2015/2016']],
  ['Year', 'model_year', ['new', 'old']],
  ['Price', 'price_asking', ['18990 - 19990', '21000 to 22000']],
  ['Odometer', 'odometer', ['low', '15xxx']],
  ['Date In', 'received_date', ['last week', 'in May']],
  ['Invoice Date', 'received_date', ['A17', 'B18']],
  ['Rego', 'plate', ['01/02/2024', '03/04/2024']],
  ['Model', 'model', ['New', 'Used']],
] as const)('%s, whose cells are no %s, is asked about', ([header, field, cells]) => {
  const columns = [stock, makes, [header, twelve(...cells)]] as const
  const names = columns.map(([name]) => name)

  const asked = mapColumns(columns)
  const answered = mapColumns(columns, { overrides: parseOverrides([`${field}=${header}`], names) })
  const none = mapColumns(columns, { overrides: parseOverrides([`${field}=`], names) })

  expect(asked.status).toBe('unsure')
  expect(mapsOf(asked)).toContain(`${field}=${header}`)
  expect([answered.status, none.status]).toEqual(['sure', 'sure'])
  expect(fieldsOf(answered)[header]).toBe(field)
})

test.for([
  ['Unit', twelve('K', 'M', 'K'), 'odometer_unit'],
  ['Unit', twelve('Rio S', 'Ranger XLT', 'X5 xDrive'), 'title_combined'],
  ['In stock', twelve('14/01/2026', '25/11/2025'), 'received_date'],
  ['In stock', twelve('Yes', 'No'), 'available'],
  ['Price', twelve('$25,000 D/A', '$18,990 d/a'), 'price_asking'],
  ['Description', twelve('Great first car', 'One owner'), 'notes'],
  ['Description', twelve('2019 Kia Rio S', '2020 Ford Ranger'), 'notes'],
] as const)('%s with %o is read by its cells', ([header, cells, field]) => {
  expect(fieldsOf(mapColumns([stock, makes, [header, cells]]))[header]).toBe(field)
})

test.for(['Description', 'Vehicle Description', 'Veh. Desc.', 'Car', 'Vehicle Details'])(
  '%s holds titles where no column holds the make',
  (header) => {
    const mapping = mapColumns([stock, [header, twelve('2019 Kia Rio S', '2020 Ford Ranger XL')]])

    expect(fieldsOf(mapping)[header]).toBe('title_combined')
    expect(mapping.missing.map(({ field }) => field)).not.toContain('model_year')
  },
)

test('the current price wins over the former one, which is asked about if it is alone', () => {
  const [was, now] = [
    ['Was Price', twelve('21990', '9990')],
    ['Now Price', twelve('19990', '8990')],
  ] as const

  const both = mapColumns([stock, makes, was, now])
  const alone = mapColumns([stock, makes, was])

  expect(fieldsOf(both)).toMatchObject({ 'Now Price': 'price_asking' })
  expect([both.status, alone.status]).toEqual(['sure', 'unsure'])
  expect(mapsOf(alone)).toEqual(['price_asking=Was Price'])
})

test('a column with prices wins over an empty one with a better name', () => {
  const mapping = mapColumns([
    ...[stock, makes],
    ['Price', twelve('')],
    ['Internet Price', twelve('19990', '24990')],
  ])

  expect(fieldsOf(mapping)).toMatchObject({ 'Internet Price': 'price_asking' })
  expect(mapping.missing.map(({ field }) => field)).not.toContain('price_asking')
})

test('a missing vital field is reported, and asked about if a column fits it', () => {
  const without = mapColumns([stock, makes, ['Price', twelve('')], ['Bay', twelve('A', 'B')]])
  const alike = mapColumns([
    ...[stock, makes],
    ['On our books', twelve('2026-01-05', '2026-02-07')],
    ['Internet Special Price', twelve('19990', '24990')],
    ['Clock (km)', twelve('45000', '90000')],
    ['Vintage Yr', twelve('2012.0', '2015.0')],
  ])
  const others = mapColumns([
    ...[stock, makes],
    ['Sold Date', twelve('2026-01-05', '2026-02-07')],
    ['Weekly price', twelve('$99.00', '$120.00')],
    ['Weight', twelve('1500', '2100')],
  ])

  expect(without.status).toBe('sure')
  expect(without.missing).toEqual([
    { field: 'price_asking', emptyColumn: 'Price' },
    ...['model_year', 'odometer', 'received_date'].map((field) => ({ field, emptyColumn: null })),
  ])
  expect(mapsOf(alike)).toEqual([
    'price_asking=Internet Special Price',
    'model_year=Vintage Yr',
    'odometer=Clock (km)',
    'received_date=On our books',
  ])
  expect([others.status, others.missing.length]).toEqual(['sure', 4])
})

test('a column for the stock number or the plate holds the stock number', () => {
  for (const header of ['Stock/Rego', 'Rego / Stock No'])
    expect(fieldsOf(mapColumns([[header, stockNumbers], makes]))[header]).toBe('stock_number')
})

test('of two columns without a known name, the one before tax is not proposed', () => {
  const [before, after] = [twelve('18173', '22718'), twelve('19990', '24990')]

  const mapping = mapColumns([stock, makes, ['Sell ex GST', before], ['Sell', after]])

  expect(mapsOf(mapping)).toEqual(['price_asking=Sell'])
})

test('a column without a name is proposed for one field, and words are not a date in stock', () => {
  const nameless = mapColumns([stock, makes, ['', twelve('19990', '24990')]])
  const flag = mapColumns([stock, makes, ['Received', twelve('yes', 'no')]])

  expect(mapsOf(nameless)).toEqual(['price_asking=#3'])
  expect(flag.status).toBe('sure')
})

test('a column with one filled cell is neither suggested nor mapped by its values', () => {
  const once = (text: string) => ['', '', text, ...Array(9).fill('')]
  const mapping = mapColumns([
    makes,
    ['Tag A', once('U1027')],
    ['Tag B', stockNumbers],
    ['Tag C', once('6T1BF3FK0GX101000')],
    ['Tag D', once('2019')],
  ])

  expect(mapsOf(mapping)).toEqual(['stock_number=Tag B'])
  expect(fieldsOf(mapping)).toEqual({ Make: 'make' })
})

test('"none" is remembered if the user confirmed it, never if a guess failed', () => {
  const columns = [stock, makes, ['Adv Price', twelve('19990', '8990')]] as const
  const names = columns.map(([name]) => name)
  const overrides = parseOverrides(['price_asking='], names)
  const { fingerprint } = mapColumns(columns)
  const before = { fingerprint, columns: ['stock_number', 'make', null] }

  const ofOld = mapColumns(columns, { remembered: { ...before, absent: null } })
  const failed = mapColumns(columns, { remembered: { ...before, absent: [] } })
  const answered = mapColumns(columns, {
    remembered: toRemembered(mapColumns(columns, { overrides })),
  })
  const taken = parseOverrides(['price_asking=Adv Price'], names)
  const revoked = mapColumns(columns, { remembered: toRemembered(answered), overrides: taken })

  expect([ofOld, failed].map((mapping) => fieldsOf(mapping)['Adv Price'])).toEqual([
    ...['price_asking', 'price_asking'],
  ])
  expect(fieldsOf(answered)['Adv Price']).toBeUndefined()
  expect(answered).toMatchObject({ status: 'sure', absent: ['price_asking'] })
  expect(answered.missing.map(({ field }) => field)).not.toContain('price_asking')
  expect(toRemembered(revoked)).toMatchObject({ absent: [] })
})

test('an old mapping asks about all columns it left out, a new one only about those with a known header', () => {
  const odd = [stock, makes, ['On our books', twelve('2026-01-05', '2026-02-07')]] as const
  const named = [stock, makes, ['Year', twelve('2012/2013', '2015/2016')]] as const
  const ask = (columns: typeof odd | typeof named, absent: readonly string[] | null) => {
    const { fingerprint } = mapColumns(columns)
    const remembered = { fingerprint, columns: ['stock_number', 'make', null], absent }
    return mapsOf(mapColumns(columns, { remembered }))
  }

  expect([ask(odd, null), ask(odd, [])]).toEqual([['received_date=On our books'], []])
  expect([ask(named, null), ask(named, []), ask(named, ['model_year'])]).toEqual([
    ...[['model_year=Year'], ['model_year=Year'], []],
  ])
})

test('the summary shows the mapping, with columns left out and why', () => {
  const names = ['Stock No', 'Adv Price', 'Web Price', 'Colour', 'Radio code', 'Rego', '', 'Status']
  const cells = ['19990', '18990', 'red', '1234', '', 'x', 'In stock']
  const rows = stockNumbers.map((number) => [number, ...cells])
  const overrides = parseOverrides(['received_date='], names)

  const { columns, missing } = proposeMapping(names, rows, { overrides })

  expect(mappingSummary(columns, missing)).toEqual([
    'stock number (stock_number): "Stock No", by its name',
    'asking price (price_asking): "Adv Price", by its name',
    'plate (plate): "Rego", by its name; empty in the sample',
    'date in stock (received_date): no column, as confirmed',
    'model year (model_year): NO COLUMN',
    'odometer (odometer): NO COLUMN',
    'stored as text: "Colour" (colour_exterior), "Status" (status; vehicles marked as sold are not stock on hand)',
    'left out: "Web Price" (column #2 holds price_asking), "Radio code" (its header is unknown), #7 (the values do not count the rows)',
    'Name a column with --map <field>=<header>, or confirm that there is none with --map <field>=',
  ])
})

test('a list without a mapped price asks about every number column in the range of prices, the likeliest first', () => {
  const list = ['List', twelve('15990', '49990', '32990')] as const
  const ours = ['Our $', twelve('12000', '40000', '27500')] as const
  const odd = ['Extra 1', twelve('18500', '23750', '41000')] as const
  const columns = [stock, makes, list, ours] as const
  const names = columns.map(([name]) => name)
  const asked = mapColumns(columns)
  const none = mapColumns(columns, { overrides: parseOverrides(['price_asking='], names) })

  expect(mapsOf(asked)).toEqual(['price_asking=Our $'])
  expect(asked.questions[0]!.message).toContain('"Our $" or "List"')
  expect(none.status).toBe('sure')
  for (const header of ['List', 'Sticker', 'Windscreen', 'Ticket', 'Extra 1'])
    expect(mapsOf(mapColumns([stock, makes, [header, odd[1]]]))).toEqual([`price_asking=${header}`])
  const { fingerprint } = mapColumns(columns)
  const before = { fingerprint, columns: ['stock_number', 'make', null, null], absent: [] }
  expect(mapsOf(mapColumns(columns, { remembered: before }))).toEqual(['price_asking=Our $'])
})

test.for([
  ['Weight', ['1500', '2100']],
  ['GVM', ['3200', '4495']],
  ['Dealer Id', ['10442', '10877']],
  ['Postcode', ['2000', '4870']],
  ['Engine cc', ['2998', '4500']],
  ['Trim code', ['20211', '20455']],
  ['Built', ['2019', '2023']],
] as const)('%s is not taken for a price', ([header, cells]) => {
  expect(mapsOf(mapColumns([stock, makes, [header, twelve(...cells)]]))).not.toContain(
    `price_asking=${header}`,
  )
})

test('a model year that is in the title of each car is not missing', () => {
  const title = twelve('2024 Toyota RAV4 GXL', '2019 Kia Rio S')
  const split = mapColumns([stock, ['Vehicle', title]])
  const named = mapColumns([stock, makes, ['Model', twelve('RAV4', 'Rio')], ['Vehicle', title]])
  const without = mapColumns([stock, ['Vehicle', twelve('Toyota RAV4 GXL', 'Kia Rio S')]])

  const isMissing = ({ missing }: typeof split) =>
    missing.some(({ field }) => field === 'model_year')
  expect([split, named, without].map(isMissing)).toEqual([false, true, true])
  expect(mappingSummary(split.columns, split.missing)).toContain(
    'model year (model_year): out of "Vehicle"',
  )
})

const prices = ['Price', stockNumbers.map((_, at) => String(20_000 + at * 500))] as const
/** Each price, a part of it, or another one. */
const lowerBy = (amount: (at: number) => number | string) =>
  prices[1].map((price, at) => {
    const by = amount(at)
    return typeof by === 'string' ? by : String(Number(price) - by)
  })

test.for([
  ['Special', lowerBy((at) => (at % 4 === 0 ? 1500 : '0.00')), 'Price'],
  ['Special Price', lowerBy((at) => (at % 4 === 0 ? 1500 : '0')), 'Price'],
  ['Web Price', lowerBy((at) => (at === 3 ? -300 : 700)), 'Web Price'],
  ['Cash Price', lowerBy(() => 900), 'Cash Price'],
  ['Drop To', lowerBy(() => 900), 'Drop To'],
  ['Net Price', lowerBy(() => 900), 'Net Price'],
  ['YourPrice', lowerBy(() => 900), 'YourPrice'],
] as const)('a lower price under the name %s is asked about', ([header, cells, likely]) => {
  const mapping = mapColumns([stock, makes, prices, [header, cells]])

  expect(mapsOf(mapping)).toEqual([`price_asking=${likely}`])
})

test.for([
  ['Special', lowerBy(() => '0.00')],
  ['EGC Price', lowerBy(() => 900)],
  ['Price ex GST', lowerBy(() => 1800)],
  ['Dealer Price', lowerBy(() => 3000)],
  ['Minimum Price', lowerBy(() => 1000)],
  ['Reserve Price', lowerBy(() => 2000)],
  ['Was Price', lowerBy((at) => (at === 0 ? 100 : -2000))],
] as const)('an amount under the name %s is not asked about', ([header, cells]) => {
  expect(mapColumns([stock, makes, prices, [header, cells]]).status).toBe('sure')
})

test('a mapping that was certain while the second price was empty warns once it is lower', () => {
  const list = (cells: readonly string[]) => [stock, makes, prices, ['Special', cells]] as const
  const first = mapColumns(list(twelve('')))
  const lower = list(lowerBy((at) => (at < 3 ? 1500 : '')))

  const next = mapColumns(lower, { remembered: toRemembered(first) })

  expect([first.status, first.warnings, next.status]).toEqual(['sure', [], 'sure'])
  expect(next.warnings).toMatchObject([
    {
      ...{ code: 'LOWER_PRICE', severity: 'warning', column: 'Special' },
      hint: 'it is lower than "Price" for 3 of 12 vehicles; "Price" was stored, as before',
      advice: '--map price_asking=Special takes it instead',
    },
  ])
})

test.for([
  ['Build Year', 'Model Year', 'model_year'],
  ['Year', 'MY', 'model_year'],
  ['Year Built', 'Year', 'model_year'],
  ['Price Ex', 'Price Inc', 'price_asking'],
  ['Price ex GST', 'Price inc GST', 'price_asking'],
  ['EGC Price', 'DAP', 'price_asking'],
  ['Purchase Price', 'Total Cost', 'cost'],
  ['Mileage', 'KM', 'odometer'],
  ['Date Purchased', 'Arrival Date', 'received_date'],
  ['Arrival Date', 'Date In Stock', 'received_date'],
] as const)('beside %s the more exact name %s holds the field', ([vague, exact, field]) => {
  const days = field === 'received_date' ? twelve('2026-01-14', '2025-11-27') : prices[1]
  const values = field === 'model_year' ? twelve('2018', '2021') : days
  const mapping = mapColumns([stock, makes, [vague, values], [exact, values]])

  expect(fieldsOf(mapping)).toMatchObject({ [exact]: field })
})

test('a vague name with more values wins over an exact one with few', () => {
  const mapping = mapColumns([
    ...[stock, makes],
    ['Year', twelve('2018', '2021')],
    ['MY', ['2019', ...Array(11).fill('')]],
  ])

  expect(fieldsOf(mapping)).toMatchObject({ Year: 'model_year' })
})

test('a title that says that tax is not included is reported, unless the header says so itself', () => {
  const warningsWith = (title: string, header = 'Price') =>
    mapColumns([stock, makes, [header, prices[1]]], { titles: [title] }).warnings

  for (const title of ['All prices are plus GST', 'Prices exclude VAT', 'Prices (ex GST) in AUD'])
    expect(warningsWith(title), title).toMatchObject([{ code: 'PRICE_WITHOUT_TAX', text: title }])
  expect(warningsWith('All prices include GST')).toEqual([])
  expect(warningsWith('Stock plus GST forms')).toEqual([])
  expect(warningsWith('All prices are plus GST', 'Price ex GST')).toEqual([])
})
