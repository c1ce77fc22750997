import fc from 'fast-check'
import { defaultSliceLimits, type SliceLimits } from '#src/values/slice-limits.ts'

/** How a run of nights is laid out; all of it random. */
export interface Scenario {
  readonly rooftopGroups: readonly number[]
  readonly keys: 'partner' | 'dedicated'
  readonly dealerIds: boolean
  readonly listCarriesUpdatedAt: boolean
  readonly cap: { readonly cap: number; readonly order: 'newest' | 'oldest' | 'arbitrary' } | null
  readonly capEnds: boolean
  readonly sync: {
    readonly windowHours: number
    readonly settleDays: number
    readonly recheckDays: number
    readonly deepRelistNights: number
  }
  readonly maxRetries: number
  readonly sliceLimits: SliceLimits
  readonly history: number
  readonly evaluations: readonly EvaluationPlan[]
  readonly nights: readonly NightPlan[]
}

/** An evaluation: where it begins, and what becomes of it. */
export interface EvaluationPlan {
  readonly rooftop: number
  /** Where in the history it begins, from 0 to 1. */
  readonly beginsAt: number
  /** On an edge of the windows' grid, or near one, in seconds; null: where it falls. */
  readonly edge: number | null
  readonly ms: number
  /** The number that is begun in the same second. */
  readonly burst: number
  /** Days until completion; null: never. */
  readonly completes: number | null
  readonly edits: readonly { readonly after: number; readonly patch: number }[]
  readonly vanishes: number | null
  readonly staysListed: boolean
  readonly text: number
}

/** A night of the busy time. */
export interface NightPlan {
  /** Days since the night before. */
  readonly after: number
  readonly fault: 'status' | 'tooMany' | 'reset' | 'truncate' | 'html' | 'empty' | null
  readonly path: '/geteval' | '/getevallist' | null
  readonly chance: number
  /** Breaks off at the nth time that it comes by one of the crash points. */
  readonly crash: { readonly point: string; readonly nth: number } | null
}

/** The first second of the history of every scenario: a midnight, and a multiple of no window length in particular. */
export const begin = Date.parse('2026-01-05T00:00:00Z')

/** Evenly spread, in thousandths of a day. */
const days = (min: number, max: number) =>
  fc.integer({ min: min * 1000, max: max * 1000 }).map((thousandths) => thousandths / 1000)

const life: fc.Arbitrary<EvaluationPlan> = fc.record({
  rooftop: fc.nat({ max: 2 }),
  beginsAt: fc.nat({ max: 9_999 }).map((place) => place / 10_000),
  edge: fc.option(fc.constantFrom(-1, 0, 0, 1)),
  ms: fc.constantFrom(0, 0, 1, 999),
  burst: fc.constantFrom(1, 1, 1, 1, 2, 3, 5),
  completes: fc.oneof(
    { weight: 6, arbitrary: days(0.001, 0.1) },
    { weight: 3, arbitrary: days(0.1, 40) },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
  edits: fc.array(
    fc.record({
      after: fc.oneof(days(0.001, 2), days(2, 40)),
      patch: fc.nat({ max: 6 }),
    }),
    { maxLength: 2 },
  ),
  vanishes: fc.oneof(
    { weight: 1, arbitrary: days(0.01, 30) },
    { weight: 5, arbitrary: fc.constant(null) },
  ),
  staysListed: fc.boolean(),
  text: fc.nat({ max: 9 }),
})

const night: fc.Arbitrary<NightPlan> = fc.record({
  after: days(0.3, 3),
  fault: fc.option(
    fc.constantFrom<NonNullable<NightPlan['fault']>>(
      'status',
      'tooMany',
      'reset',
      'truncate',
      'html',
      'empty',
    ),
    { freq: 2 },
  ),
  path: fc.constantFrom<NightPlan['path']>('/geteval', '/geteval', '/getevallist', null),
  chance: fc.constantFrom(0.03, 0.2, 1),
  crash: fc.option(
    fc.record({
      point: fc.constantFrom('window-listed', 'record-read', 'rows-written', 'committed'),
      nth: fc.integer({ min: 1, max: 4 }),
    }),
    { freq: 4 },
  ),
})

const drafts: fc.Arbitrary<Scenario> = fc.record({
  rooftopGroups: fc.array(fc.nat({ max: 1 }), { minLength: 1, maxLength: 3 }),
  keys: fc.constantFrom<Scenario['keys']>('partner', 'dedicated'),
  dealerIds: fc.boolean(),
  listCarriesUpdatedAt: fc.boolean(),
  cap: fc.option(
    fc.record({
      // No second holds this many: what does not fit into a second cannot be proved (prove.test.ts).
      cap: fc.integer({ min: 8, max: 11 }),
      order: fc.constantFrom('newest' as const, 'oldest' as const, 'arbitrary' as const),
    }),
    { freq: 2 },
  ),
  capEnds: fc.boolean(),
  sync: fc.record({
    windowHours: fc.oneof(fc.integer({ min: 1, max: 72 }), fc.constantFrom(24, 48, 72)),
    settleDays: fc.constantFrom(0, 1, 3),
    recheckDays: fc.constantFrom(0, 2, 7, 20),
    deepRelistNights: fc.integer({ min: 4, max: 7 }),
  }),
  maxRetries: fc.constantFrom(0, 0, 1),
  // The small ones make many slices of a window, of a second, and of a few bodies.
  sliceLimits: fc.constantFrom(
    defaultSliceLimits,
    { records: 2, recordsPerPart: 2, bodies: 1_000_000 },
    { records: 1, recordsPerPart: 3, bodies: 3_000 },
  ),
  history: fc.integer({ min: 1, max: 8 }),
  evaluations: fc.array(life, { maxLength: 24, size: 'max' }),
  nights: fc.array(night, { minLength: 1, maxLength: 7 }),
})

/** Under a cap: at one rooftop, near each other, but never as many in one second as the cap. */
function crowded(
  { burst, edge, beginsAt: place }: EvaluationPlan,
  index: number,
): Partial<EvaluationPlan> {
  const edges = index < 3 ? edge : null
  return { rooftop: 0, burst: Math.min(burst, 2), edge: edges, beginsAt: place * 0.15 }
}

/** Small windows go with a short time, so that a night has some hundred windows at most. */
export const scenarios = drafts.map((draft): Scenario => {
  const { windowHours } = draft.sync
  const scale = Math.min(1, windowHours / 24)
  const shorter = (length: number) => Math.max(length * scale, 0.001)
  return {
    ...draft,
    history: shorter(draft.history),
    // The longest step of the re-reads is 28 days, however short the rest.
    listCarriesUpdatedAt: draft.listCarriesUpdatedAt || windowHours < 12,
    nights: draft.nights.map((one) => ({ ...one, after: shorter(one.after) })),
    evaluations: draft.evaluations.map((one, index) => ({
      ...one,
      ...(draft.cap ? crowded(one, index) : {}),
      completes: one.completes && shorter(one.completes),
      vanishes: one.vanishes && shorter(one.vanishes),
      edits: one.edits.map(({ after, patch }) => ({ after: shorter(after), patch })),
    })),
  }
})

/** The busy time, in days: the history before the first night, and the nights. */
export function busyDays({ history, nights }: Scenario): number {
  return history + nights.reduce((sum, { after }) => sum + after, 0)
}
