import { expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { vehicleChecks } from '#src/streams/vehicle-checks/vehicle-checks.ts'
import { readStatus } from '#src/sync/explain/status.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { verifyRows } from '#src/sync/verify/verify-rows.ts'
import { someOf } from '../../support/cases.ts'
import { addCheck, checkedFixture, checkRows, paths } from '../../support/checks-fixture.ts'
import type { Fixture } from '../../support/fixture.ts'
import { rowsOf } from '../../support/pricing-fixture.ts'

/** Makes this the next answer at the path. */
function answerOnce({ sandbox }: Fixture, path: string, body: unknown) {
  sandbox.faults.add({ match: { path }, times: 1, fault: { kind: 'status', status: 200, body } })
}

const quarantined = (fixture: Fixture) =>
  rowsOf<{ key: string }>(
    fixture,
    'select natural_key as key from ops.quarantine where resolved_at is null order by 1',
  )

const shapes: [string, unknown][] = [
  ['an object instead of a list', { WatchStatus: 'changed' }],
  ['a list of texts', ['changed']],
  ['null', 'null'],
  ['a number', '7'],
  ['an error', { error: 'try again later' }],
]

test.each(someOf(shapes, 1))(
  'a listing that answers %s does not count as read: the next run asks again, however old the evaluation is',
  async (_, body) => {
    await using fixture = await checkedFixture([{}], { checks: { lookForNewDays: 1 } })
    addCheck(fixture, -1)
    answerOnce(fixture, paths.ppsr, body)

    const report = await fixture.night()

    expect(report.status).toBe('partial')
    expect(report.streams['vehicle-checks']).toMatchObject({ quarantined: 1 })
    expect(await quarantined(fixture)).toEqual([{ key: '1001/getpastppsrsearch' }])
    expect(await fixture.nightAfter(3)).toMatchObject({ status: 'ok' })
    expect(await checkRows(fixture)).toHaveLength(1)
    expect(await quarantined(fixture)).toEqual([])
  },
)

test('a due listing covers an unreadable watch too, and both are read again in the next run', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{}])
  addCheck(fixture, -1)
  await fixture.night()
  fixture.sandbox.clock.advance(20 * 3_600_000)
  answerOnce(fixture, paths.watch, { Checks: [] })
  answerOnce(fixture, paths.ppsr, { Checks: [] })

  await fixture.nightAfter(1 / 6)
  const listed = await quarantined(fixture)
  fixture.sandbox.clock.advance(60_000)
  const report = await fixture.night()

  expect(listed.length).toBeGreaterThan(0)
  expect(report.status).toBe('ok')
  expect(await quarantined(fixture)).toEqual([])
})

test('an answer that stays unreadable makes every run partial, and shows in the status', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{}])
  fixture.sandbox.faults.add({
    match: { path: paths.history },
    fault: { kind: 'status', status: 200, body: {} },
  })

  const reports = [await fixture.night(), await fixture.nightAfter(1), await fixture.nightAfter(1)]

  expect(reports.map(({ status }) => status)).toEqual(['partial', 'partial', 'partial'])
  const attempts = await rowsOf(fixture, 'select attempts from ops.quarantine')
  expect(attempts).toEqual([{ attempts: 3 }])
  const rooftops = await findRooftops(fixture.context.db, fixture.config.rooftops)
  const { rooftops: statuses } = await readStatus(
    fixture.context.db,
    allStreams,
    rooftops,
    fixture.config,
  )
  expect(statuses['rooftop-1']!.streams['vehicle-checks']).toMatchObject({ quarantined: 1 })
})

test('an unreadable answer for the newest evaluation of a vehicle lets an older one ask for it', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([
    { evalId: 1001, createdAt: '2026-03-08T00:00:00Z' },
    { evalId: 1002, createdAt: '2026-03-09T00:00:00Z' },
  ])
  addCheck(fixture, -1)
  fixture.sandbox.faults.add({
    match: { path: paths.ppsr, evalId: 1002 },
    fault: { kind: 'status', status: 200, body: {} },
  })
  await fixture.night()

  await fixture.nightAfter(1)

  expect(await checkRows(fixture)).toHaveLength(1)
})

test.each(
  someOf(
    [
      ['ppsrwatch', "interval '1 hour'", 0],
      ['getpastppsrsearch', "interval '1 hour'", 0],
      ['getpastppsrsearch', "interval '-1 hour'", 1],
    ],
    1,
  ),
)(
  'a stored answer of %s, read %s later, that no longer fits is named, and stops neither verify nor replay',
  async (endpoint, later, compared) => {
    await using fixture = await checkedFixture([{ evalId: 1001 }])
    addCheck(fixture, -1)
    await fixture.night()
    await fixture.database.pool.query(
      `insert into raw.payload select rooftop_id, $1, natural_key, fetched_at + ${later}, sha256('x'), '{}', run_id
     from raw.payload where endpoint = 'getpastppsrsearch'`,
      [endpoint],
    )
    await fixture.database.pool.query(
      "update core.vehicle_check set searched_at = searched_at - interval '1 day'",
    )
    const { context, config } = fixture
    const rooftops = await findRooftops(context.db, config.rooftops)

    const { rows } = await verifyRows(context, [vehicleChecks], rooftops, null, context.signal)
    const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
    const { status } = await runStreams(context, {
      ...{ plan, streams: [vehicleChecks], rooftops: config.rooftops },
    })

    const unfit = rows.filter(({ kind }) => kind === 'unfit').map(({ key }) => key['natural_key'])
    expect(unfit).toEqual([`1001/${endpoint}`])
    // A vehicle whose newest answer does not fit is not compared.
    expect(rows.filter(({ kind }) => kind === 'changed')).toHaveLength(compared)
    expect(status).toBe('partial')
    expect(await quarantined(fixture)).toEqual([{ key: `1001/${endpoint}` }])
  },
)
