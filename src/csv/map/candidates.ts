import { type Meaning, meaningsOf } from './aliases.ts'
import type { Candidate, SampleColumn } from './column.ts'
import type { Field } from './stock-fields.ts'
import { scoreField } from './field-score.ts'
import { type ColumnProfile, isWellFilled } from './column-profile.ts'

const plainWorth = 0.9
/** What values alone can prove, and how far one may trust them without a header that says so. */
const byValues: readonly (readonly [Field, number, (profile: ColumnProfile) => boolean])[] = [
  ['vin', 0.9, ({ share }) => share.vin >= 0.8],
  ['make', 0.8, ({ share }) => share.make >= 0.8],
  ['model_year', 0.55, ({ share }) => share.year >= 0.95],
  ['condition', 0.55, ({ share }) => share.condition >= 0.9],
  ['fuel', 0.55, ({ share }) => share.fuel >= 0.8],
  ['transmission', 0.55, ({ share }) => share.transmission >= 0.8],
  ['body', 0.55, ({ share }) => share.body >= 0.8],
  ['colour_exterior', 0.55, ({ share }) => share.colour >= 0.8],
]
/** Guesses for a file without a header; each has to be confirmed. */
const withoutHeader: typeof byValues = [
  ['stock_number', 0.5, isKeyLike],
  ['received_date', 0.45, ({ share }) => share.date >= 0.8],
  ['odometer', 0.4, ({ share }) => share.distance >= 0.5],
  ['price_asking', 0.4, (profile) => isAmountLike(profile) && profile.share.cents >= 0.5],
  ['price_asking', 0.3, isAmountLike],
  ['odometer', 0.35, (profile) => isAmountLike(profile) && profile.median! <= 400_000],
  ['model', 0.35, isNameLike],
]

function isKeyLike({ share, filled, distinct, isRowIndex }: ColumnProfile): boolean {
  const isOther = share.vin >= 0.5 || share.year >= 0.9 || share.date >= 0.5 || isRowIndex
  return !isOther && share.code >= 0.8 && share.decimal === 0 && distinct >= filled * 0.98
}

function isAmountLike({ share, median }: ColumnProfile): boolean {
  return share.number >= 0.8 && share.year < 0.9 && median !== null && median >= 1000
}

function isNameLike({ share, distinct }: ColumnProfile): boolean {
  const isOther = [share.make, share.body, share.colour, share.fuel, share.url].some(
    (s) => s >= 0.5,
  )
  return !isOther && share.text >= 0.5 && distinct >= 2
}

/** All that a column may hold: what its header says, weighed by its values, and what its values prove alone. */
export function candidatesOf(column: SampleColumn, all: readonly SampleColumn[]): Candidate[] {
  const named = meaningsFor(column).map(({ field, worth }): Candidate => {
    const isPlainName = worth >= plainWorth
    const fit = scoreField(field, column.profile, isPlainName)
    const against = objection(field, column, all)
    return {
      column: column.index,
      field,
      confidence: against === null ? weigh(worth, fit.score) : 0.05,
      source: 'header',
      isPlainName,
      evidence: [`its header can mean ${field}`, against ?? fit.reason].filter((why) => why !== ''),
    }
  })
  const guesses = column.header === null ? [...byValues, ...withoutHeader] : byValues
  const proved = isWellFilled(column.profile)
    ? guesses.filter(([, , is]) => is(column.profile))
    : []
  return [...named, ...proved.map(([field, most]) => fromValues(column, field, most))].filter(
    ({ field }, at, list) => list.findIndex((other) => other.field === field) === at,
  )
}

/** The whole header; where that is unknown, the lowest known one of its rows. */
function meaningsFor({ header, rowNames }: SampleColumn): readonly Meaning[] {
  if (header === null) return []
  const whole = meaningsOf(header)
  if (whole.length > 0) return whole
  return rowNames.map(meaningsOf).find((meanings) => meanings.length > 0) ?? []
}

function fromValues(column: SampleColumn, field: Field, confidence: number): Candidate {
  const { reason: why } = scoreField(field, column.profile, false)
  return {
    column: column.index,
    field,
    confidence: column.header === null ? Math.min(confidence, 0.5) : confidence,
    source: 'values',
    isPlainName: false,
    evidence: [`its values look like ${field}`, why].filter((word) => word !== ''),
  }
}

/** Values that agree close part of the distance to certainty; values that disagree take their share away. */
function weigh(worth: number, score: number): number {
  return score >= 0 ? worth + (1 - worth) * score * 0.7 : worth * (1 + score)
}

const address = /^(zip|zipcode|postcode|postalcode|street|streetname|address|suburb|city|country)$/

/** What other columns say against a meaning; null when nothing does. */
function objection(
  field: Field,
  column: SampleColumn,
  all: readonly SampleColumn[],
): string | null {
  const { key } = column.name
  if (field === 'plate_state' && key === 'state' && all.some(({ name }) => address.test(name.key)))
    return 'it stands among the columns of an address'
  if (
    field === 'days_in_stock' &&
    key === 'age' &&
    all.some((other) => isVehicleAge(column, other))
  )
    return 'with the model year it always comes to the same year: the age of the vehicle'
  return null
}

function isVehicleAge(age: SampleColumn, year: SampleColumn): boolean {
  if (year.profile.share.year < 0.9) return false
  const sums = new Map<number, number>()
  let pairs = 0
  for (const [row, cell] of age.cells.entries()) {
    const sum = Number(cell.trim() || Number.NaN) + Number(year.cells[row])
    if (Number.isNaN(sum)) continue
    pairs += 1
    sums.set(sum, (sums.get(sum) ?? 0) + 1)
  }
  return pairs >= 3 && year.profile.distinct > 1 && Math.max(...sums.values()) >= pairs * 0.8
}
