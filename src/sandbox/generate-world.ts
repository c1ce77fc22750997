import { type GeneratedUserNames, generateDealers } from './generate-dealers.ts'
import { generateEvaluations } from './generate-evaluations.ts'
import { generateMoments } from './generate-moments.ts'
import { World } from './world.ts'

/** Size of a generated world; the same plan gives the same world, byte for byte. */
export interface WorldPlan {
  readonly seed: number
  readonly rooftops: number
  /** In every state, including those that never complete. */
  readonly evaluations: number
  /** Length of the history before `now`. */
  readonly days: number
  readonly now: Date
  readonly generatedUser: GeneratedUserNames
}

/** Generates a world: a pure function of the plan. */
export function generateWorld(plan: WorldPlan): World {
  for (const [name, least] of [
    ['rooftops', 1],
    ['evaluations', 0],
    ['days', 1],
  ] as const) {
    if (!Number.isInteger(plan[name]) || plan[name] < least)
      throw new RangeError(`${name} has to be a whole number from ${least} on, it is ${plan[name]}`)
  }
  const dealers = generateDealers(plan.seed, plan.rooftops, plan.generatedUser)
  const span = { count: plan.evaluations, days: plan.days, now: plan.now }
  const moments = generateMoments(plan.seed, dealers.rooftops, span)
  const evaluations = generateEvaluations(plan.seed, dealers, moments)
  return new World({ ...dealers, evaluations })
}
