import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import type { Context } from '#src/context.ts'
import { openContext } from '#src/open-context.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import type { Sandbox } from '#src/sandbox/server.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { allStreams } from '#src/streams/all.ts'
import { evaluationRecords } from '#src/streams/evaluations/evaluation-records.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { verifyRows } from '#src/sync/verify/verify-rows.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { openFixture, runNight } from '../support/fixture.ts'
import { contentDifferences, readExactContent } from '../support/warehouse-content.ts'

const now = new Date('2026-03-10T02:00:00Z')
const [hourMs, dayMs] = [3_600_000, 86_400_000]
const rooftops = ['north', 'south'].map((uid, index) => aRooftop({ uid, dealerId: 101 + index }))
const evalIds = { north: [1001, 1002], south: [2001, 2002] }
const vinOf = (evalId: number) => `JTMDFREV9${String(evalId).padStart(8, '0')}`

/** Two evaluations of each rooftop, edited before the second night. `moved`: the first of each is at the other rooftop. */
function worldWith(moved: boolean) {
  const evaluations = (['north', 'south'] as const).flatMap((uid) =>
    evalIds[uid].map((evalId, index) =>
      anEvaluation({
        ...{ evalId, vin: vinOf(evalId), createdAt: new Date(now.getTime() - 30 * hourMs) },
        rooftopUid: moved && index === 0 ? (uid === 'north' ? 'south' : 'north') : uid,
        edits: [{ at: new Date(now.getTime() + hourMs), patch: { odometer: 90_000 } }],
      }),
    ),
  )
  return worldOf({ rooftops, evaluations, keys: [aKey({ rooftopUids: ['north', 'south'] })] })
}

function addChecks({ checks }: Sandbox): void {
  for (const [rooftopUid, ids] of Object.entries(evalIds))
    for (const evalId of ids)
      for (const kind of ['ppsr', 'car_history'] as const) {
        const own = { evalId, rooftopUid, groupId: rooftops[0]!.groupId, vin: vinOf(evalId) }
        checks.add({ kind, searchedAt: new Date(now.getTime() - hourMs), ...own })
      }
}

async function differingRows({ db, pool, config, signal }: Context) {
  const known = await findRooftops(db, config.rooftops)
  return (await verifyRows({ db, pool, config }, allStreams, known, null, signal)).rows
}

test('answers about an evaluation move with it, so that its rows still follow from them', async () => {
  await using fixture = await openFixture({
    sandbox: { world: worldWith(false), now },
    streams: allStreams,
  })
  addChecks(fixture.sandbox)
  await fixture.night()
  await fixture.nightAfter(1)
  const { pool } = fixture.database
  await using sandbox = await startSandbox({
    world: worldWith(true),
    clock: new VirtualClock({ start: new Date(now.getTime() + 2 * dayMs), frozen: true }),
  })
  addChecks(sandbox)
  const sync = { start: fixture.config.sync.start.toISOString() }
  const input = { ...sandbox.clientConfig(), warehouse: fixture.config.warehouse, sync }
  await using context = await openContext(makeConfig(input, '/nowhere'), fixture.context.log)

  for (let night = 0; night < 2; night++) {
    const report = await runNight(context, allStreams)
    expect(report.status).toBe('ok')
  }

  expect(await differingRows(context)).toEqual([])
  const { rows } = await pool.query(
    `select rooftop_uid as owner, endpoint, array_agg(distinct natural_key order by natural_key) as keys
     from raw.payload join core.rooftop using (rooftop_id) where endpoint <> 'getuserlist' group by 1, 2 order by 2, 1`,
  )
  const endpoints = ['geteval', 'getpastcarhistory', 'getpastppsrsearch', 'pricingAi']
  expect(rows).toEqual(
    endpoints.flatMap((endpoint) => [
      { owner: 'north', endpoint, keys: ['1002', '2001'] },
      { owner: 'south', endpoint, keys: ['1001', '2002'] },
    ]),
  )
  const before = await readExactContent(pool)
  const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
  const { status } = await runStreams(context, {
    ...{ plan, streams: allStreams, rooftops: context.config.rooftops },
  })
  expect(status).toBe('ok')
  expect(contentDifferences(before, await readExactContent(pool))).toEqual([])
  expect(before['core.price_observation']).toHaveLength(8)
})

test('evaluations name the answers of every stream that asks about them', () => {
  const asks = allStreams.flatMap(({ enrichment }) => enrichment?.asks ?? [])

  expect(new Set(evaluationRecords.dependentEndpoints)).toEqual(new Set(asks))
})
