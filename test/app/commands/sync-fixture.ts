import type { World } from '#src/sandbox/world.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import type { ChildFixtureOptions } from '../../support/child-fixture.ts'

/** The counts of a stream in `sync --json` (contract section 1). */
export const countNames = [
  'listed',
  'hydrated',
  'inserted',
  'updated',
  'unchanged',
  'quarantined',
  'vanished',
  'windows',
  'requests',
  'retries',
  'saved',
]

/** Counts that are all nought but for those given. */
export function counts(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { ...Object.fromEntries(countNames.map((name) => [name, 0])), ...given }
}

export const now = new Date('2026-03-10T06:30:00Z')

/** Six evaluations at one rooftop, one a day from 2 March on: 1001 to 1006. */
export function smallWorld(): World {
  const evaluations = [1001, 1002, 1003, 1004, 1005, 1006].map((evalId, index) =>
    anEvaluation({
      evalId,
      createdAt: `2026-03-0${index + 2}T01:00:00Z`,
      photos: [{ id: evalId * 10 }, { id: evalId * 10 + 1 }],
      reconditioning: [{ type: 'tyres', source: null, cost: 400, value: '4' }],
    }),
  )
  return worldOf({ evaluations })
}

/** The small world with a frozen clock. */
export function smallFixture(world: World = smallWorld()): ChildFixtureOptions {
  return { sandbox: { world, now }, sync: { start: '2026-03-01' } }
}
