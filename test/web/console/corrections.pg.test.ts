import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { aVehicle, listOf, type Vehicle, vehicles, vinOf } from '../../stock/import-fixture.ts'
import { someOf } from '../../support/cases.ts'
import { openUploads, pathOf, type UploadFixture } from './upload-fixture.ts'

let console: UploadFixture

beforeAll(async () => {
  console = await openUploads()
})
afterAll(async () => await console?.[Symbol.asyncDispose]())
beforeEach(async () => await console.clear())

const asStock = { role: 'stock' } as const

/** Imports Thursday's list, in which the price of S0007 cannot be read, and gives its page. */
async function importThursday(): Promise<string> {
  const thursday = [...vehicles(6), aVehicle(7, { price: '1x2', km: '45000' })]
  return await console.import(listOf(thursday), { name: 'thursday.csv' })
}

/** Corrects the price of S0007 on the page of Thursday's list. */
const correct = async (page: string, fields: Readonly<Record<string, string>> = {}) =>
  pathOf(await console.post(page, { action: 'correct', 'cell-8-6': '20000', ...fields }, asStock))

const carOf = async (stockNo: string) =>
  (
    await console.rows(
      `select asking_price::int as price, odometer_km as km, missing_since is null and off_stock_at is null as "isHere"
       from core.stock_unit where stock_no = '${stockNo}' order by rooftop_id`,
    )
  )[0]

const friday = (changes: Partial<Vehicle> = {}) =>
  listOf([...vehicles(6), aVehicle(7, { price: '25000', km: '46000', ...changes })])

const cases: readonly {
  readonly name: string
  readonly list: string
  readonly says: RegExp
  readonly mode?: 'delta'
  readonly stockNo?: string
}[] = [
  { name: 'names the car', list: friday(), says: /asking price[\s\S]*25000[\s\S]*20000/ },
  {
    name: 'names the car alone, as a part of the stock',
    list: listOf([aVehicle(7, { price: '25000', km: '46000' })]),
    mode: 'delta',
    says: /odometer km[\s\S]*46000[\s\S]*45000/,
  },
  {
    name: 'names the car under another stock number',
    list: friday({ stockNo: 'T7' }),
    stockNo: 'T7',
    says: /stock no[\s\S]*T7[\s\S]*S0007/,
  },
  { name: 'rejects the car, too', list: friday({ price: '3x4' }), says: /friday\.csv/ },
  { name: 'no longer names the car', list: listOf(vehicles(6)), says: /has left/ },
  {
    name: 'names another car of that stock number',
    list: friday({ vin: vinOf(70) }),
    says: /VIN|vin/,
  },
]

test.each(someOf(cases, 1))(
  'a correction is shown, and not imported at once, where a newer list $name',
  async ({ list, says, mode, stockNo = 'S0007' }) => {
    const page = await importThursday()
    await console.import(list, { name: 'friday.csv', mode: mode ?? 'snapshot' })
    const before = await carOf(stockNo)

    const check = await correct(page)
    const { text } = await console.get(check, asStock)
    const unconfirmed = await console.post(check, { action: 'import' }, asStock)
    const unconfirmedCar = await carOf(stockNo)
    const confirmed = await console.post(check, { action: 'import', 'typed-newer': '1' }, asStock)

    expect(check).toMatch(/\/check$/)
    expect(text).toContain('friday.csv')
    expect(text).toMatch(says)
    expect(unconfirmed.status).toBe(409)
    expect(unconfirmedCar).toEqual(before)
    expect(pathOf(confirmed)).toMatch(/^\/stock\/imports\//)
    expect(await carOf('S0007')).toEqual({ price: 20000, km: 45000, isHere: true })
  },
)

test('a correction is imported at once where no newer list of that rooftop is about the car', async () => {
  const other = console.config.rooftops.find(({ uid }) => uid !== console.own)!
  const page = await importThursday()
  await console.import(listOf([aVehicle(9)]), { name: 'part.csv', mode: 'delta' })
  await console.import(friday(), { role: 'engineer', rooftop: other.uid })

  const again = await correct(page, { 'cell-8-6': '2x0' }).catch((error: Error) => error.message)
  const imported = await correct(page)

  expect(again).toContain('No corrected row is right yet')
  expect(imported).toMatch(/^\/stock\/imports\/\d+$/)
  expect(await carOf('S0007')).toEqual({ price: 20000, km: 45000, isHere: true })
})

const described = (text: string) =>
  listOf(vehicles(4))
    .replace('Colour', 'Description')
    .replace('20003,Red', `20003x,"${text}"`)
    .replace('20004,Red', `20004x,"${text}"`)

test.each(
  someOf(
    ['One owner.\nFull history.\r\nNew tyres.', '\nA blank line first', 'old\rMac', 'plain'],
    2,
  ),
)('rows that are not changed are not sent, and line breaks stay: %j', async (text) => {
  const page = await console.import(described(text))
  const { text: drawn } = await console.get(page, asStock)
  const sent = asBrowserSends(drawn)

  const nothing = await console.post(page, { action: 'correct', ...sent }, asStock)
  const done = pathOf(
    await console.post(page, { action: 'correct', ...sent, 'cell-4-6': '20003' }, asStock),
  )

  expect(Object.keys(sent)).toContain('cell-4-7')
  expect(nothing.text).toContain('No cell was changed')
  expect(done).toMatch(/^\/stock\/imports\/\d+$/)
  const stored = await console.rows(
    `select status, cells ->> 7 as text from core.stock_import_row where import_id = ${done.split('/').at(-1)}`,
  )
  expect(stored).toEqual([{ status: 'accepted', text }])
})

/** The fields of a page's form as a browser sends them: one line of an input has no line breaks, and those of a text area are CRLF. */
function asBrowserSends(page: string): Record<string, string> {
  const inputs = [...page.matchAll(/<input name="(cell[^"]*)" value="([^"]*)"/g)]
  const areas = [...page.matchAll(/<textarea name="(cell[^"]*)"[^>]*>\n?([^<]*)<\/textarea>/g)]
  return Object.fromEntries([
    ...inputs.map(([, name, value]) => [name!, value!.replaceAll(/[\r\n]/g, '')]),
    ...areas.map(([, name, value]) => [name!, value!.replaceAll(/\r\n|\r|\n/g, '\r\n')]),
  ])
}
