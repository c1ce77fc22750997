import type { CheckDraft } from './checks.ts'
import { fieldsAt } from './lifecycle.ts'
import { type SeededRandom, seededRandom } from './seeded-random.ts'
import type { World } from './world.ts'
import type { Evaluation, Rooftop } from './world-types.ts'

const minuteMs = 60_000
const dayMs = 86_400_000

/** Past checks of about one in twelve completed AU evaluations with a 17-character VIN, by time. Checks after the current time
 *  appear when the clock reaches them. A pure function of seed and world. */
export function generateChecks(seed: number, world: World): CheckDraft[] {
  const drafts: CheckDraft[] = []
  for (const evaluation of world.evaluations()) {
    const rooftop = world.rooftop(evaluation.rooftopUid)
    if (rooftop?.region !== 'AU' || evaluation.completedAt === null) continue
    const random = seededRandom(seed, `checks on ${evaluation.evalId}`)
    if (random.chance(0.08)) drafts.push(...checksOn(evaluation, rooftop, random))
  }
  return drafts.sort(
    (a, b) => a.searchedAt.getTime() - b.searchedAt.getTime() || a.evalId - b.evalId,
  )
}

/** Usually one PPSR search, minutes to days after completion; some again after the watch has ended, some with a report. */
function checksOn(evaluation: Evaluation, rooftop: Rooftop, random: SeededRandom): CheckDraft[] {
  const firstMs = evaluation.completedAt!.getTime() + delayMs(random)
  const again = random.chance(0.25) ? [firstMs + random.int(15 * 1440, 40 * 1440) * minuteMs] : []
  const share = rooftop.carHistory === false ? 1 : random.next()
  const reportMs = share < 0.2 ? [firstMs + random.int(1, 90) * minuteMs] : []
  const searches = share < 0.05 ? [] : [firstMs, ...again]
  return [
    ...searches.map((ms) => draftCheck('ppsr', evaluation, rooftop, new Date(ms))),
    ...reportMs.map((ms) => draftCheck('car_history', evaluation, rooftop, new Date(ms))),
  ].filter((draft) => draft !== null)
}

function delayMs(random: SeededRandom): number {
  return random.chance(0.6)
    ? random.int(3, 180) * minuteMs
    : random.int(1, 6) * dayMs + random.int(-300, 300) * minuteMs
}

/** Null when the evaluation has vanished by then, or has no VIN. */
function draftCheck(
  kind: CheckDraft['kind'],
  evaluation: Evaluation,
  { uid: rooftopUid, groupId }: Rooftop,
  searchedAt: Date,
): CheckDraft | null {
  const { evalId, vanishedAt } = evaluation
  const { vin } = fieldsAt(evaluation, searchedAt)
  if (vin?.length !== 17 || (vanishedAt !== null && vanishedAt <= searchedAt)) return null
  return { kind, groupId, rooftopUid, evalId, vin, searchedAt }
}
