import type { ColumnProfile, Trait } from './column-profile.ts'
import type { Field } from './stock-fields.ts'

/** How well the values of a column agree with a field. */
interface FieldScore {
  /** -1 (impossible) to 1 (proof); 0: no evidence. */
  readonly score: number
  /** The reason, for people. */
  readonly reason: string
}

/** Scores a column's values for a field, by its first rule that applies. `isPlainName`: the header alone is enough evidence. */
export function scoreField(field: Field, profile: ColumnProfile, isPlainName: boolean): FieldScore {
  if (profile.filled === 0) return { score: 0, reason: 'the column is empty' }
  for (const rule of rules[field] ?? []) {
    const found = rule(profile, isPlainName)
    if (found !== null) return found
  }
  return { score: 0, reason: '' }
}

type Rule = (profile: ColumnProfile, isPlainName: boolean) => FieldScore | null

const percent = (share: number) => `${Math.round(share * 100)} %`

/** Where at least this share of the values has the trait. */
function most(trait: Trait, least: number, score: number, what: string): Rule {
  return ({ share }) =>
    share[trait] >= least ? { score, reason: `${percent(share[trait])} ${what}` } : null
}

function only(trait: Trait, score: number, what: string, where = (_: ColumnProfile) => true): Rule {
  return when(where, score, ({ share }) => `only ${percent(share[trait])} ${what}`)
}

function when(
  where: (profile: ColumnProfile) => boolean,
  score: number,
  reason: string | ((profile: ColumnProfile) => string),
): Rule {
  return (profile) =>
    where(profile) ? { score, reason: typeof reason === 'string' ? reason : reason(profile) } : null
}

const middle = ({ median }: ColumnProfile) => `a middle value of ${median}`
const isYear = most('year', 0.9, -0.8, 'are years')

function words(trait: Trait, what: string): readonly Rule[] {
  return [most(trait, 0.6, 1, what), most(trait, 0.3, 0.3, what), only(trait, -0.5, what)]
}

const prices: readonly Rule[] = [
  only('number', -0.9, 'are amounts', ({ share }) => share.number + share.onApplication < 0.3),
  when(
    ({ share }) => share.positive < 0.05 && share.onApplication < 0.5,
    -0.5,
    'nearly all amounts are 0',
  ),
  isYear,
  ({ share, median }) =>
    median !== null && median >= 300
      ? { score: 0.5 * share.positive, reason: `a middle amount of ${median}` }
      : null,
]
const dates: readonly Rule[] = [
  most('date', 0.6, 0.6, 'are dates'),
  // Excel's serial numbers of the years 2000 to 2040.
  only('date', -0.8, 'are dates', ({ share }) => share.number < 0.8),
]

const rules: Partial<Record<Field, readonly Rule[]>> = {
  // A key differs in each row. With a plain name a few repeats are accepted, and reported row by row.
  stock_number: [
    when(({ isConstant }) => isConstant, -1, 'the same value on every row'),
    most('vin', 0.8, -0.9, 'are VINs'),
    when(
      ({ share, averageLength }) => share.url >= 0.5 || averageLength > 40,
      -0.9,
      'too long for a stock number',
    ),
    most('date', 0.8, -0.8, 'are dates'),
    ({ isRowIndex }, isPlainName) =>
      isRowIndex ? { score: isPlainName ? -0.2 : -0.9, reason: 'the values count the rows' } : null,
    uniqueValues,
  ],
  vin: [
    most('vin', 0.7, 1, 'are VINs'),
    most('vin', 0.3, 0.2, 'are VINs'),
    when(
      ({ share, distinct, filled, averageLength }) =>
        share.code >= 0.7 && distinct / filled >= 0.9 && averageLength >= 6,
      0,
      'chassis numbers, no VINs of 17 characters',
    ),
    only('vin', -0.9, 'are VINs'),
  ],
  make: [
    most('make', 0.7, 1, 'are known makes'),
    most('make', 0.3, 0.2, 'are known makes'),
    only('make', -0.35, 'are known makes', ({ share }) => share.text >= 0.6),
    only('make', -0.8, 'are known makes'),
  ],
  model: [
    most('make', 0.7, -0.9, 'are known makes'),
    most('year', 0.8, -0.9, 'are years'),
    most('condition', 0.7, -0.9, 'are New or Used'),
    most('body', 0.6, -0.6, 'are body styles'),
    when(({ share }) => share.url >= 0.5 || share.date >= 0.5, -0.9, 'not names'),
    when(
      ({ distinct, filled }) => distinct >= Math.min(4, filled),
      0.3,
      ({ distinct }) => `${distinct} different names`,
    ),
  ],
  variant: [
    most('spec', 0.6, -0.6, 'are spec regions'),
    (profile, isPlainName) =>
      isPlainName ? null : most('generation', 0.5, -0.4, 'are generation codes')(profile, false),
    ({ share }) => ({ score: Math.min(0.2, share.text * 0.2), reason: '' }),
  ],
  series: [
    most('generation', 0.4, 0.4, 'are generation codes'),
    when(() => true, -0.3, 'few generation codes'),
  ],
  model_year: [
    most('modelYear', 0.9, 1, 'are model years'),
    most('modelYear', 0.5, 0.3, 'are model years'),
    only('modelYear', -0.9, 'are model years'),
  ],
  odometer: [
    most('distance', 0.5, 1, 'name km or miles'),
    only('number', -0.9, 'are numbers', ({ share }) => share.number < 0.5),
    when(
      ({ share, median }) => share.decimal >= 0.3 && median !== null && median < 100,
      -0.9,
      (profile) => `${middle(profile)}: fuel economy rather than distance`,
    ),
    isYear,
    when(({ median }) => median !== null && median >= 500, 0.5, middle),
  ],
  ...{ price_asking: prices, cost: prices, price_wholesale: prices, price_msrp: prices },
  plate: [
    most('date', 0.5, -0.9, 'are dates'),
    most('vin', 0.5, -0.9, 'are VINs'),
    most('plate', 0.6, 0.5, 'have the form of plates'),
  ],
  condition: [
    most('condition', 0.7, 1, 'are New or Used'),
    when(({ share }) => share.flag >= 0.9, 0.2, 'yes or no'),
    most('remaining', 0.5, -1, 'are remaining times'),
    only('condition', -0.5, 'are New or Used'),
  ],
  status: [
    most('condition', 0.7, -0.5, 'are New or Used'),
    most('onHand', 0.6, 0.6, 'are sold or available'),
  ],
  body: words('body', 'are body styles'),
  transmission: words('transmission', 'are transmissions'),
  fuel: words('fuel', 'are fuels'),
  gcc_spec: words('spec', 'are spec regions'),
  colour_exterior: words('colour', 'are colours'),
  plate_state: [most('state', 0.5, 0.3, 'are states'), only('state', -0.5, 'are states')],
  days_in_stock: [
    when(({ share, median }) => share.number < 0.8 || median === null, -0.8, 'not numbers'),
    when(
      ({ share, median }) => median! <= 2000 && share.decimal < 0.1,
      0.2,
      (profile) => `${middle(profile)} days`,
    ),
    when(() => true, -0.8, middle),
  ],
  ...{ registration_date: dates, received_date: dates },
  odometer_unit: [
    most('unit', 0.95, 1, 'are units of distance'),
    most('unitLetter', 0.95, 1, 'are K or M'),
    (_, isPlainName) => (isPlainName ? null : { score: -0.9, reason: 'no units of distance' }),
  ],
  row_index: [
    when(({ isRowIndex }) => isRowIndex, 1, 'the values count the rows'),
    when(() => true, -0.9, 'the values do not count the rows'),
  ],
  title_combined: [
    most('title', 0.5, 1, 'begin with a make'),
    when(({ averageLength, share }) => averageLength >= 10 && share.text >= 0.8, 0.4, 'long texts'),
  ],
}

function uniqueValues({ filled, distinct }: ColumnProfile, isPlainName: boolean): FieldScore {
  const unique = distinct / filled
  if (unique >= 0.98) return { score: 0.6, reason: `${percent(unique)} are unique` }
  // In a short list a single repeat is more than a tenth.
  if (isPlainName && filled - distinct === 1 && filled >= 3)
    return { score: 0, reason: 'all but one are unique' }
  if (unique >= 0.9)
    return { score: isPlainName ? 0 : -0.3, reason: `${percent(unique)} are unique` }
  return { score: -0.9, reason: `only ${percent(unique)} are unique` }
}
