import { seededRandom } from '#src/sandbox/seeded-random.ts'
import type { World } from '#src/sandbox/world.ts'
import type { Evaluation } from '#src/sandbox/world-types.ts'
import { aKey, anEvaluation, aRooftop, aUser, worldOf } from '../support/build-world.ts'

/** What happens at the source of a case. Shares are of the evaluations before the first night. */
export interface WorldPlan {
  readonly rooftops: number
  /** Before the first night. */
  readonly evaluations: number
  /** Over which these were created. */
  readonly days: number
  /** One for all, or one for each rooftop. */
  readonly keys: 'one' | 'each'
  readonly nights: number
  /** In the day before each night but the first. */
  readonly daily?: {
    readonly created?: number
    /** Of any age. */
    readonly edited?: number
    readonly deleted?: number
    readonly moved?: number
  }
  /** Share that is completed 1 to 20 days after its creation; the others take up to two hours. */
  readonly late?: number
}

/** An evaluation and its moves to another rooftop. */
interface Life {
  evaluation: Evaluation
  readonly moves: { readonly at: number; readonly to: string }[]
}

export const daySeconds = 86_400
/** Unix seconds: a Monday at 02:00 UTC. */
const firstNight = Date.UTC(2026, 5, 29, 2) / 1000

/** The instant of a night, Unix seconds; 0 is the first one. */
export function nightAt(night: number): number {
  return firstNight + night * daySeconds
}

/** The instant from which all are loaded. */
export function startOf({ days }: WorldPlan): number {
  return nightAt(0) - days * daySeconds
}

/** The name of a rooftop in `X-Dealer-Id`. */
export function rooftopUid(number: number): string {
  return `rooftop-${number}`
}

/** The key that reads a rooftop. */
export function keyOf({ keys }: WorldPlan, number: number): string {
  return keys === 'one' ? 'course-key' : `course-key-${number}`
}

/** The lives of all evaluations over all nights: the same plan gives the same lives. */
export function livesOf(plan: WorldPlan): Life[] {
  const random = seededRandom(1, 'lives')
  const between = (from: number, until: number) => Math.floor(from + random.next() * (until - from))
  const lives: Life[] = []
  const create = (from: number, until: number) => {
    const at = between(from, until)
    const wait = random.chance(plan.late ?? 0) ? between(1, 20) * daySeconds : between(120, 7200)
    lives.push({ evaluation: evaluationOf(lives.length, plan.rooftops, at, at + wait), moves: [] })
  }
  for (let at = 0; at < plan.evaluations; at += 1) create(startOf(plan), nightAt(0) - 7200)
  const { created = 0, edited = 0, deleted = 0, moved = 0 } = plan.daily ?? {}
  const some = (share: number) =>
    share === 0 ? 0 : Math.max(1, Math.round(plan.evaluations * share))
  for (let night = 1; night < plan.nights; night += 1) {
    const [from, until] = [nightAt(night - 1), nightAt(night)]
    const known = lives.length
    const change = (share: number, make: (life: Life, at: Date) => void) => {
      for (let nth = 0; nth < some(share); nth += 1)
        make(lives[between(0, known)]!, new Date(between(from + 1, until) * 1000))
    }
    for (let nth = 0; nth < some(created); nth += 1) create(from, until - 7200)
    change(edited, (life, at) => {
      edit(life, at, { finalPrice: between(5_000, 60_000), odometer: between(10, 200_000) })
    })
    change(moved, (life, at) => {
      const number = between(1, plan.rooftops + 1)
      life.moves.push({ at: at.getTime() / 1000, to: rooftopUid(number) })
      edit(life, at, {})
    })
    change(deleted, (life, at) => {
      // The documents do not say whether a list still names it: one in two is named.
      life.evaluation = {
        ...life.evaluation,
        vanishedAt: life.evaluation.vanishedAt ?? at,
        vanishedStaysListed: random.chance(0.5),
      }
    })
  }
  return lives
}

/** The world of a night: an evaluation is at the rooftop that it has moved to by then. */
export function worldAt(plan: WorldPlan, lives: readonly Life[], now: number): World {
  const numbers = Array.from({ length: plan.rooftops }, (_, at) => at + 1)
  const rooftops = numbers.map((number) =>
    aRooftop({ uid: rooftopUid(number), groupId: `group-${number}`, dealerId: 100 + number }),
  )
  const keys = numbers
    .filter((number) => plan.keys === 'each' || number === 1)
    .map((number) => {
      const value = keyOf(plan, number)
      const rooftopUids = plan.keys === 'each' ? [rooftopUid(number)] : numbers.map(rooftopUid)
      return aKey({ name: value, value, rooftopUids })
    })
  const users = numbers.map((number) =>
    aUser({ userId: number, groupId: `group-${number}`, rooftopUid: rooftopUid(number) }),
  )
  const evaluations = lives.map(({ evaluation, moves }) => {
    const uid = moves.findLast(({ at }) => at <= now)?.to ?? evaluation.rooftopUid
    return { ...evaluation, rooftopUid: uid }
  })
  return worldOf({ rooftops, users, keys, evaluations })
}

function edit(life: Life, at: Date, patch: Evaluation['edits'][0]['patch']): void {
  life.evaluation = { ...life.evaluation, edits: [...life.evaluation.edits, { at, patch }] }
}

/** About 5 KB of JSON. */
function evaluationOf(index: number, rooftops: number, at: number, completed: number): Evaluation {
  const evalId = 1_000_000 + index * 3
  const rooftop = (index % rooftops) + 1
  return anEvaluation({
    ...{ evalId, rooftopUid: rooftopUid(rooftop), userId: rooftop },
    createdAt: new Date(at * 1000),
    completedAt: new Date(completed * 1000),
    vin: `JTM${String(evalId).padStart(14, '0')}`,
    registration: `ABC${evalId % 1000}`,
    odometer: 20_000 + (evalId % 90_000),
    finalPrice: 15_000 + (evalId % 20_000),
    condition: index % 11,
    notes: index % 4 === 0 ? null : 'One owner, full history, small dent at the rear door.',
    reconditioning: ['tyres', 'paint', 'rims', 'detail'].slice(index % 5).map((type, line) => ({
      ...{ type, source: 'workshop', cost: 120.5 * (line + 1), value: String(line) },
    })),
    photos: Array.from({ length: 6 }, (_, photo) => ({
      ...{ id: evalId * 10 + photo, order: photo + 1, angle: `angle ${photo}` },
    })),
    customFields: {
      'Lead source': { type: 'select', options: ['Web', 'Phone', 'Walk in'], value: 'Web' },
      'Keys handed over': { type: 'checkbox', options: null, value: index % 2 === 0 },
    },
  })
}
