import { expect, test } from 'vitest'
import { samples } from '#src/sandbox/samples.ts'
import { vehicleChecks } from '#src/streams/vehicle-checks/vehicle-checks.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { toUnixSeconds } from '#src/values/unix-seconds.ts'
import { aRooftop } from '../../support/build-world.ts'
import {
  addCheck,
  aVin,
  checkedFixture,
  checkRequests,
  checkRows,
  dayMs,
  loadLists,
  paths,
} from '../../support/checks-fixture.ts'
import { type Fixture, runNight } from '../../support/fixture.ts'
import { morning, rowsOf } from '../../support/pricing-fixture.ts'

const at = (days: number) => new Date(morning.getTime() + days * dayMs)

/** Makes the path answer this from now on; the handle undoes it. */
function answerWith({ sandbox }: Fixture, path: string, body: unknown, status = 200) {
  return sandbox.faults.add({ match: { path }, fault: { kind: 'status', status, body } })
}

const warnings = (fixture: Fixture) =>
  rowsOf(
    fixture,
    "select natural_key, check_name from ops.data_quality where stream = 'vehicle-checks' order by 1, 2",
  )

const changes = (fixture: Fixture) =>
  rowsOf(
    fixture,
    'select from_status, to_status, observed_at from core.watch_status_change order by observed_at',
  )

/** The vehicle was appraised at one rooftop of the group, and two days later at the other. */
async function vehicleOfTwoRooftops(): Promise<Fixture> {
  return await checkedFixture(
    [
      { evalId: 1001, createdAt: at(-3) },
      { evalId: 1002, createdAt: at(-1), rooftopUid: 'rooftop-2' },
    ],
    { rooftopsOfWorld: [aRooftop(), aRooftop({ uid: 'rooftop-2', dealerId: 102 })] },
  )
}

test('a certificate that is listed for evaluations of two rooftops is one row, of the evaluation that it was made on', async () => {
  await using fixture = await vehicleOfTwoRooftops()
  addCheck(fixture, -2)
  addCheck(fixture, -0.5, { rooftopUid: 'rooftop-2', evalId: 1002 })

  const run = await fixture.night()

  expect(await checkRows(fixture)).toMatchObject([{ eval_id: 1001 }, { eval_id: 1002 }])
  expect(run.streams['vehicle-checks']).toMatchObject({ requests: 2, saved: 4 })
})

test('the owner of a certificate does not depend on which rooftop of the group is read first', {
  tags: 'ci',
}, async () => {
  await using fixture = await vehicleOfTwoRooftops()
  addCheck(fixture, -2)
  const isLate = { evalId: 1001, path: '/geteval' }
  fixture.sandbox.faults.add({ match: isLate, fault: { kind: 'slow', ms: 1500 } })

  const run = await fixture.night()

  expect(await checkRows(fixture)).toMatchObject([{ eval_id: 1001 }])
  expect(run.streams['vehicle-checks']).toMatchObject({ requests: 2, saved: 4 })
})

test('a US rooftop is not asked about at all', async () => {
  const us = {
    uid: 'chicago',
    groupId: 'lake',
    dealerId: 301,
    region: 'US',
    currency: 'USD',
  } as const
  await using fixture = await checkedFixture([{ rooftopUid: 'chicago' }], {
    rooftopsOfWorld: [aRooftop(us)],
  })

  const run = await fixture.night()

  expect(run).toMatchObject({ status: 'ok' })
  expect(checkRequests(fixture)).toEqual({ ppsr: 0, history: 0, watch: 0 })
})

test('a key whose region has no checks is counted as a skip, not as an error, and is not asked again and again', {
  tags: 'ci',
}, async () => {
  const drafts = Array.from({ length: 30 }, (_, index) => ({
    evalId: 1001 + index,
    vin: `JTMDFREV90D1${String(20_000 + index)}`,
  }))
  await using fixture = await checkedFixture(drafts, { http: { concurrency: 1 } })
  for (const path of [paths.ppsr, paths.history])
    answerWith(fixture, path, { error: 'Not available in your region' }, 403)

  const run = await fixture.night()

  expect(run).toMatchObject({ status: 'ok' })
  expect(run.streams['vehicle-checks']).toMatchObject({ requests: 3, vanished: 3, quarantined: 0 })
})

test('a status that the document does not name is stored with a warning, and stops nothing', async () => {
  await using fixture = await checkedFixture([{}])
  answerWith(fixture, paths.ppsr, [{ ID: 1, WatchStatus: 'on_hold', CreatedAt: at(-1) }])

  const run = await fixture.night()

  expect(run).toMatchObject({ status: 'ok' })
  expect(await checkRows(fixture)).toMatchObject([{ check_ref: '1', watch_status: 'on_hold' }])
  expect(await warnings(fixture)).toEqual([
    { natural_key: '1001/getpastppsrsearch', check_name: 'watch-status-unknown' },
  ])
  expect(
    await rowsOf(
      fixture,
      "select is_known, is_terminal from core.ref_watch_status where watch_status = 'on_hold'",
    ),
  ).toEqual([{ is_known: false, is_terminal: false }])
})

test('a status that never changes stays, whatever is answered later', { tags: 'ci' }, async () => {
  await using fixture = await checkedFixture([{}])
  const first = answerWith(fixture, paths.ppsr, [
    { ID: 1, WatchStatus: 'changed', CreatedAt: at(-1) },
  ])
  await fixture.night()
  first.remove()
  answerWith(fixture, paths.ppsr, [{ ID: 1, WatchStatus: 'watching', CreatedAt: at(-1) }])

  await fixture.nightAfter(1)

  expect(await checkRows(fixture)).toMatchObject([{ watch_status: 'changed' }])
  expect(await changes(fixture)).toHaveLength(1)
  expect(await warnings(fixture)).toEqual([
    { natural_key: '1001/getpastppsrsearch', check_name: 'watch-status-terminal' },
  ])
})

test('a watch is polled every night until it changes, and then never again', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture(
    [{ vin: samples.auWatchChanges.vin, createdAt: at(-5) }],
    {
      checks: { dailyForDays: 0 },
      links: { keepAliveDays: 0 },
    },
  )
  addCheck(fixture, -0.5, { vin: samples.auWatchChanges.vin })

  await fixture.night()
  for (let night = 1; night <= 5; night++) await fixture.nightAfter(1)

  expect(checkRequests(fixture)).toMatchObject({ ppsr: 1, watch: 3 })
  expect(await changes(fixture)).toEqual([
    { from_status: null, to_status: 'watching', observed_at: at(0) },
    { from_status: 'watching', to_status: 'unchanged', observed_at: at(1) },
    { from_status: 'unchanged', to_status: 'changed', observed_at: at(3) },
  ])
})

test('a new search that a watch names is listed in the same night', { tags: 'ci' }, async () => {
  await using fixture = await checkedFixture([{ createdAt: at(-5) }], {
    checks: { dailyForDays: 0, lookEveryDays: 30 },
    links: { keepAliveDays: 0 },
  })
  addCheck(fixture, -0.5)
  await fixture.night()
  addCheck(fixture, 0.5)

  await fixture.nightAfter(1)

  expect(await checkRows(fixture)).toHaveLength(2)
  expect(checkRequests(fixture)).toMatchObject({ ppsr: 2, watch: 1 })
})

test('a watch without ids belongs to the only search there is', { tags: 'ci' }, async () => {
  await using fixture = await checkedFixture([{ createdAt: at(-5) }], {
    checks: { dailyForDays: 0 },
    links: { keepAliveDays: 0 },
  })
  addCheck(fixture, -0.5)
  await fixture.night()
  answerWith(fixture, paths.watch, { WatchStatus: 'changed', Checks: [{ Anything: 1 }] })

  await fixture.nightAfter(1)

  expect(await checkRows(fixture)).toMatchObject([{ watch_status: 'changed' }])
  expect(checkRequests(fixture)).toMatchObject({ ppsr: 1, watch: 1 })
})

test('searches that are not watched are never asked about', { tags: 'ci' }, async () => {
  await using fixture = await checkedFixture([{ createdAt: at(-5) }], {
    checks: { dailyForDays: 0, lookForNewDays: 6 },
    links: { keepAliveDays: 0 },
  })
  answerWith(fixture, paths.ppsr, [
    { ID: 1, WatchStatus: 'not_watched', CreatedAt: at(-0.5) },
    { ID: 2, WatchStatus: 'not_watched', CreatedAt: at(-1) },
  ])

  await fixture.night()
  for (let night = 1; night <= 15; night++) {
    fixture.sandbox.clock.advance(dayMs)
    await runNight(fixture.context, [vehicleChecks])
  }

  expect(checkRequests(fixture)).toMatchObject({ ppsr: 1, watch: 0 })
})

test('a check that is no longer listed is marked as gone, and comes back when it is listed again', async () => {
  await using fixture = await checkedFixture([{}], { checks: { lookEveryDays: 1 } })
  addCheck(fixture, -0.5)
  await fixture.night()
  const gone = answerWith(fixture, paths.ppsr, [])

  await fixture.nightAfter(1)
  const without = await checkRows(fixture)
  gone.remove()
  await fixture.nightAfter(1)

  expect(without).toMatchObject([{ gone_at: at(1) }])
  expect(await checkRows(fixture)).toMatchObject([{ gone_at: null }])
})

test('an answer of another shape goes to quarantine, the others are loaded, and a retry loads it', async () => {
  await using fixture = await checkedFixture([
    { evalId: 1001 },
    { evalId: 1002, vin: 'JTMDFREV90D100002' },
  ])
  addCheck(fixture, -0.5)
  addCheck(fixture, -0.5, { kind: 'car_history' })
  const broken = fixture.sandbox.faults.add({
    match: { path: paths.ppsr, evalId: 1001 },
    fault: { kind: 'status', status: 200, body: [{ WatchStatus: 17 }] },
  })

  const run = await fixture.night()
  broken.remove()
  const quarantined = await rowsOf(fixture, 'select natural_key, issues from ops.quarantine')
  const retry = await runStreams(fixture.context, {
    plan: { command: 'quarantine retry', mode: 'retry', from: 0, until: null },
    streams: [vehicleChecks],
    rooftops: fixture.config.rooftops,
  })

  expect(run).toMatchObject({ status: 'partial' })
  expect(quarantined).toEqual([
    {
      natural_key: '1001/getpastppsrsearch',
      issues: [{ path: '0.WatchStatus', message: expect.any(String) }],
    },
  ])
  expect(retry.streams['vehicle-checks']).toMatchObject({ requests: 1, inserted: 1 })
  expect(await checkRows(fixture)).toHaveLength(2)
  expect(await rowsOf(fixture, 'select from ops.quarantine where resolved_at is null')).toEqual([])
})

test('an item without an id is identified by its number, its time, or the path of its link', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{}])
  answerWith(fixture, paths.history, [{ SearchNumber: 'S-1', PdfUrl: 'https://x.example/a?sig=1' }])
  answerWith(fixture, paths.ppsr, [
    { CreatedAt: at(-1), WatchStatus: 'watching' },
    { PdfUrl: 'https://x.example/pdf/7.pdf?sig=1', WatchStatus: 'watching' },
  ])

  await fixture.night()

  const ofVehicle = new RegExp(`^${aVin}-[0-9a-f]{16}$`)
  const refs = await rowsOf(
    fixture,
    'select check_ref as ref from core.vehicle_check order by check_ref collate "C"',
  )
  expect(refs).toEqual([
    { ref: expect.stringMatching(ofVehicle) },
    { ref: expect.stringMatching(ofVehicle) },
    { ref: 'S-1' },
  ])
})

test('a time in Unix seconds or milliseconds is read, and another value that is not a time is reported', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{}])
  const searched = new Date(at(-1))
  answerWith(fixture, paths.history, [{ ID: 3, CreatedAt: String(searched.getTime()) }])
  answerWith(fixture, paths.ppsr, [
    { ID: 1, CreatedAt: searched.getTime() / 1000 },
    { ID: 2, CreatedAt: '9/3/26' },
  ])

  await fixture.night()

  expect(
    await rowsOf(fixture, 'select searched_at as at from core.vehicle_check order by check_ref'),
  ).toEqual([{ at: searched }, { at: null }, { at: searched }])
  expect(
    await rowsOf(fixture, "select from ops.data_quality where check_name like '%unreadable'"),
  ).toHaveLength(1)
})

test('an older answer changes no status and replaces no link', async () => {
  await using fixture = await checkedFixture([{}])
  const { id } = addCheck(fixture, -0.5)
  await fixture.night()
  const link = await rowsOf(fixture, 'select url, signed_at from pii.signed_link')
  const [{ groupId } = { groupId: 0 }] = await rowsOf<{ groupId: number }>(
    fixture,
    'select group_id as "groupId" from core.rooftop',
  )
  const old = {
    ref: String(id),
    isOfVehicle: false,
    searchedAt: at(-0.5),
    watchStatus: 'unchanged',
    pdfUrl: 'https://x.example/older.pdf',
    searchNumber: null,
    certificateNumber: null,
  }

  const answer = { groupId, vin: aVin, kind: 'ppsr', checks: [old], at: at(-0.25) } as const
  await loadLists(fixture, { ...answer, isOfThisVehicle: true })

  expect(await checkRows(fixture)).toMatchObject([{ watch_status: 'watching' }])
  expect(await rowsOf(fixture, 'select url, signed_at from pii.signed_link')).toEqual(link)
})

test('links refresh asks only for links that are about to expire, the earliest first, with one call for a vehicle', {
  tags: 'ci',
}, async () => {
  const vins = ['JTMDFREV90D100001', 'JTMDFREV90D100002', 'JTMDFREV90D100003']
  const drafts = vins.map((vin, index) => ({ evalId: 1001 + index, vin, createdAt: at(-5) }))
  await using fixture = await checkedFixture(drafts, { http: { concurrency: 1 } })
  for (const vin of vins) addCheck(fixture, -0.5, { vin })
  addCheck(fixture, -0.75, { vin: vins[0]! })
  await fixture.night()
  await fixture.context.pool.query(
    `update pii.signed_link set expires_at = signed_at + interval '1 hour' * (case eval_id when 1001 then 60 when 1002 then 30 else 160 end)`,
  )
  fixture.sandbox.clock.advance(3_600_000)
  fixture.sandbox.requests.reset()

  const run = await runStreams(fixture.context, {
    plan: { command: 'links refresh', mode: 'links', from: toUnixSeconds(morning), until: null },
    streams: [vehicleChecks],
    rooftops: fixture.config.rooftops,
  })

  expect(run.status).toBe('ok')
  const order = fixture.sandbox.requests.entries(paths.ppsr).map(({ body }) => body)
  expect(order).toEqual([{ evalid: 1002 }, { evalid: 1001 }])
  expect(checkRequests(fixture)).toEqual({ ppsr: 2, history: 0, watch: 0 })
  expect(await rowsOf(fixture, 'select expires_at from pii.signed_link')).not.toContainEqual({
    expires_at: at(2.5),
  })
})

test('two rooftops that turn out to be of one group have a certificate once', {
  tags: 'ci',
}, async () => {
  const two = [aRooftop(), aRooftop({ uid: 'rooftop-2', dealerId: 102 })]
  await using fixture = await checkedFixture(
    [{ evalId: 1001 }, { evalId: 1002, rooftopUid: 'rooftop-2' }],
    { rooftopsOfWorld: two },
  )
  addCheck(fixture, -0.5)
  const { config } = fixture.context
  const apart = config.rooftops.map((rooftop) => ({ ...rooftop, group: rooftop.uid }))
  await fixture.night({ config: { ...config, rooftops: apart } })
  const before = await checkRows(fixture)

  const run = await fixture.nightAfter(1)

  expect(before).toHaveLength(2)
  expect(run.status).toBe('ok')
  expect(await checkRows(fixture)).toHaveLength(1)
  expect(await rowsOf(fixture, 'select from pii.signed_link')).toHaveLength(1)
})

test('a check that was stored under an old VIN of its evaluation moves to the right vehicle', {
  tags: 'ci',
}, async () => {
  const right = 'JTMDFREV90D100009'
  await using fixture = await checkedFixture([{}], { checks: { lookEveryDays: 1 } })
  const { id } = addCheck(fixture, -0.5, { vin: right })
  await fixture.night()
  fixture.sandbox.world.edit(1001, at(0.5), { vin: right })
  const [{ groupId } = { groupId: 0 }] = await rowsOf<{ groupId: number }>(
    fixture,
    'select group_id as "groupId" from core.rooftop',
  )
  const listed = {
    ref: String(id),
    isOfVehicle: false,
    searchedAt: at(-0.5),
    watchStatus: 'watching',
    pdfUrl: null,
    searchNumber: null,
    certificateNumber: null,
  }
  const answer = { groupId, vin: aVin, kind: 'ppsr', checks: [listed], at: at(0.25) } as const
  await loadLists(fixture, { ...answer, isOfThisVehicle: true })

  await fixture.nightAfter(1)

  expect(await checkRows(fixture)).toMatchObject([{ vin: right, gone_at: null }])
})

test('an answer that may be of another vehicle adds no check, and marks none as gone', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{}])
  addCheck(fixture, -0.5)
  await fixture.night()
  const before = await checkRows(fixture)
  const [{ groupId } = { groupId: 0 }] = await rowsOf<{ groupId: number }>(
    fixture,
    'select group_id as "groupId" from core.rooftop',
  )
  const other = {
    ref: '99',
    isOfVehicle: false,
    searchedAt: at(-0.1),
    watchStatus: 'watching',
    pdfUrl: null,
    searchNumber: null,
    certificateNumber: null,
  }

  const answer = { groupId, vin: aVin, kind: 'ppsr', checks: [other], at: at(0.5) } as const
  await loadLists(fixture, { ...answer, isOfThisVehicle: false })

  expect(await checkRows(fixture)).toEqual(before)
})
