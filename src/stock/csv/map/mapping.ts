import { type DistanceUnit, findDistanceUnit } from '../../../values/distance-unit.ts'
import {
  assignRetailColumns,
  type Candidate,
  cellSamples,
  columnName,
  findCandidates,
  type SampleColumn,
  type SampleOptions,
  sampleColumns,
} from './candidates.ts'
import type { ColumnMapping, Mapping, MissingField, RememberedMapping } from './column-mapping.ts'
import { mayBeFilled } from './column-profile.ts'
import { headerFingerprint, withoutAccents } from './header-name.ts'
import { certainConfidence, lowerPriceWarnings, mappingQuestions } from './mapping-questions.ts'
import { noOverrides, type Overrides, readingName, splitReading } from './overrides.ts'
import { type Field, fields, vitalFields } from './stock-fields.ts'
import { findYearTitle } from './typing/description.ts'
import { usualCurrency } from './typing/money.ts'
import { plainText } from './typing/plain-text.ts'
import { isColourLegend, soldByColour } from './typing/sold-words.ts'
import { isNameWithoutTax, isWithoutTax } from './typing/tax-words.ts'
import type { CellIssue } from './typing/typed-row.ts'

/** What is known besides headers and values. */
export interface MappingOptions extends SampleOptions {
  readonly overrides?: Overrides
  readonly remembered?: RememberedMapping | null
  /** The lines above the header: they may name the unit of the odometer, and the currency of the prices. */
  readonly titles?: readonly string[]
}

/** A candidate with less confidence is not used. If its header names a column of the warehouse, the user is asked. */
const usableConfidence = 0.5

/**
 * Maps headers to fields, weighed by the values of a sample (some hundred rows do). `names` is null for a file
 * without a header, which is mapped by its values alone; the user must confirm it.
 */
export function proposeMapping(
  names: readonly string[] | null,
  sampleRows: readonly (readonly string[])[],
  options: MappingOptions = {},
): Mapping {
  const sample = sampleColumns(names, sampleRows, options)
  const fingerprint = headerFingerprint(names, sample.length)
  const overrides = options.overrides ?? noOverrides
  const remembered = matching(options.remembered, fingerprint, sample.length)
  const absent = findAbsent(remembered, overrides)
  const candidates = assignRetailColumns(
    sample,
    sample.flatMap((column) => findCandidates(column, sample)),
  )
  const known = knownChoices(remembered, overrides, absent)
  const minConfidence = minConfidenceFor(names, overrides, remembered)
  const chosen = assign(sample, candidates, known, absent, minConfidence)
  const titled = titleUnits(options.titles ?? [])
  const columns = sample.map((column) =>
    withTitleUnits(columnMapping(column, chosen, candidates), titled),
  )
  const key = vehicleKeyField(columns, sample)
  const missing = findMissing(columns, sample, absent)
  const isKnown = remembered !== null && (names === null || remembered.absent !== null)
  const doubts = mappingQuestions({
    ...{ columns, sample, candidates, overrides, absent, key, missing, isKnown },
  })
  return {
    status: doubts.length === 0 ? 'sure' : 'unsure',
    columns,
    key,
    absent: [...absent],
    missing,
    hasHeader: names !== null,
    fingerprint,
    questions: doubts,
    warnings: [
      ...(isKnown ? lowerPriceWarnings(columns, sample) : []),
      ...taxWarnings(columns, options.titles ?? []),
      ...colourWarnings(options.titles ?? []),
    ],
  }
}

/** The mapping to store once it is sure, or the user has confirmed it. */
export function toRemembered(mapping: Mapping): RememberedMapping {
  return {
    fingerprint: mapping.fingerprint,
    columns: mapping.columns.map(({ field, readings }) => field && readingName(field, readings)),
    absent: mapping.absent,
  }
}

/**
 * Without a header all guesses are shown until the user names the key column; then only the user's columns count.
 * With a remembered mapping only certain candidates are added, since the user is not asked about the rest again.
 */
function minConfidenceFor(
  names: readonly string[] | null,
  { columns }: Overrides,
  remembered: Remembered | null,
): number {
  if (names !== null) return remembered?.absent ? certainConfidence : usableConfidence
  const isKeyNamed = [...columns.values()].some(
    (field) => field === 'stock_number' || field === 'vin',
  )
  return isKeyNamed || remembered ? 1 : 0
}

type Choice = Pick<ColumnMapping, 'field' | 'confidence' | 'evidence' | 'source' | 'readings'>
type Choices = ReadonlyMap<number, Choice>

interface Remembered extends Pick<Overrides, 'columns' | 'readings'> {
  readonly absent: readonly Field[] | null
}

function matching(
  remembered: RememberedMapping | null | undefined,
  fingerprint: string,
  width: number,
): Remembered | null {
  if (remembered?.fingerprint !== fingerprint || remembered.columns.length !== width) return null
  const known = remembered.columns.flatMap((text, index) => {
    const [name, readings] = splitReading(text ?? '')
    const field = fields.find((one) => one === name)
    return field ? [{ index, field, readings }] : []
  })
  return {
    columns: new Map(known.map(({ index, field }) => [index, field])),
    readings: new Map(known.map(({ field, readings }) => [field, readings])),
    absent: remembered.absent && fields.filter((field) => remembered.absent!.includes(field)),
  }
}

/** The user's present answer overrides an earlier one. */
function findAbsent(remembered: Remembered | null, overrides: Overrides): ReadonlySet<Field> {
  const named = [...overrides.columns.values()]
  const before = (remembered?.absent ?? []).filter((field) => !named.includes(field))
  return new Set([...before, ...overrides.absent])
}

function knownChoices(
  remembered: Remembered | null,
  overrides: Overrides,
  absent: ReadonlySet<Field>,
): Choices {
  const named = new Set([...overrides.columns.values(), ...absent])
  const { columns, readings } = remembered ?? noOverrides
  const before = new Map([...columns].filter(([, field]) => !named.has(field)))
  return new Map([
    ...chosenFields({ columns: before, readings }, 'remembered'),
    ...chosenFields(overrides, 'override'),
  ])
}

const confirmations = {
  remembered: 'confirmed before for this rooftop',
  override: 'set with --map',
} as const

function chosenFields(
  known: Pick<Overrides, 'columns' | 'readings'>,
  source: keyof typeof confirmations,
): [number, Choice][] {
  return [...known.columns].map(([index, field]) => {
    const readings = known.readings.get(field) ?? []
    return [
      index,
      {
        ...{ field, confidence: 1, source, evidence: [confirmations[source]] },
        ...(readings.length > 0 && { readings }),
      },
    ]
  })
}

/** Adds candidates to the known choices, the surest first, columns with values before empty ones, visible ones before
 *  hidden ones. Each field goes to one column and each column to one field. */
function assign(
  sample: readonly SampleColumn[],
  candidates: readonly Candidate[],
  known: Choices,
  absent: ReadonlySet<Field>,
  minConfidence: number,
): Choices {
  const filled = (candidate: Candidate) => sample[candidate.column]!.profile.filled
  const isHidden = (candidate: Candidate) => sample[candidate.column]!.isHidden
  const vagueness = (candidate: Candidate) => nameVagueness(candidate, sample)
  const byConfidence = candidates
    .filter(({ confidence }) => confidence >= minConfidence)
    .toSorted(
      (a, b) =>
        Number(filled(b) > 0) - Number(filled(a) > 0) ||
        Number(isHidden(a)) - Number(isHidden(b)) ||
        b.confidence - a.confidence ||
        filled(b) - filled(a) ||
        vagueness(a) - vagueness(b) ||
        a.column - b.column,
    )
  const fieldsTaken = new Set([...[...known.values()].map(({ field }) => field), ...absent])
  const chosen = new Map(known)
  for (const candidate of byConfidence) {
    const { column, field } = candidate
    if (chosen.has(column) || fieldsTaken.has(field)) continue
    fieldsTaken.add(field)
    chosen.set(column, candidate)
  }
  return chosen
}

const modelWords = /^(model|modell|modele|my|modelljahr|modelo)$/
const otherYear =
  /^(build|built|made|manufacture|production|prod|yom|registration|plate|compliance|baujahr|bj|fabrication|fabricacion)$/

const ofStock = /^(stock|stocked|inventory|in|into)$/
const ofPurchase = /^(purchase|bought|buy|acquired|invoice)$/

/** Of two equal columns for a field, the one whose name is less exact: a year of manufacture, a price before tax or charges, a cost without
 *  what was spent since, a distance without its unit, a day of purchase beside one in stock. */
function nameVagueness({ column, field }: Candidate, sample: readonly SampleColumn[]): number {
  const { header, name } = sample[column]!
  const words = name.words.map(withoutAccents)
  if (field === 'price_asking')
    return isNameWithoutTax(header ?? '') || words.includes('egc') ? 1 : 0
  if (field === 'cost') return words.includes('total') ? 0 : 1
  if (field === 'odometer') return name.unit === null ? 1 : 0
  if (field === 'received_date' && words.some((word) => ofStock.test(word))) return 0
  if (field === 'received_date') return words.some((word) => ofPurchase.test(word)) ? 2 : 1
  if (field !== 'model_year') return 0
  if (words.some((word) => modelWords.test(word))) return 0
  return words.some((word) => otherYear.test(word)) ? 2 : 1
}

/** The vital fields that no column of the sample fills. */
function findMissing(
  columns: readonly ColumnMapping[],
  sample: readonly SampleColumn[],
  absent: ReadonlySet<Field>,
): MissingField[] {
  return vitalFields.flatMap((field) => {
    const column = columns.find((one) => one.field === field)
    const profile = column && sample[column.index]!.profile
    if (absent.has(field) || (profile && mayBeFilled(profile))) return []
    if (field === 'model_year' && findYearTitle(columns) !== null) return []
    return [{ field, emptyColumn: column ? columnName(sample[column.index]!, sample) : null }]
  })
}

function columnMapping(
  column: SampleColumn,
  chosen: Choices,
  candidates: readonly Candidate[],
): ColumnMapping {
  const choice = chosen.get(column.index)
  const evidence = choice?.evidence ?? leftOut(column, chosen, candidates)
  return {
    index: column.index,
    header: column.header,
    field: choice?.field ?? null,
    confidence: choice?.confidence ?? 0,
    source: choice?.source ?? null,
    evidence: column.isHidden ? [...evidence, 'it is hidden in the workbook'] : evidence,
    samples: cellSamples(column),
    unit: column.name.unit,
    currency: column.name.currency,
    ...(choice?.readings && { readings: choice.readings }),
  }
}

/** A column whose header names no unit has the one that the titles name. */
function withTitleUnits(column: ColumnMapping, titled: TitleUnits): ColumnMapping {
  const { field } = column
  const unit = field === 'odometer' ? (column.unit ?? titled.unit) : column.unit
  const isAmount = field === 'price_asking' || field === 'cost'
  const currency = isAmount ? (column.currency ?? titled.currency) : column.currency
  if (unit === column.unit && currency === column.currency) return column
  const named = unit === column.unit ? currency : unit
  return { ...column, unit, currency, evidence: [...column.evidence, `a title says ${named}`] }
}

/** Why a column whose header has a meaning got no field. */
function leftOut(
  column: SampleColumn,
  chosen: Choices,
  candidates: readonly Candidate[],
): readonly string[] {
  const columnCandidates = candidates.filter((candidate) => candidate.column === column.index)
  const best = columnCandidates.toSorted((a, b) => b.confidence - a.confidence)[0]
  if (!best) return ['its header is unknown']
  const winner = [...chosen].find(([, choice]) => choice.field === best.field)
  return winner ? [...best.evidence, `column #${winner[0] + 1} holds ${best.field}`] : best.evidence
}

function vehicleKeyField(
  columns: readonly ColumnMapping[],
  sample: readonly SampleColumn[],
): Mapping['key'] {
  const holds = (field: Field) =>
    columns.some((column) => column.field === field && mayBeFilled(sample[column.index]!.profile))
  if (holds('stock_number')) return 'stock_number'
  return holds('vin') ? 'vin' : null
}

/** A title that says of the prices what a header may say too. */
function taxWarnings(
  columns: readonly ColumnMapping[],
  titles: readonly string[],
): readonly CellIssue[] {
  const price = columns.find(({ field }) => field === 'price_asking')
  const title = titles.find((text) => isWithoutTax(text) && /\bpric(?:e|es|ing)\b/i.test(text))
  if (price === undefined || title === undefined || isNameWithoutTax(price.header ?? '')) return []
  return [
    {
      ...({ code: 'PRICE_WITHOUT_TAX', severity: 'warning', line: null } as const),
      column: price.header,
      text: title,
      hint: 'a title says that tax is not included: the prices were stored as written, and are lower than what a customer pays',
    },
  ]
}

function colourWarnings(titles: readonly string[]): readonly CellIssue[] {
  const title = titles.map(plainText).find(isColourLegend)
  return title === undefined ? [] : [{ ...soldByColour, line: null, column: null, text: title }]
}

/** What the titles above a list say about all its cells; null: nothing, or two different things. */
interface TitleUnits {
  readonly unit: DistanceUnit | null
  /** ISO 4217. */
  readonly currency: string | null
}

const distanceWords = new Set(
  'odometer odometers mileage mileages distance distances reading readings kilometerstand laufleistung kilométrage kilometraje recorrido'.split(
    ' ',
  ),
)
const priceWords = new Set(
  'price prices pricing amount amounts preis preise beträge prix montants precio precios importes'.split(
    ' ',
  ),
)
/** Words between what is measured and its unit: `prices of all used cars in USD`. */
const maxBetween = 6

/** Reads `Prices in USD` and `Odometer readings are in miles`. */
function titleUnits(titles: readonly string[]): TitleUnits {
  const units = new Set<DistanceUnit>()
  const currencies = new Set<string>()
  for (const title of titles) {
    const words = title
      .toLowerCase()
      .split(/[^\p{L}$£€]+/u)
      .filter(Boolean)
    for (const [at, word] of words.entries()) {
      const next = words[at + 1]
      if ((word !== 'in' && word !== 'en') || next === undefined) continue
      const before = words.slice(Math.max(0, at - maxBetween), at)
      const unit = findDistanceUnit(next)
      if (unit !== null && before.some((one) => distanceWords.has(one))) units.add(unit)
      const currency = usualCurrency(next)
      if (currency !== null && before.some((one) => priceWords.has(one))) currencies.add(currency)
    }
  }
  const only = <T>(found: ReadonlySet<T>) => (found.size === 1 ? [...found][0]! : null)
  return { unit: only(units), currency: only(currencies) }
}
