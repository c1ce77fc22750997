import { expect, test } from 'vitest'
import { searchPpsr } from '#src/api/contract/appraisal/checks.ts'
import { enterVin } from '#src/api/contract/appraisal/creation.ts'
import { allStreams } from '#src/streams/all.ts'
import { evaluationRecords } from '#src/streams/evaluations/evaluation-records.ts'
import { readKeyStates } from '#src/sync/run/key-states.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { aRooftop } from '../support/build-world.ts'
import { caseCount, someOf } from '../support/cases.ts'
import { dayMs, type Fixture, runNight } from '../support/fixture.ts'
import {
  morning,
  pricedFixture,
  priceRequests,
  pricingPath,
  rowsOf,
} from '../support/pricing-fixture.ts'

const pricingAlone = allStreams.filter(({ name }) => name === 'pricing')

const many = (count: number, rooftopUid = 'rooftop-1', from = 1) =>
  Array.from({ length: count }, (_, index) => ({ evalId: from + index, rooftopUid }))

const priced = async (fixture: Fixture) =>
  (
    await rowsOf<{ eval_id: number }>(
      fixture,
      'select eval_id from core.price_observation order by 1',
    )
  ).map(({ eval_id }) => eval_id)

const statuses = async (fixture: Fixture) =>
  await rowsOf(
    fixture,
    `select rooftop_uid as uid, status, error from ops.run_stream join core.rooftop using (rooftop_id)
     where stream = 'pricing' and run_id = (select max(run_id) from ops.run) order by 1`,
  )

test('prices of older evaluations are requested less often, and in no other night', async () => {
  await using fixture = await pricedFixture([
    { createdAt: new Date(morning.getTime() - dayMs / 2) },
  ])
  await fixture.night()
  const asked = [0]
  const nights = caseCount(40, 9)
  for (let night = 1; night < nights; night++) {
    fixture.sandbox.clock.advance(dayMs)
    const { streams } = await runNight(fixture.context, pricingAlone)
    if (streams['pricing']!.requests > 0) asked.push(night)
  }

  const due = [0, 1, 2, 3, 4, 5, 6, 7, 10, 13, 16, 19, 22, 25, 28, 31, 38]
  expect(asked).toEqual(due.filter((night) => night < nights))
  expect(priceRequests(fixture)).toBe(asked.length)
})

test('nothing is asked twice in a night, and a second run in the same night sends no request', async () => {
  await using fixture = await pricedFixture(many(3))

  await fixture.night()
  const second = await fixture.night()

  expect(priceRequests(fixture)).toBe(3)
  expect(second.streams['pricing']).toMatchObject({ listed: 0, requests: 0 })
})

test('a changed evaluation is asked about again at any age', { tags: 'ci' }, async () => {
  await using fixture = await pricedFixture([{ createdAt: '2026-02-01T00:00:00Z' }], {
    sync: { start: '2026-01-15T00:00:00Z' },
  })
  await fixture.night()
  await fixture.nightAfter(1)
  expect(priceRequests(fixture)).toBe(1)
  fixture.sandbox.world.edit(1001, new Date(morning.getTime() + 1.5 * dayMs), { odometer: 99_000 })

  await fixture.nightAfter(1)

  expect(priceRequests(fixture)).toBe(2)
})

test('a run spends its budget on the newest evaluations, and the next night continues', async () => {
  const evaluations = many(5).map((draft, index) => ({
    ...draft,
    createdAt: new Date(morning.getTime() - (index + 1) * 3_600_000),
  }))
  await using fixture = await pricedFixture(evaluations, { pricing: { budget: 2 } })

  await fixture.night()
  const first = await priced(fixture)
  await fixture.nightAfter(1)

  expect(first).toEqual([1, 2])
  expect(await priced(fixture)).toEqual([1, 2, 3, 4])
  expect(priceRequests(fixture)).toBe(4)
})

test('more evaluations than fit in a slice are asked about in several slices', {
  tags: 'ci',
}, async () => {
  await using fixture = await pricedFixture(many(450))

  const report = await fixture.night()

  expect(report.streams['pricing']).toMatchObject({ listed: 450, inserted: 450, requests: 450 })
  expect(await priced(fixture)).toHaveLength(450)
})

test('a used-up quota parks the key until tomorrow; answers are loaded, other keys continue, and nothing is lost', async () => {
  const rooftopsOfWorld = [
    aRooftop(),
    aRooftop({ uid: 'rooftop-2', dealerId: 102 }),
    aRooftop({ uid: 'chicago', groupId: 'lake', dealerId: 301, region: 'US', currency: 'USD' }),
  ]
  const evaluations = [...many(6), ...many(6, 'rooftop-2', 11), ...many(2, 'chicago', 21)]
  await using fixture = await pricedFixture(evaluations, {
    rooftopsOfWorld,
    http: { concurrency: 1 },
    sandbox: { limits: { lookupsPerDay: 5 } },
  })

  const report = await fixture.night()
  const first = await priced(fixture)
  await fixture.night()
  const asked = priceRequests(fixture)
  // The two rooftops share the quota in the order of their requests, including repricing: this takes three nights or a few more.
  for (let nights = 0; nights < 10 && (await priced(fixture)).length < 14; nights++)
    await fixture.nightAfter(1)

  expect(report.status).toBe('partial')
  expect(report.rooftops['chicago']).toEqual({ status: 'ok' })
  expect(first.filter((id) => id < 20)).toHaveLength(5)
  expect(first.filter((id) => id > 20)).toEqual([21, 22])
  expect(await rowsOf(fixture, 'select key_name, stream, until from ops.parked')).toMatchObject([
    { key_name: 'partner-au', stream: 'pricing' },
  ])
  // 5 answers and 2 of the other key, one 429 for each rooftop; the second run of the day sends nothing.
  expect(asked).toBeLessThanOrEqual(5 + 2 + 2)
  expect(await priced(fixture)).toHaveLength(14)
})

test.for(['2026-03-10T02:00:00Z', '2096-03-10T02:00:00Z'])(
  'a quota is used up until midnight at the source, whose clock has %s',
  async (at) => {
    const now = new Date(at)
    const createdAt = new Date(now.getTime() - dayMs)
    await using fixture = await pricedFixture([{ createdAt }], { sandbox: { now } })
    const { db } = fixture.context
    const stateOfKey = async () => (await readKeyStates(db, fixture.config))[0]!.state
    const quota = fixture.sandbox.faults.add({
      match: { path: pricingPath },
      fault: { kind: 'tooMany', retryAfter: null },
    })
    await fixture.night()
    const parked = await stateOfKey()
    quota.remove()
    await fixture.nightAfter(1)

    expect([parked, await stateOfKey()]).toEqual(['quotaUsed', 'open'])
  },
)

test('a parked rooftop gives the reason, and is not parked when nothing is due', {
  tags: 'ci',
}, async () => {
  await using fixture = await pricedFixture(many(3), {
    http: { concurrency: 1 },
    sandbox: { limits: { lookupsPerDay: 2 } },
  })
  await fixture.night()

  expect(await statuses(fixture)).toEqual([
    { uid: 'rooftop-1', status: 'parked', error: expect.stringContaining('429') },
  ])
  const [parked] = await rowsOf<{ until: Date }>(fixture, 'select until from ops.parked')
  expect(parked!.until).toEqual(new Date('2026-03-11T00:00:00Z'))
})

test('a refused key fails the rooftop, and the other rooftops continue', async () => {
  const rooftopsOfWorld = [
    aRooftop(),
    aRooftop({ uid: 'chicago', groupId: 'lake', dealerId: 301, region: 'US', currency: 'USD' }),
  ]
  await using fixture = await pricedFixture([...many(10), ...many(2, 'chicago', 21)], {
    rooftopsOfWorld,
    http: { concurrency: 1 },
  })
  const refusal = fixture.sandbox.faults.add({
    match: { path: pricingPath, rooftopUid: 'rooftop-1' },
    fault: { kind: 'status', status: 403 },
  })

  await fixture.night()

  expect(await statuses(fixture)).toEqual([
    { uid: 'chicago', status: 'ok', error: null },
    { uid: 'rooftop-1', status: 'failed', error: expect.stringContaining('403') },
  ])
  expect(await priced(fixture)).toHaveLength(2)
  refusal.remove()
  expect(await fixture.nightAfter(1)).toMatchObject({ status: 'ok' })
  expect(await priced(fixture)).toHaveLength(10 + 2)
})

test('one forbidden evaluation does not stop the prices of others, that night and the next', {
  tags: 'ci',
}, async () => {
  await using fixture = await pricedFixture(many(12), { http: { concurrency: 1 } })
  fixture.sandbox.faults.add({
    match: { path: pricingPath, evalId: 12 },
    fault: { kind: 'status', status: 403 },
  })

  const first = await fixture.night()
  const second = await fixture.nightAfter(1)

  expect([first.status, second.status]).toEqual(['partial', 'partial'])
  expect(await priced(fixture)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  const confirmed = await rowsOf(
    fixture,
    'select eval_id from core.price_observation where last_confirmed_at > $1',
    [new Date(morning.getTime() + dayMs / 2)],
  )
  expect(confirmed).toHaveLength(11)
})

test('quarantine entries of an evaluation that is gone are closed', { tags: 'ci' }, async () => {
  await using fixture = await pricedFixture(many(2))
  const fault = fixture.sandbox.faults.add({
    match: { path: pricingPath, evalId: 2 },
    fault: { kind: 'status', status: 200, body: { evalId: 2 } },
  })
  await fixture.night()
  fault.remove()
  fixture.sandbox.world.vanish(2, new Date(morning.getTime() + 1000))

  await fixture.nightAfter(1)

  const open = 'select natural_key from ops.quarantine where resolved_at is null'
  expect(await rowsOf(fixture, open)).toEqual([])
})

test('only an evaluation without an answer is left, and it is asked about the next night', {
  tags: 'ci',
}, async () => {
  await using fixture = await pricedFixture(many(4))
  const fault = fixture.sandbox.faults.add({
    match: { path: pricingPath, evalId: 2 },
    fault: { kind: 'status', status: 500 },
  })

  const report = await fixture.night()
  const [state] = await rowsOf(
    fixture,
    'select outcome, failures, detail from ops.enrichment_state where eval_id = 2',
  )
  fault.remove()
  const next = await fixture.nightAfter(1)

  expect(report.rooftops['rooftop-1']).toMatchObject({
    status: 'partial',
    error: expect.stringContaining('500'),
  })
  expect(state).toEqual({ outcome: 'failed', failures: 1, detail: expect.stringContaining('500') })
  expect(next.status).toBe('ok')
  expect(await priced(fixture)).toEqual([1, 2, 3, 4])
})

test('a source without any answer gets no more requests after a few tries', {
  tags: 'ci',
}, async () => {
  await using fixture = await pricedFixture(many(60), { http: { concurrency: 2 } })
  const fault = fixture.sandbox.faults.add({
    match: { path: pricingPath },
    fault: { kind: 'status', status: 500 },
  })

  await fixture.night()

  expect(await statuses(fixture)).toMatchObject([{ status: 'failed' }])
  expect(priceRequests(fixture)).toBeLessThan(12)
  fault.remove()
  await fixture.nightAfter(1)
  expect(await priced(fixture)).toHaveLength(60)
})

test('an evaluation without a price at the source is not a failure, and is asked about again on schedule', {
  tags: 'ci',
}, async () => {
  await using fixture = await pricedFixture(many(2))
  fixture.sandbox.faults.add({
    match: { path: pricingPath, evalId: 2 },
    fault: { kind: 'status', status: 400, body: { error: 'Not priceable' } },
  })

  const report = await fixture.night()
  await fixture.night()
  const asked = priceRequests(fixture)
  await fixture.nightAfter(1)

  expect(report).toMatchObject({
    status: 'ok',
    streams: { pricing: { listed: 2, inserted: 1, vanished: 1 } },
  })
  expect(asked).toBe(2)
  expect(priceRequests(fixture)).toBe(4)
  expect(
    await rowsOf(fixture, 'select outcome, detail from ops.enrichment_state where eval_id = 2'),
  ).toEqual([{ outcome: 'skipped', detail: expect.stringContaining('Not priceable') }])
})

test.for(someOf(['rows-written', 'before-commit', 'ledger-written'], 1))(
  'after a crash at %s everything is still due',
  async (place) => {
    await using fixture = await pricedFixture(many(3))
    await runNight(fixture.context)
    const crashPoint = (name: string) => {
      if (name === place) throw new Error('pulled the plug')
    }

    await runNight({ ...fixture.context, crashPoint }, pricingAlone)

    expect(await priced(fixture)).toEqual([])
    expect(await rowsOf(fixture, 'select from ops.enrichment_state')).toEqual([])
    expect(await runNight(fixture.context, pricingAlone)).toMatchObject({ status: 'ok' })
    expect(await priced(fixture)).toEqual([1, 2, 3])
  },
)

test('prices are asked for only after the evaluations of the run are loaded, however long that takes', {
  tags: 'ci',
}, async () => {
  await using fixture = await pricedFixture(many(30))
  fixture.sandbox.faults.add({ match: { path: '/getevallist' }, fault: { kind: 'slow', ms: 150 } })

  const report = await fixture.night()

  expect(report.streams['pricing']).toMatchObject({ listed: 30, inserted: 30 })
})

test('a run of pricing alone uses the loaded evaluations', async () => {
  await using fixture = await pricedFixture(many(3))

  const empty = await runNight(fixture.context, pricingAlone)
  await runNight(fixture.context)
  const full = await runNight(fixture.context, pricingAlone)

  expect(empty.streams).toEqual({ pricing: expect.objectContaining({ listed: 0 }) })
  expect(full.streams).toEqual({ pricing: expect.objectContaining({ inserted: 3 }) })
})

test('quarantine retry asks about the quarantined record only', async () => {
  await using fixture = await pricedFixture(many(3))
  const broken = fixture.sandbox.faults.add({
    match: { path: pricingPath, evalId: 2 },
    fault: { kind: 'status', status: 200, body: { evalId: 2 } },
  })
  await fixture.night()
  broken.remove()
  const before = priceRequests(fixture)

  const report = await runStreams(fixture.context, {
    plan: { command: 'quarantine retry', mode: 'retry', from: 0, until: 0, only: [] },
    streams: pricingAlone,
    rooftops: fixture.config.rooftops,
  })

  expect(report).toMatchObject({ status: 'ok', streams: { pricing: { listed: 1, inserted: 1 } } })
  expect(priceRequests(fixture) - before).toBe(1)
  expect(await rowsOf(fixture, 'select from ops.quarantine where resolved_at is null')).toEqual([])
})

test('prices move with an evaluation that the source moves to another rooftop of the group', {
  tags: 'ci',
}, async () => {
  const rooftopsOfWorld = [aRooftop(), aRooftop({ uid: 'rooftop-2', dealerId: 102 })]
  await using fixture = await pricedFixture(many(1), { rooftopsOfWorld })
  await fixture.night()
  const { pool } = fixture.database
  const move = async (table: string) =>
    await pool.query(`update ${table} set rooftop_id = 2 where rooftop_id = 1 and eval_id = 1`)

  // The state before the other rooftop's list shows it.
  for (const table of [...evaluationRecords.tables, ...evaluationRecords.dependentTables])
    await move(table)
  await pool.query('update core.evaluation set gone_at = now()')
  await fixture.nightAfter(1)

  expect(
    await rowsOf(fixture, 'select rooftop_id, is_current from core.price_observation'),
  ).toEqual([{ rooftop_id: 1, is_current: true }])
})

test('a job cannot call an operation that writes or bills', async () => {
  await using fixture = await pricedFixture([])
  const { services } = fixture.context
  const rooftop = { uid: 'rooftop-1', dealerId: 101, keyName: 'partner-au' }

  // @ts-expect-error a client that reads may not call a write
  const write = services.call(enterVin, { rooftop, fields: { vin: 'SAMPLEAU000000001' } })
  await expect(write).rejects.toThrow('this client may not call it')
  // @ts-expect-error a client that reads may not call a bill
  const bill = services.call(searchPpsr, { rooftop, fields: { evalid: 1 } })
  await expect(bill).rejects.toThrow('this client may not call it')
})
