import { expect, test } from 'vitest'
import { type ExportFixture, openExportFixture, recordsOf, tableOf } from './export-fixture.ts'

const header = 'Stock No,VIN,Make,Model,Year,Kms,Price,Cost,Date In Stock,Colour,Status,Notes\r\n'
const list = `${header}${[
  '00123,6T1BF3FK20X100001,Toyota,Camry,2019,85000,"$25,990",22000,03/05/2025,White,Available,-1 key missing',
  'B-7,6T1BF3FK20X100002,Kia,Sorento,2021,45000,POA,,04/05/2025,Blue,Reserved,=1+1',
  'C9,JZX100-0012345,Toyota,Chaser,1998,182000,39000.55,30000,13/05/2025,,,"two\nlines, one comma"',
].join('\r\n')}\r\n`

const unitsOf = async ({ database }: ExportFixture) =>
  (await database.pool.query('select * from core.stock_unit order by stock_no')).rows

test('the priced list has a row for each unit on hand, with its price or the reason for none', async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)
  await fixture.price('00123')
  await fixture.price('B-7', { retail: null, error: 'no market data' })

  const { code, stdout, stderr } = await fixture.exportList('--rooftop', 'north', '--no-bom')

  const { names, rows } = await tableOf(stdout)
  expect([code, stderr]).toEqual([0, ''])
  expect(names.slice(0, 13).join()).toBe(
    'stock_number,vin,adcode,plate,make,model,variant,year,odometer_km,asking_price,cost,currency,acquired_on',
  )
  expect(names.slice(-11).join()).toBe(
    'price_retail,price_retail_low,price_retail_high,price_wholesale,price_wholesale_low,price_wholesale_high,price_currency,priced_at,eval_id,status,message',
  )
  expect(rows.map((row) => row['stock_number'])).toEqual(['00123', 'B-7', 'C9'])
  expect(rows[0]).toMatchObject({
    ...{ vin: '6T1BF3FK20X100001', year: '2019', odometer_km: '85000', asking_price: '25990' },
    ...{ cost: '22000', currency: 'AUD', acquired_on: '2025-05-03', dealer_status: 'Available' },
    ...{ price_retail: '25000.50', price_retail_low: '24000.50', price_wholesale: '20000.40' },
    ...{ price_wholesale_low: '', price_currency: 'AUD', priced_at: '2026-03-10T14:00:00Z' },
    ...{ status: 'priced', message: '', notes: "'-1 key missing" },
  })
  expect(rows[1]).toMatchObject({
    ...{ asking_price: 'POA', notes: "'=1+1", status: 'not_priced', message: 'no market data' },
  })
  expect(rows[2]).toMatchObject({
    ...{ vin: 'JZX1000012345', asking_price: '39000.55', notes: 'two\nlines, one comma' },
    ...{ status: 'not_priced', message: 'it has no VIN and no ADCode, so it cannot be priced' },
  })
})

test('a list that is exported and imported again changes nothing', async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)
  await fixture.price('00123')
  const before = await unitsOf(fixture)
  await fixture.exportList('--rooftop', 'north', '--out', 'priced.csv')

  const { code, document } = await fixture.importList('again.csv', await fixture.file('priced.csv'))

  expect(document).toMatchObject({
    ...{ records: 3, accepted: 3, added: 0, updated: 0, unchanged: 3, removed: 0, changes: [] },
  })
  expect(code).toBe(0)
  expect(await unitsOf(fixture)).toEqual(before)
})

test('a list in miles is exported in miles', async () => {
  await using fixture = await openExportFixture({ odometerUnit: 'mi' })
  await fixture.importList(
    'stock.csv',
    'Stock No,VIN,Make,Year,Miles,Price\n1,6T1BF3FK20X100001,Kia,2019,50001,9000\n2,6T1BF3FK20X100002,Kia,2019,7 km,8000\n',
  )
  await fixture.exportList('--rooftop', 'north', '--out', 'priced.csv')

  const { document } = await fixture.importList('again.csv', await fixture.file('priced.csv'))

  const { rows } = await tableOf(await fixture.file('priced.csv'))
  expect(rows.map((row) => [row['odometer_km'], row['odometer'], row['odometer_unit']])).toEqual([
    ['80469', '50001', 'mi'],
    ['7', '7', 'km'],
  ])
  expect(document).toMatchObject({ updated: 0, unchanged: 2 })
})

test('amounts in a currency with three decimals are exported unchanged', {
  tags: 'ci',
}, async () => {
  await using fixture = await openExportFixture({ currency: 'KWD' })
  await fixture.importList(
    'stock.csv',
    'Stock No,VIN,Make,Year,Price,Cost\n1,6T1BF3FK20X100001,Kia,2019,8500.125,7.5\n2,6T1BF3FK20X100002,Kia,2019,9100.5,12.255\n',
  )
  await fixture.exportList('--rooftop', 'north', '--out', 'priced.csv')
  const before = await unitsOf(fixture)

  const { document } = await fixture.importList('again.csv', await fixture.file('priced.csv'))

  expect(document).toMatchObject({ updated: 0, unchanged: 2 })
  expect(await unitsOf(fixture)).toEqual(before)
})

test('a unit off stock is left out without --all', async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)
  await fixture.database.pool.query(
    `update core.stock_unit set missing_since = '2026-03-01', off_stock_at = '2026-03-05' where stock_no = 'C9'`,
  )

  const onHand = await tableOf((await fixture.exportList('--rooftop', 'north')).stdout)
  const all = await tableOf((await fixture.exportList('--rooftop', 'north', '--all')).stdout)

  expect(onHand.rows.map((row) => row['stock_number'])).toEqual(['00123', 'B-7'])
  expect(all.rows.map((row) => [row['status'], row['message']]).at(-1)).toEqual([
    'off_stock',
    'off stock since 2026-03-05',
  ])
})

test('a unit in its days of grace is left out, so that re-importing the list does not restore it', {
  tags: 'ci',
}, async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)
  await fixture.price('C9')
  await fixture.importList('less.csv', list.slice(0, list.indexOf('C9')))
  await fixture.exportList('--rooftop', 'north', '--out', 'priced.csv')

  const { document } = await fixture.importList('again.csv', await fixture.file('priced.csv'))

  expect(document).toMatchObject({ records: 2, unchanged: 2, reappeared: 0, removed: 0 })
  const all = await tableOf((await fixture.exportList('--rooftop', 'north', '--all')).stdout)
  expect(all.rows.map((row) => row['status'])).toEqual(['not_priced', 'not_priced', 'missing'])
  expect(all.rows[2]).toMatchObject({
    price_retail: '25000.50',
    message: expect.stringMatching(/^not in the list since \d{4}-\d\d-\d\d$/),
  })
})

/** A batch that asked for a unit; the newest one counts. */
async function ask(
  { database }: ExportFixture,
  stockNo: string,
  state: string,
  outcome: string | null = null,
): Promise<void> {
  await database.pool.query(
    `with batch as (
       insert into ops.price_batch (rooftop_id, run_id, state, units, submitted_at, progressed_at)
       select rooftop_id, 1, $2, 1, now(), now() from core.rooftop where rooftop_uid = 'north' returning batch_no
     )
     insert into ops.price_batch_unit (batch_no, stock_no, vin, outcome)
     select batch_no, stock_no, vin, $3 from batch, core.stock_unit where stock_no = $1`,
    [stockNo, state, outcome],
  )
}

test('a unit without a price shows the result of its newest batch', { tags: 'ci' }, async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)
  const messages: string[] = []
  const asked = [
    ['submitted', null],
    ['lost', null],
    ['stuck', null],
    ['refused', null],
    ['complete', 'missing'],
    ['complete', 'duplicate'],
    ['refused', 'failed'],
  ] as const

  for (const [state, outcome] of asked) {
    await ask(fixture, '00123', state, outcome)
    const { rows } = await tableOf((await fixture.exportList('--rooftop', 'north')).stdout)
    messages.push(`${rows[0]!['status']}: ${rows[0]!['message']}`)
    expect(rows[1]!['message']).toBe('not priced yet')
  }

  expect(messages).toEqual([
    'not_priced: batch 1 is still being priced: the next run fetches its price',
    'not_priced: the answer to batch 2 was lost: it will be priced again next night',
    'not_priced: batch 3 made no progress and was abandoned: it will be priced again next night',
    'not_priced: the service rejected batch 4: it will be priced again next night',
    'not_priced: batch 5 has no result for it: it will be priced again next night',
    'not_priced: batch 6 has several results for it and none was used: it will be priced again next night',
    'not_priced: the service rejects it as too large, even alone in a batch',
  ])
})

test('if no unit of a rooftop can be priced, each shows why', { tags: 'ci' }, async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)
  await fixture.database.pool.query(
    `insert into ops.data_quality (rooftop_id, stream, natural_key, check_name, detail, run_id)
     select rooftop_id, 'stock-prices', rooftop_uid, 'not-priced', 'its stock is not priced: no key', 1
     from core.rooftop where rooftop_uid = 'north'`,
  )

  const { rows } = await tableOf((await fixture.exportList('--rooftop', 'north')).stdout)

  expect(rows.map((row) => row['message'])).toEqual([
    'its stock is not priced: no key',
    'its stock is not priced: no key',
    'it has no VIN and no ADCode, so it cannot be priced',
  ])
})

test('the price of the previous vehicle with the stock number is not shown', async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)
  await fixture.price('00123', { vin: '6T1BF3FK20X999999' })

  const { rows } = await tableOf((await fixture.exportList('--rooftop', 'north')).stdout)

  expect(rows[0]).toMatchObject({ price_retail: '', status: 'not_priced' })
})

test('a rooftop without stock gives only a header', async () => {
  await using fixture = await openExportFixture()

  const { code, stdout } = await fixture.exportList('--rooftop', 'empty')

  const { names, records } = await recordsOf(stdout)
  expect([code, records, names.length]).toEqual([0, [], 24])
})

test('by default the file is UTF-8 with a BOM, CRLF and commas', async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)

  const usual = await fixture.exportList('--rooftop', 'north')
  const other = await fixture.exportList(
    '--rooftop',
    'north',
    '--no-bom',
    '--delimiter',
    'tab',
    '--raw',
  )

  expect(usual.stdout.startsWith('\uFEFFstock_number,vin')).toBe(true)
  expect(usual.stdout.split('\r\n')).toHaveLength(5)
  expect(other.stdout.startsWith('stock_number\tvin')).toBe(true)
  expect(other.stdout).toContain('\t=1+1\t')
})
