import { expect, test } from 'vitest'
import { OutdatedError } from '#src/errors.ts'
import { seededRandom } from '#src/sandbox/seeded-random.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { postponeDeliveries } from '#src/streams/evaluations/hints.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { startDetached } from '#src/sync/run/run-streams.ts'
import { isProved } from '#src/sync/verify/verify.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { consumeHints, readDueDeliveries, readDueRooftops } from '#src/web/webhook/consume.ts'
import { anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { caseCount } from '../../support/cases.ts'
import { verifyStream } from '../../support/verify-stream.ts'
import { differences, sourceTruth, warehouseTruth } from '../../support/warehouse-truth.ts'
import { minuteMs, now, openWebhookFixture, type WebhookFixture } from './webhook-fixture.ts'

const day = (text: string) => `2026-03-${text}Z`

/** `count` evaluations at two rooftops; those with an even index are completed half an hour from now. */
function lateWorld(count: number) {
  const rooftops = [aRooftop(), aRooftop({ uid: 'rooftop-2', dealerId: 102 })]
  const list = Array.from({ length: count }, (_, index) =>
    anEvaluation({
      evalId: 1001 + index,
      rooftopUid: index % 4 < 2 ? 'rooftop-1' : 'rooftop-2',
      createdAt: new Date(now.getTime() - 2 * 86_400_000 + index * minuteMs).toISOString(),
      completedAt:
        index % 2 === 0
          ? new Date(now.getTime() + 30 * minuteMs + index * 1000)
          : new Date(now.getTime() - 86_400_000 + index * minuteMs),
    }),
  )
  return worldOf({ rooftops, evaluations: list })
}

async function faults({ fixture }: WebhookFixture): Promise<string[]> {
  const truth = sourceTruth(fixture.sandbox.world, fixture.sandbox.clock.now(), 'rooftop')
  return differences(truth, await warehouseTruth(fixture.database.pool, 'rooftop'))
}

async function proved({ fixture }: WebhookFixture): Promise<boolean[]> {
  const { db } = fixture.context
  const rooftops = await findRooftops(db, fixture.config.rooftops)
  const verified = rooftops.map((one) =>
    verifyStream(db, evaluations.records!, one, fixture.config.sync, fixture.sandbox.clock.now()),
  )
  return (await Promise.all(verified)).map(isProved)
}

const outcomes = ({ rows }: WebhookFixture) =>
  rows(
    `select state, outcome, count(*)::int as count from ops.webhook_delivery group by 1, 2 order by 1, 2`,
  )

test('a late completion is in the warehouse before any sync, and what is certified stays proved', async () => {
  await using receiver = await openWebhookFixture({ world: lateWorld(40) })
  const { fixture } = receiver
  await fixture.night()
  receiver.subscribe('ON_COMPLETE', 'rooftop-1')
  receiver.subscribe('ON_COMPLETE', 'rooftop-2')
  receiver.consume()

  fixture.sandbox.clock.advance(45 * minuteMs)
  await fixture.sandbox.webhooks.idle()
  await receiver.settled()

  expect(await outcomes(receiver)).toEqual([{ state: 'processed', outcome: 'inserted', count: 20 }])
  expect(await faults(receiver)).toEqual([])
  expect(await proved(receiver)).toEqual([true, true])
  const night = await fixture.night()
  expect(night.streams['evaluations']).toMatchObject({ inserted: 0, updated: 0 })
  expect(await proved(receiver)).toEqual([true, true])
  const runs = await receiver.rows("select lane, status from ops.run where command = 'webhooks'")
  expect(new Set(runs.map((run) => `${run['lane']} ${run['status']}`))).toEqual(
    new Set(['event ok']),
  )
})

test('many deliveries, doubled and shuffled, make one version of each change', {
  tags: 'ci',
}, async () => {
  await using receiver = await openWebhookFixture({ world: lateWorld(40) })
  const { fixture } = receiver
  await fixture.night()
  fixture.sandbox.clock.advance(45 * minuteMs)
  const ids = Array.from({ length: 40 }, (_, index) => 1001 + index)
  const sent = caseCount(200, 120)
  const bodies = Array.from({ length: sent }, (_, index) => {
    const evalId = ids[index % ids.length]!
    const UpdatedAt = new Date(now.getTime() - 5 * 86_400_000 - index * 1000).toISOString()
    return { EvalID: evalId, DealerID: (evalId - 1001) % 4 < 2 ? 101 : 102, UpdatedAt }
  })
  const random = seededRandom(7, 'deliveries')
  const shuffled = [...bodies, ...bodies]
    .map((body) => ({ body, at: random.next() }))
    .sort((a, b) => a.at - b.at)
  receiver.consume()
  receiver.consume()

  for (let at = 0; at < shuffled.length; at += 50)
    await Promise.all(shuffled.slice(at, at + 50).map(({ body }) => receiver.post(body)))
  await receiver.settled()

  const [count] = await receiver.rows(
    'select count(*)::int as rows, sum(duplicates)::int as twice from ops.webhook_delivery',
  )
  expect(count).toEqual({ rows: sent, twice: sent })
  expect(await faults(receiver)).toEqual([])
  expect(await receiver.rows('select distinct version_no from core.evaluation')).toEqual([
    { version_no: 1 },
  ])
  const states = await receiver.rows('select distinct state from ops.webhook_delivery')
  expect(states).toEqual([{ state: 'processed' }])
})

test('an export of an edited evaluation makes its next version, and one of an unchanged one none', {
  tags: 'ci',
}, async () => {
  await using receiver = await openWebhookFixture({ world: lateWorld(8) })
  const { fixture } = receiver
  await fixture.night()
  receiver.subscribe('ON_EXPORT')
  fixture.sandbox.clock.advance(minuteMs)
  fixture.sandbox.world.edit(1002, fixture.sandbox.clock.now(), { finalPrice: 12_345 })
  fixture.sandbox.webhooks.trigger('ON_EXPORT', 1002)
  fixture.sandbox.webhooks.trigger('ON_EXPORT', 1006)
  await fixture.sandbox.webhooks.idle()
  receiver.consume()
  await receiver.settled()

  const deliveries = await receiver.rows(
    'select eval_id, outcome from ops.webhook_delivery order by eval_id',
  )
  expect(deliveries).toEqual([
    { eval_id: 1002, outcome: 'updated' },
    { eval_id: 1006, outcome: 'unchanged' },
  ])
  expect(await faults(receiver)).toEqual([])
})

test('an evaluation from before sync.start is loaded too, and certifies nothing', {
  tags: 'ci',
}, async () => {
  const world = lateWorld(4)
  const old = {
    evalId: 500,
    createdAt: '2020-05-01T00:00:00Z',
    completedAt: '2020-05-02T00:00:00Z',
  }
  world.add({ ...worldOf({ evaluations: [anEvaluation(old)] }).evaluation(500)! })
  await using receiver = await openWebhookFixture({ world })
  await receiver.fixture.night()
  const before = await receiver.rows('select * from ops.coverage order by 1, 2')
  receiver.consume()

  await receiver.post({ EvalID: 500, DealerID: 101, UpdatedAt: '2020-05-02T00:00:00Z' })
  await receiver.settled()

  expect(await outcomes(receiver)).toEqual([{ state: 'processed', outcome: 'inserted', count: 1 }])
  expect(await receiver.rows('select * from ops.coverage order by 1, 2')).toEqual(before)
  expect(await proved(receiver)).toEqual([true, true])
})

test('an event that the reads do not show yet is read again, and one without an evaluation ends as vanished', async () => {
  await using receiver = await openWebhookFixture({ world: lateWorld(4) })
  const { fixture } = receiver
  receiver.consume()
  const early = { EvalID: 1001, DealerID: 101, UpdatedAt: day('10T00:30:00') }
  await receiver.post(early)
  await expect
    .poll(() => receiver.rows('select attempts, not_shown from ops.webhook_delivery'))
    .toEqual([{ attempts: 0, not_shown: 1 }])
  expect(await receiver.rows('select eval_id from core.evaluation')).toEqual([])

  fixture.sandbox.clock.advance(45 * minuteMs)
  await receiver.settled()
  expect(await outcomes(receiver)).toEqual([{ state: 'processed', outcome: 'inserted', count: 1 }])

  await receiver.post({ EvalID: 999_999, DealerID: 101, UpdatedAt: day('10T00:30:00') })
  await fixture.database.pool.query(
    'update ops.webhook_delivery set not_shown = 6 where eval_id = 999999',
  )
  await receiver.settled()
  expect(
    await receiver.rows('select outcome from ops.webhook_delivery where eval_id = 999999'),
  ).toEqual([{ outcome: 'vanished' }])
  expect(await receiver.rows('select natural_key from ops.vanished')).toEqual([])
})

test('an event that the reads do not show yet waits as long after an outage as without one', {
  tags: 'ci',
}, async () => {
  await using receiver = await openWebhookFixture({ world: lateWorld(8) })
  const { fixture } = receiver
  const rule = fixture.sandbox.faults.add({
    match: { path: '/geteval' },
    fault: { kind: 'status', status: 500 },
  })
  // 1001 and 1005 are completed in half an hour, at two rooftops.
  for (const [evalId, dealer] of [
    [1001, 101],
    [1003, 102],
  ])
    await receiver.post({ EvalID: evalId, DealerID: dealer, UpdatedAt: day('10T00:30:00') })
  receiver.consume()
  const counts = () =>
    receiver.rows(
      'select state, attempts > 0 as failed, not_shown > 0 as early from ops.webhook_delivery',
    )
  const both = (one: object) => [one, one]
  await expect
    .poll(counts, { timeout: 30_000 })
    .toEqual(both({ state: 'waiting', failed: true, early: false }))
  await fixture.database.pool.query('update ops.webhook_delivery set attempts = 20, due_at = now()')

  rule.remove()

  await expect
    .poll(counts, { timeout: 30_000 })
    .toEqual(both({ state: 'waiting', failed: false, early: true }))
  fixture.sandbox.clock.advance(45 * minuteMs)
  await receiver.settled()
  expect(await outcomes(receiver)).toEqual([{ state: 'processed', outcome: 'inserted', count: 2 }])
})

test('an evaluation that the named rooftop does not find is read at the rooftop of the group that has it', {
  tags: 'ci',
}, async () => {
  const gone = {
    evalId: 1001,
    createdAt: day('08T00:00:00'),
    completedAt: day('08T01:00:00'),
    vanishedAt: day('10T00:30:00'),
  }
  const rooftops = [aRooftop(), aRooftop({ uid: 'rooftop-2', dealerId: 102 })]
  const world = worldOf({ rooftops, evaluations: [anEvaluation(gone)] })
  await using receiver = await openWebhookFixture({ world })
  await receiver.fixture.night()
  receiver.fixture.sandbox.clock.advance(45 * minuteMs)
  receiver.consume()

  const body = { EvalID: 1001, UpdatedAt: gone.completedAt }
  await receiver.post(body, { path: '/webhooks/ON_EXPORT/rooftop-2' })
  await receiver.settled()

  expect(await outcomes(receiver)).toEqual([{ state: 'processed', outcome: 'vanished', count: 1 }])
  expect(
    await receiver.rows(
      `select rooftop_uid, gone_at is null as is_there from core.evaluation join core.rooftop using (rooftop_id)`,
    ),
  ).toEqual([{ rooftop_uid: 'rooftop-1', is_there: false }])
})

test('while the source is down deliveries wait, and they are loaded once it is back', {
  tags: 'ci',
}, async () => {
  await using receiver = await openWebhookFixture({ world: lateWorld(8) })
  const { fixture } = receiver
  const rule = fixture.sandbox.faults.add({
    match: { path: '/geteval' },
    fault: { kind: 'status', status: 503 },
  })
  receiver.consume()
  for (const evalId of [1002, 1006]) await receiver.post({ EvalID: evalId, DealerID: 101 })
  await expect.poll(() => rule.hits).toBeGreaterThan(1)
  rule.remove()
  await receiver.settled()

  expect(await outcomes(receiver)).toEqual([{ state: 'processed', outcome: 'inserted', count: 2 }])
  expect(await receiver.rows('select quarantine_id from ops.quarantine')).toEqual([])
})

test('an evaluation that could not be read is not quarantined: its delivery waits', {
  tags: 'ci',
}, async () => {
  await using receiver = await openWebhookFixture({ world: lateWorld(8) })
  const { fixture } = receiver
  const rule = fixture.sandbox.faults.add({
    match: { path: '/geteval', evalId: 1002 },
    fault: { kind: 'status', status: 500 },
  })
  for (const evalId of [1002, 1006]) await receiver.post({ EvalID: evalId, DealerID: 101 })
  await fixture.database.pool.query('update ops.webhook_delivery set attempts = 6')
  const consumer = receiver.consume()

  const states = () =>
    receiver.rows('select eval_id, state, outcome, attempts from ops.webhook_delivery order by 1')
  await expect.poll(states, { timeout: 30_000 }).toEqual([
    { eval_id: 1002, state: 'waiting', outcome: null, attempts: 7 },
    { eval_id: 1006, state: 'processed', outcome: 'inserted', attempts: 6 },
  ])
  await consumer.stop()
  expect(rule.hits).toBeGreaterThan(0)
  expect(await receiver.rows('select status from ops.run')).toEqual([{ status: 'partial' }])
  expect(await receiver.rows('select error from ops.run_stream')).toEqual([
    { error: expect.stringContaining('1 evaluation(s) could not be read') },
  ])

  rule.remove()
  await receiver.rows('update ops.webhook_delivery set due_at = now()')
  receiver.consume()
  await receiver.settled()
  expect(await outcomes(receiver)).toEqual([{ state: 'processed', outcome: 'inserted', count: 2 }])
})

test('a run for a webhook does none of the work of a queued backfill', async () => {
  await using receiver = await openWebhookFixture({ world: lateWorld(8) })
  const { fixture } = receiver
  const plan = { command: 'backfill', mode: 'backfill', lane: 'background', from: 0 } as const
  const history = { ...plan, from: Date.UTC(2026, 1, 1) / 1000, until: null }
  const { rooftops } = fixture.config
  await startDetached(fixture.context, { plan: history, streams: [evaluations], rooftops })
  await receiver.post({ EvalID: 1002, DealerID: 101 })
  const consumer = receiver.consume()
  const ended = "select status from ops.run where lane = 'event'"
  await expect.poll(() => receiver.rows(ended), { timeout: 30_000 }).toEqual([{ status: 'ok' }])
  await consumer.stop()

  expect(
    await receiver.rows('select lane, status, fence::int from ops.run order by run_id'),
  ).toEqual([
    { lane: 'background', status: 'running', fence: 0 },
    { lane: 'event', status: 'ok', fence: 1 },
  ])
  const report = await fixture.night()
  expect(report.status).toBe('ok')
})

test('a delivery that a run has postponed does not also count as failed', async () => {
  await using receiver = await openWebhookFixture({ world: lateWorld(4) })
  const { pool } = receiver.fixture.database
  for (const evalId of [1001, 1002]) await receiver.post({ EvalID: evalId, DealerID: 101 })
  await pool.query("update ops.webhook_delivery set due_at = now() - interval '1 minute'")
  const { sourceId } = receiver.fixture.context.queue
  const [rooftop] = await readDueRooftops(openDb(pool), sourceId)
  const due = await readDueDeliveries(openDb(pool), sourceId, rooftop!.rooftopId)
  await pool.query('update ops.webhook_delivery set due_at = now() where eval_id = 1001')

  await postponeDeliveries(openDb(pool), due.ids, 'it failed', due.asOf)

  expect([rooftop!.uid, due.ids.length]).toEqual(['rooftop-1', 2])
  expect(
    await receiver.rows('select eval_id, attempts from ops.webhook_delivery order by 1'),
  ).toEqual([
    { eval_id: 1001, attempts: 0 },
    { eval_id: 1002, attempts: 1 },
  ])
})

test('rooftops with due deliveries come longest waiting first, without the excluded ones', async () => {
  await using receiver = await openWebhookFixture({ world: lateWorld(4) })
  const { pool } = receiver.fixture.database
  for (const [evalId, DealerID] of [
    [1001, 101],
    [1003, 102],
    [1004, 102],
  ])
    await receiver.post({ EvalID: evalId, DealerID })
  const { sourceId } = receiver.fixture.context.queue
  const uids = async (except: string[]) =>
    (await readDueRooftops(openDb(pool), sourceId, except)).map(({ uid }) => uid)
  await pool.query("update ops.webhook_delivery set due_at = now() + interval '1 hour'")
  expect(await uids([])).toEqual([])
  await pool.query(
    "update ops.webhook_delivery set due_at = now() - eval_id * interval '1 s' where eval_id <> 1003",
  )

  expect(await uids([])).toEqual(['rooftop-2', 'rooftop-1'])
  expect(await uids(['rooftop-2'])).toEqual(['rooftop-1'])
})

test('a process that is older than the warehouse stops loading, and begins no run', async () => {
  await using receiver = await openWebhookFixture({ world: lateWorld(4) })
  await receiver.post({ EvalID: 1002, DealerID: 101 })
  await receiver.rows(
    "insert into ops.schema_migration (version, name, checksum) values (9999, 'later', '')",
  )

  await expect(consumeHints(receiver.context)).rejects.toBeInstanceOf(OutdatedError)

  expect(await receiver.rows('select run_id from ops.run')).toEqual([])
  expect(await receiver.rows('select state, attempts from ops.webhook_delivery')).toEqual([
    { state: 'waiting', attempts: 0 },
  ])
})
