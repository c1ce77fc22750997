import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { applyRetention } from '#src/retention/apply-retention.ts'
import { StockUploads } from '#src/stock/upload/stock-uploads.ts'
import { aVehicle, listOf, vehicles } from '../stock/import-fixture.ts'
import { textRows, workbook } from '../workbook/make-workbook.ts'
import { serveConsole } from './console-fixture.ts'
import { openUploads, pathOf, type UploadFixture, uploadForm } from './upload-fixture.ts'

let console: UploadFixture

beforeAll(async () => {
  console = await openUploads({ uploadMegabytes: 1 })
})
afterAll(async () => await console?.[Symbol.asyncDispose]())
beforeEach(async () => {
  await console.rows(
    'truncate core.stock_import, core.stock_import_row, core.stock_unit, core.stock_unit_change, ops.stock_upload, ops.stock_mapping',
  )
})

const asStock = { role: 'stock' } as const
const importAs = async (path: string, role: 'stock' | 'engineer' = 'stock') =>
  await console.post(path, { action: 'import' }, { role })
const count = async (table: string) =>
  (await console.rows<{ n: number }>(`select count(*)::int as n from ${table}`))[0]!.n

test('a viewer uploads nothing, and no one without a session', async () => {
  const viewer = await console.upload(listOf(vehicles(3)), { role: 'viewer' })
  const signedOut = await console.upload(listOf(vehicles(3)), { role: null })

  expect(viewer.status).toBe(403)
  expect(signedOut.location).toBe('/console/sign-in?next=%2Fconsole%2Fstock%2Fupload')
  expect(await count('ops.stock_upload')).toBe(0)
})

test('a form of another site uploads nothing', async () => {
  const form = uploadForm(listOf(vehicles(3)), 'x.csv', { rooftop: console.own, mode: 'snapshot' })
  const headers = { 'sec-fetch-site': 'cross-site' }

  const { status } = await console.post('/stock/upload', form, { role: 'stock', headers })

  expect(status).toBe(403)
  expect(await count('ops.stock_upload')).toBe(0)
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
  expect(await count('ops.stock_upload')).toBe(0)
})

test('ten lists of a person may wait', async () => {
  const answers = []
  for (let at = 1; at <= 11; at++) answers.push(await console.upload(listOf(vehicles(at))))

  expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(303), 409])
  expect(answers.at(-1)!.text).toContain('import one of them or drop it')

  await console.post(pathOf(answers[0]!), { action: 'drop' }, asStock)
  expect((await console.upload(listOf(vehicles(12)))).status).toBe(303)
})

test.for([
  ['../../etc/passwd', 'passwd'],
  ['C:\\lists\\friday.csv', 'friday.csv'],
  ['cars\u202Evsc.exe', 'carsvsc.exe'],
  ['<img src=x onerror=alert(1)>.csv', '&#60;img src=x onerror=alert(1)&#62;.csv'],
  ['..', 'list'],
])('the file name %s is shown as %s', async ([name, shown]) => {
  const check = pathOf(await console.upload(listOf(vehicles(3)), { name: name! }))
  const imported = pathOf(await importAs(check))

  for (const path of [imported, '/stock/upload', '/stock/imports']) {
    const { text } = await console.get(path, asStock)
    expect(text).toContain(`>${shown}<`)
    expect(text).not.toMatch(/\u202E|<img/)
  }
})

test('a session that ends half-way goes on at the same step', async () => {
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
  expect(await count('core.stock_import')).toBe(1)
}, 60_000)

test('several processes take the steps by turns', async () => {
  await using other = await serveConsole(console.fixture, {})
  const check = pathOf(await console.upload(listOf(vehicles(3)), { role: 'engineer' }))

  const page = await other.get(check)
  const imported = pathOf(await other.post(check, { action: 'import' }))
  const result = await console.get(imported)

  expect(page.text).toContain('Import: 3 new')
  expect(result.title).toBe('list.csv')
})

test('while another person imports, the page names them, and the list waits', async () => {
  const first = pathOf(await console.upload(listOf(vehicles(3)), { role: 'engineer' }))
  const second = pathOf(await console.upload(listOf(vehicles(4))))
  const lock = await console.fixture.database.pool.connect()
  await lock.query('begin')
  // The import waits for this table after it has taken its own lock.
  await lock.query('lock table core.stock_import in exclusive mode')
  const slow = importAs(first, 'engineer')
  const held = 'select 1 from pg_locks where classid = 7306 and granted'
  while ((await console.rows(held)).length === 0) await sleep(20)

  const busy = await importAs(second)
  await lock.query('commit')
  lock.release()
  const done = await slow
  const stale = await importAs(second)
  pathOf(await console.post(second, { action: 'check' }, asStock))
  const right = await importAs(second)

  expect(busy.status).toBe(409)
  expect(busy.text).toMatch(/kim@example\.com is importing a list of .* since \d\d:\d\d [A-Z]/)
  expect(pathOf(done)).toMatch(/imports/)
  expect(stale.text).toContain('The stock has changed since this list was checked')
  expect(pathOf(right)).toMatch(/imports/)
  expect(await count('core.stock_import')).toBe(2)
}, 60_000)

test('a list that another process imports between the check and the lock makes this one stale', async () => {
  const first = pathOf(await console.upload(listOf(vehicles(3)), { role: 'engineer' }))
  const second = pathOf(await console.upload(listOf(vehicles(4))))
  const lock = await console.fixture.database.pool.connect()
  await lock.query('begin')
  // After the import has compared the newest list, it notes here that it begins.
  const own = 'select from ops.stock_upload where upload_id = $1 for update'
  await lock.query(own, [first.split('/')[3]])
  const slow = importAs(first, 'engineer')
  const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%import_began_at = now()%'`
  while ((await console.rows(waits)).length === 0) await sleep(20)

  pathOf(await importAs(second))
  await lock.query('commit')
  lock.release()
  const stale = await slow

  expect(stale.status).toBe(409)
  expect(stale.text).toContain('The stock has changed since this list was checked')
  expect(await count('core.stock_import')).toBe(1)
  expect(await count('core.stock_unit')).toBe(4)
}, 60_000)

test('a list that is dropped while it is imported is not imported', async () => {
  const check = pathOf(await console.upload(listOf(vehicles(3))))
  const lock = await console.fixture.database.pool.connect()
  await lock.query('begin')
  await lock.query('lock table core.stock_import in exclusive mode')
  const slow = importAs(check)
  const held = 'select 1 from pg_locks where classid = 7306 and granted'
  while ((await console.rows(held)).length === 0) await sleep(20)

  pathOf(await console.post(check, { action: 'drop' }, asStock))
  await lock.query('commit')
  lock.release()

  expect((await slow).status).toBe(409)
  expect(await count('core.stock_import')).toBe(0)
}, 60_000)

test('a second click imports nothing twice', async () => {
  const check = pathOf(await console.upload(listOf(vehicles(3))))

  const answers = await Promise.all([importAs(check), importAs(check), importAs(check)])
  const later = await importAs(check)

  expect(await count('core.stock_import')).toBe(1)
  expect(answers.some(({ status }) => status === 303)).toBe(true)
  expect(answers.every(({ status }) => status === 303 || status === 409)).toBe(true)
  expect(pathOf(later)).toMatch(/imports/)
})

test.each(['rows-written', 'before-commit'])(
  'a process that ends at %s leaves a list that waits, and nothing is doubled',
  async (point) => {
    const check = pathOf(await console.upload(listOf(vehicles(3))))
    const uploads = new StockUploads({
      ...{ warehouse: { pool: console.fixture.database.pool, config: console.config } },
      signal: new AbortController().signal,
      crashPoint: (name) => {
        if (name === point) throw new Error('killed')
      },
    })
    const by = { email: 'sam@example.com', typed: {} }

    await expect(uploads.import(check.split('/')[3]!, by)).rejects.toThrow('killed')
    const left = await console.rows(
      'select content is not null as waits, (select count(*)::int from core.stock_import) as imports from ops.stock_upload',
    )
    const done = pathOf(await importAs(check))
    const page = await console.get(check, asStock)

    expect(left).toEqual([{ waits: true, imports: 0 }])
    expect(pathOf(page)).toBe(done)
    expect(pathOf(await importAs(check))).toBe(done)
    expect(await count('core.stock_import')).toBe(1)
  },
)

test('after a day a list is gone: its page says so, and its bytes are deleted', async () => {
  const first = pathOf(await console.upload(listOf(vehicles(3))))
  await console.rows(`update ops.stock_upload set ends_at = now() - interval '1 second'`)

  const page = await console.get(first, asStock)
  const late = await importAs(first)
  const { context } = console.fixture
  const report = await applyRetention(context)

  expect([page.status, late.status]).toEqual([404, 404])
  expect(report.uploads).toBe(1)
  expect(await count('ops.stock_upload')).toBe(0)
})

test('a list that ends within a row is refused as the whole stock, and taken as a part of it', async () => {
  const cut = `${listOf(vehicles(9))}S0010,"${aVehicle(10).vin}`
  const check = pathOf(await console.upload(cut))

  const page = await console.get(check, asStock)
  const refused = await importAs(check)
  const part = pathOf(await console.post(check, { action: 'check', mode: 'delta' }, asStock))
  const imported = pathOf(await importAs(part))

  expect(page.text).toContain('This list cannot be imported')
  expect(page.text).toContain('the file ends within')
  expect(page.text).not.toContain('--mode')
  expect(refused.status).toBe(409)
  expect(imported).toMatch(/imports/)
  expect(await count('core.stock_unit')).toBe(9)
})

test('a list without a valid row shows every cause, and is not imported', async () => {
  const wrong = vehicles(4).map((unit, at) => ({ ...unit, stockNo: `${at + 1}.2E+15` }))
  const check = pathOf(await console.upload(listOf(wrong)))

  const page = await console.get(check, asStock)
  const refused = await importAs(check)

  expect(page.text).toContain('Its rows cannot be read: none of its 4 rows is valid')
  expect(page.text).toContain('line 2, Stock Number, “1.2E+15”')
  expect(refused.status).toBe(409)
  expect(await count('core.stock_import')).toBe(0)
})

test('of a workbook with several lists the sheet is chosen, and imported', async () => {
  const sheet = (name: string, from: number) => {
    const lines = listOf(vehicles(3, from)).trimEnd().split('\r\n')
    return { name, rows: textRows(lines.map((line) => line.split(','))) }
  }
  const book = workbook({ sheets: [sheet('North', 1), sheet('South', 11)] })
  const mapping = pathOf(await console.upload(book, { name: 'cars.xlsx' }))
  const page = await console.get(mapping, asStock)

  const check = pathOf(await console.post(mapping, { action: 'read', sheet: 'South' }, asStock))
  await importAs(check)

  expect(page.text).toContain('<option value="North" selected>North</option><option value="South">')
  const units = await console.rows('select stock_no as no from core.stock_unit order by 1')
  expect(units).toEqual(vehicles(3, 11).map(({ stockNo: no }) => ({ no })))
})

test('a list that is too large for the memory of a process is not brought back', async () => {
  const path = await console.import(listOf(vehicles(50)))
  const { pool } = console.fixture.database
  const signal = new AbortController().signal
  const uploads = new StockUploads({ warehouse: { pool, config: console.config }, signal })
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
  expect(pathOf(await importAs(check))).toMatch(/imports/)
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
    /^\uFEFF?Stock Number,VIN,.*,_line,_problem,_errors\r\nS0005,.*1x2.*,6,,/,
  )
  expect(original.text.split('\r\n')).toHaveLength(7)
  expect(original.text).toMatch(/^\uFEFF?Stock Number,VIN,.*retail/)
  expect([none.status, foreign.status]).toEqual([404, 404])
})

test('what people did is recorded, without what was in the list', async () => {
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
