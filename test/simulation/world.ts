import fc from 'fast-check'

/** A rooftop or two of a dealer group of their own, and all that happens to them; times count from the beginning. */
export interface World {
  readonly index: number
  readonly rooftops: 1 | 2
  /** false: the config names no dealerId, so that a list answers for the whole group. */
  readonly filtered: boolean
  /** The list is cut off without a sign. */
  readonly cap: { readonly cap: number; readonly order: 'newest' | 'oldest' | 'arbitrary' } | null
  readonly lives: readonly EvaluationPlan[]
  readonly faults: readonly Fault[]
  /** The night in which a worker freezes before it commits, is taken for dead, and thaws. */
  readonly zombieNight: number | null
}

/** One or some evaluations of the same second, and what becomes of them. */
export interface EvaluationPlan {
  readonly rooftop: number
  /** Where in the whole time it begins, from 0 to 1. */
  readonly place: number
  /** Moved to the next edge of the windows' grid, or to the second of the next night, give or take seconds. */
  readonly edge: { readonly of: 'grid' | 'night'; readonly seconds: number } | null
  readonly ms: number
  /** So many are begun in the same second. */
  readonly burst: number
  /** Days until completion; null: never. */
  readonly completes: number | null
  readonly edits: readonly Edit[]
  readonly vanishes: { readonly after: number; readonly returns: number | null } | null
  /** Days until it is handed to the other rooftop of the group. */
  readonly moves: number | null
}

/** An edit, so many days after completion: what it touches, and how large that is from then on. */
export interface Edit {
  readonly after: number
  readonly patch: number
  readonly size: number
  readonly hint: Hint
}

/** What becomes of the webhook of an edit: how often it comes, and how late (hours). */
export interface Hint {
  readonly times: number
  readonly hours: number
}

/** A transient fault: of the nth request of its kind in a night. */
export interface Fault {
  readonly night: number
  readonly path: 'list' | 'read'
  readonly nth: number
  readonly kind: FaultKind
}
export type FaultKind = 'e500' | 'e503' | 'e429' | 'reset' | 'truncate' | 'html' | 'empty' | 'hang'

/** A seed of its own for each part of a run: the same text gives the same one. */
export function seedOf(...parts: readonly (number | string)[]): number {
  let hash = 0x811c9dc5
  for (const char of parts.join('/')) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
  return hash | 0
}

/** One value of an arbitrary, by its seed alone. */
export function sample<T>(arbitrary: fc.Arbitrary<T>, ...seed: readonly (number | string)[]): T {
  // Without bias: the first draws of a sample are small otherwise.
  return fc.sample(fc.noBias(arbitrary), { seed: seedOf(...seed), numRuns: 1 })[0]!
}

/** The world of this number: the same seed, number and count of nights give the same one. */
export function worldOf(seed: number, index: number, nights: number, mayBeCapped: boolean): World {
  const world = sample(worldOfNights(nights), seed, 'world', index)
  return { ...world, index, cap: mayBeCapped && world.rooftops === 1 ? world.cap : null }
}

/** Evenly spread, in thousandths of a day. */
const days = (min: number, max: number) =>
  fc.integer({ min: min * 1000, max: max * 1000 }).map((thousandths) => thousandths / 1000)

/** So often of a hundred; null otherwise. */
const sometimes = <T>(weight: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight, arbitrary }, { weight: 100 - weight, arbitrary: fc.constant(null) })

const hint: fc.Arbitrary<Hint> = fc.record({
  // Lost, once, twice.
  times: fc.constantFrom(0, 0, 1, 2),
  // Late enough to be overtaken by the next one.
  hours: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 60 })),
})

const edit: fc.Arbitrary<Edit> = fc.record({
  after: fc.oneof(days(0.001, 3), days(3, 30)),
  patch: fc.nat({ max: 7 }),
  size: fc.nat({ max: 3 }),
  hint,
})

const life: fc.Arbitrary<EvaluationPlan> = fc.record({
  rooftop: fc.nat({ max: 1 }),
  place: fc.nat({ max: 9_999 }).map((place) => place / 10_000),
  edge: sometimes(
    40,
    fc.record({
      of: fc.constantFrom<'grid' | 'night'>('grid', 'night'),
      seconds: fc.constantFrom(-1, 0, 0, 1),
    }),
  ),
  ms: fc.constantFrom(0, 0, 1, 999),
  burst: fc.constantFrom(1, 1, 1, 2, 4),
  completes: fc.oneof(
    { weight: 5, arbitrary: days(0, 0.1) },
    { weight: 4, arbitrary: days(0.1, 25) },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
  edits: fc.array(edit, { maxLength: 3, size: 'max' }),
  vanishes: sometimes(
    15,
    fc.record({ after: days(0.01, 20), returns: sometimes(50, days(0.01, 10)) }),
  ),
  moves: sometimes(30, days(0.5, 20)),
})

const faultKinds: readonly FaultKind[] = [
  ...(['e500', 'e503', 'e429', 'reset', 'truncate', 'html', 'empty'] as const),
]

/** fast-check shrinks what it generated; here a world is one draw, and simulation.ts leaves out lives by itself. */
function worldOfNights(nights: number): fc.Arbitrary<World> {
  const fault: fc.Arbitrary<Fault> = fc.record({
    night: fc.nat({ max: nights - 1 }),
    path: fc.constantFrom<Fault['path']>('list', 'read'),
    nth: fc.constantFrom(1, 1, 2, 3),
    kind: fc.oneof(
      { weight: 40, arbitrary: fc.constantFrom(...faultKinds) },
      { weight: 1, arbitrary: fc.constant<FaultKind>('hang') },
    ),
  })
  return fc.record({
    index: fc.constant(0),
    rooftops: fc.constantFrom<1 | 2>(1, 1, 1, 2),
    filtered: fc.constantFrom(true, true, false),
    cap: sometimes(
      15,
      fc.record({
        // Few enough for windows to be cut; a world with a fuller second has a larger one (estate.ts).
        cap: fc.integer({ min: 9, max: 12 }),
        order: fc.constantFrom('newest' as const, 'oldest' as const, 'arbitrary' as const),
      }),
    ),
    lives: fc.array(life, { maxLength: Math.ceil(nights * 0.4), size: 'max' }),
    faults: fc.array(fault, { maxLength: Math.ceil(nights / 12), size: 'max' }),
    zombieNight: sometimes(6, fc.integer({ min: 3, max: Math.max(3, nights - 1) })),
  })
}
