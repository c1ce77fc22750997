import { expect, test } from 'vitest'
import { loadChecks } from '#src/streams/vehicle-checks/load-checks.ts'
import { vehicleChecks } from '#src/streams/vehicle-checks/vehicle-checks.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { defaultWire } from '#src/values/wire.ts'
import { lockClass } from '#src/warehouse/db/locks.ts'
import { inTransaction } from '#src/warehouse/db/transaction.ts'
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
import { databaseLocks } from '../../support/postgres.ts'
import { morning, rowsOf } from '../../support/pricing-fixture.ts'

const at = (days: number) => new Date(morning.getTime() + days * dayMs)
const two = [aRooftop(), aRooftop({ uid: 'rooftop-2', dealerId: 102 })]

const groupOf = async (fixture: Fixture) =>
  (await rowsOf<{ groupId: number }>(fixture, 'select group_id as "groupId" from core.rooftop'))[0]!
    .groupId

function answerWith(
  { sandbox }: Fixture,
  path: string,
  body: unknown,
  match: object = {},
  status = 200,
) {
  return sandbox.faults.add({ match: { path, ...match }, fault: { kind: 'status', status, body } })
}

function aListed(ref: string, watchStatus: string) {
  return {
    ...{ ref, isOfVehicle: false, searchedAt: at(-0.5), watchStatus, pdfUrl: null },
    ...{ searchNumber: null, certificateNumber: null },
  }
}

async function retry(fixture: Fixture) {
  return await runStreams(fixture.context, {
    plan: { command: 'quarantine retry', mode: 'retry', from: 0, until: null },
    streams: [vehicleChecks],
    rooftops: fixture.config.rooftops,
  })
}

test('a retry that fails is tried once, and the record stays in quarantine', async () => {
  await using fixture = await checkedFixture([{}])
  const broken = answerWith(fixture, paths.ppsr, [{ WatchStatus: 17 }])
  await fixture.night()
  broken.remove()
  answerWith(fixture, paths.ppsr, { error: 'down' }, {}, 500)
  fixture.sandbox.requests.reset()

  const run = await retry(fixture)

  expect(checkRequests(fixture).ppsr).toBe(1)
  expect(run.status).toBe('failed')
  expect(await rowsOf(fixture, 'select attempts, resolved_at from ops.quarantine')).toEqual([
    { attempts: 2, resolved_at: null },
  ])
})

test('two quarantined calls about one vehicle are retried in one slice', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([
    { evalId: 1001, createdAt: at(-2) },
    { evalId: 1002, createdAt: at(-1), rooftopUid: 'rooftop-1' },
  ])
  const broken = answerWith(fixture, paths.ppsr, [{ WatchStatus: 17 }])
  addCheck(fixture, -0.5)
  await fixture.night()
  broken.remove()
  const count = 'select count(*)::int as entries from ops.quarantine where resolved_at is null'
  const before = await rowsOf(fixture, count)

  const run = await retry(fixture)

  expect(before).toEqual([{ entries: 2 }])
  expect(run).toMatchObject({ status: 'ok' })
  expect(await checkRows(fixture)).toHaveLength(1)
})

test('when a rooftop is refused, another one of the group asks about the vehicle', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture(
    [
      { evalId: 1001, createdAt: at(-3) },
      { evalId: 1002, createdAt: at(-2), rooftopUid: 'rooftop-2' },
    ],
    { rooftopsOfWorld: two },
  )
  addCheck(fixture, -1)
  await fixture.night()
  for (const path of Object.values(paths))
    answerWith(fixture, path, { error: 'refused' }, { rooftopUid: 'rooftop-2' }, 403)

  for (let night = 0; night < 6; night++) await fixture.nightAfter(1)

  const [link] = await rowsOf<{ expires_at: Date }>(
    fixture,
    'select expires_at from pii.signed_link',
  )
  expect(link!.expires_at.getTime()).toBeGreaterThan(at(6 + 2).getTime())
})

test('a run of one rooftop asks about its vehicles, even if others have appraised them too', async () => {
  await using fixture = await checkedFixture(
    [
      { evalId: 1001, createdAt: at(-3) },
      { evalId: 1002, createdAt: at(-2), rooftopUid: 'rooftop-2' },
    ],
    { rooftopsOfWorld: two },
  )
  addCheck(fixture, -1)
  await runNight(fixture.context)

  const run = await runStreams(fixture.context, {
    plan: { command: 'sync', mode: 'sync', from: 0, until: null },
    streams: [vehicleChecks],
    rooftops: fixture.config.rooftops.filter(({ uid }) => uid === 'rooftop-1'),
  })

  expect(run.streams['vehicle-checks']).toMatchObject({ inserted: 1 })
})

test('when the source does not know an evaluation, the next one asks about the vehicle', async () => {
  await using fixture = await checkedFixture([
    { evalId: 1001, createdAt: at(-3) },
    { evalId: 1002, createdAt: at(-2) },
  ])
  answerWith(fixture, paths.ppsr, { error: 'Evaluation not found' }, { evalId: 1002 }, 404)
  addCheck(fixture, -1)

  await fixture.night()
  await fixture.nightAfter(1)

  expect(await checkRows(fixture)).toHaveLength(1)
})

test('an older list does not mark a newer check as gone', async () => {
  await using fixture = await checkedFixture([{}])
  addCheck(fixture, -0.5)
  await fixture.night()
  const groupId = await groupOf(fixture)
  const older = {
    groupId,
    vin: aVin,
    kind: 'ppsr',
    checks: [],
    at: at(-0.1),
    isOfThisVehicle: true,
  } as const

  await loadLists(fixture, older)

  expect(await checkRows(fixture)).toMatchObject([{ gone_at: null }])
})

test('checks without ids are identified by vehicle and by the constant part of their link', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([
    { evalId: 1001 },
    { evalId: 1002, vin: 'JTMDFREV90D100002' },
  ])
  const link = (id: number) => `https://x.example/pdf?id=${id}&signature=abc&expires=1`
  answerWith(fixture, paths.ppsr, [{ PdfUrl: link(1) }, { PdfUrl: link(2) }], { evalId: 1001 })
  answerWith(fixture, paths.ppsr, [{ PdfUrl: link(1) }], { evalId: 1002 })

  await fixture.night()

  const rows = await rowsOf(
    fixture,
    'select vin, url from core.vehicle_check join pii.signed_link on link_ref = check_ref order by 1, 2',
  )
  expect(rows).toEqual([
    { vin: 'JTMDFREV90D100002', url: link(1) },
    { vin: aVin, url: link(1) },
    { vin: aVin, url: link(2) },
  ])
})

test('an item that cannot be identified is left out with a warning, and the others are loaded', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{}])
  answerWith(fixture, paths.ppsr, [{ ID: 7, WatchStatus: 'watching' }, { WatchStatus: 'watching' }])

  const run = await fixture.night()

  expect(run.status).toBe('ok')
  expect(await checkRows(fixture)).toMatchObject([{ check_ref: '7' }])
  expect(
    await rowsOf(
      fixture,
      "select check_name from ops.data_quality where stream = 'vehicle-checks'",
    ),
  ).toEqual([{ check_name: 'check-without-id' }])
})

test('a key that is refused after it has answered is an error, not another region', {
  tags: 'ci',
}, async () => {
  const drafts = Array.from({ length: 20 }, (_, index) => ({
    evalId: 1001 + index,
    vin: `JTMDFREV90D1${String(20_000 + index)}`,
  }))
  await using fixture = await checkedFixture(drafts, { http: { concurrency: 1 } })
  await fixture.night()
  for (const path of Object.values(paths))
    answerWith(fixture, path, { error: 'Forbidden' }, {}, 403)

  const run = await fixture.nightAfter(1)

  expect(run.rooftops['rooftop-1']).toMatchObject({ error: expect.stringContaining('403') })
})

test('a watch that ended is checked again until its last status is known', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{ createdAt: at(-5) }], {
    checks: { dailyForDays: 0, lookForNewDays: 6 },
    links: { keepAliveDays: 0 },
  })
  addCheck(fixture, -0.5)
  await fixture.night()
  fixture.sandbox.clock.advance(13 * dayMs)
  await runNight(fixture.context, [vehicleChecks])
  const down = answerWith(fixture, paths.ppsr, { error: 'down' }, {}, 500)
  fixture.sandbox.clock.advance(dayMs)
  await runNight(fixture.context, [vehicleChecks])
  down.remove()

  fixture.sandbox.clock.advance(dayMs)
  await runNight(fixture.context, [vehicleChecks])

  expect(await checkRows(fixture)).toMatchObject([{ watch_status: 'expired' }])
})

test('when a listing fails, the watch is asked', { tags: 'ci' }, async () => {
  await using fixture = await checkedFixture([{ createdAt: at(-1) }])
  addCheck(fixture, -0.5)
  await fixture.night()
  answerWith(fixture, paths.ppsr, { error: 'down' }, {}, 500)

  await fixture.nightAfter(1)

  expect(checkRequests(fixture).watch).toBe(1)
  expect(await checkRows(fixture)).toMatchObject([{ watch_status: 'unchanged' }])
})

test('a vehicle is as young as the evaluation that was completed last', async () => {
  await using fixture = await checkedFixture(
    [
      { evalId: 1001, createdAt: at(-150), completedAt: at(-1) },
      { evalId: 1002, createdAt: at(-120), completedAt: at(-119) },
    ],
    { sync: { start: at(-160).toISOString(), windowHours: 744 } },
  )
  addCheck(fixture, -0.5)

  await fixture.night()

  expect(await checkRows(fixture)).toHaveLength(1)
})

test('a watch with more items than are known says nothing about the known one', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{ createdAt: at(-5) }], {
    checks: { dailyForDays: 0 },
    links: { keepAliveDays: 0 },
  })
  addCheck(fixture, -0.5)
  await fixture.night()
  answerWith(fixture, paths.watch, { WatchStatus: 'changed', Checks: [{ No: 1 }, { No: 2 }] })

  await fixture.nightAfter(1)

  expect(checkRequests(fixture)).toMatchObject({ ppsr: 2, watch: 1 })
  expect(await checkRows(fixture)).toMatchObject([{ watch_status: 'unchanged' }])
})

test('two statuses that are reported in one second are both in the history', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{}])
  const { id } = addCheck(fixture, -0.5)
  await fixture.night()
  const groupId = await groupOf(fixture)

  for (const watchStatus of ['unchanged', 'disabled'])
    await loadLists(fixture, {
      ...{ groupId, vin: aVin, kind: 'ppsr', at: at(1), isOfThisVehicle: true },
      checks: [aListed(String(id), watchStatus)],
    })

  expect(await checkRows(fixture)).toMatchObject([{ watch_status: 'disabled' }])
  expect(
    await rowsOf(
      fixture,
      'select from_status, to_status from core.watch_status_change order by observed_at',
    ),
  ).toEqual([
    { from_status: null, to_status: 'watching' },
    { from_status: 'watching', to_status: 'unchanged' },
    { from_status: 'unchanged', to_status: 'disabled' },
  ])
})

test('a check that another vehicle of the slice lists instead is not gone', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{}])
  const { id } = addCheck(fixture, -0.5)
  await fixture.night()
  const groupId = await groupOf(fixture)
  const about = { groupId, kind: 'ppsr', at: at(1), isOfThisVehicle: true } as const
  const checks = [aListed(String(id), 'watching')]
  const right = 'JTMDFREV90D100009'

  await loadLists(fixture, { ...about, vin: aVin, checks: [] }, { ...about, vin: right, checks })

  expect(await checkRows(fixture)).toMatchObject([{ vin: right, gone_at: null }])
})

test('a load waits for another one of the dealer group: it changes no status back, and adds no check twice', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{}])
  const { id } = addCheck(fixture, -0.5)
  await fixture.night()
  const groupId = await groupOf(fixture)
  const answer = (day: number, status: string) => ({
    ...{ groupId, vin: aVin, at: at(day), runId: null, isOfThisVehicle: true },
    kind: 'ppsr' as const,
    checks: [aListed(String(id), status), aListed('99', status)],
  })
  const waiting = `select from ${databaseLocks} where classid = ${lockClass.checks} and objid = ${groupId} and not granted`

  const second = await inTransaction(fixture.context.pool, async (tx) => {
    await loadChecks(tx, [answer(1, 'changed')], defaultWire.appraisal)
    const second = loadLists(fixture, answer(2, 'unchanged'))
    await expect.poll(async () => (await rowsOf(fixture, waiting)).length).toBe(1)
    return { done: second }
  })
  await second.done

  expect(await checkRows(fixture)).toMatchObject([
    { check_ref: String(id), watch_status: 'changed' },
    { check_ref: '99', watch_status: 'changed' },
  ])
  expect(
    await rowsOf(fixture, 'select to_status from core.watch_status_change order by 1'),
  ).toEqual([{ to_status: 'changed' }, { to_status: 'changed' }, { to_status: 'watching' }])
})

test('a check that is listed without a link has none, and is not asked about every night', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([{ createdAt: at(-5) }], {
    checks: { dailyForDays: 0, lookForNewDays: 6 },
  })
  addCheck(fixture, -20)
  await fixture.night()
  answerWith(fixture, paths.ppsr, [
    { ID: (await checkRows(fixture))[0]!['check_ref'], WatchStatus: 'expired', CreatedAt: at(-20) },
  ])
  for (let night = 0; night < 8; night++) await fixture.nightAfter(1)

  expect(checkRequests(fixture).ppsr).toBe(2)
  expect(await rowsOf(fixture, 'select from pii.signed_link')).toEqual([])
})

test('a check that is listed under two vehicles is loaded once, and so is its slice', async () => {
  await using fixture = await checkedFixture([
    { evalId: 1001 },
    { evalId: 1002, vin: 'JTMDFREV90D100002' },
  ])
  answerWith(fixture, paths.ppsr, [{ ID: 1, WatchStatus: 'watching', CreatedAt: at(-1) }])

  const run = await fixture.night()

  expect(run.status).toBe('ok')
  expect(await checkRows(fixture)).toHaveLength(1)
})
