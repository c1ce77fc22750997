import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { aVehicle, listOf, vehicles } from '../../stock/import-fixture.ts'
import { textRows, workbook } from '../../stock/workbook/make-workbook.ts'
import { openUploads, pathOf, type UploadFixture } from './upload-fixture.ts'

let console: UploadFixture

beforeAll(async () => {
  console = await openUploads()
})
afterAll(async () => await console?.[Symbol.asyncDispose]())
beforeEach(async () => await console.clear())

const asStock = { role: 'stock' } as const

const rowsOf = (list: string) =>
  textRows(
    list
      .trimEnd()
      .split('\r\n')
      .map((row) => row.split(',')),
  )

const twoLists = () =>
  workbook({
    sheets: [
      { name: 'Used', rows: rowsOf(listOf(vehicles(3))) },
      { name: 'All', rows: rowsOf(listOf(vehicles(5))) },
    ],
  })

test('a rooftop that no sync has seen is there for its person, and takes a list', async () => {
  await console.rows('delete from core.rooftop')

  const { text } = await console.get('/stock/upload', asStock)
  const imported = await console.import(listOf(vehicles(3)))

  expect(text).toContain(console.own)
  expect(imported).toMatch(/^\/stock\/imports\/\d+$/)
})

test('the check shows the sheet, the first rows as read, and the numbers of each column beside the stock', async () => {
  await console.import(listOf(vehicles(4)))
  const asked = pathOf(await console.upload(twoLists(), { name: 'stock.xlsx' }))
  const check = pathOf(await console.post(asked, { action: 'read', sheet: 'All' }, asStock))

  const { text } = await console.get(check, asStock)

  const main = text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
  expect(main).toContain('Read from the sheet All')
  expect(main).toMatch(/Asking price in \w{3} .*?this list .*?20,001 .*?20,003 .*?20,005 /)
  expect(main).toMatch(/the stock now .*?20,001 .*?20,002 .*?20,004 /)
  expect(main).toMatch(/Year .*?this list .*?2019 /)
  expect(main).toContain('The first rows, as they would be read')
  expect(main).toContain(`${aVehicle(1).vin}`)
})

test('a list that waits at its sheet or at its columns can be dropped', async () => {
  const doubtful = listOf(vehicles(5)).replaceAll(',2019,', ',2018/2019,')
  for (const list of [twoLists(), doubtful]) {
    const waits = pathOf(await console.upload(list))
    const { text } = await console.get(waits, asStock)
    const [, form] = /action="\/console([^"]*)"[^>]*>\s*<input[^>]*value="drop"/.exec(text) ?? []

    expect(waits).toMatch(/\/mapping$/)
    expect(pathOf(await console.post(form!, { action: 'drop' }, asStock))).toBe('/stock/upload')
    expect(await console.count('ops.stock_upload')).toBe(0)
  }
})

test('unusual values are asked about, and are imported once the person confirms them', async () => {
  const dear = vehicles(6).map((unit) => ({ ...unit, price: `${unit.price}000` }))

  const check = pathOf(await console.upload(listOf(dear)))
  const { text } = await console.get(check, asStock)
  const plain = await console.importAs(check)
  const confirmed = await console.post(check, { action: 'import', 'typed-values': '6' }, asStock)

  expect(text).toContain('has a median asking price of 20003000')
  expect(text).not.toContain('--')
  expect(plain.status).toBe(409)
  expect(plain.text).toContain('type 6')
  expect(pathOf(confirmed)).toMatch(/^\/stock\/imports\//)
})

test('a refused action leads back to its page', async () => {
  const check = pathOf(await console.upload(listOf(vehicles(3))))
  await console.import(listOf(vehicles(4)))

  const refused = await console.importAs(check)

  expect(refused.status).toBe(409)
  expect(refused.text).toContain(`<a href="/console${check}">`)
  expect((await console.get('/runs', asStock)).text).toContain('<a href="/console/">first page')
})

test.each([
  ['an old workbook', Buffer.from('d0cf11e0a1b11ae1', 'hex'), /Excel Workbook \(\.xlsx\)/],
  ['a web page', '<html><table><tr><td>1</td></tr></table></html>', /Excel Workbook \(\.xlsx\)/],
  ['XML', '<?xml version="1.0"?><Workbook></Workbook>', /Excel Workbook \(\.xlsx\)/],
  [
    'a cut workbook',
    twoLists().subarray(0, -300),
    /its end is missing, as when a copy or a download/,
  ],
])('%s is refused with what to do', async (_, list, says) => {
  const { status, text } = await console.upload(list, { name: 'stock.xlsx' })

  expect(status).toBe(409)
  expect(text.replaceAll('&#34;', '"')).toMatch(says)
})

test('the downloads are offered as workbooks', async () => {
  const path = await console.import(listOf(vehicles(3)))
  const pages = [`/stock?rooftop=${console.own}`, path]
  for (const page of pages) {
    const { text } = await console.get(page, asStock)
    const link = /href="\/console([^"]*download=xlsx)"/
      .exec(text)![1]!
      .replaceAll('&#38;', '&')
      .replaceAll('&amp;', '&')

    const { headers } = await console.get(link, asStock)

    expect(headers.get('content-disposition')).toMatch(/filename="[\w-]+\.xlsx"/)
    expect(headers.get('content-type')).toContain('spreadsheetml')
  }
})
