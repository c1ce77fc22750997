import type { Context } from '#src/context.ts'
import type { Rooftop } from '#src/sandbox/world-types.ts'
import { evaluations as evaluationStream } from '#src/streams/evaluations/evaluations.ts'
import { pricing } from '#src/streams/pricing/pricing.ts'
import { users } from '#src/streams/users/users.ts'
import type { EvaluationDraft } from './build-world.ts'
import { anEvaluation, aRooftop, worldOf } from './build-world.ts'
import { type Fixture, type FixtureOptions, openFixture } from './fixture.ts'
import { whereWaiting } from './queue-with.ts'

export const morning = new Date('2026-03-10T02:00:00Z')

/** A fixture whose nights bring in evaluations and price them, over these evaluations; completed in the last night, unless they say otherwise. */
export async function pricedFixture(
  evaluations: readonly EvaluationDraft[],
  options: Partial<Omit<FixtureOptions, 'sandbox'>> & {
    readonly sandbox?: Partial<FixtureOptions['sandbox']>
    readonly rooftopsOfWorld?: readonly Rooftop[]
  } = {},
): Promise<Fixture> {
  const { sandbox = {}, rooftopsOfWorld = [aRooftop()], ...rest } = options
  const world = worldOf({
    rooftops: rooftopsOfWorld,
    evaluations: evaluations.map((draft) =>
      anEvaluation({ createdAt: '2026-03-09T22:00:00Z', ...draft }),
    ),
  })
  const size = { world, now: morning, ...sandbox }
  return await openFixture({ streams: [users, evaluationStream, pricing], ...rest, sandbox: size })
}

/** Rows of a query, as objects. */
export async function rowsOf<T = Record<string, unknown>>(
  { database }: Fixture,
  query: string,
  values: unknown[] = [],
): Promise<T[]> {
  return (await database.pool.query(query, values)).rows as T[]
}

export const pricingPath = '/pricingAi/payload/{evalid}'

/** Requests to the pricing AI so far. */
export function priceRequests({ sandbox }: Fixture): number {
  return sandbox.requests.count(pricingPath)
}

/** A context whose waits are over at once: whoever is to wait finds that the source's time has passed meanwhile. */
export function withoutWaits({ context, sandbox }: Fixture): Partial<Context> {
  const { queue, appraisal } = context
  const withoutDelay = whereWaiting(queue, 8, async ({ delaySeconds }, on) => {
    // The header that the clock is read from has whole seconds.
    sandbox.clock.advance((delaySeconds + 1) * 1000)
    await on.query('update ops.run_stream set not_before = null where not_before is not null')
    await appraisal.measureClock()
    return 0
  })
  return { queue: withoutDelay }
}
