import { findMeanings, type Meaning } from './aliases.ts'
import { type ColumnProfile, isWellFilled, profileColumn } from './column-profile.ts'
import { scoreField } from './field-score.ts'
import { type HeaderName, readHeader } from './header-name.ts'
import type { Field } from './stock-fields.ts'
import { readAmount } from './typing/money.ts'
import { digitsIn, thousands } from './typing/number.ts'
import { isPlaceholder, plainText } from './typing/plain-text.ts'

/** A column of the sample, before it has a field. */
export interface SampleColumn {
  /** From 0. */
  readonly index: number
  /** As in the file; null in a file without a header. */
  readonly header: string | null
  readonly name: HeaderName
  /** Its name in each row of a header of several rows, the lowest first; empty for a header of one row. */
  readonly rowNames: readonly string[]
  readonly cells: readonly string[]
  readonly profile: ColumnProfile
  readonly isHidden: boolean
}

/** A field that a column may hold, with the confidence and its reasons. */
export interface Candidate {
  readonly column: number
  readonly field: Field
  /** 0..1 */
  readonly confidence: number
  readonly source: 'header' | 'values'
  /** Whether the header alone is enough evidence. */
  readonly isPlainName: boolean
  readonly evidence: readonly string[]
}

/** What is known of the columns besides headers and values. */
export interface SampleOptions {
  /** Each row of a header of several rows; `names` are their joined texts. */
  readonly headerRows?: readonly (readonly string[])[]
  /** Columns, from 0, that the workbook hides: where a visible column may hold the same field, it does. */
  readonly hiddenColumns?: readonly number[]
}

/** Turns the rows of the sample into columns. Cells that a short row lacks count as empty. */
export function sampleColumns(
  names: readonly string[] | null,
  rows: readonly (readonly string[])[],
  { headerRows = [], hiddenColumns = [] }: SampleOptions,
): SampleColumn[] {
  const width = names?.length ?? rows.reduce((most, row) => Math.max(most, row.length), 0)
  return Array.from({ length: width }, (_, index) => {
    const header = names?.[index] ?? null
    const cells = rows.map((row) => row[index] ?? '')
    const profile = profileColumn(cells)
    const rowNames =
      headerRows.length < 2 ? [] : headerRows.map((row) => row[index] ?? '').reverse()
    const isHidden = hiddenColumns.includes(index)
    return { index, header, name: readHeader(header ?? ''), rowNames, cells, profile, isHidden }
  })
}

/** Different values that a column holds, as in the file: the first ones. */
export function cellSamples({ cells }: Pick<SampleColumn, 'cells'>, most = 3): string[] {
  const found = new Set<string>()
  for (const cell of cells) {
    if (found.size === most) break
    if (!isPlaceholder(plainText(cell), null)) found.add(cell.slice(0, 60))
  }
  return [...found]
}

/** The name of a column in `--map`: its header, or `#3` where no column or several have that header. */
export function columnName(
  column: Pick<SampleColumn, 'header' | 'index'>,
  all: readonly Pick<SampleColumn, 'header'>[],
): string {
  const { header } = column
  const isAlone = all.filter((other) => other.header === header).length === 1
  return header !== null && header.trim() !== '' && isAlone ? header : `#${column.index + 1}`
}

const plainConfidence = 0.9
/** Fields that values alone can prove, and the confidence without a header that confirms them. */
const byValues: readonly (readonly [Field, number, (profile: ColumnProfile) => boolean])[] = [
  ['vin', 0.9, ({ share }) => share.vin >= 0.8],
  ['make', 0.8, ({ share }) => share.make >= 0.8],
  ['model_year', 0.55, ({ share }) => share.year >= 0.95],
  ['condition', 0.55, ({ share }) => share.condition >= 0.9],
  ['title_combined', 0.55, ({ share }) => share.title >= 0.9],
  ['fuel', 0.55, ({ share }) => share.fuel >= 0.8],
  ['transmission', 0.55, ({ share }) => share.transmission >= 0.8],
  ['body', 0.55, ({ share }) => share.body >= 0.8],
  ['odometer_unit', 0.9, ({ share }) => share.unit >= 0.95],
  ['price_currency', 0.9, ({ share }) => share.currency >= 0.95],
  ['colour_exterior', 0.55, ({ share }) => share.colour >= 0.8],
]
/** Guesses for a file without a header; the user must confirm each. */
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

/** All fields that a column may hold: those its header names, weighed by the values, and those the values prove alone. */
export function findCandidates(column: SampleColumn, all: readonly SampleColumn[]): Candidate[] {
  const named = meaningsFor(column).map(({ field, confidence }): Candidate => {
    const isPlainName = confidence >= plainConfidence
    const fit = scoreField(field, column.profile, isPlainName)
    const against = contradiction(field, column, all)
    return {
      column: column.index,
      field,
      confidence: against === null ? adjustConfidence(confidence, fit.score) : 0.05,
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

/** Meanings of the whole header. If it is unknown, those of the lowest header row with a known name. */
function meaningsFor({ header, rowNames }: SampleColumn): readonly Meaning[] {
  if (header === null) return []
  const whole = findMeanings(header)
  if (whole.length > 0) return whole
  return rowNames.map(findMeanings).find((meanings) => meanings.length > 0) ?? []
}

function fromValues(column: SampleColumn, field: Field, confidence: number): Candidate {
  const { reason: why } = scoreField(field, column.profile, false)
  return {
    column: column.index,
    field,
    confidence: column.header === null ? Math.min(confidence, 0.5) : confidence,
    source: 'values',
    isPlainName: false,
    evidence: [`its values fit ${field}`, why].filter((word) => word !== ''),
  }
}

/** Values that agree raise the confidence part of the way to 1; values that disagree lower it by their share. */
function adjustConfidence(confidence: number, score: number): number {
  return score >= 0 ? confidence + (1 - confidence) * score * 0.7 : confidence * (1 + score)
}

const address = /^(zip|zipcode|postcode|postalcode|street|streetname|address|suburb|city|country)$/

/** Why other columns contradict a meaning; null when none does. */
function contradiction(
  field: Field,
  column: SampleColumn,
  all: readonly SampleColumn[],
): string | null {
  const { key } = column.name
  if (field === 'plate_state' && key === 'state' && all.some(({ name }) => address.test(name.key)))
    return 'it is among the columns of an address'
  if (
    field === 'title_combined' &&
    /description/.test(key) &&
    all.some(({ profile }) => profile.share.make >= 0.7)
  )
    return 'another column holds the make'
  if (
    field === 'days_in_stock' &&
    key === 'age' &&
    all.some((other) => isVehicleAge(column, other))
  )
    return 'added to the model year it always gives the same year: the age of the vehicle'
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

/**
 * Some Australian dealer feeds name the customer's price `retail` and the wholesale price `price`. If both columns
 * exist, are visible, and `retail` is much higher on nearly every row, they are read that way.
 */
export function assignRetailColumns(
  sample: readonly SampleColumn[],
  candidates: readonly Candidate[],
): readonly Candidate[] {
  const retail = sample.find(({ name }) => name.key === 'retail' || name.key === 'retailprice')
  const price = sample.find(({ name }) => name.key === 'price')
  if (!retail || !price || retail.isHidden || price.isHidden) return candidates
  const isOurs = ({ column }: Candidate) => column === retail.index || column === price.index
  const ratio = usualRatio(price, retail)
  if (ratio === null || ratio > 0.93) return candidates
  const why = `price is usually ${Math.round(ratio * 100)} % of retail, as a wholesale price is`
  // `Retail Price` may also be a list price that `Price` reduces, as a `Retail` that is little or far higher: the low confidence asks.
  const isUsual = retail.name.key === 'retail' && ratio >= 0.6 && ratio <= 0.88
  const confidence = isUsual ? 0.8 : 0.5
  const shared = { confidence, source: 'values', isPlainName: true, evidence: [why] } as const
  return [
    ...candidates.filter((candidate) => !isOurs(candidate)),
    { column: retail.index, field: 'price_asking', ...shared },
    { column: price.index, field: 'price_wholesale', ...shared },
  ]
}

/** The median of price ÷ retail if price is lower on nine rows of ten; else null. */
function usualRatio(price: SampleColumn, retail: SampleColumn): number | null {
  const ratios = price.cells
    .map((cell, row) => amountIn(cell) / amountIn(retail.cells[row] ?? ''))
    .filter((ratio) => Number.isFinite(ratio) && ratio > 0)
    .toSorted((a, b) => a - b)
  const lower = ratios.filter((ratio) => ratio < 1).length
  if (ratios.length < 3 || lower < ratios.length * 0.9) return null
  return ratios[Math.floor(ratios.length / 2)]!
}

/** The amount of a cell; NaN: it is none. */
export function amountIn(cell: string): number {
  const amount = readAmount(plainText(cell))
  if (!amount) return Number.NaN
  const { whole, fraction } = digitsIn(thousands, amount.reading)
  return Number(`${whole}.${fraction || '0'}`)
}
