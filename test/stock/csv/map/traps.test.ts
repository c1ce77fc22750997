import { expect, test } from 'vitest'
import { fieldsOf, mapColumns, stockNumbers, twelve } from './table.ts'

// The fourteen traps of real files: the header is wrong, and the values show it.

const stock = ['Stock No', stockNumbers] as const
const makes = ['Make', twelve('Toyota', 'Ford', 'BMW', 'Kia')] as const
const models = ['Model', twelve('Camry', 'Ranger', 'X5', 'Sorento')] as const
const years = ['Year', twelve('2017', '2019', '2021', '2022')] as const

test('trap 1: Type is New or Used in one file, the body in another and the model in a third', () => {
  const homenet = mapColumns([stock, makes, models, ['Type', twelve('New', 'Used')]])
  const gumtree = mapColumns([stock, makes, models, ['Type', twelve('Sedan', 'SUV', 'Wagon')]])
  const syarah = mapColumns([stock, makes, ['Type', twelve('Camry', 'C300', 'Patrol', 'Accent')]])

  expect([homenet, gumtree, syarah].map((mapping) => fieldsOf(mapping)['Type'])).toEqual([
    'condition',
    'body',
    'model',
  ])
})

test('trap 2: Status is the condition, with blanks, or the availability', () => {
  const gumtree = mapColumns([stock, makes, models, ['Status', twelve(' Used', ' New In Stock')]])
  const easycars = mapColumns([stock, makes, models, ['Status', twelve('In Stock', 'Sold')]])

  expect(fieldsOf(gumtree)['Status']).toBe('condition')
  expect(fieldsOf(easycars)['Status']).toBe('status')
})

test('trap 3: the makes are under "Type / Model" and the models under Make', () => {
  const mapping = mapColumns([stock, ['Type / Model', makes[1]], ['Make', models[1]]])

  expect(fieldsOf(mapping)).toEqual({
    'Stock No': 'stock_number',
    'Type / Model': 'make',
    Make: 'model',
  })
  expect(mapping.status).toBe('sure')
})

test('trap 4: Price is the wholesale price if there is a Retail that is much higher', () => {
  const feed = mapColumns([
    ...[stock, makes, models],
    ['price', twelve('20000', '31500', '8000')],
    ['retail', twelve('25000', '38990', '10990')],
  ])
  const usual = mapColumns([
    ...[stock, makes, models],
    ['price', twelve('24990', '38490', '10990')],
    ['retail', twelve('25000', '38990', '10990')],
  ])

  expect(fieldsOf(feed)).toMatchObject({ price: 'price_wholesale', retail: 'price_asking' })
  expect(fieldsOf(usual)).toMatchObject({ price: 'price_asking' })
})

test('trap 4: a Retail that is a tenth higher, or twice as high, may be what the car cost before or when new', () => {
  const statuses = [0.78, 0.9, 0.5].map((part) => {
    const retail = ['25000', '38990', '10990']
    const price = retail.map((text) => String(Math.round(Number(text) * part)))
    const columns = [['Price', twelve(...price)] as const, ['Retail', twelve(...retail)] as const]
    return mapColumns([stock, makes, models, ...columns]).status
  })

  expect(statuses).toEqual(['sure', 'unsure', 'unsure'])
})

test('trap 5: Specification is the trim or the spec region, and Origin is the spec region', () => {
  const regions = twelve('GCC Specs', 'American Specs', 'European')
  const pretoria = mapColumns([stock, makes, models, ['Specification', twelve('2.0 XLT', 'GLX')]])
  const dubai = mapColumns([stock, makes, models, ['Specification', regions]])
  const riyadh = mapColumns([stock, makes, models, ['Origin', twelve('Saudi', 'Gulf Arabic')]])
  const birth = mapColumns([stock, makes, models, ['Origin', twelve('trade-in', 'auction')]])

  expect(fieldsOf(pretoria)['Specification']).toBe('variant')
  expect(fieldsOf(dubai)['Specification']).toBe('gcc_spec')
  expect(fieldsOf(riyadh)['Origin']).toBe('gcc_spec')
  expect(fieldsOf(birth)['Origin']).toBeUndefined()
})

test('trap 6: الموديل is the model or the year', () => {
  const model = mapColumns([stock, ['الماركة', makes[1]], ['الموديل', models[1]]])
  const year = mapColumns([
    stock,
    ['الماركة', makes[1]],
    ['الطراز', models[1]],
    ['الموديل', years[1]],
  ])

  expect(fieldsOf(model)['الموديل']).toBe('model')
  expect(fieldsOf(year)).toMatchObject({ الطراز: 'model', الموديل: 'model_year' })
})

test('trap 7: Registration is a plate or the date of the first registration', () => {
  const plate = mapColumns([stock, makes, ['Registration', twelve('ABC123', '1AB 2CD', 'XY99ZZ')]])
  const date = mapColumns([stock, makes, ['Registration', twelve('01/03/2019', '17/11/2020')]])

  expect(fieldsOf(plate)['Registration']).toBe('plate')
  expect(fieldsOf(date)['Registration']).toBe('registration_date')
})

test('trap 8: Age is days in stock, unless its sum with the model year is constant', () => {
  const days = mapColumns([stock, makes, years, ['Age', twelve('12', '340', '77', '5', '61')]])
  const age = mapColumns([stock, makes, years, ['Age', twelve('9', '7', '5', '4')]])

  expect(fieldsOf(days)['Age']).toBe('days_in_stock')
  expect(fieldsOf(age)['Age']).toBeUndefined()
})

test('trap 9: Mileage is a distance with or without a unit, or fuel economy', () => {
  const distance = mapColumns([
    stock,
    makes,
    ['Mileage (km)', twelve('45,000', '120,500', '9,870')],
  ])
  const economy = mapColumns([stock, makes, ['Mileage', twelve('23.4', '18.9', '25.17', '20.0')]])

  expect(distance.columns[2]).toMatchObject({ field: 'odometer', unit: 'km' })
  expect(fieldsOf(economy)['Mileage']).toBeUndefined()
})

test('trap 10: State is the jurisdiction of a plate, part of an address, or the condition', () => {
  const plate = ['Rego', twelve('ABC123', '1AB2CD')] as const
  const jurisdiction = mapColumns([stock, makes, plate, ['State', twelve('NSW', 'VIC', 'QLD')]])
  const address = mapColumns([
    ...[stock, makes],
    ['Zipcode', twelve('92562', '85201')],
    ['State', twelve('CA', 'AZ')],
  ])
  const condition = mapColumns([stock, makes, models, ['State', twelve('used', 'new')]])

  expect(fieldsOf(jurisdiction)['State']).toBe('plate_state')
  expect(fieldsOf(address)['State']).toBe('location')
  expect(fieldsOf(condition)['State']).toBe('condition')
})

test('trap 11: a Condition of "10 days left" is not a condition', () => {
  const mapping = mapColumns([stock, makes, ['condition', twelve('10 days left', '2 hours left')]])

  expect(fieldsOf(mapping)['condition']).toBeUndefined()
  expect(mapping.status).toBe('sure')
})

test('trap 12: Series is a generation code, or the trim if no other column has it', () => {
  const code = mapColumns([stock, makes, models, ['Series', twelve('447 MY21', 'MY18', 'PX MkII')]])
  const trim = mapColumns([
    stock,
    makes,
    models,
    ['Series', twelve('Highline', 'Comfort', 'Sport')],
  ])

  expect(fieldsOf(code)['Series']).toBe('series')
  expect(fieldsOf(trim)['Series']).toBe('variant')
})

test('trap 13: row numbers, and a lot that repeats on every row, are not stock numbers', () => {
  const counted = Array.from({ length: 12 }, (_, index) => String(index + 1))
  const mapping = mapColumns([
    ['Lot#', twelve('LOT-2025-005')],
    ['S#', counted],
    ['Fleet#', stockNumbers],
    makes,
  ])
  const indexOnly = ['ID', 'No', 'Unnamed: 0', 'Column1', ''].map((header) =>
    mapColumns([[header, counted], makes, models]),
  )

  expect(fieldsOf(mapping)).toMatchObject({ 'S#': 'row_index', 'Fleet#': 'stock_number' })
  expect(fieldsOf(mapping)['Lot#']).toBeUndefined()
  expect(indexOnly.map(({ key, status }) => [key, status])).toEqual(Array(5).fill([null, 'unsure']))
})

test('trap 13: an ID that could be a stock number is asked about, not mapped', () => {
  const mapping = mapColumns([['ID', twelve('11530130', '12190570')], makes, models])
  const unique = mapColumns([['ID', stockNumbers], makes, models])

  expect(mapping.key).toBeNull()
  expect(unique).toMatchObject({ status: 'unsure', key: 'stock_number' })
  expect(unique.questions.map(({ maps }) => maps)).toEqual([['stock_number=ID']])
})

test('trap 14: of several price columns the one with prices is used, and 0.00 is not a price', () => {
  const mapping = mapColumns([
    ...[stock, makes],
    ['Internet Price', twelve('0.00')],
    ['Selling Price', twelve('239900.01', '189900.00')],
    ['Regular price', twelve('249900.00', '199900.00')],
  ])

  expect(fieldsOf(mapping)).toEqual({
    'Stock No': 'stock_number',
    Make: 'make',
    'Selling Price': 'price_asking',
  })
})

test('trap 14: two columns with one name are stored if unknown, and asked about if they are a key', () => {
  const orders = ['Order Number', stockNumbers] as const
  const others = stockNumbers.map((text) => text.replace('U', 'V'))
  const unknown = mapColumns([stock, makes, orders, orders])
  const twice = mapColumns([stock, ['Stock No', others], makes])
  const same = mapColumns([stock, stock, makes])

  expect(unknown.status).toBe('sure')
  expect(unknown.columns.map(({ field }) => field)).toEqual(['stock_number', 'make', null, null])
  expect(twice.questions).toMatchObject([{ code: 'duplicate-label', maps: ['stock_number=#1'] }])
  expect(same.status).toBe('sure')
})

test('a name inside another name does not count: body is not a stock number, cost is not a price', () => {
  const mapping = mapColumns([
    ['Body number plates fitted', twelve('yes', 'no')],
    ['Cost centre', twelve('12', '13')],
    ['Costume', twelve('a', 'b')],
    ['Pricelist', twelve('A', 'B')],
    stock,
  ])

  expect(fieldsOf(mapping)).toEqual({ 'Stock No': 'stock_number' })
})

test('in a short list, one repeated stock number does not disqualify the key column', () => {
  const short = (...numbers: string[]) =>
    mapColumns([
      ['Stock No', numbers],
      ['Make', numbers.map(() => 'Kia')],
      ['Price', numbers.map((_, index) => String(20_000 + index * 500))],
    ])

  const once = short('U1001', 'U1014', 'U1014')
  const often = short('U1001', 'U1014', 'U1014', 'U1001', 'U1001')

  expect(once).toMatchObject({ status: 'sure', key: 'stock_number' })
  expect(often.status).toBe('unsure')
})
