import type { Field } from './stock-fields.ts'
import type { ColumnProfile, Trait } from './column-profile.ts'

/** How well the values of a column agree with a field. */
export interface FieldScore {
  /** -1 (impossible) to 1 (proof); 0: no evidence. */
  readonly score: number
  /** The reason, for people. */
  readonly reason: string
}

const nothing: FieldScore = { score: 0, reason: '' }
const percent = (share: number) => `${Math.round(share * 100)} %`

/** Scores a column's values for a field. `isPlainName`: the header alone is enough evidence. */
export function scoreField(field: Field, profile: ColumnProfile, isPlainName: boolean): FieldScore {
  if (profile.filled === 0) return { score: 0, reason: 'the column is empty' }
  if (field === 'stock_number') return stockNumberFit(profile, isPlainName)
  return scorers[field]?.(profile, isPlainName) ?? nothing
}

type Scorer = (profile: ColumnProfile, isPlainName: boolean) => FieldScore

const scorers: Partial<Record<Field, Scorer>> = {
  vin: vinFit,
  make: makeFit,
  model: modelFit,
  variant: ({ share }, isPlainName) => {
    if (share.spec >= 0.6) return { score: -0.6, reason: `${percent(share.spec)} are spec regions` }
    return share.generation >= 0.5 && !isPlainName
      ? { score: -0.4, reason: `${percent(share.generation)} are generation codes` }
      : { score: Math.min(0.2, share.text * 0.2), reason: '' }
  },
  series: ({ share }) =>
    share.generation >= 0.4
      ? { score: 0.4, reason: `${percent(share.generation)} are generation codes` }
      : { score: -0.3, reason: 'few generation codes' },
  model_year: ({ share }) => graded(share.modelYear, 'model years', 0.5),
  odometer: odometerFit,
  price_asking: priceFit,
  cost: priceFit,
  price_wholesale: priceFit,
  price_msrp: priceFit,
  plate: plateFit,
  condition: conditionFit,
  status: ({ share }) =>
    share.condition >= 0.7
      ? { score: -0.5, reason: `${percent(share.condition)} are New or Used` }
      : nothing,
  body: wordFit('body', 'body styles'),
  transmission: wordFit('transmission', 'transmissions'),
  fuel: wordFit('fuel', 'fuels'),
  gcc_spec: wordFit('spec', 'spec regions'),
  colour_exterior: wordFit('colour', 'colours'),
  plate_state: ({ share }) =>
    share.state >= 0.5
      ? { score: 0.3, reason: `${percent(share.state)} are states` }
      : { score: -0.5, reason: `only ${percent(share.state)} are states` },
  days_in_stock: daysFit,
  registration_date: dateFit,
  received_date: dateFit,
  row_index: ({ isRowIndex }) =>
    isRowIndex
      ? { score: 1, reason: 'the values count the rows' }
      : { score: -0.9, reason: 'the values do not count the rows' },
  title_combined: ({ averageLength, share }) =>
    averageLength >= 10 && share.text >= 0.8 ? { score: 0.4, reason: 'long texts' } : nothing,
}

function graded(share: number, name: string, minShare: number): FieldScore {
  if (share >= 0.9) return { score: 1, reason: `${percent(share)} are ${name}` }
  if (share >= minShare) return { score: 0.3, reason: `${percent(share)} are ${name}` }
  return { score: -0.9, reason: `only ${percent(share)} are ${name}` }
}

function wordFit(trait: Trait, name: string): Scorer {
  return ({ share }) => {
    const score = share[trait] >= 0.6 ? 1 : share[trait] >= 0.3 ? 0.3 : -0.5
    return {
      score,
      reason: `${score < 0 ? 'only ' : ''}${percent(share[trait])} are ${name}`,
    }
  }
}

/** A key differs in each row. With a plain name a few repeats are accepted, and reported row by row. */
function stockNumberFit(profile: ColumnProfile, isPlainName: boolean): FieldScore {
  const { share, filled, distinct } = profile
  const unique = distinct / filled
  if (profile.isConstant) return { score: -1, reason: 'the same value on every row' }
  if (share.vin >= 0.8) return { score: -0.9, reason: `${percent(share.vin)} are VINs` }
  if (share.url >= 0.5 || profile.averageLength > 40)
    return { score: -0.9, reason: 'too long for a stock number' }
  if (share.date >= 0.8) return { score: -0.8, reason: `${percent(share.date)} are dates` }
  if (profile.isRowIndex)
    return { score: isPlainName ? -0.2 : -0.9, reason: 'the values count the rows' }
  if (unique >= 0.98) return { score: 0.6, reason: `${percent(unique)} are unique` }
  // In a short list a single repeat is more than a tenth.
  if (isPlainName && filled - distinct === 1 && filled >= 3)
    return { score: 0, reason: 'all but one are unique' }
  if (unique >= 0.9)
    return { score: isPlainName ? 0 : -0.3, reason: `${percent(unique)} are unique` }
  return { score: -0.9, reason: `only ${percent(unique)} are unique` }
}

function vinFit({ share, distinct, filled, averageLength }: ColumnProfile): FieldScore {
  if (share.vin >= 0.7) return { score: 1, reason: `${percent(share.vin)} are VINs` }
  if (share.vin >= 0.3) return { score: 0.2, reason: `${percent(share.vin)} are VINs` }
  const isChassis = share.code >= 0.7 && distinct / filled >= 0.9 && averageLength >= 6
  return isChassis
    ? { score: 0, reason: 'chassis numbers, no VINs of 17 characters' }
    : { score: -0.9, reason: `only ${percent(share.vin)} are VINs` }
}

function makeFit({ share }: ColumnProfile): FieldScore {
  if (share.make >= 0.7) return { score: 1, reason: `${percent(share.make)} are known makes` }
  if (share.make >= 0.3) return { score: 0.2, reason: `${percent(share.make)} are known makes` }
  const score = share.text >= 0.6 ? -0.35 : -0.8
  return { score, reason: `only ${percent(share.make)} are known makes` }
}

function modelFit({ share, distinct, filled }: ColumnProfile): FieldScore {
  if (share.make >= 0.7) return { score: -0.9, reason: `${percent(share.make)} are known makes` }
  if (share.year >= 0.8) return { score: -0.9, reason: `${percent(share.year)} are years` }
  if (share.condition >= 0.7)
    return { score: -0.9, reason: `${percent(share.condition)} are New or Used` }
  if (share.body >= 0.6) return { score: -0.6, reason: `${percent(share.body)} are body styles` }
  if (share.url >= 0.5 || share.date >= 0.5) return { score: -0.9, reason: 'not names' }
  return distinct >= Math.min(4, filled)
    ? { score: 0.3, reason: `${distinct} different names` }
    : { score: 0, reason: '' }
}

function odometerFit({ share, median }: ColumnProfile): FieldScore {
  if (share.distance >= 0.5)
    return { score: 1, reason: `${percent(share.distance)} name km or miles` }
  if (share.number < 0.5)
    return { score: -0.9, reason: `only ${percent(share.number)} are numbers` }
  if (share.decimal >= 0.3 && median !== null && median < 100)
    return { score: -0.9, reason: `a middle value of ${median}: fuel economy rather than distance` }
  if (share.year >= 0.9) return { score: -0.8, reason: `${percent(share.year)} are years` }
  return median !== null && median >= 500
    ? { score: 0.5, reason: `a middle value of ${median}` }
    : nothing
}

function priceFit({ share, median }: ColumnProfile): FieldScore {
  if (share.number + share.onApplication < 0.3)
    return { score: -0.9, reason: `only ${percent(share.number)} are amounts` }
  if (share.positive < 0.05 && share.onApplication < 0.5)
    return { score: -0.5, reason: 'nearly all amounts are 0' }
  if (share.year >= 0.9) return { score: -0.8, reason: `${percent(share.year)} are years` }
  return median !== null && median >= 300
    ? { score: 0.5 * share.positive, reason: `a middle amount of ${median}` }
    : nothing
}

function plateFit({ share }: ColumnProfile): FieldScore {
  if (share.date >= 0.5) return { score: -0.9, reason: `${percent(share.date)} are dates` }
  if (share.vin >= 0.5) return { score: -0.9, reason: `${percent(share.vin)} are VINs` }
  return share.plate >= 0.6
    ? { score: 0.5, reason: `${percent(share.plate)} have the form of plates` }
    : nothing
}

function conditionFit({ share }: ColumnProfile): FieldScore {
  if (share.condition >= 0.7)
    return { score: 1, reason: `${percent(share.condition)} are New or Used` }
  if (share.flag >= 0.9) return { score: 0.2, reason: 'yes or no' }
  if (share.remaining >= 0.5)
    return { score: -1, reason: `${percent(share.remaining)} are remaining times` }
  return { score: -0.5, reason: `only ${percent(share.condition)} are New or Used` }
}

function daysFit({ share, median }: ColumnProfile): FieldScore {
  if (share.number < 0.8 || median === null) return { score: -0.8, reason: 'not numbers' }
  return median <= 2000 && share.decimal < 0.1
    ? { score: 0.2, reason: `a middle value of ${median} days` }
    : { score: -0.8, reason: `a middle value of ${median}` }
}

function dateFit({ share }: ColumnProfile): FieldScore {
  if (share.date >= 0.6) return { score: 0.6, reason: `${percent(share.date)} are dates` }
  // Excel's serial numbers of the years 2000 to 2040.
  return share.number >= 0.8
    ? nothing
    : { score: -0.8, reason: `only ${percent(share.date)} are dates` }
}
