import { expect, test } from 'vitest'
import type { World } from '#src/sandbox/world.ts'
import { allStreams } from '#src/streams/all.ts'
import { evaluationRecords as stream } from '#src/streams/evaluations/evaluation-records.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { readStatus } from '#src/sync/explain/status.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { verifyDeep } from '#src/sync/verify/verify-deep.ts'
import { toUnixSeconds } from '#src/values/unix-seconds.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { dayMs, type Fixture, openFixture } from '../support/fixture.ts'
import { verifyStream } from '../support/verify-stream.ts'

const now = new Date('2026-03-10T02:00:00Z')

/** Evaluations of one rooftop, one every five hours before now. */
function world(count = 9): World {
  return worldOf({
    rooftops: [aRooftop({ uid: 'north', dealerId: 101 })],
    evaluations: Array.from({ length: count }, (_, index) =>
      anEvaluation({
        evalId: 1000 + index,
        rooftopUid: 'north',
        createdAt: new Date(now.getTime() - (index + 1) * 5 * 3_600_000),
      }),
    ),
    keys: [aKey({ rooftopUids: ['north'] })],
  })
}

async function rows(fixture: Fixture, query: string): Promise<Record<string, unknown>[]> {
  return (await fixture.database.pool.query(query)).rows
}

async function verified(fixture: Fixture) {
  const [rooftop] = await findRooftops(fixture.context.db, fixture.config.rooftops)
  const plain = await verifyStream(fixture.context.db, stream, rooftop!, fixture.config.sync, now)
  return { plain, deep: await verifyDeep(fixture.context, stream, rooftop!) }
}

test('a list whose items have no readable id fails, marks nothing as gone and certifies nothing', async () => {
  await using fixture = await openFixture({ sandbox: { world: world(), now } })
  await fixture.night()
  const body = JSON.stringify([{ Id: 1000 }, { Id: 1001 }])
  fixture.sandbox.faults.add({
    match: { path: '/getevallist' },
    fault: { kind: 'status', status: 200, body },
  })

  const report = await fixture.nightAfter(1)

  expect(report.rooftops['north']).toMatchObject({ status: 'partial' })
  expect(report.rooftops['north']!.error).toContain('wire.appraisal.evalList.id')
  expect(
    await rows(fixture, 'select eval_id from core.evaluation where gone_at is not null'),
  ).toEqual([])
})

test('one list item without an id goes to quarantine, and the window counts it', async () => {
  await using fixture = await openFixture({
    sandbox: { world: world(2), now },
    sync: { start: '2026-03-09', windowHours: 720 },
  })
  const items = [{ EvalID: 1000 }, { EvalID: 1001 }, { EvalID: null, note: 'odd' }]
  const fault = fixture.sandbox.faults.add({
    match: { path: '/getevallist' },
    fault: { kind: 'status', status: 200, body: JSON.stringify(items) },
  })

  const report = await fixture.night()

  const certificates = 'select listed, loaded, quarantined from ops.window_certificate'
  expect(report.streams['evaluations']).toMatchObject({ listed: 3, inserted: 2, quarantined: 1 })
  expect(await rows(fixture, certificates)).toEqual([{ listed: 3, loaded: 2, quarantined: 1 }])
  expect(
    await rows(fixture, 'select payload from ops.quarantine where resolved_at is null'),
  ).toEqual([{ payload: '{"EvalID":null,"note":"odd"}' }])
  fault.remove()
  await fixture.nightAfter(0.1)
  expect(await rows(fixture, 'select * from ops.quarantine where resolved_at is null')).toEqual([])
})

test('a record that one listing leaves out and the next one shows stays, and its window lists it', async () => {
  await using fixture = await openFixture({
    sandbox: { world: world(), now },
    sync: { start: '2026-03-05', windowHours: 720 },
  })
  await fixture.night()
  const fault = fixture.sandbox.faults.add({
    match: { path: '/getevallist' },
    times: 1,
    fault: { kind: 'listCap', cap: 8, order: 'newest' },
  })

  const report = await fixture.nightAfter(0.1)
  const { plain, deep } = await verified(fixture)

  expect(fault.hits).toBe(1)
  expect(report).toMatchObject({ status: 'ok' })
  expect(plain).toMatchObject({ gaps: [], brokenSums: [], notStored: [] })
  expect(deep).toMatchObject({ missing: [], notConserved: [] })
  expect(
    await rows(fixture, 'select count(*)::int as n from core.evaluation where gone_at is null'),
  ).toEqual([{ n: 9 }])
})

test('an EntryDate twelve hours off marks nothing as gone, however the windows change', {
  tags: 'ci',
}, async () => {
  const shifted = world()
  for (const { evalId, createdAt } of shifted.evaluations()) {
    const shown = new Date(createdAt.getTime() + 12 * 3_600_000).toISOString()
    shifted.poison(evalId, { EntryDate: shown.slice(0, 19).replace('T', ' ') })
  }
  await using fixture = await openFixture({
    sandbox: { world: shifted, now },
    sync: { settleDays: 0 },
  })
  const withWindows = (windowHours: number) => ({
    config: { ...fixture.config, sync: { ...fixture.config.sync, windowHours } },
  })

  for (const hours of [720, 24, 6, 24]) {
    const report = await fixture.nightAfter(1, withWindows(hours))
    expect(report.status).toBe('ok')
    expect(
      await rows(fixture, 'select eval_id from core.evaluation where gone_at is not null'),
    ).toEqual([])
    expect((await verified(fixture)).plain).toMatchObject({ gaps: [], overlaps: [], notStored: [] })
  }
})

test('a forbidden evaluation is quarantined, and the others are loaded', async () => {
  await using fixture = await openFixture({ sandbox: { world: world(), now } })
  fixture.sandbox.faults.add({
    match: { path: '/geteval', evalId: 1004 },
    fault: { kind: 'status', status: 403 },
  })

  const reports = [await fixture.night(), await fixture.nightAfter(1)]

  expect(reports[0]!.streams['evaluations']).toMatchObject({ inserted: 8, quarantined: 1 })
  expect(reports[1]!.streams['evaluations']).toMatchObject({ quarantined: 1 })
  expect((await verified(fixture)).plain).toMatchObject({ gaps: [], notStored: [] })
})

test('a rooftop that may read no evaluation fails as a whole, with its requests counted', async () => {
  await using fixture = await openFixture({ sandbox: { world: world(), now } })
  fixture.sandbox.faults.add({
    match: { path: '/geteval' },
    fault: { kind: 'status', status: 403 },
  })

  const report = await fixture.night()

  expect(report.rooftops['north']!.error).toContain('403')
  expect(report.streams['evaluations']!.quarantined).toBe(0)
  // Requests in flight when the slice ended were sent, whether or not they arrived.
  const arrived = fixture.sandbox.requests.count('/getevallist')
  expect(report.streams['evaluations']!.requests).toBeGreaterThan(arrived)
})

test('verify --deep accepts what has vanished', async () => {
  const vanishing = world()
  await using fixture = await openFixture({ sandbox: { world: vanishing, now } })
  fixture.sandbox.faults.add({
    match: { path: '/geteval', evalId: 1004 },
    fault: { kind: 'status', status: 400 },
  })

  await fixture.night()

  expect((await verified(fixture)).deep).toMatchObject({ missing: [], notConserved: [] })
})

test('a backfill of other years does not move back what status says is covered', async () => {
  await using fixture = await openFixture({ sandbox: { world: world(), now } })
  await fixture.night()
  const plan = { command: 'backfill', mode: 'backfill' } as const
  const [from, until] = ['2022-01-01', '2022-02-01'].map((day) => toUnixSeconds(new Date(day)))

  await runStreams(fixture.context, {
    plan: { ...plan, from: from!, until: until! },
    streams: [evaluations],
    rooftops: fixture.config.rooftops,
  })

  const rooftops = await findRooftops(fixture.context.db, fixture.config.rooftops)
  const status = await readStatus(fixture.context.db, allStreams, rooftops, fixture.config)
  const covered = status.rooftops['north']!.streams['evaluations']!.coveredTo!
  expect(now.getTime() - Date.parse(covered)).toBeLessThan(dayMs)
})

test('a body with \\u0000 and lone surrogates can be read through raw.payload_json', async () => {
  const odd = world(1)
  odd.poison(1000, { Notes: 'a\u0000b\ud83d c\udc00 \ud83d\ude97 \\u0000' })
  await using fixture = await openFixture({ sandbox: { world: odd, now } })
  await fixture.night()

  const query = `select body -> 0 ->> 'Notes' as notes, (body::jsonb -> 0 ->> 'EvalID')::int as id
    from raw.payload_json where endpoint = 'geteval'`

  expect(await rows(fixture, query)).toEqual([
    { notes: 'a\ufffdb\ufffd c\ufffd \ud83d\ude97 \\u0000', id: 1000 },
  ])
})
