import { expect, test } from 'vitest'
import { anEvaluation, worldOf } from '#src/sandbox/build-world.ts'
import type { EvaluationDraft } from '#src/sandbox/build-world.ts'
import { dayMs, type House, openHouse } from '../support/nights.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const now = new Date('2026-03-20T02:00:00Z')
const nights = 5

/** One rooftop whose windows are listed again every fifth night, from the day that they are settled on. */
async function slowHouse(
  drafts: readonly EvaluationDraft[],
  listCarriesUpdatedAt = true,
): Promise<House> {
  const evaluations = drafts.map((draft, index) => anEvaluation({ evalId: 1000 + index, ...draft }))
  const sync = { windowHours: 24, settleDays: 1, recheckDays: 0, deepRelistNights: nights }
  const world = worldOf({ evaluations })
  return await openHouse({ sandbox: { world, now, listCarriesUpdatedAt }, sync })
}

async function faults({ sandbox, database }: House): Promise<string[]> {
  const truth = sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop')
  return differences(truth, await warehouseTruth(database.pool, 'rooftop'))
}

const daysAgo = (days: number, hours = 0) =>
  new Date(now.getTime() - days * dayMs + hours * 3_600_000)

test('a late completion in an old window is found within the stated number of nights', async () => {
  const draft = { createdAt: daysAgo(8), completedAt: new Date(now.getTime() + dayMs / 2) }
  await using house = await slowHouse([draft])
  await house.night()

  for (let night = 0; night <= nights; night++) await house.nightAfter(1)

  expect(await faults(house)).toEqual([])
})

test('a late completion is found behind a cap that the full answer of its window hides', async () => {
  const shown = [1, 2, 3, 4, 5].map((hours) => ({ createdAt: daysAgo(8, hours) }))
  const late = { createdAt: daysAgo(8), completedAt: new Date(now.getTime() + dayMs / 2) }
  await using house = await slowHouse([...shown, late])
  house.sandbox.faults.add({ fault: { kind: 'listCap', cap: 5, order: 'newest' } })
  await house.night()

  for (let night = 0; night <= nights; night++) await house.nightAfter(1)

  expect(await faults(house)).toEqual([])
})

test('a record that could not be read is tried again the next night, however old its window', async () => {
  await using house = await slowHouse([{ createdAt: daysAgo(8) }, { createdAt: daysAgo(9) }])
  house.sandbox.faults.add({ match: { evalId: 1000 }, times: 1, fault: { kind: 'reset' } })
  await house.night()
  const missing = await faults(house)

  const report = await house.nightAfter(1)

  expect(missing).toEqual(['1000 is missing'])
  expect(report.status).toBe('ok')
  expect(await faults(house)).toEqual([])
})

test('a record that was aside and has vanished from the list is aside no more', async () => {
  await using house = await slowHouse([{ createdAt: daysAgo(8) }, { createdAt: daysAgo(9) }])
  house.sandbox.world.poison(1000, { EntryDate: 'never' })
  await house.night()
  house.sandbox.world.vanish(1000, now)

  const report = await house.nightAfter(1)

  expect(report.status).toBe('ok')
  const { rows } = await house.database.pool.query(
    'select natural_key from ops.quarantine where resolved_at is null',
  )
  expect(rows).toEqual([])
})

test('an edit that the list does not tell is found within 28 nights and a turn of its window', async () => {
  const draft = {
    createdAt: daysAgo(8),
    edits: [{ at: new Date(now.getTime() + 60_000), patch: { finalPrice: 1 } }],
  }
  await using house = await slowHouse([draft], false)
  await house.night()

  for (let night = 0; night < 28 + nights; night += 3) await house.nightAfter(3)

  expect(await faults(house)).toEqual([])
})

test('a quiet night asks for the windows that are due and for nothing else', async () => {
  const drafts = Array.from({ length: 9 }, (_, day) => ({ createdAt: daysAgo(day + 0.5) }))
  const evaluations = drafts.map((draft, index) => anEvaluation({ evalId: 1000 + index, ...draft }))
  await using house = await openHouse({ sandbox: { world: worldOf({ evaluations }), now } })
  await house.night()
  house.sandbox.requests.reset()

  const report = await house.night()

  const { windows, requests } = report.streams['evaluations']!
  expect(house.sandbox.requests.count('/geteval')).toBe(0)
  expect(house.sandbox.requests.count('/getevallist')).toBe(windows)
  expect(requests).toBe(windows)
})
