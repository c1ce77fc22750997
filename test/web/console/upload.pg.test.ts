import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { aVehicle, listOf, vehicles } from '../../stock/import-fixture.ts'
import { openUploads, pathOf, type UploadFixture, uploadForm } from './upload-fixture.ts'

let console: UploadFixture

beforeAll(async () => {
  console = await openUploads()
})
afterAll(async () => await console?.[Symbol.asyncDispose]())
beforeEach(async () => await console.clear())

const asStock = { role: 'stock' } as const

test('a list goes from the upload through the check to the stock', async () => {
  await console.import(listOf(vehicles(9)))
  const changed = [...vehicles(7), aVehicle(8, { price: '31000' }), aVehicle(20)]

  const check = pathOf(await console.upload(listOf(changed), { name: 'friday.csv' }))
  const before = await console.rows('select count(*)::int as count from core.stock_import')
  const page = await console.get(check, asStock)
  const result = pathOf(await console.post(check, { action: 'import' }, asStock))
  const done = await console.get(result, asStock)

  expect(before).toEqual([{ count: 1 }])
  expect(page.title).toBe('Check friday.csv')
  expect(page.text).toContain('Import: 1 new, 1 changed, 1 gone')
  expect(page.text).toMatch(/asking price[\s\S]*20008[\s\S]*31000/)
  expect(done.title).toBe('friday.csv')
  const units = await console.rows(
    `select stock_no as no, asking_price::int as price, missing_since is null as here from core.stock_unit where stock_no >= 'S0008' order by 1`,
  )
  expect(units).toEqual([
    { no: 'S0008', price: 31000, here: true },
    { no: 'S0009', price: 20009, here: false },
    { no: 'S0020', price: 20020, here: true },
  ])
  const imports = await console.rows(
    'select imported_by as by, file_name as name from core.stock_import order by import_id desc limit 1',
  )
  expect(imports).toEqual([{ by: 'sam@example.com', name: 'friday.csv' }])
})

/** Columns whose meaning is not certain: two prices, and a number that may be the stock number. */
const unsure = (rows: readonly string[]) =>
  ['Code,VIN,Make,Model,Year,Odometer (km),Amount', ...rows, ''].join('\r\n')
const unsureRow = (index: number) =>
  `C${index}45,${aVehicle(index).vin},Toyota,Corolla,2019,45000,${21_000 + index}.50`

test('a column in doubt is asked about, the answer is remembered, and can be seen and forgotten', async () => {
  const list = unsure([1, 2, 3, 4, 5, 6].map(unsureRow))

  const mapping = pathOf(await console.upload(list))
  const page = await console.get(mapping, asStock)
  const selected = [...page.text.matchAll(/<select name="column-(\d+)".*?<\/select>/gs)].map(
    ([select, index]) => [index!, /value="(\w*)" selected/.exec(select)?.[1] ?? ''] as const,
  )
  const form = Object.fromEntries(selected.map(([index, field]) => [`column-${index}`, field]))
  const check = pathOf(
    await console.post(
      mapping,
      { action: 'map', ...form, 'column-0': 'stock_number', 'column-6': 'price_asking' },
      asStock,
    ),
  )
  const result = pathOf(await console.post(check, { action: 'import' }, asStock))
  const [unit] = await console.rows(
    'select stock_no as no, asking_price::text as price from core.stock_unit order by 1',
  )
  const again = pathOf(await console.upload(unsure([1, 2, 3, 4, 5, 7].map(unsureRow))))
  const remembered = await console.get('/stock/mappings', asStock)
  const [row] = await console.rows<{ fingerprint: string }>(
    'select fingerprint from ops.stock_mapping',
  )
  const fields = { action: 'forget', rooftop: console.own, fingerprint: row!.fingerprint }
  await console.post('/stock/mappings', fields, asStock)
  const asked = pathOf(await console.upload(unsure([1, 2, 3, 4, 5, 8].map(unsureRow))))

  expect(mapping).toMatch(/\/mapping$/)
  expect(page.text).toContain('Please check')
  expect(page.text).not.toContain('--map')
  expect(page.text).toMatch(
    /<tbody[^>]*>\s*<tr[^>]*><th[^>]*>(Code|Amount) <span class="badge warn">in doubt/,
  )
  expect(result).toMatch(/^\/stock\/imports\/\d+$/)
  expect(unit).toEqual({ no: 'C145', price: '21001.500' })
  expect(again).toMatch(/\/check$/)
  expect(remembered.text).toContain('Code: stock number')
  expect(asked).toMatch(/\/mapping$/)
})

test('the mapping shows five cells of each column, and the first ten rows as they would be typed', {
  tags: 'ci',
}, async () => {
  const rows = Array.from({ length: 12 }, (_, at) => unsureRow(at + 1))
  const list = unsure([...rows.slice(0, 2), rows[2]!.replace('45000', '4x5'), ...rows.slice(3)])

  const mapping = pathOf(await console.upload(list))
  const { text } = await console.get(mapping, asStock)
  const { preview } = await console.json<{ preview: { columns: string[]; rows: Preview[] } }>(
    mapping,
    asStock,
  )

  const [, cells] = /<th[^>]*>Code\b.*?<ul class="cells">(.*?)<\/ul>/s.exec(text)!
  expect(cells!.match(/<li>/g)).toHaveLength(5)
  const at = (name: string) => preview.columns.indexOf(name)
  const [first, , third] = preview.rows
  expect(preview.rows.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  expect(first!.cells[at('price_asking')]).toBe('21001.5')
  expect(first!.cells[at('odometer')]).toBe('45000')
  expect(first!.cells[at('vin')]).toBe(aVehicle(1).vin)
  expect(third!.cells).toEqual([])
  expect(third!.notes.map(({ column }) => column)).toContain('Odometer (km)')
  for (const name of ['asking price', 'VIN']) expect(text).toContain(`>${name}</th>`)
  expect(text).toContain('The first rows, as they would be read')
  expect(text).toContain('not read')
})

interface Preview {
  readonly line: number
  readonly cells: readonly string[]
  readonly notes: readonly { readonly column: string | null }[]
}

test('one field for two columns is refused in words of the console', { tags: 'ci' }, async () => {
  const mapping = pathOf(await console.upload(unsure([1, 2, 3].map(unsureRow))))

  const { status, text } = await console.post(
    mapping,
    { action: 'map', 'column-0': 'stock_number', 'column-2': 'stock_number' },
    asStock,
  )

  expect(status).toBe(409)
  expect(text).toContain(
    'The columns &#34;Code&#34; and &#34;Make&#34; cannot both be the stock number',
  )
})

test('the columns of a list that was sure can be changed on the way back', {
  tags: 'ci',
}, async () => {
  const check = pathOf(await console.upload(listOf(vehicles(5))))
  const id = check.split('/')[3]!
  const mapping = `/stock/upload/${id}/mapping`

  const page = await console.get(mapping, asStock)
  const sent = await console.post(mapping, { action: 'map', 'column-6': 'cost' }, asStock)
  const result = pathOf(await console.post(pathOf(sent), { action: 'import' }, asStock))

  expect(page.text).toContain('<option value="price_asking" selected>asking price</option>')
  expect(result).toContain('/stock/imports/')
  expect(
    await console.rows(
      "select cost::int, asking_price as asking from core.stock_unit where stock_no = 'S0001'",
    ),
  ).toEqual([{ cost: 20001, asking: null }])
})

test('cars that moved from another rooftop, and what is assumed about dates, are shown before the import', {
  tags: 'ci',
}, async () => {
  const other = console.config.rooftops.find(({ uid }) => uid !== console.own)!
  await console.import(listOf(vehicles(9)), { role: 'engineer', rooftop: other.uid })
  const lines = listOf(vehicles(12, 7)).trimEnd().split('\r\n')
  const withDates = lines.map((line, at) => `${line},${at === 0 ? 'Date in stock' : '03/04/2026'}`)

  const check = pathOf(await console.upload(`${withDates.join('\r\n')}\r\n`))
  const { text } = await console.get(check, asStock)

  const [, assumed] = /<h2>What was assumed<\/h2><ul>(.*?)<\/ul>/s.exec(text)!
  const names = vehicles(3, 7).map(({ stockNo }) => stockNo)
  expect(assumed).toContain(
    `3 of the 12 vehicles are in stock at ${other.name} (${other.uid}): ${names.join(', ')}`,
  )
  expect(assumed).toContain('Date in stock: read with the day first, as is usual in the market AU')
})

test('a list that would remove many cars waits until the number is typed', async () => {
  await console.import(listOf(vehicles(20)))
  const check = pathOf(await console.upload(listOf(vehicles(8))))
  const page = await console.get(check, asStock)

  const plain = await console.post(check, { action: 'import' }, asStock)
  const wrong = await console.post(check, { action: 'import', 'typed-removal': '11' }, asStock)
  const before = await console.rows('select count(*)::int as n from core.stock_import')
  const right = await console.post(check, { action: 'import', 'typed-removal': '12' }, asStock)

  expect(page.text).toContain('would remove 12 of the 20 vehicles')
  expect(page.text).not.toContain('--allow')
  expect([plain.status, wrong.status]).toEqual([409, 409])
  expect(wrong.text).toContain('type 12')
  expect(before).toEqual([{ n: 1 }])
  expect(pathOf(right)).toMatch(/imports/)
  expect(
    await console.rows(
      'select count(*)::int as n from core.stock_unit where missing_since is null',
    ),
  ).toEqual([{ n: 8 }])
})

test('a list that would change most cars waits until the number is typed', {
  tags: 'ci',
}, async () => {
  await console.import(listOf(vehicles(8)))
  const emptied = listOf(vehicles(8).map((unit) => ({ ...unit, price: '' })))
  const check = pathOf(await console.upload(emptied))

  const page = await console.get(check, asStock)
  const right = await console.post(check, { action: 'import', 'typed-change': '8' }, asStock)

  expect(page.text).toContain('would remove the asking price of 8 of 8')
  expect(pathOf(right)).toMatch(/imports/)
})

test('the same list again is already imported, and its rows are not doubled', {
  tags: 'ci',
}, async () => {
  const first = await console.import(listOf(vehicles(5)))
  const check = pathOf(await console.upload(listOf(vehicles(5))))

  const page = await console.get(check, asStock)

  expect(page.text).toContain('Already imported')
  expect(page.text).toContain(`href="/console${first}"`)
  expect(await console.rows('select count(*)::int as n from core.stock_import')).toEqual([{ n: 1 }])
})

test('rejected rows are corrected on the page of the import and imported as a part', async () => {
  const broken = [
    ...vehicles(6),
    aVehicle(7, { price: '1x2' }),
    aVehicle(8, { km: '4 5 x1' }),
    aVehicle(9, { price: '9x9' }),
  ]
  const path = await console.import(listOf(broken))
  const page = await console.get(path, asStock)

  const nothing = await console.post(path, { action: 'correct', 'cell-8-6': '1x2' }, asStock)
  const still = await console.post(path, { action: 'correct', 'cell-8-6': '1y2' }, asStock)
  const second = pathOf(
    await console.post(
      path,
      { action: 'correct', 'cell-8-6': '20007', 'cell-9-5': '45001', 'cell-10-6': '9z9' },
      asStock,
    ),
  )
  const after = await console.get(path, asStock)
  const stock = await console.rows(
    'select count(*)::int as n from core.stock_unit where off_stock_at is null and missing_since is null',
  )
  const third = pathOf(
    await console.post(second, { action: 'correct', 'cell-4-6': '20009' }, asStock),
  )

  expect(page.text).toContain('Rejected rows: 3')
  expect(page.text).toContain('<input name="cell-8-6" value="1x2"')
  expect(nothing.text).toContain('No cell was changed')
  expect(still.text).toContain('No corrected row is right yet')
  expect(second).not.toBe(path)
  expect(
    after.text.match(/corrected<\/span> by <a href="\/console\/stock\/imports\/\d+">/g),
  ).toHaveLength(2)
  expect(after.text).toContain('rejected again')
  expect(stock).toEqual([{ n: 8 }])
  expect(third).not.toBe(second)
  expect(
    await console.rows(
      "select asking_price::int as price, odometer_km as km from core.stock_unit where stock_no in ('S0007', 'S0008', 'S0009') order by stock_no",
    ),
  ).toEqual([
    { price: 20007, km: 45049 },
    { price: 20008, km: 45001 },
    { price: 20009, km: 45063 },
  ])
})

test('an earlier list is brought back, also its cars that have gone since', {
  tags: 'ci',
}, async () => {
  const friday = await console.import(listOf(vehicles(9)), { name: 'friday.csv' })
  await console.import(listOf([...vehicles(7), aVehicle(30)]), { name: 'monday.csv' })

  const check = pathOf(await console.post(friday, { action: 'bring-back' }, asStock))
  const page = await console.get(check, asStock)
  await console.post(check, { action: 'import' }, asStock)

  expect(page.title).toBe('Check friday.csv')
  expect(page.text).toContain('Import: 2 back, 1 gone')
  expect(
    await console.rows(
      'select stock_no as no from core.stock_unit where missing_since is null order by 1',
    ),
  ).toEqual(vehicles(9).map(({ stockNo: no }) => ({ no })))
})

test('a pasted list is taken, and what is not a list is refused with what to do', {
  tags: 'ci',
}, async () => {
  const send = async (fields: Record<string, string>, list: string | Buffer = '', name = '') =>
    await console.post(
      '/stock/upload',
      uploadForm(list, name, { rooftop: console.own, mode: 'snapshot', ...fields }),
      asStock,
    )

  const pasted = pathOf(await send({ pasted: listOf(vehicles(3)) }))
  const empty = await send({})
  const picture = await send({}, Buffer.from('89504e470d0a1a0a', 'hex'), 'cars.png')
  const json = await send({}, '[{"a":1}]', 'cars.json')
  const page = await console.get('/stock/upload', asStock)

  expect(pasted).toMatch(/\/check$/)
  expect([empty.status, picture.status, json.status]).toEqual([409, 409, 409])
  expect(empty.text).toContain('Choose a file')
  expect(json.text).toContain('Export the stock list as CSV')
  expect(page.text).toContain('pasted.csv')
  expect(page.text).not.toContain('cars.json')
})

test('cells with two readings are asked about, and the way they are read is chosen for their column', {
  tags: 'ci',
}, async () => {
  const list = listOf([aVehicle(1, { price: '512.345' }), aVehicle(2, { price: '527.36' })])

  const mapping = pathOf(await console.upload(list))
  const page = await console.get(mapping, asStock)
  const select = /<select name="column-6".*?<\/select>/s.exec(page.text)![0]
  const form = { action: 'map', 'column-6': 'price_asking:thousands' }
  const check = pathOf(await console.post(mapping, form, asStock))
  const chosen = await console.get(check.replace('check', 'mapping'), asStock)
  await console.post(check, { action: 'import' }, asStock)
  const remembered = await console.get('/stock/mappings', asStock)
  const again = await console.upload(listOf([aVehicle(1, { price: '512.349' }), aVehicle(2)]))

  expect(page.text).toContain('has &#34;512.345&#34; beside &#34;527.36&#34;')
  expect(page.text).not.toContain('--map')
  expect(select).toContain('value="price_asking:decimals" selected>asking price: 512.345 has')
  expect(select).toContain('value="price_asking:thousands">asking price: 512.345 is 512345')
  expect(chosen.text).toContain('value="price_asking:thousands" selected>')
  expect(
    await console.rows('select asking_price::text as price from core.stock_unit order by stock_no'),
  ).toEqual([{ price: '512345.000' }, { price: '527.360' }])
  expect(remembered.text).toContain('Price: asking price (thousands)')
  expect(pathOf(again)).toMatch(/\/check$/)
})
