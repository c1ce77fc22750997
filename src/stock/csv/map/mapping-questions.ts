import { amountIn, type Candidate, columnName, type SampleColumn } from './candidates.ts'
import type { ColumnMapping, Mapping, MappingQuestion, MissingField } from './column-mapping.ts'
import { isWellFilled, mayBeFilled } from './column-profile.ts'
import { mapArguments } from './mapping-text.ts'
import type { Overrides } from './overrides.ts'
import { type Field, isStockField, isVital, type VitalField } from './stock-fields.ts'
import { isSaleTrace } from './typing/sold-words.ts'
import { isNameWithoutTax } from './typing/tax-words.ts'
import type { CellIssue } from './typing/typed-row.ts'

interface Proposal {
  readonly columns: readonly ColumnMapping[]
  readonly sample: readonly SampleColumn[]
  readonly candidates: readonly Candidate[]
  readonly overrides: Overrides
  /** Never asked about: the user confirmed that no column holds them. */
  readonly absent: ReadonlySet<Field>
  readonly key: Mapping['key']
  readonly missing: readonly MissingField[]
  /** Whether the mapping was confirmed before. If so, a column without a field is asked about only if its header names one. */
  readonly isKnown: boolean
}

/** A mapping with at least this confidence is used without a question. */
export const certainConfidence = 0.6
const minConfidence = 0.35

/** Everything that the user must confirm; empty when the mapping is certain. */
export function mappingQuestions(proposal: Proposal): MappingQuestion[] {
  const { isKnown, key } = proposal
  const low = [...(isKnown ? [] : uncertainColumns(proposal)), ...contradicted(proposal)]
  const isKeyAsked = low.some(({ maps }) => maps.some((map) => /^(stock_number|vin)=/.test(map)))
  const first = [...(key === null && !isKeyAsked ? [noKey(proposal)] : []), ...low]
  return [
    ...first,
    ...possibleColumns(proposal, first),
    ...(isKnown ? [] : [...sameName(proposal), ...reducedPrice(proposal)]),
  ]
}

/** Columns that got a field of the warehouse with low confidence. */
function uncertainColumns({ columns, sample }: Proposal): MappingQuestion[] {
  return columns
    .filter(
      ({ field, confidence, source }) =>
        field && source !== 'remembered' && isStockField(field) && confidence < certainConfidence,
    )
    .map(({ field, index, evidence }) => lowConfidence(field!, sample[index]!, sample, evidence))
}

/** Columns whose values contradict the field in their header, if no filled column holds that field. */
function contradicted({
  columns,
  sample,
  candidates,
  overrides,
  absent,
}: Proposal): MappingQuestion[] {
  const filled = columns.filter(({ index }) => mayBeFilled(sample[index]!.profile))
  const used = new Set<Field | null>([...filled.map(({ field }) => field), ...absent])
  return candidates
    .filter(({ column, field, confidence, isPlainName, source }) => {
      const isOpen = isFree(columns[column]!) && !overrides.columns.has(column)
      if (!isOpen || source !== 'header' || !isStockField(field) || used.has(field)) return false
      const hasDigits = isVital(field) && sample[column]!.profile.share.digits >= 0.3
      const isQuestion = isPlainName || hasDigits || confidence >= minConfidence
      return isQuestion && confidence < certainConfidence && mayBeFilled(sample[column]!.profile)
    })
    .map(({ column, field, evidence }) =>
      withOutcome(field, lowConfidence(field, sample[column]!, sample, evidence)),
    )
}

/** Warns that a cell which is not an amount rejects its row. Without it, a user who only copies the argument gets an error for every row. */
function withOutcome(field: Field, doubt: MappingQuestion): MappingQuestion {
  if (field !== 'price_asking' && field !== 'cost' && field !== 'odometer') return doubt
  const outcome = `If it does, correct its cells first: a row whose cell cannot be read is rejected.`
  return { ...doubt, message: `${doubt.message} ${outcome}` }
}

/** Whether it holds no field, or one that is stored as text and that its header does not name. */
function isFree({ field, source }: ColumnMapping): boolean {
  return field === null || (source === 'values' && !isStockField(field))
}

/** Columns whose values fit a vital field that no column fills, the likeliest first; each column is proposed for one field. Of a mapping that
 *  is known, only the price is asked about: before prices were asked about, lists without one were taken and remembered. */
function possibleColumns(
  { columns, sample, missing, isKnown }: Proposal,
  earlier: readonly MappingQuestion[],
): MappingQuestion[] {
  const mapped = earlier.flatMap(({ maps }) => maps)
  return missing.flatMap(({ field }) => {
    const isSettled = isKnown && field !== 'price_asking'
    if (isSettled || mapped.some((map) => map.startsWith(`${field}=`))) return []
    const names = sample
      .filter(
        (column) =>
          column.header !== null &&
          columns[column.index]!.field === null &&
          isWellFilled(column.profile) &&
          mayHold[field](column),
      )
      .toSorted(
        (a, b) =>
          Number(a.isHidden) - Number(b.isHidden) ||
          (field === 'price_asking' ? priceRank(a) - priceRank(b) : 0),
      )
      .map((column) => columnName(column, sample))
      .filter((name) => !mapped.some((map) => map.endsWith(`=${name}`)))
    if (names.length === 0) return []
    const maps = [`${field}=${names[0]}`]
    mapped.push(...maps)
    const message = `No known column holds ${field}. Perhaps ${names.map((name) => `"${name}"`).join(' or ')} does.`
    return [{ code: 'MAPPING_LOW_CONFIDENCE' as const, message, maps }]
  })
}

function lowConfidence(
  field: Field,
  column: SampleColumn,
  sample: readonly SampleColumn[],
  evidence: readonly string[],
): MappingQuestion {
  const name = columnName(column, sample)
  return {
    code: 'MAPPING_LOW_CONFIDENCE',
    message: `It is not certain that the column "${name}" holds ${field}: ${evidence.join('; ')}.`,
    maps: [`${field}=${name}`],
  }
}

/** Two columns with the same name and different values; only one has the field. */
function sameName({ columns, sample }: Proposal): MappingQuestion[] {
  return columns.flatMap(({ field, index, source }) => {
    if (!field || !isStockField(field) || source !== 'header') return []
    const sampleColumn = sample[index]!
    const others = sample.filter(
      (other) =>
        other.index !== index &&
        other.name.key === sampleColumn.name.key &&
        columns[other.index]!.field === null &&
        other.profile.filled > 0 &&
        sampleColumn.cells.some((cell, row) => cell.trim() !== other.cells[row]?.trim()),
    )
    if (others.length === 0) return []
    const positions = [sampleColumn, ...others].map((column) => `#${column.index + 1}`)
    const hidden = [sampleColumn, ...others].filter(({ isHidden }) => isHidden)
    const note = hidden.map((column) => ` (#${column.index + 1} is hidden in the workbook)`)
    return [
      {
        code: 'duplicate-label' as const,
        message: `The columns ${positions.join(' and ')}${note.join('')} are both called "${sampleColumn.header}" and hold different values: name the one that holds ${field}.`,
        maps: [`${field}=${positions[0]}`],
      },
    ]
  })
}

const reducedName =
  /\b(reduced|reduction|drop(?:ped)?|new|now|current|special|sale|discount(ed)?|promo(tional)?|promotion|offer|clearance|internet|web|website|online|advertised)\b/i
const priceWord = /\b(prices?|asking|sell|selling|prix|preis|precio)\b/i
const otherName = /\b(was|old|previous|original|date|percent|%|amount off|saving|by)\b/i
/** Prices that are lower by their nature. */
const lowerName =
  /\b(cost|buy|purchase|trade|wholesale|dealer|book|reserve|floor|min|minimum|from|to|range|egc|week|weekly|month|monthly|finance|deposit|auction|transfer|insur\w{0,8}|staff|employee|export|valuation|guide|market)\b/i

/** Whether a header may name a price that customers pay. */
function maybePriceName({ header, name }: SampleColumn): boolean {
  const words = `${header} ${name.words.join(' ')}`
  if (otherName.test(words)) return false
  const isOther = lowerName.test(words) || isNameWithoutTax(header ?? '')
  return reducedName.test(words) || (priceWord.test(words) && !isOther)
}

/** A second column of prices that are lower. */
interface LowerPrice {
  /** Names of both columns. */
  readonly was: string
  readonly now: string
  readonly count: string
  /** Whether each vehicle has the second price. */
  readonly isWhole: boolean
}

/** Columns of lower prices beside the one that was chosen, which may then hold what the vehicle cost before. A 0 means no such price. */
function lowerPrices(
  columns: readonly ColumnMapping[],
  sample: readonly SampleColumn[],
  chosenBy: ColumnMapping['source'],
): LowerPrice[] {
  const chosen = columns.find(
    ({ field, source }) => field === 'price_asking' && source === chosenBy,
  )
  if (chosen === undefined) return []
  const before = sample[chosen.index]!
  const priced = ({ cells }: SampleColumn) => cells.filter((cell) => amountIn(cell) > 0).length
  return sample.flatMap((other) => {
    const isFree = columns[other.index]!.field === null && !other.isHidden
    if (!isFree || !maybePriceName(other)) return []
    const pairs = other.cells
      .map((cell, row) => amountIn(cell) / amountIn(before.cells[row] ?? ''))
      .filter((ratio) => Number.isFinite(ratio) && ratio > 0)
    const lower = pairs.filter((ratio) => ratio < 1).length
    const near = pairs.filter((ratio) => ratio > 0.5 && ratio <= 1).length
    if (lower === 0 || near < pairs.length * 0.8) return []
    const [was, now] = [columnName(before, sample), columnName(other, sample)]
    const count = `${lower} of ${before.profile.cells} vehicles`
    return [{ was, now, count, isWhole: priced(other) >= priced(before) }]
  })
}

/** A second price that is lower: a person decides which one holds the price. */
function reducedPrice({ columns, sample }: Proposal): MappingQuestion[] {
  return lowerPrices(columns, sample, 'header').map(({ was, now, count, isWhole }) => {
    const advice = isWhole
      ? 'Name the one that holds the asking price.'
      : `Where it is empty, "${was}" holds the price: put the price of each vehicle into one column and import the list again, or name "${was}" to import it without the lower prices.`
    return {
      code: 'MAPPING_LOW_CONFIDENCE' as const,
      message: `"${now}" is lower than "${was}" for ${count}. ${advice}`,
      maps: [`price_asking=${isWhole ? now : was}`],
    }
  })
}

/** The same of a mapping that is known: it may have been certain while the second column was still empty. */
export function lowerPriceWarnings(
  columns: readonly ColumnMapping[],
  sample: readonly SampleColumn[],
): CellIssue[] {
  return lowerPrices(columns, sample, 'remembered').map(({ was, now, count }) => ({
    ...({ code: 'LOWER_PRICE', severity: 'warning', line: null, text: '' } as const),
    column: now,
    hint: `it is lower than "${was}" for ${count}; "${was}" was stored, as before`,
    advice: `${mapArguments([`price_asking=${now}`])} takes it instead`,
  }))
}

function noKey({ sample, columns }: Proposal): MappingQuestion {
  const unused = sample.filter(({ index, profile }) => {
    const isFree = columns[index]!.field === null || columns[index]!.field === 'row_index'
    const isFull = profile.filled > 0 && profile.filled >= profile.cells * 0.9
    return isFree && isFull && profile.distinct >= profile.filled * 0.98
  })
  const [best] = unused.filter(
    ({ profile, isHidden }) =>
      !isHidden && !profile.isRowIndex && profile.share.code >= 0.8 && profile.averageLength >= 4,
  )
  const message =
    'No column holds a stock number or a VIN, so the next file cannot be compared with this one.'
  return {
    code: 'NO_KEY_COLUMN',
    message: best ? message : `${message} Export the list again with one of the two.`,
    maps: best ? [`stock_number=${columnName(best, sample)}`] : [],
  }
}

const otherPrice =
  /^(cost|wholesale|trade|week|weekly|month|monthly|finance|repayment|deposit|tax|duty|fee|fees|discount|saving|save|msrp|rrp|invoice|book|reserve)$/
/** What else has numbers as large as a price. */
const otherNumber =
  /^(weight|mass|gvm|gcm|tare|payload|towing|load|cc|engine|capacity|displacement|power|kw|hp|nm|torque|co2|emissions|length|width|height|wheelbase|id|ids|code|codes|number|key|keys|tag|serial|barcode|postcode|zip|phone|mobile|fax|odometer|mileage|speedo|travelled|driven|distance|photos|views|clicks|days|age|year|built)$/
const priceName =
  /^(our|price|prices|pricing|asking|ask|sell|selling|advertised|web|internet|window|windscreen|ticket)$/
const listName = /^(list|sticker|retail|showroom|value|amount|total|net)$/
const currencySign = /[$£€¥]/
/** A named price may be that of an accessory; a number without a name must be as large as that of a car. */
const [leastNamed, leastPrice, maxPrice] = [300, 2500, 5_000_000]

/** 0: the header names a price of the dealer; 1: a price of any kind; 2: nothing, or an amount before tax. */
function priceRank({ header, name: { words } }: SampleColumn): number {
  if (isNameWithoutTax(header ?? '')) return 2
  if (words.some((word) => priceName.test(word))) return 0
  return words.some((word) => listName.test(word)) || currencySign.test(header ?? '') ? 1 : 2
}

const otherDate =
  /^(sold|sale|update|updated|modified|changed|last|expiry|expires|expired|due|service|registration|build|built|manufacture|production|compliance|birth|photo|photos|price|priced|published|end|off|out|warranty|inspection|mot|wof|test|first|release|available|ppsr|search|check|checked|verkauft|verkaufsdatum|verkauf|vente|vendue?|venta|vendid[oa]|البيع)$/

/** Whether the values fit a field that the header does not name. Enough to ask the user, never to use the column. */
const mayHold: Readonly<Record<VitalField, (column: SampleColumn) => boolean>> = {
  price_asking: (column) => {
    const { words, unit } = column.name
    const { share, median } = column.profile
    if (words.some((word) => otherPrice.test(word)) || share.year >= 0.9) return false
    const isNamed = words.some((word) =>
      /^(price|prices|pricing|asking|amount|سعر|السعر)$/.test(word),
    )
    if (isNamed && (share.number >= 0.3 || share.digits >= 0.5)) return true
    if (share.number < 0.8 || median === null || share.distance >= 0.5 || unit !== null)
      return false
    if (median >= 1000 && (share.cents >= 0.5 || words.length === 0)) return true
    if (priceRank(column) < 2) return median >= leastNamed
    const isOther = words.some((word) => otherNumber.test(word))
    return !isOther && median >= leastPrice && median <= maxPrice
  },
  model_year: ({ name: { words }, profile: { share } }) => {
    const isNamed = words.some((word) => /^(year|years|my|jahr|baujahr|السنه|سنه)$/.test(word))
    return isNamed ? share.digits >= 0.5 : share.modelYear >= 0.9 && share.date < 0.5
  },
  odometer: ({ name: { words, unit }, profile: { share, median } }) => {
    const isNamed =
      unit !== null ||
      words.some((word) => /^(odometer|mileage|speedo|travelled|driven|عداد|الممشي)$/.test(word))
    const isDistance = share.number >= 0.5 && (median ?? 0) >= 500
    return share.distance >= 0.5 || (isNamed && (isDistance || share.digits >= 0.5))
  },
  received_date: ({ header, name: { words }, profile: { share, filled, cells } }) =>
    share.date >= 0.6 &&
    !words.some((word) => otherDate.test(word)) &&
    !(isSaleTrace(header ?? '') && filled * 2 <= cells),
}
