import { expect, test } from 'vitest'
import { otherNames } from '#src/sandbox/other-names.ts'
import type { EvaluationDraft } from '../support/build-world.ts'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { dayMs, type Fixture, openFixture } from '../support/fixture.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const now = new Date('2026-03-20T02:00:00Z')
const nights = 5

/** One rooftop whose windows are listed again every fifth night after they are settled. */
async function slowFixture(
  drafts: readonly EvaluationDraft[],
  listCarriesUpdatedAt = true,
): Promise<Fixture> {
  const evaluations = drafts.map((draft, index) => anEvaluation({ evalId: 1000 + index, ...draft }))
  const sync = { windowHours: 24, settleDays: 1, recheckDays: 0, deepRelistNights: nights }
  const world = worldOf({ evaluations })
  return await openFixture({ sandbox: { world, now, listCarriesUpdatedAt }, sync })
}

async function faults({ sandbox, database }: Fixture): Promise<string[]> {
  const truth = sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop')
  return differences(truth, await warehouseTruth(database.pool, 'rooftop'))
}

const daysAgo = (days: number, hours = 0) =>
  new Date(now.getTime() - days * dayMs + hours * 3_600_000)

test('a late completion in an old window is found within the stated number of nights', {
  tags: 'ci',
}, async () => {
  const draft = { createdAt: daysAgo(8), completedAt: new Date(now.getTime() + dayMs / 2) }
  await using fixture = await slowFixture([draft])
  await fixture.night()

  for (let night = 0; night <= nights; night++) await fixture.nightAfter(1)

  expect(await faults(fixture)).toEqual([])
})

test('a late completion is found behind a cap that the full answer of its window hides', async () => {
  const shown = [1, 2, 3, 4, 5].map((hours) => ({ createdAt: daysAgo(8, hours) }))
  const late = { createdAt: daysAgo(8), completedAt: new Date(now.getTime() + dayMs / 2) }
  await using fixture = await slowFixture([...shown, late])
  fixture.sandbox.faults.add({ fault: { kind: 'listCap', cap: 5, order: 'newest' } })
  await fixture.night()

  for (let night = 0; night <= nights; night++) await fixture.nightAfter(1)

  expect(await faults(fixture)).toEqual([])
})

test('a record that could not be read is tried again the next night, however old its window', async () => {
  await using fixture = await slowFixture([{ createdAt: daysAgo(8) }, { createdAt: daysAgo(9) }])
  fixture.sandbox.faults.add({ match: { evalId: 1000 }, times: 1, fault: { kind: 'reset' } })
  await fixture.night()
  const missing = await faults(fixture)

  const report = await fixture.nightAfter(1)

  expect(missing).toEqual(['1000 is missing'])
  expect(report.status).toBe('ok')
  expect(await faults(fixture)).toEqual([])
})

test('a quarantined record that has vanished from the list leaves quarantine', async () => {
  await using fixture = await slowFixture([{ createdAt: daysAgo(8) }, { createdAt: daysAgo(9) }])
  fixture.sandbox.world.poison(1000, { EntryDate: 'never' })
  await fixture.night()
  fixture.sandbox.world.vanish(1000, now)

  const report = await fixture.nightAfter(1)

  expect(report.status).toBe('ok')
  const { rows } = await fixture.database.pool.query(
    'select natural_key from ops.quarantine where resolved_at is null',
  )
  expect(rows).toEqual([])
})

test('an edit that the list does not show is found within 28 nights plus one rotation of its window', {
  tags: 'ci',
}, async () => {
  const draft = {
    createdAt: daysAgo(8),
    edits: [{ at: new Date(now.getTime() + 60_000), patch: { finalPrice: 1 } }],
  }
  await using fixture = await slowFixture([draft], false)
  await fixture.night()

  for (let night = 0; night < 28 + nights; night += 3) await fixture.nightAfter(3)

  expect(await faults(fixture)).toEqual([])
})

test('a list whose update time is that of the creation hides no edit', async () => {
  const { decoys } = otherNames(1)
  const world = worldOf({
    evaluations: [
      ...[1000, 1001].map((evalId) => anEvaluation({ evalId, createdAt: daysAgo(1) })),
      // Several: the turn of one may come.
      ...[1002, 1003, 1004, 1005].map((evalId) =>
        anEvaluation({
          ...{ evalId, createdAt: daysAgo(1), completedAt: daysAgo(1) },
          edits: [{ at: new Date(now.getTime() + 60_000), patch: { finalPrice: 1 } }],
        }),
      ),
    ],
  })
  await using fixture = await openFixture({
    sandbox: {
      ...{ world, now },
      decoys: {
        ...decoys,
        encode: (_, __, value) => value,
        evaluation: (body) => body,
        list: (body) => body,
        listItem: (body, { createdAt }) => ({ ...body, UpdatedAt: createdAt }),
      },
    },
  })
  await fixture.night()
  const before = await faults(fixture)

  await fixture.nightAfter(1)

  expect(before).toEqual([])
  expect(await faults(fixture)).toEqual([])
})

test('a night without changes lists the due windows and nothing else', async () => {
  const drafts = Array.from({ length: 9 }, (_, day) => ({ createdAt: daysAgo(day + 0.5) }))
  const evaluations = drafts.map((draft, index) => anEvaluation({ evalId: 1000 + index, ...draft }))
  await using fixture = await openFixture({ sandbox: { world: worldOf({ evaluations }), now } })
  await fixture.night()
  fixture.sandbox.requests.reset()

  const report = await fixture.night()

  const { windows, requests } = report.streams['evaluations']!
  expect(fixture.sandbox.requests.count('/geteval')).toBe(0)
  expect(fixture.sandbox.requests.count('/getevallist')).toBe(windows)
  expect(requests).toBe(windows)
})
