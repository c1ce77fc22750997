import { expect, test, vi } from 'vitest'
import { recordNextBatch, stockPrices } from '#src/streams/stock-prices/stock-prices.ts'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import { insertRun } from '#src/sync/run/run-ledger.ts'
import { type SliceJob, Traffic } from '#src/sync/run/stream.ts'
import { aRooftop } from '../../support/build-world.ts'
import { caseCount } from '../../support/cases.ts'
import { dayMs, type Fixture } from '../../support/fixture.ts'
import { rowsOf } from '../../support/pricing-fixture.ts'
import { whereWaiting } from '../../support/queue-with.ts'
import {
  adcode,
  batches,
  calls,
  impatient,
  inBatchesOf,
  observations,
  pollPath,
  reports,
  reprice,
  stock,
  stockFixture,
  submitPath,
  unitsOf,
} from './stocked.ts'

vi.setConfig({ testTimeout: 120_000 })

const coded = (count: number) => unitsOf(count).map((unit) => ({ ...unit, adcode }))

const sizes = async (fixture: Fixture) =>
  (await batches(fixture)).map(({ state, units }) => `${units} ${state}`)

const outcomes = async (fixture: Fixture) =>
  await rowsOf(
    fixture,
    'select outcome, count(*)::int as units from ops.price_batch_unit group by 1 order by 1',
  )

test('a batch that is too large is halved until it is accepted, and the next runs start with the learned size', async () => {
  await using fixture = await stockFixture(coded(20), {
    sandbox: { now: new Date('2026-03-10T02:00:00Z'), limits: { batchVehicles: 7 } },
  })
  const changes = { ...impatient(fixture), ...inBatchesOf(fixture, 16) }

  const first = await fixture.night(changes)
  const learning = await sizes(fixture)
  const second = await fixture.nightAfter(1, changes)

  expect([first.status, second.status]).toEqual(['ok', 'ok'])
  expect(learning).toEqual(['16 refused', '8 refused', ...Array(5).fill('4 complete')])
  expect((await sizes(fixture)).slice(learning.length)).toEqual(Array(5).fill('4 complete'))
  expect(second.streams['stock-prices']).toMatchObject({ listed: 20, unchanged: 20 })
  expect(await rowsOf(fixture, 'select size from ops.price_batch_size')).toEqual([{ size: 4 }])
})

/** Sets the age of the learned size, in days. */
async function learned({ database }: Fixture, size: number, days: number): Promise<void> {
  await database.pool.query(
    `insert into ops.price_batch_size (rooftop_id, size, learned_at)
     select rooftop_id, $1, now() - make_interval(days => $2) from core.rooftop
     on conflict (rooftop_id) do update set size = excluded.size, learned_at = excluded.learned_at`,
    [size, days],
  )
}

test('a size learned a week ago is doubled while it is accepted, up to the size in the config', {
  tags: 'ci',
}, async () => {
  await using fixture = await stockFixture(coded(20))
  const changes = { ...impatient(fixture), ...inBatchesOf(fixture, 16) }
  await learned(fixture, 2, 6)

  await fixture.night(changes)
  const young = await sizes(fixture)
  await learned(fixture, 2, 8)
  await fixture.nightAfter(1, changes)
  const growing = (await sizes(fixture)).slice(young.length)
  await fixture.nightAfter(1, changes)

  expect(young).toEqual(Array(10).fill('2 complete'))
  expect(growing).toEqual(['4 complete', '8 complete', '8 complete'])
  expect((await sizes(fixture)).slice(young.length + growing.length)).toEqual([
    '16 complete',
    '4 complete',
  ])
})

test('a refused doubled size leaves the learned size, for another week', {
  tags: 'ci',
}, async () => {
  await using fixture = await stockFixture(coded(12), {
    sandbox: { now: new Date('2026-03-10T02:00:00Z'), limits: { batchVehicles: 5 } },
  })
  const changes = { ...impatient(fixture), ...inBatchesOf(fixture, 16) }
  await learned(fixture, 4, 8)

  const doubted = await fixture.night(changes)
  const first = await sizes(fixture)
  await fixture.nightAfter(1, changes)

  expect(doubted.status).toBe('ok')
  expect(first).toEqual(['8 refused', ...Array(3).fill('4 complete')])
  expect((await sizes(fixture)).slice(first.length)).toEqual(Array(3).fill('4 complete'))
})

test('vehicles that are refused alone are reported, and the stream stops after several', async () => {
  await using fixture = await stockFixture(coded(5), {
    sandbox: { now: new Date('2026-03-10T02:00:00Z'), limits: { batchVehicles: 0 } },
  })

  const report = await fixture.night({ ...impatient(fixture), ...inBatchesOf(fixture, 2) })

  expect(await sizes(fixture)).toEqual(['2 refused', '1 refused', '1 refused', '1 refused'])
  expect(report.rooftops['rooftop-1']).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(
      /batch 2 of 1 vehicles is refused: the service refuses S-1 as too large.*; 2 vehicles were not sent: see/,
    ),
  })
  expect(await reports(fixture)).toMatchObject(
    ['S-1', 'S-2', 'S-3'].map((natural_key) => ({ natural_key, check_name: 'refused-alone' })),
  )
})

test('missing, duplicate and unknown results are each reported, and only matching ones are loaded', async () => {
  await using fixture = await stockFixture(coded(4))
  const result = (reference: string | null, retail = 1) => ({ reference, retail, currency: 'AUD' })
  const results = [result('S-2'), result('S-2', 2), result('S-9'), result('S-1'), result(null)]
  const strange = fixture.sandbox.faults.add({
    match: { path: pollPath },
    fault: { kind: 'status', status: 200, body: { percentComplete: 100, results } },
  })

  const report = await fixture.night(impatient(fixture))

  expect(report).toMatchObject({
    status: 'partial',
    streams: { 'stock-prices': { listed: 4, hydrated: 1, inserted: 1 } },
    rooftops: {
      'rooftop-1': {
        error:
          'stock-prices: 2 vehicles are missing in the results; 1 vehicles are in the results more than once; ' +
          '2 references in the results are unknown: see ops.price_batch and ops.data_quality',
      },
    },
  })
  expect((await observations(fixture)).map(({ stock_no }) => stock_no)).toEqual(['S-1'])
  expect(await outcomes(fixture)).toEqual([
    { outcome: 'duplicate', units: 1 },
    { outcome: 'missing', units: 2 },
    { outcome: 'priced', units: 1 },
  ])
  expect(await reports(fixture)).toMatchObject([
    {
      natural_key: 'S-3',
      check_name: 'missing-in-results',
      detail: 'batch 1 has no result for it',
    },
    { natural_key: 'S-4', check_name: 'missing-in-results' },
    { natural_key: 'S-2', check_name: 'twice-in-results' },
    { natural_key: '', check_name: 'unknown-reference' },
    { natural_key: 'S-9', check_name: 'unknown-reference' },
  ])
  // The units without an answer are due at once; the answered one is not.
  strange.remove()
  const next = await fixture.night(impatient(fixture))
  expect(next).toMatchObject({ status: 'ok', streams: { 'stock-prices': { listed: 3 } } })
  expect(await reports(fixture)).toEqual([])
})

test('a batch without progress is ended after ten minutes, and its vehicles are due in the next run', {
  tags: 'ci',
}, async () => {
  await using fixture = await stockFixture(coded(3))
  const still = fixture.sandbox.faults.add({
    match: { path: pollPath },
    fault: { kind: 'status', status: 200, body: { percentComplete: 40.5 } },
  })

  const report = await fixture.night(impatient(fixture, 60))
  still.remove()
  const polls = calls(fixture, pollPath)
  const next = await fixture.night(impatient(fixture))

  expect(report.rooftops['rooftop-1']).toEqual({
    status: 'failed',
    error:
      'stock-prices: batch 1 of 3 vehicles is stuck: no progress for 10 minutes at 40.5 percent: see ops.price_batch and ops.data_quality',
  })
  expect(polls).toBeGreaterThan(10)
  expect(next).toMatchObject({ status: 'ok', streams: { 'stock-prices': { inserted: 3 } } })
  expect(await sizes(fixture)).toEqual(['3 stuck', '3 complete'])
})

test('a slow batch is awaited, however long it takes', { tags: 'ci' }, async () => {
  await using fixture = await stockFixture(coded(1))
  for (let percent = 1; percent < 20; percent++)
    fixture.sandbox.faults.add({
      match: { path: pollPath },
      times: 1,
      fault: { kind: 'status', status: 200, body: { percentComplete: percent } },
    })

  const report = await fixture.night(impatient(fixture, 300))

  expect(report).toMatchObject({ status: 'ok', streams: { 'stock-prices': { inserted: 1 } } })
  expect(await sizes(fixture)).toEqual(['1 complete'])
})

test('polls without an answer do not end the batch', async () => {
  await using fixture = await stockFixture(coded(1))
  for (const kind of ['reset', 'html', 'truncate'] as const)
    fixture.sandbox.faults.add({ match: { path: pollPath }, times: 1, fault: { kind } })

  const report = await fixture.night(impatient(fixture))

  expect(report).toMatchObject({ status: 'ok', streams: { 'stock-prices': { inserted: 1 } } })
  expect(calls(fixture, submitPath)).toBe(1)
})

test('a batch that the service no longer knows is reported, and sent again in the next run', {
  tags: 'ci',
}, async () => {
  await using fixture = await stockFixture(coded(1))
  fixture.sandbox.faults.add({
    match: { path: pollPath },
    times: 1,
    fault: { kind: 'status', status: 404 },
  })

  const report = await fixture.night(impatient(fixture))
  const next = await fixture.night(impatient(fixture))

  expect(report.rooftops['rooftop-1']!.error).toMatch(
    /batch 1 of 1 vehicles is lost: .*answered 404/,
  )
  expect(next.status).toBe('ok')
  expect(await sizes(fixture)).toEqual(['1 lost', '1 complete'])
})

for (const fault of [
  { kind: 'reset' },
  { kind: 'status', status: 500 },
  { kind: 'truncate' },
  { kind: 'status', status: 200, body: {} },
] as const)
  test(`a batch whose answer is ${fault.kind} ${'status' in fault ? fault.status : ''} is not sent again that day, and the others continue`, async () => {
    await using fixture = await stockFixture(coded(4))
    fixture.sandbox.faults.add({ match: { path: submitPath }, times: 1, fault })
    const changes = { ...impatient(fixture), ...inBatchesOf(fixture, 2) }

    const first = await fixture.night(changes)
    const second = await fixture.night(changes)
    await reprice(fixture, changes)
    const asked = await rowsOf(
      fixture,
      "select stock_no from ops.price_batch_unit where outcome = 'priced' order by 1",
    )
    const next = await fixture.nightAfter(1, changes)

    expect(first).toMatchObject({ status: 'partial', streams: { 'stock-prices': { inserted: 2 } } })
    expect(first.rooftops['rooftop-1']!.error).toMatch(
      /batch 1 of 2 vehicles is lost: .* so it was not sent again; its vehicles are due in the first run more than 20 hours later\./,
    )
    expect(second.streams['stock-prices']).toMatchObject({ listed: 0, requests: 0 })
    expect(asked.map(({ stock_no }) => stock_no)).toEqual(['S-3', 'S-3', 'S-4', 'S-4'])
    expect(next).toMatchObject({ status: 'ok', streams: { 'stock-prices': { listed: 4 } } })
    expect(await observations(fixture)).toHaveLength(4)
  })

test('after two batches without an answer nothing more is sent, and the rest is due at once', {
  tags: 'ci',
}, async () => {
  await using fixture = await stockFixture(coded(5))
  const down = fixture.sandbox.faults.add({ match: { path: submitPath }, fault: { kind: 'reset' } })
  const changes = { ...impatient(fixture), ...inBatchesOf(fixture, 1) }

  const report = await fixture.night(changes)
  down.remove()
  const next = await fixture.night(changes)

  expect(report.rooftops['rooftop-1']!.error).toMatch(/; 3 vehicles were not sent: see/)
  expect(next).toMatchObject({ status: 'ok', streams: { 'stock-prices': { listed: 3 } } })
})

test('a batch that was certainly not accepted is due again at once, and accepted after the requested pause', async () => {
  await using fixture = await stockFixture(coded(2))
  fixture.sandbox.faults.add({
    match: { path: submitPath },
    times: 1,
    fault: { kind: 'tooMany', retryAfter: 1 },
  })

  const report = await fixture.night(impatient(fixture))

  expect(report.streams['stock-prices']).toMatchObject({ listed: 2, inserted: 2 })
  expect(await sizes(fixture)).toEqual(['2 refused', '2 complete'])
})

test('a refused key ends the stream and leaves open batches to the next run, which polls them and sends nothing again', {
  tags: 'ci',
}, async () => {
  await using fixture = await stockFixture(coded(2))
  const refused = fixture.sandbox.faults.add({
    match: { path: pollPath },
    fault: { kind: 'status', status: 403 },
  })

  const report = await fixture.night(impatient(fixture))
  refused.remove()
  // Hours later: no process polled the batch in between, so it is not stuck.
  await fixture.database.pool.query(
    "update ops.price_batch set progressed_at = progressed_at - interval '9 hours'",
  )
  const next = await fixture.night(impatient(fixture))

  expect(report.rooftops['rooftop-1']).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/Check vehicleData\.apiKey\./i),
  })
  expect(next).toMatchObject({ status: 'ok', streams: { 'stock-prices': { inserted: 2 } } })
  expect(calls(fixture, submitPath)).toBe(1)
})

test('a stopped run leaves its batch to the next run, which polls it and sends nothing again', async () => {
  await using fixture = await stockFixture(coded(2))
  const stop = new AbortController()
  const { queue } = fixture.context
  const stopping = whereWaiting(queue, 3, async ({ delaySeconds }) => {
    stop.abort(new Error('SIGTERM'))
    return delaySeconds
  })

  await fixture.night({ queue: stopping, signal: stop.signal })
  const left = await sizes(fixture)
  const next = await reprice(fixture, impatient(fixture))

  expect(left).toEqual(['2 submitted'])
  expect(next).toMatchObject({ status: 'ok', streams: { 'stock-prices': { inserted: 2 } } })
  expect([calls(fixture, submitPath), (await batches(fixture)).length]).toEqual([1, 1])
})

test('waiting for batches holds no slot: seven rooftops wait at once with four slots', {
  tags: 'ci',
}, async () => {
  const rooftops = Array.from({ length: 7 }, (_, index) =>
    aRooftop({ uid: `rooftop-${index + 1}`, dealerId: 101 + index }),
  )
  await using fixture = await stockFixture([], { rooftopsOfWorld: rooftops })
  for (const { uid } of rooftops) await stock(fixture.database, coded(1), uid)
  const pending = fixture.sandbox.faults.add({
    match: { path: pollPath },
    fault: { kind: 'status', status: 200, body: { percentComplete: 1 } },
  })
  const { queue } = fixture.context
  const waiting = new Set<string>()
  // No slice returns from this wait without the signal.
  const forever = whereWaiting(queue, 3, async ({ key }) => {
    waiting.add(key.rooftopUid)
    return waitSeconds
  })
  let waitSeconds = 3600
  const night = fixture.night({ queue: forever })
  const { pool } = fixture.database
  const stateOf = async () =>
    (
      await pool.query(`select state, count(*)::int as jobs from pgboss.job where data ->> 'stream' = 'stock-prices'
      and state in ('created', 'active') group by 1`)
    ).rows

  await vi.waitUntil(async () => waiting.size === 7 && (await stateOf())[0]?.jobs === 7, {
    timeout: 60_000,
    interval: 50,
  })
  const meanwhile = await stateOf()
  pending.remove()
  waitSeconds = 0
  await pool.query("update pgboss.job set start_after = now() where state = 'created'")
  const report = await night

  expect(meanwhile).toEqual([{ state: 'created', jobs: 7 }])
  expect(report).toMatchObject({ status: 'ok', streams: { 'stock-prices': { inserted: 7 } } })
})

/** A slice of the stream, as a worker claims it. */
async function claimed(fixture: Fixture, batchSize: number): Promise<SliceJob> {
  const context = { ...fixture.context, ...inBatchesOf(fixture, batchSize) }
  const [rooftop] = await registerRooftops(context.db, context.config.rooftops)
  const plan = { command: 'sync', mode: 'sync', from: 0, until: null } as const
  const { sourceId } = context.queue
  const run = await insertRun(context.db, plan, { sourceId, sourceStart: 1_773_108_000 }, {})
  const key = { stream: stockPrices.name, rooftopUid: rooftop!.uid }
  const item = { id: 'none', attempt: 0, key }
  const stream = stockPrices
  return { context, run, stream, rooftop: rooftop!, siblings: [], item, traffic: new Traffic() }
}

test('workers that build a batch at the same time never choose the same vehicle', async () => {
  await using fixture = await stockFixture(coded(12))
  const job = await claimed(fixture, 3)

  const made = await Promise.all(Array.from({ length: 6 }, () => recordNextBatch(job)))

  const chosen = made.flatMap((batch) => batch?.units.map(({ stockNo }) => stockNo) ?? [])
  expect(made.filter((batch) => batch === null)).toHaveLength(2)
  expect(chosen.sort()).toEqual(
    coded(12)
      .map(({ stockNo }) => stockNo)
      .sort(),
  )
})

test('a worker whose run was taken over records no batch, and so sends none', async () => {
  await using fixture = await stockFixture(coded(2))
  const job = await claimed(fixture, 3)
  await fixture.database.pool.query("update ops.run set status = 'abandoned'")

  await expect(recordNextBatch(job)).rejects.toThrow(
    /was ended by another run; nothing was written/,
  )

  expect(await batches(fixture)).toEqual([])
})

test('with constant prices, all nights write one observation per vehicle', {
  tags: 'ci',
}, async () => {
  const nights = caseCount(31, 8)
  await using fixture = await stockFixture(coded(2))
  const results = ['S-2', 'S-1'].map((reference) => ({ reference, retail: 1, currency: 'AUD' }))
  fixture.sandbox.faults.add({
    match: { path: pollPath },
    fault: { kind: 'status', status: 200, body: { percentComplete: 100, results } },
  })
  for (let night = 0; night < nights; night++) {
    await fixture.night(impatient(fixture))
    fixture.sandbox.clock.advance(dayMs)
  }

  const rows = await observations(fixture)

  expect(rows).toHaveLength(2)
  expect(Number(rows[0]!['last_confirmed_at']) - Number(rows[0]!['observed_at'])).toBe(
    (nights - 1) * dayMs,
  )
  expect(calls(fixture, submitPath)).toBe(nights)
})
