import { expect, test } from 'vitest'
import { aVin, openSmallWorld } from '../../support/small-world.ts'

const [vinOfTwo, vinOfThree, shortVin] = ['KNADB1234567890C2', 'KNADB1234567890C3', 'C4'] as const

test('the gap to the guide is null where the guide is, and no ratio breaks the report', async () => {
  await using world = await openSmallWorld()
  await world.add(
    'core.evaluation',
    { eval_id: 1, final_price: 10_000, recon_total: 500, recon_line_total: 700 },
    { eval_id: 2, final_price: 10_000, recon_line_total: 700 },
    { eval_id: 3, final_price: 10_000 },
    { eval_id: 4, final_price: 10_000 },
    { eval_id: 5, final_price: '999999999999.999' },
    { eval_id: 6, final_price: null },
    { eval_id: 7, final_price: 10_000, gone_at: '2026-01-20' },
    { eval_id: 8, final_price: 0 },
  )
  await world.add(
    'core.price_observation',
    { eval_id: 1, wholesale: 8_000, retail: 12_000 },
    { eval_id: 2, wholesale: null, retail: 12_000 },
    { eval_id: 4, wholesale: 0, retail: null },
    { eval_id: 5, wholesale: '0.001', retail: 0 },
    { eval_id: 8, wholesale: 8_000, retail: 12_000, currency_code: 'USD' },
  )

  const rows = await world.rows(
    `select eval_id::int, recon_total::int, gap_to_wholesale_first, gap_share, gross_room_first
     from mart.rpt_01_appraisal_gap order by eval_id`,
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    [1, 500, '2000.000', '0.2500', '1500.000'],
    [2, 700, null, null, '1300.000'],
    [3, null, null, null, null],
    [4, null, '10000.000', null, null],
    [5, null, '999999999999.998', '999.9999', '-999999999999.999'],
    [8, null, null, null, null],
  ])
})

test('the first and the current guide price differ, each in the currency of the evaluation', async () => {
  await using world = await openSmallWorld()
  await world.add('core.app_user', { user_id: 5, display_name: 'Ana' })
  await world.add(
    'core.evaluation',
    { eval_id: 1, rooftop_id: 4, currency_code: 'KWD', final_price: '2999.125', user_id: 5 },
    { eval_id: 2, final_price: 100 },
  )
  const old = { is_current: false, observed_at: '2026-01-11', last_confirmed_at: '2026-01-11' }
  const next = { observed_at: '2026-02-11', last_confirmed_at: '2026-02-12' }
  const kuwait = { eval_id: 1, rooftop_id: 4, currency_code: 'KWD' }
  await world.add(
    'core.price_observation',
    { ...kuwait, ...old, wholesale: '2900.125', retail: '3400.500' },
    { ...kuwait, ...old, ...next, wholesale: 1, retail: 1 },
    {
      ...kuwait,
      observed_at: '2026-03-11',
      last_confirmed_at: '2026-03-11',
      wholesale: '2800.001',
      retail: '3300',
    },
    { eval_id: 2, ...old, wholesale: 50, retail: 60, currency_code: 'USD' },
    { eval_id: 2, ...next, wholesale: 90, retail: 120 },
  )

  const rows = await world.rows('select * from mart.rpt_01_appraisal_gap order by eval_id')

  expect(rows).toMatchObject([
    {
      ...{ evaluation_key: '4-1', month_start: expect.anything(), salesperson: 'Ana' },
      ...{ wholesale_first: '2900.125', retail_first: '3400.500' },
      ...{ wholesale_now: '2800.001', retail_now: '3300.000' },
      ...{ gap_to_wholesale_first: '99.000', gap_share: '0.0341' },
      ...{ gross_room_first: '401.375', gross_room_now: '300.875' },
    },
    { wholesale_first: '90.000', wholesale_now: '90.000', salesperson: null, user_id: null },
  ])
})

test('battery health takes the first reading, and says where one is missing', async () => {
  await using world = await openSmallWorld()
  const ids = [1, 2, 3, 4, 5]
  await world.add('core.evaluation', ...ids.map((eval_id) => ({ eval_id })))
  await world.add('core.evaluation', { eval_id: 6, gone_at: '2026-01-20' })
  const info = { recon_type: 'info', source: 'maker' }
  await world.add(
    'core.reconditioning_item',
    { eval_id: 1, ...info, line_no: 1 },
    { eval_id: 1, ...info, line_no: 2, battery_soh_pct: 91.5, source: 'second' },
    { eval_id: 1, ...info, line_no: 3, battery_soh_pct: 80 },
    { eval_id: 2, recon_type: 'Info', source: 'asked' },
    { eval_id: 2, ...info, line_no: 2, source: 'asked again' },
    { eval_id: 3, ...info, battery_soh_pct: 70, last_version: 1 },
    { eval_id: 4, recon_type: 'tyres', cost: 100 },
    { eval_id: 6, ...info, battery_soh_pct: 70 },
  )

  const rows = await world.rows(
    'select eval_id::int, battery_soh_pct, reading_source, is_reading_missing from mart.rpt_09_ev_battery_health order by 1',
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    [1, '91.50', 'second', false],
    [2, null, 'asked', true],
  ])
})

test('a vehicle counts as appraised again within its group and currency, in any letter case', async () => {
  await using world = await openSmallWorld()
  const later = { completed_date_local: '2026-02-09', rooftop_id: 2 }
  await world.add(
    'core.evaluation',
    { eval_id: 1, final_price: 10_000 },
    { eval_id: 2, vin: aVin.toLowerCase(), final_price: null, ...later },
    { eval_id: 3, final_price: '10500.255' },
    { eval_id: 4, final_price: 1, gone_at: '2026-01-20', completed_at: '2026-01-09' },
    { eval_id: 5, final_price: 2, rooftop_id: 4, currency_code: 'KWD', completed_at: '2026-01-09' },
    { eval_id: 6, final_price: 3, rooftop_id: 3, group_id: 2 },
    { eval_id: 7, vin: vinOfTwo, final_price: 4 },
    { eval_id: 8, vin: vinOfTwo, final_price: 5, gone_at: '2026-01-20' },
    { eval_id: 9, vin: shortVin, final_price: 6 },
    { eval_id: 10, vin: shortVin, final_price: 7 },
    { eval_id: 11, vin: vinOfThree, rooftop_id: 3, group_id: 2 },
    { eval_id: 12, vin: vinOfThree, rooftop_id: 3, group_id: 2 },
  )
  await world.add('core.stock_unit', { rooftop_id: 2 })
  await world.add('core.stock_unit', { vin: vinOfThree, stock_no: 'S2' })
  await world.add('core.stock_import', { rooftop_id: 3, import_id: 1, imported_at: '2026-01-20' })

  const rows = await world.rows(
    `select group_code, vin, currency_code, evaluations, rooftops, first_on::text, last_on::text, days_between, lowest_price,
       highest_price, price_spread, is_bought
     from mart.rpt_13_repeat_appraisals order by 1`,
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    [
      ...['first', aVin, 'AUD', 3, 2, '2026-01-10', '2026-02-09', 30],
      ...['10000.000', '10500.255', '500.255', true],
    ],
    ['other', vinOfThree, 'AUD', 2, 1, '2026-01-10', '2026-01-10', 0, null, null, null, false],
  ])
})

test('what was bought is not known of months before the first and after the newest stock list of the rooftop, and of one without', async () => {
  await using world = await openSmallWorld()
  const later = { completed_date_local: '2026-02-09', completed_at: '2026-02-09' }
  await world.add(
    'core.evaluation',
    ...[1, 2, 3, 4].map((eval_id) => ({ eval_id, rooftop_id: eval_id < 3 ? 1 : 2 })),
    ...[11, 12, 13, 14].map((eval_id) => ({
      ...{ eval_id, rooftop_id: eval_id < 13 ? 1 : 2, vin: vinOfTwo },
      ...later,
    })),
    ...[21, 22].map((eval_id) => ({
      ...{ eval_id, rooftop_id: 3, group_id: 2, vin: vinOfThree, ...later },
    })),
    {
      ...{ eval_id: 31, rooftop_id: 3, group_id: 2, vin: 'KNADB1234567890C5' },
      ...{ completed_date_local: '2026-03-09', completed_at: '2026-03-09' },
    },
    // The other rooftop of its group holds what it appraised, and no list says what it holds itself.
    { eval_id: 41, rooftop_id: 2, vin: 'KNADB1234567890C4', ...later },
    // No unit can be found by these VINs.
    { eval_id: 51, vin: shortVin, ...later },
    { eval_id: 52, vin: null, ...later },
    // Of the month of the first list, and of that of the newest one; neither has a list by then, or since.
    { eval_id: 53, vin: 'KNADB1234567890C6', ...later, completed_at: '2026-02-01' },
    { eval_id: 54, completed_date_local: '2026-03-02', completed_at: '2026-03-02' },
    { eval_id: 55, vin: 'KNADB1234567890C7', gone_at: '2026-02-20', ...later },
  )
  await world.add(
    'core.stock_unit',
    { vin: vinOfTwo, acquired_on: '2026-02-09' },
    { stock_no: 'S4', vin: 'KNADB1234567890C4', acquired_on: '2026-02-09' },
  )
  const list = (import_id: number, rooftop_id: number, imported_at: string) => ({
    ...{ import_id, rooftop_id, imported_at },
  })
  await world.add(
    'core.stock_import',
    list(1, 1, '2026-02-05'),
    // In Sydney, February begins an hour before.
    list(2, 3, '2026-01-31T14:00:00Z'),
    list(3, 1, '2026-03-01'),
    // Changes of prices, and corrections of rejected rows, do not say what is in stock.
    { ...list(4, 1, '2026-01-02'), mode: 'delta' },
    { ...list(5, 2, '2026-02-20'), mode: 'delta' },
    { ...list(6, 3, '2026-03-20'), dialect: { corrects: 2 } },
  )
  const read = async (view: string, columns: string) => {
    const rows = await world.rows(`select ${columns} from mart.${view} order by 1, 2`)
    return rows.map((row) => Object.values(row))
  }
  const counts = [
    [1, '2026-01-01', null, null],
    [1, '2026-02-01', 1, '0.2000'],
    [1, '2026-03-01', 0, '0.0000'],
    [2, '2026-01-01', null, null],
    [2, '2026-02-01', null, null],
    [3, '2026-02-01', 0, '0.0000'],
    [3, '2026-03-01', null, null],
  ]

  expect(
    await read('rpt_02_look_to_book', 'rooftop_id, month_start::text, bought, look_to_book_share'),
  ).toEqual(counts)
  expect(
    await read('rpt_14_link_capture_funnel', 'rooftop_id, month_start::text, bought, bought_share'),
  ).toEqual(counts)
  expect(await read('rpt_13_repeat_appraisals', 'group_code, vin, is_bought')).toEqual([
    ['first', aVin, null],
    ['first', vinOfTwo, true],
    ['other', vinOfThree, false],
  ])
  expect(await read('evaluation_wide', 'rooftop_id, eval_id, is_bought')).toEqual([
    [1, 1, null],
    [1, 2, null],
    [1, 11, false],
    [1, 12, true],
    [1, 51, null],
    [1, 52, null],
    [1, 53, null],
    [1, 54, null],
    [1, 55, null],
    [2, 3, null],
    [2, 4, null],
    [2, 13, null],
    [2, 14, null],
    [2, 41, null],
    [3, 21, null],
    [3, 22, null],
    [3, 31, null],
  ])
  expect(
    await read('dim_rooftop', 'rooftop_id, stock_listed_from::text, stock_listed_to::text'),
  ).toEqual([
    [1, '2026-02-01', '2026-03-01'],
    [2, null, null],
    [3, '2026-02-01', '2026-02-01'],
    [4, null, null],
  ])
})

test('the drift of reconditioning counts where the lines of the type all have a cost, then and now', async () => {
  await using world = await openSmallWorld()
  await world.add('core.evaluation', ...[1, 2, 3].map((eval_id) => ({ eval_id })))
  const line = (eval_id: number, recon_type: string, cost: number | null, rest: object = {}) => ({
    ...{ eval_id, recon_type, cost, ...rest },
  })
  const [before, since] = [{ last_version: 1 }, { first_version: 2 }]
  await world.add(
    'core.reconditioning_item',
    line(1, 'brakes', null, before),
    line(1, 'brakes', 800, { ...since, line_no: 2 }),
    line(2, 'brakes', 100, before),
    line(2, 'brakes', 150, { ...since, line_no: 2 }),
    line(3, 'brakes', 70, { line_no: 1 }),
    line(3, 'brakes', null, { ...since, line_no: 2 }),
    line(1, 'glass', null, { line_no: 3 }),
    // There was no such work at first, and there is none now.
    line(2, 'paint', 500, { ...since, line_no: 3 }),
    line(3, 'paint', 200, { ...before, line_no: 3 }),
  )

  const rows = await world.rows(
    'select recon_type, evaluations, first_cost::int, latest_cost::int, drift::int, drift_share from mart.rpt_03_recon_drift order by 1',
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    ['brakes', 3, 100, 150, 50, '0.5000'],
    ['glass', 1, null, null, null, null],
    ['paint', 2, 200, 500, 300, '1.5000'],
  ])
  expect(await world.rows('select * from core.agg_differences()')).toEqual([])
})

test('the newest stock list is the one that came last, also with the same content, and part of the stock is none', async () => {
  await using world = await openSmallWorld()
  await world.add(
    'core.stock_import',
    { import_id: 1, imported_at: '2026-02-10', confirmed_at: '2026-04-10' },
    { import_id: 2, imported_at: '2026-05-10', mode: 'delta' },
    { import_id: 3, imported_at: '2026-01-10', dialect: '{"corrects":1}' },
  )

  expect(
    await world.rows(
      'select stock_listed_from::text as from, stock_listed_to::text as to from mart.dim_rooftop where rooftop_id = 1',
    ),
  ).toEqual([{ from: '2026-02-01', to: '2026-04-01' }])
})

test('the sum of prices is not known where no evaluation has one', async () => {
  await using world = await openSmallWorld()
  await world.add(
    'core.evaluation',
    { eval_id: 1, final_price: null },
    { eval_id: 2, final_price: 0, completed_date_local: '2026-01-11' },
  )

  const rows = await world.rows(
    'select with_price, value_sum, average_price from mart.rpt_10_appraisal_volume order by completed_date',
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    [0, null, null],
    [1, '0.000', '0.000'],
  ])
})

test('an appraisal is compared with the guide price 30 days later, also when it was known before and confirmed since', async () => {
  await using world = await openSmallWorld()
  await world.add(
    'core.evaluation',
    ...[1, 2, 3, 4, 5].map((eval_id) => ({ eval_id, final_price: 10_000 })),
    { eval_id: 6, final_price: null },
  )
  const price = (eval_id: number, observed: string, confirmed: string, rest: object) => ({
    ...{ eval_id, observed_at: observed, last_confirmed_at: confirmed, ...rest },
  })
  const old = { is_current: false, wholesale: 9_000, retail: 12_000 }
  await world.add(
    'core.price_observation',
    price(1, '2026-01-11', '2026-02-20', { wholesale: 8_000, retail: 11_000 }),
    price(2, '2026-01-11', '2026-01-20', old),
    price(2, '2026-02-19T01:00:00Z', '2026-02-19T01:00:00Z', { ...old, wholesale: null }),
    price(2, '2026-03-11T01:00:00Z', '2026-03-12', { wholesale: 12_500, retail: 14_000 }),
    price(3, '2026-01-11', '2026-02-08', { wholesale: 8_000, retail: 11_000 }),
    price(4, '2026-01-11', '2026-03-01', { wholesale: 8_000, currency_code: 'USD' }),
    price(5, '2026-01-11', '2026-03-01', { wholesale: 0, retail: 1 }),
    price(6, '2026-01-11', '2026-03-01', { wholesale: 1 }),
  )

  const rows = await world.rows(
    `select eval_id::int, wholesale_first::int, days_later, wholesale_later::int, retail_later::int, guide_move::int, error::int, error_share, absolute_error_share
     from mart.appraisal_accuracy order by 1`,
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    [1, 8_000, '30.00', 8_000, 11_000, 0, 2_000, '0.2500', '0.2500'],
    [2, 9_000, '60.00', 12_500, 14_000, 3_500, -2_500, '-0.2000', '0.2000'],
    [5, 0, '30.00', 0, 1, 0, 10_000, null, null],
  ])
})
