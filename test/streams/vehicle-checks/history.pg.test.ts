import { expect, test } from 'vitest'
import { vehicleChecks } from '#src/streams/vehicle-checks/vehicle-checks.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { toUnixSeconds } from '#src/values/unix-seconds.ts'
import { addCheck, checkedFixture, checkRequests, checkRows } from '../../support/checks-fixture.ts'
import type { Fixture } from '../../support/fixture.ts'

const vinOf = (number: number) => `JTMDFREV9${String(number).padStart(8, '0')}`
const old = (evalId: number, createdAt: string, vin = vinOf(evalId)) => {
  const completedAt = new Date(Date.parse(createdAt) + 1_800_000)
  return { evalId, vin, createdAt, completedAt }
}

/** Four evaluations that are too old for the nights, two of them of one vehicle, and a young one. */
async function oldFixture(backfillBudget = 5000): Promise<Fixture> {
  const evaluations = [
    old(1, '2025-04-01T01:00:00Z'),
    old(2, '2025-06-01T01:00:00Z'),
    old(3, '2025-07-01T01:00:00Z', vinOf(2)),
    old(4, '2025-10-01T01:00:00Z'),
    old(5, '2026-03-01T01:00:00Z'),
  ]
  return await checkedFixture(evaluations, {
    sync: { start: '2025-03-20', windowHours: 744 },
    checks: { backfillBudget },
  })
}

async function backfill(fixture: Fixture, span: { from?: string; until?: string } = {}) {
  const seconds = (iso: string) => toUnixSeconds(new Date(iso))
  const before = fixture.sandbox.requests.entries().length
  const report = await runStreams(fixture.context, {
    plan: {
      ...{ command: 'backfill', mode: 'backfill', lane: 'background' },
      from: span.from === undefined ? 0 : seconds(span.from),
      until: span.until === undefined ? null : seconds(span.until),
    },
    streams: [vehicleChecks],
    rooftops: fixture.config.rooftops,
  })
  const sent = fixture.sandbox.requests.entries().slice(before)
  return { report, paths: [...new Set(sent.map(({ path }) => path))].sort() }
}

test('a backfill asks for the checks of evaluations that were too old at the first load, once', async () => {
  await using fixture = await oldFixture()
  addCheck(fixture, -300, { evalId: 2, vin: vinOf(2) })
  addCheck(fixture, -200, { evalId: 1, vin: vinOf(1), kind: 'car_history' })
  await fixture.night()
  await fixture.nightAfter(8)
  const nights = { asked: checkRequests(fixture), rows: await checkRows(fixture) }

  const first = await backfill(fixture)
  const afterFirst = checkRequests(fixture)
  await backfill(fixture)

  expect(nights).toEqual({ asked: { ppsr: 2, history: 2, watch: 0 }, rows: [] })
  expect(first.report).toMatchObject({
    status: 'ok',
    streams: { 'vehicle-checks': { inserted: 2 } },
  })
  // Each vehicle once, by its newest evaluation.
  expect(afterFirst).toEqual({ ppsr: 5, history: 5, watch: 0 })
  expect(checkRequests(fixture)).toEqual(afterFirst)
  expect(first.paths.filter((path) => path.includes('ppsr') || path.includes('history'))).toEqual([
    '/getpastcarhistory',
    '/getpastppsrsearch',
  ])
  expect(await checkRows(fixture)).toMatchObject([
    { eval_id: 1, check_kind: 'car_history' },
    { eval_id: 2, check_kind: 'ppsr' },
  ])
})

test('a backfill of checks ends at its budget, and the next one continues', {
  tags: 'ci',
}, async () => {
  await using fixture = await oldFixture(2)
  await fixture.night()
  const counts: number[] = []

  for (let time = 0; time < 4; time++) {
    await backfill(fixture)
    const { ppsr, history } = checkRequests(fixture)
    counts.push(ppsr + history)
  }

  expect(counts).toEqual([4, 6, 8, 8])
})

test('a backfill of checks stays within its span, and asks only where no newer evaluation in it does', async () => {
  await using fixture = await oldFixture()
  await fixture.night()

  await backfill(fixture, { from: '2025-05-01', until: '2025-06-15' })

  expect(checkRequests(fixture)).toEqual({ ppsr: 2, history: 2, watch: 0 })
  const { rows } = await fixture.database.pool.query(
    `select distinct eval_id from ops.enrichment_state where stream = 'vehicle-checks' order by 1`,
  )
  expect(rows).toEqual([{ eval_id: 2 }, { eval_id: 5 }])
})

test('a backfill of checks does not count as a good run of the nightly checks', {
  tags: 'ci',
}, async () => {
  await using fixture = await oldFixture()
  await fixture.night()
  await fixture.database.pool.query(
    "update ops.run_stream set finished_at = finished_at - interval '30 hours'",
  )

  await backfill(fixture)

  const { rows } = await fixture.database.pool.query(
    "select status from mart.data_freshness where stream = 'vehicle-checks'",
  )
  expect(rows).toEqual([{ status: 'late' }])
})
