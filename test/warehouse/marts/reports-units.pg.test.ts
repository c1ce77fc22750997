import { expect, test } from 'vitest'
import { aVin, openSmallWorld, type SmallWorld } from '../../support/small-world.ts'

/** The counts of a search. */
const nothingFound = { security_interest_count: 0, written_off_count: 0, stolen_count: 0 }
const others = ['KNADB1234567890A1', 'KNADB1234567890A2', 'KNADB1234567890A3'] as const

async function agedStock(world: SmallWorld): Promise<Record<string, unknown>[]> {
  return await world.rows('select * from mart.rpt_05_aged_stock_price_move order by stock_no')
}

test('a unit is aged from its 45th day on, by the day in its rooftop; without acquired_on by its first list', async () => {
  await using world = await openSmallWorld()
  await world.add(
    'core.stock_unit',
    { stock_no: 'A', acquired_on: world.day(45) },
    { stock_no: 'B', acquired_on: world.day(44) },
    { stock_no: 'C', acquired_on: null, first_seen_at: `${world.day(60)} 23:59 Australia/Sydney` },
    { stock_no: 'D', acquired_on: null, first_seen_at: `${world.day(44)} 00:01 Australia/Sydney` },
    { stock_no: 'E', acquired_on: world.day(90), off_stock_at: world.ago(1) },
    { stock_no: 'F', acquired_on: world.day(90), missing_since: world.ago(1) },
  )

  const rows = await agedStock(world)

  expect(rows.map((row) => row['stock_no'])).toEqual(['A', 'C', 'F'])
  expect(rows.map((row) => row['days_in_stock'])).toEqual([45, null, 90])
})

test('own cut and market move have the three decimals of a Kuwaiti dinar', async () => {
  await using world = await openSmallWorld()
  const unit = { rooftop_id: 4, stock_no: 'K' }
  const price = { ...unit, currency_code: 'KWD' }
  await world.add('core.stock_unit', { ...price, asking_price: '4999.125' })
  await world.add('core.stock_import', { import_id: 7, rooftop_id: 4 })
  await world.add('core.stock_unit_change', {
    ...unit,
    import_id: 7,
    changes: { asking_price: [5250.5, 4999.125] },
  })
  await world.add(
    'core.stock_price_observation',
    { ...price, retail: '5100.250', is_current: false },
    { ...price, retail: '5000.001', observed_at: '2026-02-01', last_confirmed_at: '2026-02-03' },
  )

  const [row] = await agedStock(world)

  expect(row).toMatchObject({
    currency_code: 'KWD',
    asking_price_first: '5250.500',
    asking_price_now: '4999.125',
    own_cut: '251.375',
    price_changes: 1,
    market_retail_first: '5100.250',
    market_retail_now: '5000.001',
    market_move: '-100.249',
    market_as_of: new Date('2026-02-03'),
    asking_to_market_share: '0.9998',
  })
})

test('a market price that became unavailable is null now, and the first price stays', async () => {
  await using world = await openSmallWorld()
  await world.add('core.stock_unit', { asking_price: null })
  await world.add(
    'core.stock_price_observation',
    { retail: 20_000, is_current: false },
    { error: 'no comparable sales', observed_at: '2026-02-01', last_confirmed_at: '2026-02-01' },
  )

  const [row] = await agedStock(world)

  expect(row).toMatchObject({ market_retail_first: '20000.000', asking_price_now: null })
  for (const column of ['market_retail_now', 'market_move', 'market_as_of', 'own_cut'])
    expect(row).toHaveProperty(column, null)
})

test('a reused stock number does not have the prices of the earlier vehicle, nor a vehicle that came in again those of its first stay', async () => {
  await using world = await openSmallWorld()
  await world.add(
    'core.stock_unit',
    { stock_no: 'A', asking_price: 9_000 },
    { stock_no: 'B', asking_price: 9_000 },
    { stock_no: 'C', asking_price: 9_000 },
  )
  const before = { vin: others[0], retail: 30_000, is_current: false, observed_at: '2026-01-18' }
  await world.add(
    'core.stock_price_observation',
    { ...before, stock_no: 'A', observed_at: '2026-01-01', last_confirmed_at: '2026-01-01' },
    { ...before, stock_no: 'B', observed_at: '2026-01-01', vin: aVin, retail: 8_000 },
    { ...before, stock_no: 'B' },
    { stock_no: 'B', vin: aVin.toLowerCase(), retail: 10_000, is_current: true },
    { ...before, stock_no: 'C', vin: aVin, last_confirmed_at: '2026-01-19' },
    { stock_no: 'C', retail: 10_000 },
  )
  await world.add(
    'core.stock_unit_change',
    { stock_no: 'B', import_id: 3, changes: { asking_price: [31_000, 30_500] } },
    { stock_no: 'B', import_id: 4, change: 'added', changes: { asking_price: [30_500, 9_500] } },
    { stock_no: 'B', import_id: 5, changes: { asking_price: [9_500, 9_000] } },
    { stock_no: 'C', import_id: 3, change: 'added', changes: {} },
    {
      ...{ stock_no: 'C', import_id: 4, change: 'reappeared' },
      changes: { asking_price: [31_000, 9_500], first_seen_at: ['2026-01-01', '2026-01-20'] },
    },
    { stock_no: 'C', import_id: 5, changes: { asking_price: [9_500, 9_000] } },
  )
  await world.add('core.stock_import', { import_id: 5 })

  const [first, second, back] = await agedStock(world)

  expect(first).toMatchObject({ market_retail_first: null, market_retail_now: null })
  expect(second).toMatchObject({
    ...{ market_retail_first: '10000.000', market_retail_now: '10000.000' },
    ...{ asking_price_first: '9500.000', own_cut: '500.000', price_changes: 1 },
  })
  expect(back).toEqual({ ...second, stock_no: 'C' })
})

test('own cut and market move are not known until there is a second list, or a second answer', async () => {
  await using world = await openSmallWorld()
  const price = { asking_price: 9_000 }
  await world.add(
    'core.stock_unit',
    ...['A', 'B', 'C'].map((stock_no) => ({ stock_no, ...price })),
    { stock_no: 'D', ...price, missing_since: '2026-01-27T00:00:00Z' },
    { stock_no: 'E', ...price, rooftop_id: 2 },
    { stock_no: 'F', ...price },
  )
  await world.add(
    'core.stock_import',
    { import_id: 1, imported_at: '2026-01-20T00:00:00Z' },
    { import_id: 2, imported_at: '2026-01-20T00:00:00Z', rooftop_id: 2 },
    { import_id: 3, imported_at: '2026-01-27T00:00:00Z' },
    // Corrections of a list, and a list of some units, say nothing of the others.
    {
      ...{ import_id: 4, imported_at: '2026-01-28T00:00:00Z', rooftop_id: 2 },
      dialect: { corrects: 2 },
    },
    { import_id: 5, imported_at: '2026-01-29T00:00:00Z', rooftop_id: 2, mode: 'delta' },
  )
  await world.add(
    'core.stock_unit_change',
    { stock_no: 'E', rooftop_id: 2, import_id: 2, change: 'added', changes: {} },
    { stock_no: 'F', import_id: 1, change: 'added', changes: {} },
    // Its first list had no price.
    { stock_no: 'F', import_id: 3, changes: { asking_price: [null, 9_000] } },
  )
  await world.add(
    'core.stock_price_observation',
    { stock_no: 'A', retail: 10_000 },
    { stock_no: 'B', retail: 10_000, last_confirmed_at: '2026-01-22T00:00:00Z' },
  )

  const rows = await world.rows(
    `select r.stock_no, r.own_cut, r.market_move, u.is_asking_price_comparable
     from mart.rpt_05_aged_stock_price_move as r join mart.fact_stock_unit as u using (rooftop_id, stock_no) order by 1`,
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    ['A', '0.000', null, true],
    ['B', '0.000', '0.000', true],
    ['C', '0.000', null, true],
    ['D', null, null, false],
    ['E', null, null, false],
    ['F', null, null, false],
  ])
})

test('a market price in another currency is not a price, and no ratio breaks the report', async () => {
  await using world = await openSmallWorld()
  await world.add(
    'core.stock_unit',
    { stock_no: 'A', asking_price: 100 },
    { stock_no: 'B', asking_price: '999999999999.999' },
    { stock_no: 'C', asking_price: 100 },
  )
  await world.add(
    'core.stock_price_observation',
    { stock_no: 'A', retail: 100, currency_code: 'USD' },
    { stock_no: 'B', retail: '0.001' },
    { stock_no: 'C', retail: 0 },
  )

  const rows = await agedStock(world)

  expect(rows.map((row) => row['market_retail_now'])).toEqual([null, '0.001', '0.000'])
  expect(rows.map((row) => row['asking_to_market_share'])).toEqual([null, '999.9999', null])
})

test('a unit has the gravest PPSR exposure known in its group', async () => {
  await using world = await openSmallWorld()
  const unit = (stock_no: string, vin: string) => ({ stock_no, vin })
  const vins = Array.from({ length: 7 }, (_, index) => `KNADB1234567890B${index}`)
  await world.add('core.stock_unit', ...vins.map((vin, index) => unit(`${index}`, vin)))
  const recent = { searched_at: world.ago(24), watch_status: 'watching' }
  const check = (index: number, ref: string, rest: object) => ({
    ...{ vin: vins[index], check_ref: ref, eval_id: index },
    ...rest,
  })
  await world.add(
    'core.vehicle_check',
    check(0, 'a', { ...recent, watch_status: 'changed', ...nothingFound }),
    check(0, 'b', { ...recent, watch_status: 'watching', rooftop_id: 2 }),
    check(1, 'c', {
      ...recent,
      ...nothingFound,
      searched_at: world.ago(48),
      security_interest_count: 2,
    }),
    check(1, 'd', recent),
    check(2, 'e', { ...recent, group_id: 2, rooftop_id: 3, watch_status: 'changed' }),
    check(2, 'f', { ...recent, gone_at: world.ago(1), watch_status: 'changed' }),
    check(2, 'g', { ...recent, check_kind: 'car_history', watch_status: 'changed' }),
    check(3, 'h', { searched_at: world.ago(16 * 24), watch_status: 'expired' }),
    check(4, 'i', { searched_at: null }),
    check(5, 'j', { ...recent, ...nothingFound }),
    check(6, 'k', { ...recent, searched_at: world.ago(72), security_interest_count: 3 }),
    check(6, 'l', { ...recent, ...nothingFound }),
  )
  await world.add('core.evaluation', { eval_id: 2, vin: vins[2] })
  await world.add('ops.enrichment_state', { eval_id: 2 })

  const rows = await world.rows(
    'select searches, watch_status, security_interest_count, exposure from mart.rpt_06_ppsr_exposure order by stock_no',
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    [2, 'changed', 0, 'interest changed'],
    [2, 'watching', 2, 'interest on search'],
    [0, null, null, 'never searched'],
    [1, 'expired', null, 'stale search'],
    [1, null, null, 'stale search'],
    [1, 'watching', 0, 'clear'],
    [2, 'watching', 0, 'clear'],
  ])
})

test('a car counts as never searched only where the service was asked and listed no search', async () => {
  await using world = await openSmallWorld()
  const vins = Array.from({ length: 6 }, (_, index) => `KNADB1234567890D${index}`)
  await world.add('core.stock_unit', ...vins.map((vin, index) => ({ stock_no: `${index}`, vin })))
  await world.add(
    'core.evaluation',
    ...[0, 1, 2, 3].map((eval_id) => ({ eval_id, vin: vins[eval_id]!.toLowerCase() })),
    { eval_id: 4, vin: vins[4], rooftop_id: 2 },
    { eval_id: 5, vin: vins[5], rooftop_id: 3, group_id: 2 },
    { eval_id: 6, vin: vins[3] },
  )
  await world.add(
    'ops.enrichment_state',
    { eval_id: 1, ask: 'getpastcarhistory' },
    { eval_id: 1, last_asked_at: '-infinity' },
    { eval_id: 2, outcome: 'failed' },
    { eval_id: 3, outcome: 'failed' },
    { eval_id: 6 },
    { eval_id: 4, rooftop_id: 2 },
    { eval_id: 5, rooftop_id: 3 },
  )

  await world.add(
    'core.vehicle_check',
    { check_ref: 'a', vin: 'KNADB1234567890D8', watch_status: 'changed' },
    { check_ref: 'b', vin: 'KNADB1234567890D9' },
  )
  await world.add(
    'core.evaluation',
    { eval_id: 8, vin: 'KNADB1234567890D8' },
    { eval_id: 9, vin: 'KNADB1234567890D9' },
    { eval_id: 10, vin: 'D10' },
  )
  await world.add('ops.enrichment_state', { eval_id: 9 }, { eval_id: 10 })

  const ofEvaluations = await world.rows(
    'select eval_id::int, ppsr_searches, is_ppsr_interest_changed from mart.evaluation_wide order by 1',
  )
  const rows = await world.rows(
    `select r.exposure, r.searches, u.ppsr_outcome from mart.rpt_06_ppsr_exposure as r join mart.fact_stock_unit as u using (rooftop_id, stock_no) order by stock_no`,
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    ['not asked', null, null],
    ['not asked', null, null],
    ['no answer', null, 'no answer'],
    ['never searched', 0, 'answered'],
    ['never searched', 0, 'answered'],
    ['not asked', null, null],
  ])
  expect(ofEvaluations.map((row) => Object.values(row))).toEqual([
    ...[0, 1, 2, 3].map((id) => [id, null, null]),
    ...[4, 5, 6].map((id) => [id, 0, false]),
    ...[
      [8, 1, true],
      [9, 1, false],
      [10, null, null],
    ],
  ])
})

test('PPSR exposure accepts a VIN in any letter case and an unknown status, and covers only Australia', async () => {
  await using world = await openSmallWorld()
  await world.add('core.ref_watch_status', { watch_status: 'suspended' })
  await world.add(
    'core.stock_unit',
    { stock_no: 'A', vin: aVin.toLowerCase() },
    { stock_no: 'B', vin: 'SHORT' },
    { stock_no: 'C', vin: null },
    { stock_no: 'D', rooftop_id: 4, vin: others[0] },
    { stock_no: 'E', vin: others[1], off_stock_at: world.ago(1) },
  )
  await world.add(
    'core.vehicle_check',
    { check_ref: 'a', searched_at: world.ago(26), watch_status: 'watching' },
    { check_ref: 'b', searched_at: world.ago(50), watch_status: 'suspended' },
  )

  const rows = await world.rows('select * from mart.rpt_06_ppsr_exposure')

  expect(rows).toMatchObject([
    {
      stock_no: 'A',
      vin: aVin,
      searches: 2,
      watch_status: 'suspended',
      exposure: 'result unknown',
    },
  ])
  expect(rows[0]).toHaveProperty('last_searched_at', world.ago(26))
})

test('a car is clear only where the newest search is known to have found nothing', async () => {
  await using world = await openSmallWorld()
  await world.add('core.stock_unit', { stock_no: 'A', vin: aVin })
  await world.add(
    'core.vehicle_check',
    { check_ref: 'newest', searched_at: world.ago(26) },
    { check_ref: 'older', searched_at: world.ago(50), ...nothingFound },
  )
  const exposure = async (change = 'select 1') => {
    await world.rows(change)
    return (await world.rows('select exposure from mart.rpt_06_ppsr_exposure'))[0]!['exposure']
  }
  const count = (column: string, number: number) =>
    `update core.vehicle_check set ${column}_count = ${number} where check_ref = 'newest'`

  expect(await exposure()).toBe('result unknown')
  expect(await exposure(count('security_interest', 0))).toBe('result unknown')
  expect(await exposure(count('written_off', 0))).toBe('result unknown')
  expect(await exposure(count('stolen', 0))).toBe('clear')
  expect(await exposure(count('security_interest', 1))).toBe('interest on search')
})

test.each([
  ['stolen', { stolen_count: 1 }, {}],
  ['stolen', { stolen_count: 1, written_off_count: 1, security_interest_count: 2 }, {}],
  ['stolen', { stolen_count: 1 }, { watch_status: 'changed' }],
  ['stolen', { stolen_count: 1, searched_at: '2025-01-01' }, {}],
  ['written off', { written_off_count: 1, security_interest_count: 2 }, {}],
  ['written off', { written_off_count: 1, watch_status: 'changed' }, {}],
  // The newest known counts: an older search found it, and a newer one does not.
  ['clear', {}, { stolen_count: 1, written_off_count: 1 }],
])('a car is %s where the newest known counts are %j', async (exposure, newest, older) => {
  await using world = await openSmallWorld()
  await world.add('core.stock_unit', {})
  await world.add(
    'core.vehicle_check',
    { check_ref: 'newest', searched_at: world.ago(26), ...nothingFound, ...newest },
    { check_ref: 'older', searched_at: '2024-01-01', ...nothingFound, ...older },
  )

  const rows = await world.rows('select exposure from mart.rpt_06_ppsr_exposure')

  expect(rows).toEqual([{ exposure }])
})

test('the AI price is compared with the first advertised price of the unit bought on the evaluation', async () => {
  await using world = await openSmallWorld()
  await world.add(
    'core.evaluation',
    { eval_id: 10, rooftop_id: 2, vin: aVin.toLowerCase() },
    { eval_id: 11, rooftop_id: 3, group_id: 2, completed_at: '2026-01-14' },
    { eval_id: 13, completed_at: '2026-01-16', completed_date_local: '2026-01-16' },
    { eval_id: 14, vin: others[0] },
    { eval_id: 15, vin: others[1] },
  )
  await world.add('core.stock_unit', { stock_no: 'A', asking_price: 22_000 })
  await world.add('core.stock_unit', { stock_no: 'B', asking_price: 22_000, vin: others[0] })
  await world.add('core.stock_unit', { stock_no: 'C', asking_price: null, vin: others[1] })
  await world.add('core.stock_unit', { stock_no: 'D', asking_price: 5, vin: others[2] })
  const earlier = { observed_at: '2026-01-10', last_confirmed_at: '2026-01-10', is_current: false }
  await world.add(
    'core.price_observation',
    { eval_id: 10, rooftop_id: 2, ...earlier, retail: null },
    { eval_id: 10, rooftop_id: 2, retail: 20_000, is_current: false },
    {
      eval_id: 10,
      rooftop_id: 2,
      retail: 25_000,
      observed_at: '2026-02-01',
      last_confirmed_at: '2026-02-01',
    },
    { eval_id: 11, rooftop_id: 3, retail: 1 },
    { eval_id: 14, retail: 20_000, currency_code: 'USD' },
    { eval_id: 15, retail: 20_000 },
  )

  const rows = await world.rows('select * from mart.rpt_12_ai_price_accuracy')

  expect(rows).toMatchObject([
    {
      ...{ rooftop_id: 1, stock_no: 'A', evaluation_key: '2-10', currency_code: 'AUD' },
      ...{ ai_retail_at_appraisal: '20000.000', asking_price_first: '22000.000' },
      ...{ error: '2000.000', error_share: '0.0909', absolute_error_share: '0.0909' },
    },
  ])
  expect(rows).toHaveLength(1)
})

test('a unit is bought on the newest evaluation of its own rooftop, and on none where that is gone', async () => {
  await using world = await openSmallWorld()
  const seen = (eval_id: number, vin: string, day: number, rest: object = {}) => ({
    ...{ eval_id, vin, completed_at: `2026-01-${day}`, completed_date_local: `2026-01-${day}` },
    ...rest,
  })
  const [own, withdrawn, ofOther] = others
  const gone = { gone_at: '2026-01-20' }
  await world.add(
    'core.evaluation',
    ...[seen(1, own, 10), seen(2, own, 11), seen(3, own, 12, { rooftop_id: 2 })],
    ...[seen(4, withdrawn, 10), seen(5, withdrawn, 11, gone)],
    ...[seen(6, withdrawn, 12, { rooftop_id: 2 }), seen(7, withdrawn, 16, gone)],
    ...[seen(8, ofOther, 10, gone), seen(9, ofOther, 11, { rooftop_id: 2 })],
    seen(10, aVin, 12, { rooftop_id: 2 }),
  )
  await world.add(
    'core.stock_unit',
    ...[...others, aVin].map((vin, index) => ({ stock_no: `${index}`, vin })),
  )

  const rows = await world.rows(
    'select evaluation_key, match_rule from mart.fact_stock_unit order by stock_no',
  )

  expect(rows.map((row) => Object.values(row))).toEqual([
    ['1-2', 'vin_same_rooftop'],
    [null, null],
    [null, null],
    ['2-10', 'vin_same_group'],
  ])
})
