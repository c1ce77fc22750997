import type { World } from '#src/sandbox/world.ts'
import type { ApiKey, EvaluationPatch } from '#src/sandbox/world-types.ts'
import {
  aKey,
  anEvaluation,
  aRooftop,
  aUser,
  type EvaluationDraft,
  worldOf,
} from './build-world.ts'
import { dayMs } from './fixture.ts'
import { begin, busyDays, type EvaluationPlan, type Scenario } from './random-scenario.ts'

const awkward = [
  'Tidy.',
  '',
  null,
  undefined,
  'quote " backslash \\ tab \t line \n end',
  'NUL \u0000 and a lone \ud83d surrogate',
  '🚗 عربي ‏',
  "'; drop table x; --",
  '\\N',
  'x'.repeat(5_000),
] as const

const patches: readonly EvaluationPatch[] = [
  { finalPrice: 0 },
  { finalPrice: 12_345.678, notes: 'Agreed.' },
  { reconditioning: [{ type: 'info', source: 'OEM', cost: 0, value: '87%' }] },
  { reconditioning: [{ type: 'tyres', source: null, cost: 0.1, value: 4 }], photos: [] },
  { photos: [{ ...blankPhoto(7) }, { ...blankPhoto(8), pinned: true }] },
  { customer: { phone: null, name: 'Şule' }, customFields: { 'Lead "x"': field('Web') } },
  { userId: 2, odometer: null, vin: null, userPrices: [{ amount: 1, currency: 'AUD', note: '' }] },
]

function blankPhoto(id: number) {
  return { id, order: null, takenAt: null, uploadedAt: new Date(begin), pinned: false, angle: 'f' }
}
function field(value: unknown) {
  return { type: 'select', options: ['a'], value }
}

/** The world of a scenario. Windows lie on a grid of whole multiples of their length since 1970. */
export function worldFor(scenario: Scenario): World {
  const rooftops = scenario.rooftopGroups.map((group, index) =>
    aRooftop({ uid: `rooftop-${index}`, groupId: `group-${group}`, dealerId: 101 + index }),
  )
  const users = [...new Set(scenario.rooftopGroups)].flatMap((group) =>
    [1, 2].map((n) =>
      aUser({
        userId: group * 10 + n,
        groupId: `group-${group}`,
        rooftopUid: rooftops.find(({ groupId }) => groupId === `group-${group}`)!.uid,
        email: `Sales.Ø${n}@group-${group}.example`,
        generated: n === 2,
      }),
    ),
  )
  const evaluations = scenario.evaluations.flatMap((one, index) =>
    Array.from({ length: one.burst }, (_, nth) =>
      anEvaluation(draftOf(scenario, one, index * 10 + nth)),
    ),
  )
  return worldOf({ rooftops, users, keys: keysFor(scenario), evaluations })
}

function keysFor({ keys, rooftopGroups }: Scenario): ApiKey[] {
  const uids = rooftopGroups.map((_, index) => `rooftop-${index}`)
  if (keys === 'partner') return [aKey({ value: 'partner-key', rooftopUids: uids })]
  return uids.map((uid) =>
    aKey({ name: uid, value: `key-of-${uid}`, kind: 'dedicated', rooftopUids: [uid] }),
  )
}

function draftOf(scenario: Scenario, one: EvaluationPlan, index: number): EvaluationDraft {
  const rooftop = one.rooftop % scenario.rooftopGroups.length
  const group = scenario.rooftopGroups[rooftop]!
  const createdAt = createdAtOf(scenario, one)
  const completedAt =
    one.completes === null ? null : new Date(createdAt.getTime() + one.completes * dayMs)
  const later = (days: number) => new Date((completedAt ?? createdAt).getTime() + days * dayMs)
  return {
    evalId: 1000 + index,
    rooftopUid: `rooftop-${rooftop}`,
    createdAt,
    completedAt,
    userId: [null, undefined, group * 10 + 1, group * 10 + 2][index % 4],
    notes: awkward[one.text],
    customer: { name: awkward[(one.text + 3) % 7] },
    photos: [{ id: index * 3 + 1 }, { id: index * 3 + 2, order: 1 }],
    edits: one.edits.map(({ after, patch }) => ({
      at: later(after),
      patch: patch === 6 ? { ...patches[6], userId: group * 10 + 2 } : patches[patch]!,
    })),
    vanishedAt: one.vanishes === null || completedAt === null ? null : later(one.vanishes),
    // A list that says "unchanged" of what has vanished is believed: the record is not read again (design.md section 2).
    vanishedStaysListed: one.staysListed && !scenario.listCarriesUpdatedAt,
  }
}

function createdAtOf(scenario: Scenario, { beginsAt: place, edge, ms }: EvaluationPlan): Date {
  const at = begin + place * busyDays(scenario) * dayMs
  const grid = scenario.sync.windowHours * 3_600_000
  const second =
    edge === null ? Math.floor(at / 1000) * 1000 : Math.ceil(at / grid) * grid + edge * 1000
  return new Date(Math.max(second, begin) + ms)
}

/** When the last thing happens at the source. */
export function lastEvent(world: World, scenario: Scenario): Date {
  const instants = [...world.evaluations()].flatMap(
    ({ createdAt, completedAt, vanishedAt, edits }) =>
      [createdAt, completedAt, vanishedAt, ...edits.map(({ at }) => at)].map((at) => +(at ?? 0)),
  )
  return new Date(Math.max(begin + busyDays(scenario) * dayMs, ...instants))
}
