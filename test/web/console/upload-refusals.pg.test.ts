import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { applyRetention } from '#src/privacy/retain/apply-retention.ts'
import { StockUploads } from '#src/stock/upload/stock-uploads.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { aVehicle, listOf, vehicles } from '../../stock/import-fixture.ts'
import { textRows, workbook } from '../../stock/workbook/make-workbook.ts'
import { someOf } from '../../support/cases.ts'
import { openUploads, pathOf, type UploadFixture, uploadForm } from './upload-fixture.ts'

let console: UploadFixture

beforeAll(async () => {
  console = await openUploads({ uploadMegabytes: 1 })
})
afterAll(async () => await console?.[Symbol.asyncDispose]())
beforeEach(async () => await console.clear())

const asStock = { role: 'stock' } as const

test('a viewer uploads nothing, and no one without a session', async () => {
  const viewer = await console.upload(listOf(vehicles(3)), { role: 'viewer' })
  const signedOut = await console.upload(listOf(vehicles(3)), { role: null })

  expect(viewer.status).toBe(403)
  expect(signedOut.location).toBe('/console/sign-in?next=%2Fconsole%2Fstock%2Fupload')
  expect(await console.count('ops.stock_upload')).toBe(0)
})

test('a form of another site uploads nothing', async () => {
  const form = uploadForm(listOf(vehicles(3)), 'x.csv', { rooftop: console.own, mode: 'snapshot' })
  const headers = { 'sec-fetch-site': 'cross-site' }

  const { status } = await console.post('/stock/upload', form, { role: 'stock', headers })

  expect(status).toBe(403)
  expect(await console.count('ops.stock_upload')).toBe(0)
})

test('a list that is too large is refused with the limit, by every way', async () => {
  const large = listOf(vehicles(20_000))
  const form = uploadForm('', '', { rooftop: console.own, mode: 'snapshot', pasted: large })

  const file = await console.upload(large)
  const pasted = await console.post('/stock/upload', form, asStock)
  const page = await console.get('/stock/upload', asStock)

  expect([file.status, pasted.status]).toEqual([409, 409])
  expect(file.text).toContain('larger than 1 MB')
  expect(page.text).toContain('At most 1 MB')
  expect(await console.count('ops.stock_upload')).toBe(0)
})

test('ten lists of a person may wait', { tags: 'ci' }, async () => {
  const answers = []
  for (let at = 1; at <= 11; at++) answers.push(await console.upload(listOf(vehicles(at))))

  expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(303), 409])
  expect(answers.at(-1)!.text).toContain('import one of them or drop it')

  await console.post(pathOf(answers[0]!), { action: 'drop' }, asStock)
  expect((await console.upload(listOf(vehicles(12)))).status).toBe(303)
})

test.for(
  someOf(
    [
      ['../../etc/passwd', 'passwd'],
      ['C:\\lists\\friday.csv', 'friday.csv'],
      ['cars\u202Evsc.exe', 'carsvsc.exe'],
      ['<img src=x onerror=alert(1)>.csv', '&#60;img src=x onerror=alert(1)&#62;.csv'],
      ['..', 'list'],
    ],
    1,
  ),
)('the file name %s is shown as %s', async ([name, shown]) => {
  const check = pathOf(await console.upload(listOf(vehicles(3)), { name: name! }))
  const imported = pathOf(await console.importAs(check))

  for (const path of [imported, '/stock/upload', '/stock/imports']) {
    const { text } = await console.get(path, asStock)
    expect(text).toContain(`>${shown}<`)
    expect(text).not.toMatch(/\u202E|<img/)
  }
})

test('a session that ends half-way goes on at the same step', {
  tags: 'ci',
  timeout: 60_000,
}, async () => {
  const check = pathOf(await console.upload(listOf(vehicles(3))))
  const before = new URL(await console.link('stock')).searchParams.get('link')!
  const first = await console.post('/sign-in', { link: before }, { role: null })
  const cookie = first.headers.getSetCookie()[0]!.split(';')[0]!
  await console.post('/sign-out', {}, { role: null, headers: { cookie } })

  const refused = await console.post(
    check,
    { action: 'import' },
    { role: null, headers: { cookie } },
  )
  const link = new URL(await console.link('stock')).searchParams.get('link')!
  const next = decodeURIComponent(/next=(.*)/.exec(refused.location!)![1]!)
  const signedIn = await console.post('/sign-in', { link, next }, { role: null })
  const own = { cookie: signedIn.headers.getSetCookie()[0]!.split(';')[0]! }
  const page = await console.get(check, { role: null, headers: own })
  const imported = await console.post(check, { action: 'import' }, { role: null, headers: own })

  expect(pathOf(signedIn)).toBe(check)
  expect(page.text).toContain('Import: 3 new')
  expect(pathOf(imported)).toMatch(/imports/)
  expect(await console.count('core.stock_import')).toBe(1)
})

test('after a day a list is gone: its page says so, and its bytes are deleted', async () => {
  const first = pathOf(await console.upload(listOf(vehicles(3))))
  await console.rows(`update ops.stock_upload set ends_at = now() - interval '1 second'`)

  const page = await console.get(first, asStock)
  const late = await console.importAs(first)
  const { context } = console.fixture
  const report = await applyRetention(context)

  expect([page.status, late.status]).toEqual([404, 404])
  expect(report.uploads).toBe(1)
  expect(await console.count('ops.stock_upload')).toBe(0)
})

test('a list that ends within a row is refused as the whole stock, and taken as a part of it', async () => {
  const cut = `${listOf(vehicles(9))}S0010,"${aVehicle(10).vin}`
  const check = pathOf(await console.upload(cut))

  const page = await console.get(check, asStock)
  const refused = await console.importAs(check)
  const part = pathOf(await console.post(check, { action: 'check', mode: 'delta' }, asStock))
  const imported = pathOf(await console.importAs(part))

  expect(page.text).toContain('This list cannot be imported')
  expect(page.text).toContain('the file ends within')
  expect(page.text).not.toContain('--mode')
  expect(refused.status).toBe(409)
  expect(imported).toMatch(/imports/)
  expect(await console.count('core.stock_unit')).toBe(9)
})

test('a list without a valid row shows every cause, and is not imported', async () => {
  const wrong = vehicles(4).map((unit, at) => ({ ...unit, stockNo: `${at + 1}.2E+15` }))
  const check = pathOf(await console.upload(listOf(wrong)))

  const page = await console.get(check, asStock)
  const refused = await console.importAs(check)

  expect(page.text).toContain('Its rows cannot be read: none of its 4 rows is valid')
  expect(page.text).toContain('line 2, Stock Number, “1.2E+15”')
  expect(refused.status).toBe(409)
  expect(await console.count('core.stock_import')).toBe(0)
})

test('of a workbook with several lists the sheet is chosen, and imported', {
  tags: 'ci',
}, async () => {
  const sheet = (name: string, from: number) => {
    const lines = listOf(vehicles(3, from)).trimEnd().split('\r\n')
    return { name, rows: textRows(lines.map((line) => line.split(','))) }
  }
  const book = workbook({ sheets: [sheet('North', 1), sheet('South', 11)] })
  const mapping = pathOf(await console.upload(book, { name: 'cars.xlsx' }))
  const page = await console.get(mapping, asStock)

  const check = pathOf(await console.post(mapping, { action: 'read', sheet: 'South' }, asStock))
  await console.importAs(check)

  expect(page.text).toContain('<option value="North" selected>North</option><option value="South">')
  const units = await console.rows('select stock_no as no from core.stock_unit order by 1')
  expect(units).toEqual(vehicles(3, 11).map(({ stockNo: no }) => ({ no })))
})

test('another sheet of a workbook is chosen later, also after the list was read or refused', {
  tags: 'ci',
}, async () => {
  const sheetOf = (name: string, list: string) => {
    const lines = list.trimEnd().split('\r\n')
    return { name, rows: textRows(lines.map((line) => line.split(','))) }
  }
  const wrong = vehicles(4).map((unit, at) => ({ ...unit, stockNo: `${at + 1}.2E+15` }))
  const notes = { name: 'Notes', rows: textRows([['Call Jo']]) }
  const book = workbook({
    sheets: [
      ...[notes, sheetOf('North', listOf(vehicles(3))), sheetOf('South', listOf(vehicles(5, 11)))],
      sheetOf('Wrong', listOf(wrong)),
    ],
  })
  const mapping = pathOf(await console.upload(book, { name: 'cars.xlsx' }))
  const read = async (sheet: string) =>
    pathOf(await console.post(mapping, { action: 'read', sheet }, asStock))
  const chosen = async () => {
    const { text } = await console.get(mapping, asStock)
    const [, options] = /<select name="sheet">(.*?)<\/select>/s.exec(text)!
    return options!.replaceAll(/<option value="[^"]*"|<\/option>/g, '')
  }

  const asked = await chosen()
  await read('North')
  const afterNorth = await chosen()
  const refusal = await console.get(await read('Wrong'), asStock)
  const afterWrong = await chosen()
  const check = await read('South')
  await console.importAs(check)

  expect(asked).toBe(' selected>North>South>Wrong>North and South and Wrong, as one list')
  expect(afterNorth).toBe('>Notes selected>North>South>Wrong')
  expect(refusal.text).toContain('This list cannot be imported')
  expect(afterWrong).toBe('>Notes>North>South selected>Wrong')
  const units = await console.rows('select stock_no as no from core.stock_unit order by 1')
  expect(units).toEqual(vehicles(5, 11).map(({ stockNo: no }) => ({ no })))
})

test('a list that is too large for the memory of a process is not brought back', {
  tags: 'ci',
}, async () => {
  const path = await console.import(listOf(vehicles(50)))
  const { pool } = console.fixture.database
  const signal = new AbortController().signal
  const uploads = new StockUploads({
    warehouse: { pool, db: openDb(pool), config: console.config },
    signal,
  })
  const importId = Number(path.split('/').at(-1))

  const whole = await uploads.textOf(importId, { all: true })
  const refused = uploads.textOf(importId, { all: true }, 1_000)

  expect(whole.toString().split('\r\n')).toHaveLength(52)
  await expect(refused).rejects.toThrow('is too large for the console')
})

test('a cell that is cut within a character, or holds a NUL, is shown and imported', async () => {
  const list = listOf(vehicles(3)).replace('Red', `${'x'.repeat(59)}\u{1f600}`)
  const check = pathOf(await console.upload(list.replace('Red', 'R\0d')))

  const page = await console.get(check.replace('/check', '/mapping'), asStock)

  expect(page.text).toContain(`${'x'.repeat(59)}\ufffd`)
  expect(pathOf(await console.importAs(check))).toMatch(/imports/)
})

test('a workbook is not asked for an encoding, and an empty one says nothing about options', async () => {
  const lines = ['Code,VIN,Make,Model,Year,Amount', ...vehicles(3).map(unsureLine)]
  const rows = textRows(lines.map((line) => line.split(',')))
  const mapping = pathOf(
    await console.upload(workbook({ sheets: [{ name: 'Cars', rows }] }), { name: 'cars.xlsx' }),
  )

  const page = await console.get(mapping, asStock)
  const empty = await console.upload(workbook({ sheets: [{ name: 'Cars', rows: '' }] }))

  expect(mapping).toMatch(/mapping$/)
  expect(page.text).not.toContain('name="encoding"')
  expect(empty.status).toBe(409)
  expect(empty.text).toContain('is empty: export the stock list again')
  expect(empty.text).not.toContain('--sheet')
})

const unsureLine = ({ vin }: { vin: string }, at: number) =>
  `C${at}45,${vin},Kia,Rio,2019,2100${at}.50`

test('the downloads are the rejected rows, and the list with prices', async () => {
  const path = await console.import(listOf([...vehicles(4), aVehicle(5, { price: '1x2' })]))

  const rejected = await console.get(`${path}?download=rejected`, asStock)
  const original = await console.get(`${path}?download=original`, asStock)
  const none = await console.get(`${path}?download=any`, asStock)
  const foreign = await console.get(`${path}?download=rejected`, { role: 'group' })

  expect(rejected.headers.get('content-disposition')).toMatch(/filename="import-\d+-rejected\.csv"/)
  expect(rejected.text).toMatch(
    /^\uFEFF?Stock Number,VIN,.*,_import,_line,_problem,_errors\r\nS0005,.*1x2.*,6,,/,
  )
  expect(original.text.split('\r\n')).toHaveLength(7)
  expect(original.text).toMatch(/^\uFEFF?Stock Number,VIN,.*retail/)
  expect([none.status, foreign.status]).toEqual([404, 404])
})

test('what people did is recorded, without what was in the list', { tags: 'ci' }, async () => {
  const path = await console.import(listOf([...vehicles(4), aVehicle(5, { price: '1x2' })]))
  await console.post(path, { action: 'correct', 'cell-6-6': '20005' }, asStock)

  const actions = await console.rows<{ action: string; target: object }>(
    'select action, target, email, outcome from ops.console_action order by action_id desc limit 3',
  )

  expect(actions.map(({ action }) => action)).toEqual(['correct', 'import', 'upload'])
  expect(actions[0]!.target).toEqual({ page: '/stock/imports/:id', id: path.split('/').at(-1) })
  expect(actions[2]!.target).toEqual({
    ...{ page: '/stock/upload', rooftop: console.own, mode: 'snapshot' },
  })
})
