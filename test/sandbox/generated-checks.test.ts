import { expect, test } from 'vitest'
import { type CheckDraft, generateChecks, watchPeriodMs } from '#src/sandbox/checks.ts'
import { generateWorld } from '#src/sandbox/generate-world.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import type { World } from '#src/sandbox/world.ts'
import { defaultWire } from '#src/values/wire.ts'
import { ask } from './ask.ts'

const now = new Date('2026-07-28T12:00:00Z')
const { generatedUser } = defaultWire.appraisal

function worldFor(seed: number): World {
  return generateWorld({ seed, rooftops: 6, evaluations: 2000, days: 90, now, generatedUser })
}

test('the same seed gives the same checks, another seed does not', () => {
  expect(generateChecks(4, worldFor(4))).toEqual(generateChecks(4, worldFor(4)))
  expect(generateChecks(4, worldFor(4))).not.toEqual(generateChecks(5, worldFor(4)))
})

test('about 8 % of the completed AU evaluations with a VIN have checks, all of them after completion', () => {
  const world = worldFor(4)
  const drafts = generateChecks(4, world)
  const checkable = [...world.evaluations()].filter(
    ({ rooftopUid, vin, completedAt }) =>
      world.rooftop(rooftopUid)!.region === 'AU' && vin?.length === 17 && completedAt !== null,
  )
  const checked = new Set(drafts.map(({ evalId }) => evalId))

  expect(checked.size / checkable.length).toBeGreaterThan(0.05)
  expect(checked.size / checkable.length).toBeLessThan(0.11)
  for (const { evalId, vin, groupId, searchedAt } of drafts) {
    const evaluation = world.evaluation(evalId)!
    expect(searchedAt > evaluation.completedAt!).toBe(true)
    expect(vin).toBe(evaluation.vin)
    expect(groupId).toBe(world.rooftop(evaluation.rooftopUid)!.groupId)
  }
})

test('some vehicles are searched again once the watch is over, and a few have a report', () => {
  const world = worldFor(4)
  const drafts = generateChecks(4, world)
  const searches = Map.groupBy(
    drafts.filter(({ kind }) => kind === 'ppsr'),
    ({ evalId }) => evalId,
  )
  const gaps = [...searches.values()].flatMap(gapsOf)
  const reports = drafts.filter(({ kind }) => kind === 'car_history')

  expect(gaps.length).toBeGreaterThan(5)
  expect(Math.min(...gaps)).toBeGreaterThan(watchPeriodMs)
  expect(reports.length).toBeGreaterThan(3)
  expect(reports.every(({ rooftopUid }) => world.rooftop(rooftopUid)!.carHistory !== false)).toBe(
    true,
  )
})

function gapsOf(searches: readonly CheckDraft[]): number[] {
  return searches
    .slice(1)
    .map(({ searchedAt }) => searchedAt.getTime() - searches[0]!.searchedAt.getTime())
}

test('a generated world is served with its checks, a given one with none', async () => {
  await using generated = await startSandbox({ seed: 4, now })
  await using given = await startSandbox({ world: worldFor(4), now })
  const check = [...generated.checks.all()].find(
    ({ kind, searchedAt }) => kind === 'ppsr' && searchedAt < now,
  )!
  const key = generated.world.keys.find(({ name }) => name === 'au')!.value
  const as = { key, rooftop: check.rooftopUid }
  const body = { evalid: check.evalId }

  const { json } = await ask(generated, '/getpastppsrsearch', body, as)
  expect(json).toContainEqual(expect.objectContaining({ ID: check.id }))
  expect((await ask(given, '/getpastppsrsearch', body, as)).json).toEqual([])
})
