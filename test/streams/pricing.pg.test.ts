import { expect, test } from 'vitest'
import { samples } from '#src/sandbox/samples.ts'
import { someOf } from '../support/cases.ts'
import { dayMs, type Fixture } from '../support/fixture.ts'
import {
  morning,
  pricedFixture,
  priceRequests,
  pricingPath,
  rowsOf,
  withoutWaits,
} from '../support/pricing-fixture.ts'

const golden = {
  confidence: 'high',
  prediction_date: '2026-03-10',
  prices: {
    wholesale: 20_000,
    wholesale_low: 19_000.5,
    wholesale_high: 21_000,
    buy_to_retail: 21_500,
    retail: 25_000.125,
    quick_sale: 0,
    sweet_spot: null,
  },
  currency_symbol: '$',
  evalId: 1001,
}

/** Makes the pricing AI answer this from now on; the handle undoes it. */
function answerWith({ sandbox }: Fixture, body: unknown) {
  return sandbox.faults.add({
    match: { path: pricingPath },
    fault: { kind: 'status', status: 200, body },
  })
}

const observations = (fixture: Fixture) =>
  rowsOf(
    fixture,
    `select eval_id, observed_at, last_confirmed_at, is_current, as_of_date, retail, reasoning_status
     from core.price_observation order by eval_id, observed_at`,
  )

test('a payload becomes an observation: 0 is 0, null is null, the currency is the rooftop’s', async () => {
  await using fixture = await pricedFixture([{}])
  answerWith(fixture, golden)

  const report = await fixture.night()

  expect(report).toMatchObject({
    status: 'ok',
    streams: { pricing: { listed: 1, hydrated: 1, inserted: 1, unchanged: 0, requests: 1 } },
  })
  const [row] = await rowsOf(fixture, 'select * from core.price_observation')
  expect(row).toEqual({
    rooftop_id: 1,
    eval_id: 1001,
    price_source: 'pricing_ai',
    observed_at: morning,
    last_confirmed_at: morning,
    is_current: true,
    as_of_date: '2026-03-10',
    retail: '25000.125',
    wholesale: '20000.000',
    wholesale_low: '19000.500',
    wholesale_high: '21000.000',
    buy_to_retail: '21500.000',
    quick_sale: '0.000',
    sweet_spot: null,
    currency_code: 'AUD',
    confidence: 'high',
    reasoning_status: null,
    value_hash: expect.any(Buffer),
    run_id: 1,
  })
  const payloads = await rowsOf(
    fixture,
    "select body from raw.payload where endpoint = 'pricingAi'",
  )
  expect(payloads).toEqual([{ body: golden }])
})

test('the same prices on another day move last_confirmed_at, and nothing else', async () => {
  await using fixture = await pricedFixture([{}])
  const first = answerWith(fixture, golden)
  await fixture.night()
  first.remove()
  answerWith(fixture, { ...golden, prediction_date: '2026-03-11' })

  const report = await fixture.nightAfter(1)

  expect(report.streams['pricing']).toMatchObject({ inserted: 0, updated: 0, unchanged: 1 })
  expect(await observations(fixture)).toMatchObject([
    {
      observed_at: morning,
      last_confirmed_at: new Date(morning.getTime() + dayMs),
      as_of_date: '2026-03-10',
      is_current: true,
    },
  ])
  const payloads = await rowsOf(fixture, "select from raw.payload where endpoint = 'pricingAi'")
  expect(payloads).toHaveLength(1)
})

test('other prices are a second observation, and price_as_of shows what was known when', {
  tags: 'ci',
}, async () => {
  await using fixture = await pricedFixture([{}])
  const first = answerWith(fixture, golden)
  await fixture.night()
  first.remove()
  answerWith(fixture, { ...golden, prices: { ...golden.prices, retail: 24_000 } })
  await fixture.nightAfter(1)

  const nextDay = new Date(morning.getTime() + dayMs)
  expect(await observations(fixture)).toMatchObject([
    { observed_at: morning, last_confirmed_at: morning, is_current: false },
    { observed_at: nextDay, last_confirmed_at: nextDay, is_current: true, retail: '24000.000' },
  ])
  const asOf = async (ms: number) =>
    await rowsOf(fixture, 'select retail from core.price_as_of(1, 1001, $1)', [
      new Date(morning.getTime() + ms),
    ])
  expect(await asOf(-1)).toEqual([])
  expect(await asOf(0)).toEqual([{ retail: '25000.125' }])
  expect(await asOf(dayMs - 1)).toEqual([{ retail: '25000.125' }])
  expect(await asOf(400 * dayMs)).toEqual([{ retail: '24000.000' }])
})

test('a price that changes and changes back makes three observations', async () => {
  await using fixture = await pricedFixture([{}])
  for (const retail of [25_000, 24_000, 25_000]) {
    const answer = answerWith(fixture, { ...golden, prices: { ...golden.prices, retail } })
    await fixture.nightAfter(1)
    answer.remove()
  }

  const found = await observations(fixture)
  expect(found.map(({ retail }) => retail)).toEqual(['25000.000', '24000.000', '25000.000'])
  expect(found.map(({ is_current }) => is_current)).toEqual([false, false, true])
})

test('sandbox prices change each month: observations add up, and one of each evaluation is current', {
  tags: 'ci',
}, async () => {
  await using fixture = await pricedFixture([{ evalId: 1 }, { evalId: 2, odometer: 90_000 }])
  await fixture.night()
  for (let month = 0; month < 3; month++) await fixture.nightAfter(30)

  const counts = await rowsOf(
    fixture,
    `select eval_id, count(*)::int as rows, count(*) filter (where is_current)::int as current
     from core.price_observation group by 1 order by 1`,
  )
  expect(counts).toEqual([
    { eval_id: 1, rows: expect.any(Number), current: 1 },
    { eval_id: 2, rows: expect.any(Number), current: 1 },
  ])
  for (const { rows } of counts) expect(rows).toBeGreaterThan(1)
})

test('a symbol of another currency than the rooftop’s is a warning, and the prices are loaded', {
  tags: 'ci',
}, async () => {
  await using fixture = await pricedFixture([{}])
  answerWith(fixture, { ...golden, currency_symbol: '€' })

  const report = await fixture.night()

  expect(report.status).toBe('ok')
  expect(await observations(fixture)).toHaveLength(1)
  expect(
    await rowsOf(fixture, 'select stream, natural_key, check_name from ops.data_quality'),
  ).toEqual([{ stream: 'pricing', natural_key: '1001', check_name: 'currency-symbol-disagrees' }])
})

test.for(
  someOf(
    [
      ['of another evaluation', { ...golden, evalId: 77 }, 'evalId'],
      ['without prices', { ...golden, prices: null }, 'prices'],
      [
        'with a price that is not a number',
        { ...golden, prices: { retail: 'many' } },
        'prices.retail',
      ],
      ['with a price beyond measure', { ...golden, prices: { retail: 1e15 } }, 'prices.retail'],
      ['without a date', { ...golden, prediction_date: 'soon' }, 'prediction_date'],
    ] as const,
    2,
  ),
)('a payload %s goes to quarantine, and the others land', async ([, body, path]) => {
  await using fixture = await pricedFixture([{}, { evalId: 1002 }])
  const broken = fixture.sandbox.faults.add({
    match: { path: pricingPath, evalId: 1001 },
    fault: { kind: 'status', status: 200, body },
  })

  const report = await fixture.night()

  expect(report.status).toBe('partial')
  expect(report.streams['pricing']).toMatchObject({ inserted: 1, quarantined: 1 })
  const quarantined = await rowsOf(
    fixture,
    'select stream, natural_key, issues, payload, resolved_at from ops.quarantine',
  )
  expect(quarantined).toMatchObject([
    { stream: 'pricing', natural_key: '1001', issues: [{ path }], resolved_at: null },
  ])
  expect(JSON.parse(String(quarantined[0]!['payload']))).toEqual(body)

  broken.remove()
  expect(await fixture.nightAfter(1)).toMatchObject({ status: 'ok' })
  expect(await rowsOf(fixture, 'select from ops.quarantine where resolved_at is null')).toEqual([])
  expect(await observations(fixture)).toHaveLength(2)
})

test('an evaluation in progress, without mileage or gone is never asked about', {
  tags: 'ci',
}, async () => {
  await using fixture = await pricedFixture([
    { evalId: 1, completedAt: null },
    { evalId: 2, odometer: null },
    { evalId: 3, vanishedAt: new Date(morning.getTime() + 1000) },
    { evalId: 4 },
  ])
  await fixture.night()
  const asked = priceRequests(fixture)
  await fixture.nightAfter(1)
  await fixture.nightAfter(1)

  expect(asked).toBe(2)
  const last = await rowsOf(
    fixture,
    'select eval_id, last_asked_at > $1 as later from ops.enrichment_state order by 1',
    [new Date(morning.getTime() + dayMs / 2)],
  )
  expect(last).toEqual([
    { eval_id: 3, later: false },
    { eval_id: 4, later: true },
  ])
})

test('reasoning is polled until it is complete, and its insights are stored with the observation', async () => {
  await using fixture = await pricedFixture([{ vin: samples.auSingle.vin }], {
    pricing: { reasoning: true },
  })

  const report = await fixture.night(withoutWaits(fixture))

  const requests = priceRequests(fixture)
  expect(report).toMatchObject({
    status: 'ok',
    streams: { pricing: { listed: 1, hydrated: 1, inserted: 1, requests } },
  })
  // 10 to 90 seconds, asked every 12 [A §8].
  expect(requests).toBeGreaterThan(1)
  expect(requests).toBeLessThan(10)
  expect(await observations(fixture)).toMatchObject([{ reasoning_status: 'completed' }])
  const bullets = await rowsOf(
    fixture,
    'select audience, count(*)::int as count from core.price_insight group by 1 order by 1',
  )
  expect(bullets).toEqual([
    { audience: 'customer', count: 3 },
    { audience: 'dealer', count: 4 },
  ])
  expect(await rowsOf(fixture, 'select outcome, polling_since from ops.enrichment_state')).toEqual([
    { outcome: 'answered', polling_since: null },
  ])
})

test('reasoning that is unavailable is an answer', { tags: 'ci' }, async () => {
  await using fixture = await pricedFixture([{ vin: samples.reasoningUnavailable.vin }], {
    pricing: { reasoning: true },
  })

  const report = await fixture.night(withoutWaits(fixture))

  expect(report.status).toBe('ok')
  expect(await observations(fixture)).toMatchObject([{ reasoning_status: 'unavailable' }])
  expect(await rowsOf(fixture, 'select from core.price_insight')).toEqual([])
})

test('reasoning that never ends is given up after three minutes, and the prices stay', {
  tags: 'ci',
}, async () => {
  await using fixture = await pricedFixture([{}], { pricing: { reasoning: true } })
  const reasoning = { status: 'processing', dealer: null, customer: null }
  answerWith(fixture, { ...golden, reasoning })

  const report = await fixture.night(withoutWaits(fixture))

  expect(report.status).toBe('ok')
  expect(priceRequests(fixture)).toBeGreaterThanOrEqual(15)
  expect(priceRequests(fixture)).toBeLessThanOrEqual(17)
  expect(await observations(fixture)).toMatchObject([{ reasoning_status: 'processing' }])
  const payloads = await rowsOf(fixture, "select from raw.payload where endpoint = 'pricingAi'")
  expect(payloads).toHaveLength(1)
})
