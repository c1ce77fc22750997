import { expect, test } from 'vitest'
import { evaluationRecords } from '#src/streams/evaluations/evaluation-records.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { readStatus } from '#src/sync/explain/status.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { isProved } from '#src/sync/verify/verify.ts'
import { dayMs, type Fixture, openFixture } from '../support/fixture.ts'
import { verifyStream } from '../support/verify-stream.ts'

const now = new Date('2026-03-10T02:00:00Z')

async function proved({ context, config }: Fixture): Promise<boolean[]> {
  const rooftops = await findRooftops(context.db, config.rooftops)
  const found = rooftops.map(async (rooftop) =>
    isProved(await verifyStream(context.db, evaluationRecords, rooftop, config.sync)),
  )
  return await Promise.all(found)
}

async function health({ context, config }: Fixture): Promise<string> {
  const rooftops = await findRooftops(context.db, config.rooftops)
  return (await readStatus(context.db, [evaluations], rooftops, config)).status
}

test('sync, status and verify agree after the clock of the source was set back, and when it is there again', async () => {
  await using fixture = await openFixture({
    sandbox: { now, rooftops: 2, evaluations: 20, days: 5 },
    streams: [evaluations],
  })
  await fixture.nightAfter(2.4)

  const back = await fixture.nightAfter(-1.7)
  const provedBack = await proved(fixture)
  const healthBack = await health(fixture)
  const later = await fixture.nightAfter(2.1)

  expect([back.status, provedBack, healthBack]).toEqual(['ok', [true, true], 'ok'])
  expect([later.status, await proved(fixture), await health(fixture)]).toEqual([
    ...['ok', [true, true], 'ok'],
  ])
  const { rows } = await fixture.database.pool.query(
    "select upper(range_agg(tstzrange(window_from, window_until))) as to from ops.window_certificate where stream = 'evaluations'",
  )
  expect(rows[0].to.getTime()).toBeGreaterThanOrEqual(now.getTime() + 2.8 * dayMs)
})
