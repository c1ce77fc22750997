import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { aVehicle } from '../../stock/import-fixture.ts'
import { openUploads, pathOf, type UploadFixture } from './upload-fixture.ts'

// What a list does not say is not known: it is never 0, and never "Ready" without a question where it is the price.

let console: UploadFixture

beforeAll(async () => {
  console = await openUploads()
})
afterAll(async () => await console?.[Symbol.asyncDispose]())
beforeEach(async () => await console.clear())

const asStock = { role: 'stock' } as const
const cars = [
  ['A1', '2024 Toyota RAV4 GXL', '34', '12000', '15990'],
  ['', '2021 Ford Ranger XLT', '121', '27500', '31990'],
  ['A3', '2019 Kia Rio S', '139', '40000', '49990'],
  ['A4', '2018 Mazda 3 Neo', '8', '18500', '21990'],
] as const

/** A list as a dealer's program wrote it: no year, no date, and prices that no known header names. */
const odd = (day = '') =>
  [
    `Stock No,VIN,Vehicle,Days,Odometer,Our $,List${day === '' ? '' : ',Date in stock'}`,
    ...cars.map(([no, vehicle, days, ours, list], at) =>
      [no, aVehicle(at + 1).vin, vehicle, days, 45_000, ours, list]
        .concat(day === '' ? [] : [at === 0 ? day : ''])
        .join(','),
    ),
    '',
  ].join('\r\n')

/** Takes what the page of the columns proposes. */
async function accept(mapping: string): Promise<string> {
  const { text } = await console.get(mapping, asStock)
  const chosen = [...text.matchAll(/<select name="column-(\d+)".*?<\/select>/gs)].map(
    ([select, index]) => [`column-${index}`, /value="([\w:]*)" selected/.exec(select)?.[1] ?? ''],
  )
  return pathOf(
    await console.post(mapping, { action: 'map', ...Object.fromEntries(chosen) }, asStock),
  )
}

test('a list whose price has an unknown header is asked about, in words of the trade', async () => {
  const mapping = pathOf(await console.upload(odd()))
  const { text } = await console.get(mapping, asStock)

  expect(mapping).toMatch(/\/mapping$/)
  expect(text).toContain('Perhaps &#34;Our $&#34; or &#34;List&#34; does.')
  expect(text).toMatch(/<th[^>]*>Our \$ <span class="badge warn">in doubt/)
  expect(text).toContain('make and model in one text')
  expect(text.replaceAll(/<[^>]+>/g, ' ')).not.toMatch(
    /title.combined|vin.partial|gcc.spec|row.index|price_/,
  )
})

test('the check says what no column has, and that a VIN became the stock number', async () => {
  const check = await accept(pathOf(await console.upload(odd())))
  const { text } = await console.get(check, asStock)
  const done = pathOf(await console.post(check, { action: 'import' }, asStock))
  const imported = await console.get(done, asStock)

  expect(text).not.toContain('No column is the model year')
  expect(text).toContain('No column is the date in stock')
  for (const page of [text, imported.text])
    expect(page).toContain('no stock number: the VIN identifies the vehicle')
  expect(text).toMatch(/<ul class="cells"><li>Stock No: no stock number: the VIN/)
})

test('days in stock are not known without a date in stock: blank, and after the cars that have one', async () => {
  const day = new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 10)
  const check = await accept(pathOf(await console.upload(odd(day))))
  await console.post(check, { action: 'import' }, asStock)
  const { text } = await console.get('/stock', asStock)
  const { units } = await console.json<{ units: { stockNo: string; days: number | null }[] }>(
    '/stock',
    asStock,
  )
  const unit = await console.get(`/stock/units/${console.own}/A3`, asStock)
  const after = await console.json<{ units: { stockNo: string }[] }>(
    `/stock?after=${encodeURIComponent(JSON.stringify(['', console.own, 'A3']))}`,
    asStock,
  )

  expect(units[0]).toMatchObject({ stockNo: 'A1' })
  expect(units[0]!.days).toBeGreaterThanOrEqual(39)
  expect(units.slice(1).map(({ days }) => days)).toEqual([null, null, null])
  expect(text).toContain('where no list has a date in stock')
  expect(unit.text).toContain('since when is not known')
  expect(after.units.map(({ stockNo }) => stockNo)).toEqual(['A4', aVehicle(2).vin])
})

test('a list that has no price at all is not simply ready', async () => {
  const list = odd()
    .replaceAll(/,\d+,\d+\r/g, '\r')
    .replace(',Our $,List', '')
  const check = pathOf(await console.upload(list))
  const { text } = await console.get(check, asStock)

  expect(check).toMatch(/\/check$/)
  expect(text).toContain('Is it right that no car has a price?')
  expect(text).not.toContain('<h2>Ready</h2>')
})
