import { candidatesOf } from './candidates.ts'
import { type Candidate, type SampleColumn, sampleColumns, samplesOf } from './column.ts'
import type { ColumnMapping, Mapping, RememberedMapping } from './column-mapping.ts'
import { doubtsOf } from './doubts.ts'
import { type Field, fields } from './fields.ts'
import { headerFingerprint } from './fingerprint.ts'
import { noOverrides, type Overrides } from './overrides.ts'
import { settleRetail } from './retail.ts'

export interface MappingOptions {
  readonly overrides?: Overrides
  readonly remembered?: RememberedMapping | null
  /** The rows of a header of several rows, of which `names` are the joined texts. */
  readonly headerRows?: readonly (readonly string[])[]
}

/** A weaker candidate is not taken; where its header names a column of the warehouse, it is asked about. */
const weakest = 0.5

/**
 * Maps headers to fields, weighed by the values of a sample (some hundred rows do). `names` is null for a file
 * without a header, which is mapped by its values alone and has to be confirmed.
 */
export function proposeMapping(
  names: readonly string[] | null,
  sampleRows: readonly (readonly string[])[],
  options: MappingOptions = {},
): Mapping {
  const sample = sampleColumns(names, sampleRows, options.headerRows)
  const fingerprint = headerFingerprint(names, sample.length)
  const overrides = options.overrides ?? noOverrides
  const remembered = matching(options.remembered, fingerprint, sample.length)
  const candidates = settleRetail(
    sample,
    sample.flatMap((column) => candidatesOf(column, sample)),
  )
  const taken = remembered
    ? said(remembered, 'remembered')
    : assign(sample, candidates, overrides, leastFor(names, overrides))
  const chosen = withOverrides(taken, overrides)
  const columns = sample.map((column) => columnMapping(column, chosen, candidates))
  const key = keyOf(columns, sample)
  const doubts = doubtsOf({ columns, sample, candidates, overrides, key, isKnown: !!remembered })
  return {
    status: doubts.length === 0 ? 'sure' : 'unsure',
    columns,
    key,
    hasHeader: names !== null,
    fingerprint,
    doubts,
  }
}

/** The mapping to keep once a person has confirmed it. */
export function rememberedOf(mapping: Mapping): RememberedMapping {
  return {
    fingerprint: mapping.fingerprint,
    columns: mapping.columns.map(({ field }) => field),
  }
}

/** Without a header all guesses are shown, until the user has said which column is the key; then only what is said. */
function leastFor(names: readonly string[] | null, { columns }: Overrides): number {
  if (names !== null) return weakest
  return [...columns.values()].some((field) => field === 'stock_number' || field === 'vin') ? 1 : 0
}

type Choice = Pick<ColumnMapping, 'field' | 'confidence' | 'evidence' | 'source'>
type Choices = ReadonlyMap<number, Choice>

function matching(
  remembered: RememberedMapping | null | undefined,
  fingerprint: string,
  width: number,
): Map<number, Field> | null {
  if (remembered?.fingerprint !== fingerprint || remembered.columns.length !== width) return null
  const known = remembered.columns.map((name) => fields.find((field) => field === name))
  return new Map(known.flatMap((field, index) => (field ? [[index, field] as const] : [])))
}

function said(columns: ReadonlyMap<number, Field>, source: 'remembered' | 'override'): Choices {
  const evidence = [source === 'override' ? 'said with --map' : 'confirmed before for this rooftop']
  return new Map(
    [...columns].map(([index, field]) => [index, { field, confidence: 1, source, evidence }]),
  )
}

/** The surest candidate first; each field goes to one column and each column to one field. */
function assign(
  sample: readonly SampleColumn[],
  candidates: readonly Candidate[],
  overrides: Overrides,
  least: number,
): Choices {
  const filled = (candidate: Candidate) => sample[candidate.column]!.profile.filled
  const byConfidence = candidates
    .filter(({ confidence }) => confidence >= least)
    .toSorted((a, b) => b.confidence - a.confidence || filled(b) - filled(a) || a.column - b.column)
  const fieldsTaken = new Set<Field>([...overrides.columns.values(), ...overrides.absent])
  const chosen = new Map<number, Choice>()
  for (const candidate of byConfidence) {
    const { column, field } = candidate
    if (overrides.columns.has(column) || chosen.has(column) || fieldsTaken.has(field)) continue
    fieldsTaken.add(field)
    chosen.set(column, candidate)
  }
  return chosen
}

function withOverrides(taken: Choices, overrides: Overrides): Choices {
  const named = new Set<Field | null>([...overrides.columns.values(), ...overrides.absent])
  const kept = [...taken].filter(([, choice]) => !named.has(choice.field))
  return new Map([...kept, ...said(overrides.columns, 'override')])
}

function columnMapping(
  column: SampleColumn,
  chosen: Choices,
  candidates: readonly Candidate[],
): ColumnMapping {
  const choice = chosen.get(column.index)
  return {
    index: column.index,
    header: column.header,
    field: choice?.field ?? null,
    confidence: choice?.confidence ?? 0,
    source: choice?.source ?? null,
    evidence: choice?.evidence ?? leftOut(column, chosen, candidates),
    samples: samplesOf(column),
    unit: column.name.unit,
    currency: column.name.currency,
  }
}

/** Why a column whose header means something was given no field. */
function leftOut(
  column: SampleColumn,
  chosen: Choices,
  candidates: readonly Candidate[],
): readonly string[] {
  const own = candidates.filter((candidate) => candidate.column === column.index)
  const best = own.toSorted((a, b) => b.confidence - a.confidence)[0]
  if (!best) return ['its header is unknown']
  const winner = [...chosen].find(([, choice]) => choice.field === best.field)
  return winner ? [...best.evidence, `column #${winner[0] + 1} holds ${best.field}`] : best.evidence
}

function keyOf(columns: readonly ColumnMapping[], sample: readonly SampleColumn[]): Mapping['key'] {
  const holds = (field: Field) =>
    columns.some(
      (column) =>
        column.field === field &&
        (sample[column.index]!.profile.filled > 0 || sample[column.index]!.cells.length === 0),
    )
  if (holds('stock_number')) return 'stock_number'
  return holds('vin') ? 'vin' : null
}
