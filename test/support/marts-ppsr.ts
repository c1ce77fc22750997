import { type CheckDraft, countsFor } from '#src/sandbox/checks.ts'
import type { World } from '#src/sandbox/world.ts'
import type { Evaluation, Rooftop } from '#src/sandbox/world-types.ts'
import { sharedVin } from './marts-plants.ts'
import { stockList } from './marts-stock.ts'
import type { Nights } from './marts-world.ts'

const dayMs = 86_400_000

/** A search `days` before the last night, whose watch changes `changesAfter` days later; null: it never does. */
type Plan = readonly [days: number, changesAfter: number | null]
const lately: Plan = [3, null]
const changing: Plan = [10, 4]
const longAgo: Plan = [30, null]

/** Searches that others made on vehicles in stock at each Australian rooftop; each group has one on the shared vehicle. */
export function plantedChecks(world: World, nights: Nights): CheckDraft[] {
  return australian(world).flatMap((rooftop) => {
    const known = inStock(world, rooftop, nights)
    const [clear, charged] = [
      known.filter(({ vin }) => countsFor(vin!).securityInterests === 0),
      known.filter(({ vin }) => countsFor(vin!).securityInterests > 0),
    ]
    const shared = known.filter(({ vin }) => vin === sharedVin)
    const planned = [
      ...[lately, longAgo, changing].map((plan, at) => [clear[at], plan] as const),
      [charged.at(-1), changing] as const,
      ...shared.map((one) => [one, longAgo] as const),
    ]
    const searches = planned.flatMap(([one, plan]) =>
      one ? draftOf(one, rooftop, plan, nights) : [],
    )
    // A report on the vehicle counts as no search of it.
    return [...searches, { ...searches[1]!, kind: 'car_history', watch: null }]
  })
}

function draftOf(
  { evalId, vin }: Evaluation,
  { uid: rooftopUid, groupId }: Rooftop,
  [days, changesAfter]: Plan,
  nights: Nights,
): CheckDraft {
  const searchedAt = new Date(nights[2].getTime() - days * dayMs)
  const changesAt =
    changesAfter === null ? null : new Date(searchedAt.getTime() + changesAfter * dayMs)
  const watch = { isWatched: true, changesAt }
  return { kind: 'ppsr', groupId, rooftopUid, evalId, vin: vin!, searchedAt, watch }
}

/** Evaluations to pay for a search on, of each Australian rooftop: in the second night some vehicles with a security interest and one
 *  without, in the last night another one without. */
export function evaluationsToSearch(world: World, nights: Nights, night: 1 | 2): Evaluation[] {
  return australian(world).flatMap((rooftop) => {
    const [charged, clear] = [true, false].map((isCharged) =>
      inStock(world, rooftop, nights)
        .filter(({ vin }) => countsFor(vin!).securityInterests > 0 === isCharged)
        .reverse(),
    )
    return night === 1 ? [...charged!.slice(0, 3), ...clear!.slice(0, 1)] : clear!.slice(1, 2)
  })
}

function australian(world: World): Rooftop[] {
  return world.rooftops.filter(({ region }) => region === 'AU')
}

/** What was appraised at the rooftop before the first night and is still in its stock. */
function inStock(world: World, rooftop: Rooftop, nights: Nights): Evaluation[] {
  const vins = new Set(stockList(world, rooftop, 2, nights).map(({ vin }) => vin))
  return [...world.evaluations()].filter(
    ({ rooftopUid, completedAt, vanishedAt, vin }) =>
      rooftopUid === rooftop.uid &&
      completedAt !== null &&
      completedAt < nights[0] &&
      vanishedAt === null &&
      vin?.toUpperCase() === vin &&
      vins.has(vin ?? null),
  )
}
