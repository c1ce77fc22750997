import { expect, test } from 'vitest'
import { normaliseEvaluation } from '#src/streams/evaluations/normalise.ts'
import { type Issue, RecordIssues } from '#src/values/record.ts'
import { defaultWire } from '#src/values/wire.ts'
import { goldenBody, goldenRecord, sydneyRooftop } from '../../support/golden-evaluation.ts'

function issuesOf(changes: Readonly<Record<string, unknown>>): readonly Issue[] {
  try {
    goldenRecord(changes)
  } catch (error) {
    if (error instanceof RecordIssues) return error.issues
    throw error
  }
  return []
}

test('the golden record becomes these rows', () => {
  const { content, entryAt, updatedAt, user } = goldenRecord()

  expect(content.evaluation).toEqual({
    vin: 'JTMDFREV90D123456',
    make: 'Toyota',
    model: 'RAV4',
    variant: 'GX',
    model_year: 2021,
    registration_state: 'NSW',
    colour: 'White',
    created_at: new Date('2026-03-02T13:59:58.250Z'),
    created_at_source: 'CreatedAt',
    completed_at: new Date('2026-03-02T14:31:07Z'),
    // Sydney is eleven hours ahead in March.
    created_date_local: '2026-03-03',
    completed_date_local: '2026-03-03',
    odometer: 48_000,
    odometer_unit: 'km',
    condition_score: 7,
    final_price: '23500.500',
    recon_total: '480.300',
    recon_line_total: '480.300',
    currency_code: 'AUD',
    photo_count: 2,
    hero_source: 'manual',
    user_price_count: 3,
    customer_state: 'NT',
    customer_postcode: '0822',
  })
  expect([entryAt, updatedAt]).toEqual([
    new Date('2026-03-02T13:59:58Z'),
    new Date('2026-03-05T01:02:03.456Z'),
  ])
  expect(user).toEqual({ email: 'Zoe.DArcy@Example.com', name: "Zoë D'Arcy" })
})

test('the sum of reconditioning lines is of the known costs, and not known where no line has one', () => {
  const totalOf = (...costs: (number | null | undefined)[]) =>
    goldenRecord({ reconditioning_list: costs.map((cost) => ({ type: 'tyres', cost })) }).content
      .evaluation.recon_line_total

  expect(totalOf(null, undefined)).toBeNull()
  expect(totalOf(null, 480.1)).toBe('480.100')
  expect(totalOf(null, 0)).toBe('0.000')
  expect(totalOf()).toBeNull()
})

test('the golden record has these children', () => {
  const { content } = goldenRecord()

  expect(content.recon.map((line) => Object.values(line))).toEqual([
    [1, 'tyres', null, '480.100', '4', null],
    [2, 'detail', 'in-house', '0.200', '1', null],
    [3, 'info', 'OEM', '0.000', '87.5%', '87.50'],
  ])
  expect(content.photos.map((photo) => Object.values(photo))).toEqual([
    [92, 1, 1, false, null, 'front'],
    [91, 2, 1, true, 'manual', null],
  ])
  expect(content.customFields.map((field) => Object.values(field))).toEqual([
    ['Lead source', 'select', 'Web'],
    ['Keys handed over', 'checkbox', 'true'],
    ['ملاحظات', 'multi', '["A","B"]'],
    ['Plain', null, 'as it is'],
  ])
  expect(content.userPrices.map(({ amount, currency_code }) => [amount, currency_code])).toEqual([
    ['21000.000', 'AUD'],
    [null, null],
    ['19999.999', null],
  ])
})

test('difficult text of the customer is stored as far as Postgres can hold it, and empty text is not stored', () => {
  const { customer } = goldenRecord().content

  expect(customer).toEqual({
    customer_name: "Pat O'Neil",
    phone: '0491 570 006',
    email: 'pat@example.org',
    address: null,
    suburb: null,
    registration_plate: 'ABC123',
    notes: 'NUL \uFFFD, half a pair \uFFFD, a car 🚗, "quotes" and \\ back',
  })
})

test.each([
  ['a price that is 0 is 0', { FinalPrice: 0 }, '0.000'],
  ['a price that is null is null', { FinalPrice: null }, null],
  ['a price that is left out is null', { FinalPrice: undefined }, null],
])('%s', (_, changes, price) => {
  expect(goldenRecord(changes).content.evaluation['final_price']).toBe(price)
})

test('EntryDate without a zone is UTC, and replaces a missing CreatedAt', () => {
  const { content, entryAt } = goldenRecord({ CreatedAt: undefined })

  expect(entryAt).toEqual(new Date('2026-03-02T13:59:58Z'))
  expect(content.evaluation).toMatchObject({
    created_at: new Date('2026-03-02T13:59:58Z'),
    created_at_source: 'EntryDate',
  })
})

test.each([
  ['FinalPrice', { FinalPrice: 'a lot' }],
  ['FinalPrice', { FinalPrice: 1e15 }],
  ['EvalID', { EvalID: 4712 }],
  ['EvalID', { EvalID: 'none' }],
  ['EntryDate', { EntryDate: 'yesterday' }],
  ['CreatedAt', { CreatedAt: undefined, EntryDate: undefined }],
  ['CreatedAt', { CreatedAt: '2026-02-31T00:00:00Z' }],
  ['Condition', { Condition: 11 }],
  ['Year', { Year: 'soon' }],
  ['CustomerPhone', { CustomerPhone: '9'.repeat(61) }],
  ['Photos[0].id', { Photos: [{ id: 'one' }] }],
  ['reconditioning_list[0].cost', { reconditioning_list: [{ cost: 'some' }] }],
])('what does not fit is named by its path: %s', (path, changes) => {
  const issues = issuesOf(changes)

  expect(issues.map((issue) => issue.path)).toEqual([path])
})

test('an issue never quotes the value, which may be a customer', () => {
  const text = JSON.stringify(issuesOf({ CustomerName: 'Pat'.repeat(200), CustomerEmail: {} }))

  expect(text).toMatch(/CustomerName.*CustomerEmail/)
  expect(text).not.toMatch(/PatPat/)
})

test('every issue of a record is named at once', () => {
  const issues = issuesOf({ Condition: -1, Year: 1, Odometer: 'far' })

  expect(issues.map(({ path }) => path).sort()).toEqual(['Condition', 'Odometer', 'Year'])
})

test('a number that the service writes as not known is null', () => {
  const { content } = goldenRecord({ Condition: '-', Year: 'N/A', Odometer: ' n/a ' })

  expect(content.evaluation).toMatchObject({
    ...{ condition_score: null, model_year: null, odometer: null },
  })
})

test('a text that says that there is no value is null; one that has such a word in it is a text', () => {
  const { content } = goldenRecord({
    ...{ VIN: 'N/A', Make: ' n/a ', Model: 'NA', Colour: '-', Registration: '---' },
    ...{ CustomerName: 'null', CustomerEmail: 'N/A', CustomerSuburb: ' ', Variant: 'N/A pack' },
  })

  expect(content.evaluation).toMatchObject({
    ...{ vin: null, make: null, model: 'NA', colour: null, variant: 'N/A pack' },
  })
  expect(content.customer).toMatchObject({
    ...{ customer_name: 'null', email: null, suburb: ' ', registration_plate: null },
  })
})

test.each([['48,000 km'], ['48 000KMS'], ['48000 كم'], ['48,000'], [48_000]])(
  'an odometer may name its unit: %s',
  (Odometer) => {
    const { content } = goldenRecord({ Odometer })

    expect(content.evaluation).toMatchObject({ odometer: 48_000, odometer_unit: 'km' })
  },
)

test.each(['48,000 miles', '48 thousand km', '48,000 kg', 'km', '48.000 km', '48.000', '1e5'])(
  'an odometer in another unit, or without a number, is refused: %s',
  (Odometer) => {
    expect(issuesOf({ Odometer }).map(({ path }) => path)).toEqual(['Odometer'])
  },
)

test('the hash does not depend on UpdatedAt, links or unknown fields, but on every value', () => {
  const hash = goldenRecord().hash

  const links = [
    { id: 92, url: 'https://cdn.example/92?sig=z', order: 1, hero: false, angle: 'front' },
  ]
  const [same] = [goldenRecord({ UpdatedAt: '2027-01-01T00:00:00Z', SpareKey: 0 }).hash]
  expect(same.equals(hash)).toBe(true)
  expect(goldenRecord({ Photos: links }).hash.equals(hash)).toBe(false)
  expect(goldenRecord({ Notes: 'other' }).hash.equals(hash)).toBe(false)
  expect(goldenRecord({ UserEmail: 'b@example.com' }).hash.equals(hash)).toBe(false)
})

test('a webhook body, which is the item itself, reads the same', () => {
  const [item] = goldenBody() as [unknown]

  const record = normaliseEvaluation(item, 4711, sydneyRooftop, defaultWire.appraisal)

  expect(record).toEqual(goldenRecord())
})
