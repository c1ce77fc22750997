import { expect, test } from 'vitest'
import { anEvaluation, aRooftop, worldOf } from '#src/sandbox/build-world.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { isProved, verifyStream } from '#src/pipeline/verify.ts'
import { findRooftops } from '#src/pipeline/rooftops.ts'
import { seededRandom } from '#src/sandbox/seeded-random.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'
import { minuteMs, now, openWebhookHouse, type WebhookHouse } from './webhook-house.ts'

const day = (text: string) => `2026-03-${text}Z`

/** So many evaluations at two rooftops, of which the even ones are completed only half an hour from now on. */
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

async function faults({ house }: WebhookHouse): Promise<string[]> {
  const truth = sourceTruth(house.sandbox.world, house.sandbox.clock.now(), 'rooftop')
  return differences(truth, await warehouseTruth(house.database.pool, 'rooftop'))
}

async function proved({ house }: WebhookHouse): Promise<boolean[]> {
  const { db } = house.context
  const rooftops = await findRooftops(db, house.config.rooftops)
  const verified = rooftops.map((one) =>
    verifyStream(db, evaluations, one, house.config.sync, house.sandbox.clock.now()),
  )
  return (await Promise.all(verified)).map(isProved)
}

const outcomes = ({ rows }: WebhookHouse) =>
  rows(
    `select state, outcome, count(*)::int as count from ops.webhook_delivery group by 1, 2 order by 1, 2`,
  )

test('a late completion is in the warehouse before any sync, and what is certified stays proved', async () => {
  await using receiver = await openWebhookHouse({ world: lateWorld(40) })
  const { house } = receiver
  await house.night()
  receiver.subscribe('ON_COMPLETE', 'rooftop-1')
  receiver.subscribe('ON_COMPLETE', 'rooftop-2')
  receiver.consume()

  house.sandbox.clock.advance(45 * minuteMs)
  await house.sandbox.webhooks.idle()
  await receiver.settled()

  expect(await outcomes(receiver)).toEqual([{ state: 'processed', outcome: 'inserted', count: 20 }])
  expect(await faults(receiver)).toEqual([])
  expect(await proved(receiver)).toEqual([true, true])
  const night = await house.night()
  expect(night.streams['evaluations']).toMatchObject({ inserted: 0, updated: 0 })
  expect(await proved(receiver)).toEqual([true, true])
  const runs = await receiver.rows("select lane, status from ops.run where command = 'webhooks'")
  expect(new Set(runs.map((run) => `${run['lane']} ${run['status']}`))).toEqual(
    new Set(['event ok']),
  )
})

test('a thousand deliveries, doubled and shuffled, make one version of each change', async () => {
  await using receiver = await openWebhookHouse({ world: lateWorld(40) })
  const { house } = receiver
  await house.night()
  house.sandbox.clock.advance(45 * minuteMs)
  const ids = Array.from({ length: 40 }, (_, index) => 1001 + index)
  const bodies = Array.from({ length: 500 }, (_, index) => {
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
  expect(count).toEqual({ rows: 500, twice: 500 })
  expect(await faults(receiver)).toEqual([])
  expect(await receiver.rows('select distinct version_no from core.evaluation')).toEqual([
    { version_no: 1 },
  ])
  const states = await receiver.rows('select distinct state from ops.webhook_delivery')
  expect(states).toEqual([{ state: 'processed' }])
})

test('an export of an edited evaluation makes its next version, and one of an unchanged one none', async () => {
  await using receiver = await openWebhookHouse({ world: lateWorld(8) })
  const { house } = receiver
  await house.night()
  receiver.subscribe('ON_EXPORT')
  house.sandbox.clock.advance(minuteMs)
  house.sandbox.world.edit(1002, house.sandbox.clock.now(), { finalPrice: 12_345 })
  house.sandbox.webhooks.fire('ON_EXPORT', 1002)
  house.sandbox.webhooks.fire('ON_EXPORT', 1006)
  await house.sandbox.webhooks.idle()
  receiver.consume()
  await receiver.settled()

  const told = await receiver.rows(
    'select eval_id, outcome from ops.webhook_delivery order by eval_id',
  )
  expect(told).toEqual([
    { eval_id: 1002, outcome: 'updated' },
    { eval_id: 1006, outcome: 'unchanged' },
  ])
  expect(await faults(receiver)).toEqual([])
})

test('an evaluation from before sync.start is loaded too, and certifies nothing', async () => {
  const world = lateWorld(4)
  const old = {
    evalId: 500,
    createdAt: '2020-05-01T00:00:00Z',
    completedAt: '2020-05-02T00:00:00Z',
  }
  world.add({ ...worldOf({ evaluations: [anEvaluation(old)] }).evaluation(500)! })
  await using receiver = await openWebhookHouse({ world })
  await receiver.house.night()
  const before = await receiver.rows('select * from ops.coverage order by 1, 2')
  receiver.consume()

  await receiver.post({ EvalID: 500, DealerID: 101, UpdatedAt: '2020-05-02T00:00:00Z' })
  await receiver.settled()

  expect(await outcomes(receiver)).toEqual([{ state: 'processed', outcome: 'inserted', count: 1 }])
  expect(await receiver.rows('select * from ops.coverage order by 1, 2')).toEqual(before)
  expect(await proved(receiver)).toEqual([true, true])
})

test('an event that the reads do not show yet is asked for again, and one of no evaluation ends as vanished', async () => {
  await using receiver = await openWebhookHouse({ world: lateWorld(4) })
  const { house } = receiver
  receiver.consume()
  const early = { EvalID: 1001, DealerID: 101, UpdatedAt: day('10T00:30:00') }
  await receiver.post(early)
  await expect
    .poll(() => receiver.rows('select attempts from ops.webhook_delivery'), { timeout: 20_000 })
    .toEqual([{ attempts: 1 }])
  expect(await receiver.rows('select eval_id from core.evaluation')).toEqual([])

  house.sandbox.clock.advance(45 * minuteMs)
  await receiver.settled()
  expect(await outcomes(receiver)).toEqual([{ state: 'processed', outcome: 'inserted', count: 1 }])

  await receiver.post({ EvalID: 999_999, DealerID: 101, UpdatedAt: day('10T00:30:00') })
  await house.database.pool.query(
    'update ops.webhook_delivery set attempts = 6 where eval_id = 999999',
  )
  await receiver.settled()
  expect(
    await receiver.rows('select outcome from ops.webhook_delivery where eval_id = 999999'),
  ).toEqual([{ outcome: 'vanished' }])
  expect(await receiver.rows('select natural_key from ops.vanished')).toEqual([])
})

test('while the source is down deliveries wait, and they are loaded once it is back', async () => {
  await using receiver = await openWebhookHouse({ world: lateWorld(8) })
  const { house } = receiver
  const rule = house.sandbox.faults.add({
    match: { path: '/geteval' },
    fault: { kind: 'status', status: 503 },
  })
  receiver.consume()
  for (const evalId of [1002, 1006]) await receiver.post({ EvalID: evalId, DealerID: 101 })
  await expect.poll(() => rule.struck, { timeout: 20_000 }).toBeGreaterThan(1)
  rule.remove()
  await receiver.settled()

  expect(await outcomes(receiver)).toEqual([{ state: 'processed', outcome: 'inserted', count: 2 }])
  expect(await receiver.rows('select quarantine_id from ops.quarantine')).toEqual([])
})
