import { expect, test } from 'vitest'
import { aVin, openSmallWorld } from '../../support/small-world.ts'

const otherVin = 'KNADB1234567890A1'

test('price drift has a row for each change of the asking price or the market price', async () => {
  await using world = await openSmallWorld()
  await world.add('core.stock_unit', {
    asking_price: 18_000,
    first_seen_at: '2026-01-20T00:00:00Z',
  })
  await world.add(
    'core.stock_import',
    { import_id: 1, imported_at: '2026-01-20T00:00:00Z' },
    { import_id: 2, imported_at: '2026-02-10T00:00:00Z' },
    { import_id: 3, imported_at: '2026-03-10T00:00:00Z' },
  )
  await world.add(
    'core.stock_unit_change',
    { import_id: 1, change: 'added', changes: {} },
    { import_id: 2, changes: { asking_price: [20_000, null], cost: [1, 2] } },
    { import_id: 3, changes: { asking_price: [null, 18_000] } },
  )
  const price = (day: string, rest: object) => ({
    ...{ observed_at: `${day}T00:00:00Z`, last_confirmed_at: `${day}T00:00:00Z` },
    ...{ is_current: false, ...rest },
  })
  await world.add(
    'core.stock_price_observation',
    price('2026-01-21', { retail: 20_000 }),
    price('2026-02-20', { retail: 19_000 }),
    price('2026-03-20', { error: 'no comparable sales', is_current: true }),
  )

  const rows = await world.rows(
    `select moved_on::text, days_in_stock, asking_price::int, asking_drift::int, market_retail::int, market_move::int,
       market_drift_share, asking_to_market_share, is_current
     from mart.stock_price_drift order by step_no`,
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    ['2026-01-20', 5, 20_000, 0, null, null, null, null, false],
    ['2026-01-21', 6, 20_000, 0, 20_000, null, '0.0000', '1.0000', false],
    ['2026-02-10', 26, null, null, 20_000, 0, '0.0000', null, false],
    ['2026-02-20', 36, null, null, 19_000, -1_000, '-0.0500', null, false],
    ['2026-03-10', 54, 18_000, -2_000, 19_000, 0, '-0.0500', '0.9474', false],
    ['2026-03-20', 64, 18_000, -2_000, null, null, null, null, true],
  ])
})

test('how long a unit was in stock is not known where no list says it', async () => {
  await using world = await openSmallWorld()
  await world.add('core.stock_unit', { stock_no: 'A', acquired_on: null, asking_price: 500 })

  const [days] = await world.rows('select days_in_stock from mart.stock_price_drift')
  const [unit] = await world.rows(
    'select acquired_on::text, is_acquired_on_listed from mart.fact_stock_unit',
  )

  expect(days).toEqual({ days_in_stock: null })
  expect(unit).toEqual({ acquired_on: '2026-01-20', is_acquired_on_listed: false })
})

test('price drift covers only the vehicle and its currency, and has a row without any change', async () => {
  await using world = await openSmallWorld()
  await world.add('core.stock_unit', { stock_no: 'A', asking_price: 500 })
  await world.add('core.stock_unit', {
    stock_no: 'B',
    asking_price: 700,
    off_stock_at: world.ago(1),
  })
  const before = { stock_no: 'B', is_current: false, retail: 1 }
  await world.add(
    'core.stock_price_observation',
    { ...before, observed_at: '2026-01-01', last_confirmed_at: '2026-01-02' },
    { ...before, vin: otherVin, observed_at: '2026-01-03', last_confirmed_at: '2026-01-03' },
    { stock_no: 'B', retail: 600, currency_code: 'USD' },
  )

  const rows = await world.rows(
    'select stock_no, step_no, is_on_hand, asking_price::int, market_retail from mart.stock_price_drift order by 1, 2',
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    ['A', 1, true, 500, null],
    ['B', 1, false, 700, null],
  ])
})

test('active watches are listed with their unit, and whether the VIN was searched again', async () => {
  await using world = await openSmallWorld()
  await world.add('core.stock_unit', { rooftop_id: 3, stock_no: 'RIVAL' })
  await world.add('core.stock_unit', { rooftop_id: 2, stock_no: 'SOUTH' })
  await world.add('core.stock_unit', { stock_no: 'SOLD', off_stock_at: world.ago(1) })
  const running = { searched_at: world.ago(12 * 24), watch_ends_at: world.ago(-48) }
  await world.add(
    'core.vehicle_check',
    { check_ref: 'a', ...running, watch_status: 'watching' },
    { check_ref: 'b', ...running, searched_at: world.ago(24), vin: aVin },
    { check_ref: 'c', ...running, watch_status: 'changed' },
    { check_ref: 'd', ...running, watch_status: 'disabled' },
    { check_ref: 'e', ...running, watch_status: 'not_watched' },
    { check_ref: 'f', ...running, gone_at: world.ago(1) },
    { check_ref: 'g', searched_at: world.ago(15 * 24), watch_ends_at: world.ago(24) },
    { check_ref: 'h', ...running, check_kind: 'car_history' },
    { check_ref: 'i', ...running, vin: otherVin },
  )

  const rows = await world.rows(
    `select check_ref, evaluation_key, days_left, stock_rooftop_id, stock_no, is_in_stock, is_searched_again
     from mart.watch_expiry order by check_ref`,
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    ['a', '1-1', '2.00', 2, 'SOUTH', true, true],
    ['b', '1-1', '2.00', 2, 'SOUTH', true, false],
    ['i', '1-1', '2.00', null, null, false, false],
  ])
})

test('prices before a change of currency are not compared with those after it', async () => {
  await using world = await openSmallWorld()
  await world.add('core.stock_unit', { asking_price: 9_000 })
  await world.add(
    'core.stock_import',
    { import_id: 1, imported_at: '2026-01-20T00:00:00Z' },
    { import_id: 2, imported_at: '2026-02-10T00:00:00Z' },
    { import_id: 3, imported_at: '2026-03-10T00:00:00Z' },
  )
  await world.add(
    'core.stock_unit_change',
    { import_id: 1, change: 'added', changes: {} },
    { import_id: 2, changes: { asking_price: [6_500, 10_000], currency_code: ['USD', 'AUD'] } },
    { import_id: 3, changes: { asking_price: [10_000, 9_000] } },
  )

  const answer = (
    day: string,
    retail: number | null,
    currency_code: string,
    rest: object = {},
  ) => ({
    ...{ observed_at: `${day}T00:00:00Z`, last_confirmed_at: `${day}T00:00:00Z` },
    ...{ is_current: false, retail, currency_code, ...rest },
  })
  await world.add(
    'core.stock_price_observation',
    answer('2026-01-21', 8_000, 'USD'),
    answer('2026-01-22', 8_100, 'USD'),
    answer('2026-02-20', 11_000, 'AUD'),
    answer('2026-02-21', 8_200, 'USD'),
    answer('2026-02-22', 8_300, 'USD'),
    answer('2026-02-23', null, 'AUD', { error: 'no comparable sales' }),
    answer('2026-03-11', 12_000, 'AUD', { is_current: true }),
  )

  const rows = await world.rows(
    `select moved_on::text, asking_price::int, asking_drift::int, market_retail::int, market_drift::int, currency_code, step_no, is_current,
       moved_again_at from mart.stock_price_drift order by step_no`,
  )

  expect(rows.map((row) => Object.values(row).slice(0, 8))).toEqual([
    ['2026-02-10', 10_000, 0, null, null, 'AUD', 1, false],
    ['2026-02-20', 10_000, 0, 11_000, 0, 'AUD', 2, false],
    ['2026-02-21', 10_000, 0, null, null, 'AUD', 3, false],
    ['2026-03-10', 9_000, -1_000, null, null, 'AUD', 4, false],
    ['2026-03-11', 9_000, -1_000, 12_000, 1_000, 'AUD', 5, true],
  ])
  expect(rows[2]!['moved_again_at']).toEqual(new Date('2026-03-10T00:00:00Z'))
})

test('a market price of before a change of currency goes on, beside no asking price until the change', async () => {
  await using world = await openSmallWorld()
  await world.add('core.stock_unit', { asking_price: 10_000 })
  await world.add('core.stock_import', { import_id: 2, imported_at: '2026-02-10T00:00:00Z' })
  await world.add('core.stock_unit_change', {
    import_id: 2,
    changes: { asking_price: [6_500, 10_000], currency_code: ['USD', 'AUD'] },
  })
  await world.add('core.stock_price_observation', { retail: 11_000 })

  const rows = await world.rows(
    'select moved_on::text, asking_price::int, asking_move::int, market_retail::int, asking_to_market_share from mart.stock_price_drift order by step_no',
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    ['2026-01-21', null, null, 11_000, null],
    ['2026-02-10', 10_000, null, 11_000, '0.9091'],
  ])
})
