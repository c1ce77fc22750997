import { type SeededRandom, seededRandom } from './seeded-random.ts'
import type { Rooftop } from './world-types.ts'

/** Rooftop and time at which an evaluation begins; milliseconds since 1970. */
export interface Moment {
  readonly rooftop: Rooftop
  readonly atMs: number
}

const dayMs = 86_400_000
const hourMs = 3_600_000
/** Rough offsets: business hours need no daylight saving. */
const offsetHours: Readonly<Record<Rooftop['region'], number>> = { AU: 10, US: -6, GCC: 4 }

/** Creation times of the past `days`, in order: business hours, few on Sundays, bursts of 2 to 5 in one second, and some exactly
 *  at midnight UTC, in the last second of a day, or a fraction of a second later. */
export function generateMoments(
  seed: number,
  rooftops: readonly Rooftop[],
  span: { readonly count: number; readonly days: number; readonly now: Date },
): Moment[] {
  const random = seededRandom(seed, 'moments')
  const endMs = Math.floor(span.now.getTime() / 1000) * 1000
  const moments: Moment[] = []
  while (moments.length < span.count) {
    const rooftop = random.pick(rooftops)
    const atMs = moment(random, rooftop, endMs, span.days)
    const burst = random.chance(0.03) ? random.int(2, 5) : 1
    for (let i = 0; i < burst && moments.length < span.count; i++) {
      // EntryDate has whole seconds, CreatedAt may have fractions.
      moments.push({ rooftop, atMs: random.chance(0.05) ? atMs + random.int(1, 999) : atMs })
    }
  }
  return moments.sort((a, b) => a.atMs - b.atMs || a.rooftop.dealerId - b.rooftop.dealerId)
}

function moment(random: SeededRandom, rooftop: Rooftop, endMs: number, days: number): number {
  const startMs = endMs - days * dayMs
  const anywhere = startMs + random.int(1, days * 86_400 - 600) * 1000
  const midnight = Math.floor(anywhere / dayMs) * dayMs
  const shape = random.next()
  const businessHour = 8 + (random.next() + random.next()) * 5
  const wanted =
    shape < 0.012
      ? midnight
      : shape < 0.024
        ? midnight + dayMs - 1000
        : midnight +
          Math.floor(((businessHour - offsetHours[rooftop.region] + 24) % 24) * 3600) * 1000
  const isSunday = new Date(wanted + offsetHours[rooftop.region] * hourMs).getUTCDay() === 0
  const quiet = isSunday && shape >= 0.024 && random.chance(0.8)
  return wanted > startMs && wanted < endMs - 600_000 && !quiet ? wanted : anywhere
}
