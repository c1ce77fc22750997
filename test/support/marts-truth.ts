import { priceEvaluation } from '#src/sandbox/price-evaluation.ts'
import type { ModelPrices } from '#src/sandbox/price-model.ts'
import type { Rooftop } from '#src/sandbox/world-types.ts'
import { localDay } from '#src/values/instant.ts'
import type { MartFixture } from './marts-fixture.ts'
import { monthOf } from './marts-numbers.ts'
import type { TruthEvaluation } from './truth.ts'

/** The content of an evaluation when it was read, and since when; the first one is what was loaded first. */
export interface SeenVersion {
  readonly truth: TruthEvaluation
  readonly since: Date
}

/** An evaluation that the warehouse should know of, from the world alone. Days are those of the rooftop. */
export interface SeenEvaluation {
  readonly evalId: number
  readonly rooftop: Rooftop
  readonly groupId: string
  /** In capitals; null where it has not 17 characters. */
  readonly vin17: string | null
  readonly truth: TruthEvaluation
  readonly heroSource: string | null
  /** In order; more than one where it was edited between two nights. */
  readonly versions: readonly SeenVersion[]
  readonly completedOn: string
  readonly month: string
  /** From creation to completion; null where the service gave no exact time, or they contradict each other. */
  readonly tookMs: number | null
  /** The prices of the first and of the last night that asked; null: never priced. */
  readonly prices: {
    readonly first: ModelPrices
    readonly firstAt: Date
    readonly now: ModelPrices
    readonly confirmedAt: Date
  } | null
}

/** Evaluations in the warehouse after the last night, and those that were there once and have vanished since. */
export function seenEvaluations(fixture: MartFixture): {
  readonly present: readonly SeenEvaluation[]
  readonly gone: readonly SeenEvaluation[]
} {
  const { world, unfit } = fixture
  const readings = fixture.readings.map(
    (reading) => new Map(reading.map((truth) => [truth.evalId, truth])),
  )
  const seen = [...world.evaluations()]
    .filter(({ evalId }) => !unfit.has(evalId))
    .map(({ evalId }) => readings.map((reading) => reading.get(evalId)))
    .filter((readings) => readings.some((truth) => truth !== undefined))
    .map((readings) => ({ one: seenAs(fixture, readings), isGone: readings.at(-1) === undefined }))
  return {
    present: seen.filter(({ isGone }) => !isGone).map(({ one }) => one),
    gone: seen.filter(({ isGone }) => isGone).map(({ one }) => one),
  }
}

function seenAs(
  fixture: MartFixture,
  readings: readonly (TruthEvaluation | undefined)[],
): SeenEvaluation {
  const versions = versionsOf(readings)
  const { truth } = versions.at(-1)!
  const { evalId, rooftopUid, groupId, vin, createdAt, completedAt } = truth
  const rooftop = fixture.world.rooftop(rooftopUid)!
  const completedOn = localDay(completedAt, rooftop.timezone)
  const tookMs = completedAt.getTime() - createdAt.getTime()
  return {
    ...{ evalId, rooftop, groupId, truth, versions, completedOn },
    vin17: vin?.length === 17 ? vin.toUpperCase() : null,
    heroSource: fixture.withoutHero.has(evalId) ? null : truth.heroSource,
    month: monthOf(completedOn),
    tookMs: fixture.withoutCreatedAt.has(evalId) || tookMs < 0 ? null : tookMs,
    prices: pricesOf(fixture, evalId, readings),
  }
}

/** A new one where anything but UpdatedAt is another than in the night before. */
function versionsOf(readings: readonly (TruthEvaluation | undefined)[]): SeenVersion[] {
  const versions: SeenVersion[] = []
  for (const truth of readings) {
    if (truth === undefined) continue
    const last = versions.at(-1)
    if (last && contentOf(last.truth) === contentOf(truth)) continue
    versions.push({ truth, since: truth.updatedAt })
  }
  return versions
}

function contentOf({ updatedAt: _, ...content }: TruthEvaluation): string {
  return JSON.stringify(content)
}

/** The nights are so far apart that each of them asks about every evaluation with a mileage. */
function pricesOf(
  { world, nights, unpriced }: MartFixture,
  evalId: number,
  readings: readonly (TruthEvaluation | undefined)[],
): SeenEvaluation['prices'] {
  const why = unpriced.get(evalId)
  if (why !== undefined && why !== 'lapsed') return null
  const answered = why === 'lapsed' ? nights.slice(0, -1) : nights
  const asked = answered.filter((_, night) => (readings[night]?.odometer ?? null) !== null)
  const evaluation = world.evaluation(evalId)!
  const [first, now] = [asked[0], asked.at(-1)].map((at) =>
    at === undefined ? undefined : priceEvaluation({ world }, evaluation, at).prices,
  )
  return first && now ? { first, firstAt: asked[0]!, now, confirmedAt: asked.at(-1)! } : null
}
