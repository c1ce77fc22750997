import { expect, test } from 'vitest'
import type { Fault } from '#src/sandbox/faults.ts'
import { allStreams } from '#src/streams/all.ts'
import { Drift } from '#src/sync/records/drift.ts'
import { anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { someOf } from '../support/cases.ts'
import { type Fixture, openFixture, runNight } from '../support/fixture.ts'
import { morning, pricedFixture, pricingPath, rowsOf } from '../support/pricing-fixture.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const ids = [1000, 1001, 1002, 1003, 1004]
const hostile = 1003
const createdAt = (id: number) => new Date(morning.getTime() - (id - 998) * 3_600_000)

/** One rooftop with five evaluations, one of them hostile. */
async function openNorth(): Promise<Fixture> {
  const world = worldOf({
    rooftops: [aRooftop({ uid: 'north', dealerId: 101 })],
    evaluations: ids.map((evalId) =>
      anEvaluation({ evalId, rooftopUid: 'north', createdAt: createdAt(evalId) }),
    ),
  })
  return await openFixture({ sandbox: { world, now: morning } })
}

/** The answer for the hostile evaluation as text, since no object could be serialised to it. */
function bodyWith(fields: string): string {
  const at = createdAt(hostile).toISOString()
  return `[{"EvalID":${hostile},"CreatedAt":"${at}","CompletedAt":"${at}","UpdatedAt":"${at}",
    "EntryDate":"${at.slice(0, 19).replace('T', ' ')}",${fields}}]`
}

const nested = (depth: number, open = '[', close = ']') => open.repeat(depth) + close.repeat(depth)
const status = (code: number, more: object = {}): Fault => ({
  kind: 'status',
  status: code,
  ...more,
})
const answer = (fields: string) => status(200, { body: bodyWith(fields) })

async function faults({ sandbox, database }: Fixture, quarantined: readonly number[] = []) {
  const truth = sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop')
  const expected = truth.filter(({ evalId }) => !quarantined.includes(evalId))
  return differences(expected, await warehouseTruth(database.pool, 'rooftop'))
}

const quarantined = (fixture: Fixture) =>
  rowsOf<{ key: string; path: string; message: string; stored: number; attempts: number }>(
    fixture,
    `select natural_key as key, issues -> 0 ->> 'path' as path, issues -> 0 ->> 'message' as message,
       length(payload) as stored, attempts from ops.quarantine where resolved_at is null order by 1`,
  )

test.each(
  someOf(
    [
      ['nested 5,000 deep in a field', answer(`"odd":${nested(5000)}`), 'more than 100 deep'],
      ['nested 200,000 deep in a field', answer(`"odd":${nested(200_000)}`), 'more than 100 deep'],
      [
        'nested deeply in a custom field',
        answer(`"customFields":{"a":${nested(9000, '{"b":', '}').replace('}', '1}')}}`),
        'more than 100 deep',
      ],
      ['updated in year 0', answer('"UpdatedAt":"0000-01-01T00:00:00Z"'), 'the years 1970 to 2200'],
      ['created in year 0', answer('"CreatedAt":"0000-01-01T00:00:00Z"'), 'the years 1970 to 2200'],
      [
        'completed in 2201',
        answer('"CompletedAt":"2201-01-01T00:00:00Z"'),
        'the years 1970 to 2200',
      ],
      ['entered in 9999', answer('"EntryDate":"9999-01-01 00:00:00"'), 'the years 1970 to 2200'],
      ['larger than any', answer(`"odd":"${'x'.repeat(17_000_000)}"`), 'more than the 16777216'],
      [
        'ordering its photos beyond any integer',
        answer('"Photos":[{"id":1,"order":9007199254740991}]'),
        'its column holds an integer',
      ],
      ['redirected', status(302, { headers: { location: 'http://127.0.0.1:1/' } }), 'answered 302'],
      ['not there', status(404), 'answered 404'],
      ['refused as too large', status(413), 'answered 413'],
    ],
    2,
  ),
)(
  'a record that is %s is quarantined alone every night, and loaded once it is valid',
  async (_, fault, message) => {
    await using fixture = await openNorth()
    const handle = fixture.sandbox.faults.add({
      match: { path: '/geteval', evalId: hostile },
      fault,
    })

    const reports = [await fixture.night(), await fixture.nightAfter(1)]

    expect(reports.map((report) => report.status)).toEqual(['partial', 'partial'])
    expect(await faults(fixture, [hostile])).toEqual([])
    expect(await quarantined(fixture)).toMatchObject([
      { key: String(hostile), message: expect.stringContaining(message), attempts: 2 },
    ])
    handle.remove()
    expect(await fixture.nightAfter(1)).toMatchObject({ status: 'ok' })
    expect(await faults(fixture)).toEqual([])
  },
)

test('a list that redirects is a fault of the source, so its rooftop fails', {
  tags: 'ci',
}, async () => {
  await using fixture = await openNorth()
  fixture.sandbox.faults.add({ match: { path: '/getevallist' }, fault: status(302) })

  const report = await fixture.night()

  expect(report.rooftops['north']).toMatchObject({ error: expect.stringContaining('302') })
  expect(await quarantined(fixture)).toEqual([])
})

test('a source that redirects every record fails the rooftop, and quarantines no record', async () => {
  await using fixture = await openNorth()
  fixture.sandbox.faults.add({ match: { path: '/geteval' }, fault: status(302) })

  const report = await fixture.night()

  expect(report.rooftops['north']).toMatchObject({ error: expect.stringContaining('302') })
  expect(await quarantined(fixture)).toEqual([])
})

test('a record that Postgres refuses is found by halving and quarantined; the others are loaded with their window', async () => {
  await using fixture = await openNorth()
  await rowsOf(fixture, `alter table core.evaluation add constraint no_odd check (make <> 'Odd')`)
  fixture.sandbox.world.poison(1001, { Make: 'Odd' })
  fixture.sandbox.world.poison(hostile, { Make: 'Odd' })

  const reports = [await fixture.night(), await fixture.nightAfter(1)]

  expect(reports[0]!.streams['evaluations']).toMatchObject({ inserted: 3, quarantined: 2 })
  expect(reports[1]!.status).toBe('partial')
  expect(await faults(fixture, [1001, hostile])).toEqual([])
  const issue = {
    path: 'evaluation.no_odd',
    message: 'Postgres cannot store it: a check of its table fails (SQLSTATE 23514)',
  }
  expect(await quarantined(fixture)).toMatchObject([
    { key: '1001', ...issue, attempts: 2 },
    { key: '1003', ...issue, attempts: 2 },
  ])
  expect((await quarantined(fixture))[0]!.stored).toBeGreaterThan(100)
  const windows = 'select sum(quarantined)::int as quarantined from ops.window_certificate'
  expect(await rowsOf(fixture, windows)).toEqual([{ quarantined: 2 }])
  await rowsOf(fixture, 'alter table core.evaluation drop constraint no_odd')
  expect(await fixture.nightAfter(1)).toMatchObject({ status: 'ok' })
  expect(await quarantined(fixture)).toEqual([])
})

test('a warehouse error that no record causes fails the rooftop, and quarantines no record', async () => {
  await using fixture = await openNorth()
  await rowsOf(fixture, 'alter table ops.window_certificate add constraint never check (false)')

  const report = await fixture.night()

  expect(report.rooftops['north']).toMatchObject({ error: expect.stringContaining('never') })
  expect(await quarantined(fixture)).toEqual([])
})

test('of two records that fail together the later one is quarantined, after the slice was retried', {
  tags: 'ci',
}, async () => {
  await using fixture = await openNorth()
  await rowsOf(fixture, `create unique index one_odd on core.evaluation (make) where make = 'Odd'`)
  fixture.sandbox.world.poison(1001, { Make: 'Odd' })
  fixture.sandbox.world.poison(hostile, { Make: 'Odd' })

  const report = await fixture.night()

  expect(report.streams['evaluations']).toMatchObject({ inserted: 4, quarantined: 1 })
  expect(await quarantined(fixture)).toMatchObject([{ message: expect.stringContaining('23505') }])
})

test('issues with a path that jsonb refuses are stored', { tags: 'ci' }, async () => {
  await using fixture = await openNorth()
  fixture.sandbox.world.poison(hostile, { customFields: { 'a\u0000\ud800': { value: 1 } } })
  const long = Object.fromEntries([[`\u0000${'x'.repeat(300)}`, 1]])
  fixture.sandbox.world.poison(1001, { customFields: long })

  const report = await fixture.night()

  expect(report.status).toBe('partial')
  expect(await quarantined(fixture)).toMatchObject([{ key: '1001' }])
})

test('the drift report neither overflows nor grows with invented field names', () => {
  const drift = new Drift({ paths: new Set(), required: [] })

  drift.add({ deep: JSON.parse(nested(100_000)) as unknown })
  drift.add(Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`name${at}`, at])))

  expect(drift.seen.length).toBeLessThan(700)
})

test('a deeply nested user, and a list item without an id, stop nothing', {
  tags: 'ci',
}, async () => {
  await using fixture = await openNorth()
  const users = `[{"Name":"A","Email":"a@example.com","odd":${nested(100_000)}},{"Name":${nested(100_000)}}]`
  fixture.sandbox.faults.add({
    match: { path: '/getuserlist' },
    fault: status(200, { body: users }),
  })
  const list = `[${ids.map((id) => `{"EvalID":${id}}`).join()},{"odd":${nested(100_000)}}]`
  fixture.sandbox.faults.add({
    match: { path: '/getevallist', nth: [1] },
    fault: status(200, { body: list }),
  })

  const report = await fixture.night()

  expect(report.streams).toMatchObject({ users: { listed: 1, quarantined: 2 } })
  expect(await faults(fixture)).toEqual([])
})

test('a user that Postgres refuses is quarantined, and the others are loaded', async () => {
  await using fixture = await openNorth()
  await rowsOf(
    fixture,
    `alter table core.app_user add constraint no_odd check (display_name <> 'Odd')`,
  )
  const list = ['A', 'Odd', 'B'].map((Name) => ({ Name, Email: `${Name}@example.com` }))
  fixture.sandbox.faults.add({
    match: { path: '/getuserlist' },
    fault: status(200, { body: list }),
  })

  const report = await fixture.night()

  expect(report.streams['users']).toMatchObject({ listed: 2, inserted: 2, quarantined: 2 })
  expect(await quarantined(fixture)).toMatchObject([
    { key: 'active[1]', path: 'app_user.no_odd' },
    { key: 'all[1]', path: 'app_user.no_odd' },
  ])
})

const priceBody = (evalId: number, more: object = {}) => ({
  ...{ confidence: 'High', prediction_date: '2026-03-10', currency_symbol: '$', evalId },
  ...{ prices: { retail: 10_000 }, ...more },
})

test.each(
  someOf(
    [
      ['predicted for year 0', JSON.stringify(priceBody(2, { prediction_date: '0000-01-01' }))],
      [
        'nested deeply',
        JSON.stringify(priceBody(2, { odd: 1 })).replace('"odd":1', `"odd":${nested(9000)}`),
      ],
      ['refused by Postgres', JSON.stringify(priceBody(2, { confidence: 'Odd' }))],
    ],
    1,
  ),
)(
  'a price that is %s is quarantined alone, and asked for again in the next run',
  async (_, body) => {
    await using fixture = await pricedFixture([1, 2, 3].map((evalId) => ({ evalId })))
    await rowsOf(
      fixture,
      `alter table core.price_observation add constraint no_odd check (confidence <> 'Odd')`,
    )
    const handle = fixture.sandbox.faults.add({
      match: { path: pricingPath, evalId: 2 },
      fault: status(200, { body }),
    })

    const report = await fixture.night()

    expect(report.streams['pricing']).toMatchObject({ inserted: 2, quarantined: 1 })
    expect(report.status).toBe('partial')
    expect(await quarantined(fixture)).toMatchObject([{ key: '2' }])
    handle.remove()
    fixture.sandbox.clock.advance(60_000)
    const again = await runNight(
      fixture.context,
      allStreams.filter(({ name }) => name === 'pricing'),
    )
    expect(again.streams['pricing']).toMatchObject({ inserted: 1, requests: 1 })
    expect(again.status).toBe('ok')
    expect(await quarantined(fixture)).toEqual([])
  },
)
