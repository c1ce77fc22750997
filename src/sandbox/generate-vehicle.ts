import { catalogue } from './catalogue.ts'
import { ageAt, averageKm } from './price-model.ts'
import { kmPerUnit } from './regions.ts'
import type { SeededRandom } from './seeded-random.ts'
import { awkwardTexts, colours, type ModelChoice, regionTexts } from './texts.ts'
import type { EvaluationFields, ReconLine, Rooftop } from './world-types.ts'

/** The part of an evaluation that describes the vehicle and its condition. */
export type VehicleFields = Pick<
  EvaluationFields,
  | 'vin'
  | 'make'
  | 'model'
  | 'variant'
  | 'year'
  | 'registration'
  | 'registrationState'
  | 'odometer'
  | 'colour'
  | 'condition'
  | 'reconTotal'
  | 'reconditioning'
>

const vinCharacters = [...'ABCDEFGHJKLMNPRSTUVWXYZ0123456789']
const plateLetters = [...'ABCDEFGHKLMNPRSTWXYZ']

/** A vehicle that the region sells, of a year in which it was sold, with a mileage for its age. Sometimes one that was appraised
 *  before, or one without a VIN. */
export function vehicleAt(rooftop: Rooftop, at: Date, random: SeededRandom): VehicleFields {
  const texts = regionTexts[rooftop.region]
  const choice = random.pick(texts.models)
  const lines = random.chance(0.04) ? null : reconLines(rooftop, choice, random)
  const vin = vinAt(rooftop, random)
  const variant = random.chance(0.02) ? random.pick(awkwardTexts) : random.pick(choice.variants)
  const year = random.chance(0.02) ? null : yearOf(rooftop, choice, variant, at, random)
  return {
    vin,
    make: choice.make,
    model: choice.model,
    variant,
    year,
    registration: random.chance(0.06) ? null : plateAt(random),
    registrationState: random.pick(texts.states),
    odometer: random.chance(0.01) ? 0 : odometerOf(rooftop, year, at, random),
    colour: random.pick([...colours, null, undefined]),
    condition: random.chance(0.1) ? null : random.int(0, 10),
    reconditioning: lines,
    // A total that a user overwrote may differ from the sum of the lines.
    reconTotal: random.chance(0.03) ? random.int(0, 9000) : random.chance(0.02) ? null : 'sum',
  }
}

/** A model year in which the variant was sold, not after the appraisal. */
function yearOf(
  { region }: Rooftop,
  { make, model }: ModelChoice,
  variant: string,
  at: Date,
  random: SeededRandom,
): number {
  const alike = catalogue.filter(
    (one) => one.region === region && one.make === make && one.model === model,
  )
  const { firstYear, lastYear } = alike.find((one) => one.variant === variant) ?? alike[0]!
  return random.int(firstYear, Math.max(firstYear, Math.min(lastYear, at.getUTCFullYear())))
}

/** 0.25 to 1.75 of the average for its age, in the unit of the region. */
function odometerOf(
  { region }: Rooftop,
  year: number | null,
  at: Date,
  random: SeededRandom,
): number {
  const age = year === null ? 5 : ageAt({ year, at })
  const share = random.int(25, 175) / 100
  return Math.round(12 + (averageKm(age + 0.3) * share) / kmPerUnit(region))
}

function vinAt({ dealerId }: Rooftop, random: SeededRandom): string | null {
  if (random.chance(0.03)) return null
  // One of ten vehicles per rooftop that are appraised again and again.
  if (random.chance(0.03)) return `SAMPLE${dealerId}X`.padEnd(16, '0') + random.int(0, 9)
  return Array.from({ length: 17 }, () => random.pick(vinCharacters)).join('')
}

function plateAt(random: SeededRandom): string {
  const letters = Array.from({ length: 3 }, () => random.pick(plateLetters)).join('')
  return `${letters}${random.int(100, 999)}`
}

/** Workshop lines; for electric vehicles also the battery reading of the maker: `info`, cost 0, a percentage [A §2]. */
function reconLines(rooftop: Rooftop, choice: ModelChoice, random: SeededRandom): ReconLine[] {
  const types = ['tyres', 'paint', 'rims', 'interior', 'detail', 'screen', null]
  const lines = Array.from({ length: random.int(0, 5) }, () => ({
    type: random.pick(types),
    source: random.pick(['dealer', 'workshop', null]),
    cost: rooftop.currency === 'KWD' ? random.int(5_000, 400_000) / 1000 : random.int(50, 4000) / 2,
    value: random.pick(['1', 2, null, 'see notes']),
  }))
  if (choice.electric !== true) return lines
  const battery = { type: 'info', source: choice.make, cost: 0, value: `${random.int(61, 100)}%` }
  return [battery, ...lines]
}
