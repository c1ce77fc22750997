import { expect, test, vi } from 'vitest'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { pricing } from '#src/streams/pricing/pricing.ts'
import { listRuns, readKnownRooftops, showRun } from '#src/sync/explain/run-history.ts'
import { anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { type Fixture, openFixture } from '../support/fixture.ts'

vi.setConfig({ testTimeout: 120_000 })

const now = new Date('2026-03-10T02:00:00Z')
const slowMs = 400

/** Two rooftops of one dealer group, with an evaluation of yesterday each; windows of an hour make several slices. */
async function open(options: Partial<Parameters<typeof openFixture>[0]> = {}): Promise<Fixture> {
  const uids = ['rooftop-1', 'rooftop-2']
  const createdAt = new Date('2026-03-09T01:00:00Z')
  const world = worldOf({
    rooftops: uids.map((uid, at) => aRooftop({ uid, dealerId: 101 + at })),
    evaluations: uids.map((rooftopUid, at) =>
      anEvaluation({ evalId: 1001 + at, rooftopUid, createdAt }),
    ),
  })
  return await openFixture({
    sandbox: { world, now },
    sync: { start: '2026-03-04', recheckDays: 3 },
    streams: [evaluations],
    ...options,
  })
}

interface Part {
  readonly rooftop: string
  readonly stream: string
  readonly seconds: number
  readonly isInside: boolean
  readonly beganAt: Date
  readonly finishedAt: Date
}

/** The parts of the newest run by rooftop and stream: how long they took, and whether they began and ended during the run. */
async function partsOf({ database: { pool } }: Fixture): Promise<Part[]> {
  const { rows } = await pool.query<Part>(
    `select rooftop_uid as rooftop, stream, began_at as "beganAt", part.finished_at as "finishedAt",
       extract(epoch from part.finished_at - began_at)::float8 as seconds,
       began_at >= run.started_at and began_at <= part.finished_at as "isInside"
     from ops.run_stream as part join ops.run using (run_id) join core.rooftop using (rooftop_id)
     where run_id = (select max(run_id) from ops.run) order by 1, 2`,
  )
  return rows
}

function slow({ sandbox }: Fixture, path: string, ms = slowMs) {
  return sandbox.faults.add({ match: { path }, fault: { kind: 'slow', ms } })
}

test('a stream begins when the work on its first slice starts, not when that is committed', async () => {
  await using fixture = await open({ sync: { start: '2026-03-04', windowHours: 1 } })
  slow(fixture, '/geteval')

  const { runId } = await fixture.night()

  const parts = await partsOf(fixture)
  const { db } = fixture.context
  const shown = await showRun(db, runId, await readKnownRooftops(db))
  expect(parts.map(({ isInside }) => isInside)).toEqual([true, true])
  for (const { rooftop, seconds, beganAt } of parts) {
    expect(seconds).toBeGreaterThan(slowMs / 1000)
    expect(shown!.rooftops[rooftop]!.streams['evaluations']).toMatchObject({ beganAt })
  }
})

test('idle rooftops that are done together, an enrichment and a failed stream have a begin too', {
  tags: 'ci',
}, async () => {
  await using fixture = await open({ streams: [evaluations, pricing] })
  await fixture.night()
  const slowed = slow(fixture, '/getevallist')

  await fixture.nightAfter(1)
  slowed.remove()
  const idle = await partsOf(fixture)
  fixture.sandbox.faults.add({
    match: { path: '/getevallist', rooftopUid: 'rooftop-1' },
    fault: { kind: 'status', status: 403 },
  })
  await fixture.nightAfter(1)
  const { runs } = await listRuns(fixture.context.db, {}, 1)
  const failed = await partsOf(fixture)

  expect(idle.map(({ stream, isInside }) => [stream, isInside])).toEqual(
    ['rooftop-1', 'rooftop-2'].flatMap(() => [
      ['evaluations', true],
      ['pricing', true],
    ]),
  )
  for (const { stream, seconds } of idle)
    if (stream === 'evaluations') expect(seconds).toBeGreaterThan(slowMs / 1000)
  expect(runs[0]!.errors).toBeGreaterThan(0)
  expect(failed.map(({ isInside }) => isInside)).toEqual([true, true, true, true])
})

test('a rooftop that waits for the list of its group has not started', { tags: 'ci' }, async () => {
  await using fixture = await open({
    dealerIds: false,
    sync: { start: '2026-03-09', recheckDays: 1 },
  })
  slow(fixture, '/getevallist', 80)

  await fixture.night()

  const [first, second] = (await partsOf(fixture)).sort(
    (a, b) => Number(a.beganAt) - Number(b.beganAt),
  )
  expect(second!.beganAt.getTime()).toBeGreaterThanOrEqual(first!.beganAt.getTime() + 80)
})
