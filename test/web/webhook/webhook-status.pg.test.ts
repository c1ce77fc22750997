import { expect, test } from 'vitest'
import { readWebhookStatus } from '#src/web/webhook/webhook-status.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { minuteMs, now, openWebhookFixture } from './webhook-fixture.ts'

const hourMs = 60 * minuteMs

/** Six evaluations that are completed one a minute from now on. */
function world() {
  const list = Array.from({ length: 6 }, (_, index) =>
    anEvaluation({
      evalId: 1001 + index,
      createdAt: '2026-03-09T22:00:00Z',
      completedAt: new Date(now.getTime() + (index + 1) * minuteMs),
    }),
  )
  return worldOf({ evaluations: list })
}

test('lost, duplicate and late deliveries are counted in status and in the mart', async () => {
  await using receiver = await openWebhookFixture({ world: world() })
  const { fixture } = receiver
  expect(await readWebhookStatus(fixture.context.db)).toEqual({ rooftops: {}, unknownRooftop: 0 })
  await fixture.night()
  receiver.subscribe()
  await fixture.database.pool.query(
    `insert into ops.webhook_subscription (rooftop_id, event, subscription_id, url, header_hash, since)
     select rooftop_id, 'ON_COMPLETE', 1, 'https://a', decode(repeat('00', 32), 'hex'), $1 from core.rooftop`,
    [now],
  )
  fixture.sandbox.webhooks.plan = ({ evalId }) =>
    evalId === 1002 ? 'lose' : evalId === 1003 ? 'double' : 'send'
  receiver.consume()

  for (let minute = 0; minute < 6; minute++) {
    fixture.sandbox.clock.advance(minuteMs)
    await fixture.sandbox.webhooks.idle()
  }
  await receiver.post({ EvalID: 5, DealerID: 999 })
  await receiver.settled()
  const before = await readWebhookStatus(fixture.context.db)
  fixture.sandbox.clock.advance(7 * hourMs)
  await fixture.night()

  // No list was read since the subscription.
  expect(before.rooftops['rooftop-1']).toMatchObject({ isSubscribed: true, missed: null })
  const counts = { received: 5, duplicates: 1, processed: 5, kept: 0, waiting: 0, unusable: 0 }
  const { rooftops, unknownRooftop } = await readWebhookStatus(fixture.context.db)
  expect(rooftops['rooftop-1']).toMatchObject({ ...counts, failed: 0, missed: 1 })
  expect(rooftops['rooftop-1']!.loadingSeconds.p50).toBeGreaterThan(0)
  expect(unknownRooftop).toBe(1)
  const rows = await receiver.rows(
    `select webhook_date, deliveries, duplicates, processed, expected, missed, arrival_p95_seconds::float8 as late
     from mart.webhook_latency`,
  )
  expect(rows).toEqual([
    {
      ...{ webhook_date: '2026-03-10', deliveries: 5, duplicates: 1, processed: 5 },
      ...{ expected: 6, missed: 1, late: expect.any(Number) },
    },
  ])
})
