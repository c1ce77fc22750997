import { expect, test } from 'vitest'
import { evaluationRecords as records } from '#src/streams/evaluations/evaluation-records.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { isProved } from '#src/sync/verify/verify.ts'
import { someOf } from '../support/cases.ts'
import { pricedFixture } from '../support/pricing-fixture.ts'
import { verifyStream } from '../support/verify-stream.ts'

test.each(
  someOf(
    [
      ['its own children are left', [records.tables[0]!]],
      ['only rows of other streams are left', records.tables],
    ] as const,
    1,
  ),
)('an evaluation that was deleted by hand is named while %s', async (_, deleted) => {
  await using fixture = await pricedFixture([{ evalId: 1 }, { evalId: 2 }])
  const { context, config, database, sandbox } = fixture
  const verified = async () => {
    const [rooftop] = await findRooftops(context.db, config.rooftops)
    return await verifyStream(context.db, records, rooftop!, config.sync)
  }
  await fixture.night()
  const before = await verified()

  for (const table of deleted) await database.pool.query(`delete from ${table} where eval_id = 1`)
  // No certificate names it any more.
  sandbox.world.vanish(1, sandbox.clock.now())
  await fixture.nightAfter(1)
  const after = await verified()
  await runStreams(context, {
    plan: { command: 'replay', mode: 'replay', from: 0, until: 0 },
    streams: [evaluations],
    rooftops: config.rooftops,
  })
  await fixture.nightAfter(1)

  expect(isProved(before)).toBe(true)
  expect(after).toMatchObject({ notStored: [], listed: 1 })
  expect(after.orphans).toMatchObject([{ record: '1' }])
  expect(isProved(after)).toBe(false)
  expect(isProved(await verified()), 'after a replay and a sync').toBe(true)
})
