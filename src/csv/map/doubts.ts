import { type Candidate, columnName, type SampleColumn } from './column.ts'
import type { ColumnMapping, Doubt, Mapping } from './column-mapping.ts'
import { type Field, isStockField } from './fields.ts'
import type { Overrides } from './overrides.ts'

interface Known {
  readonly columns: readonly ColumnMapping[]
  readonly sample: readonly SampleColumn[]
  readonly candidates: readonly Candidate[]
  readonly overrides: Overrides
  readonly key: Mapping['key']
  /** Was the mapping confirmed before? Then only a missing key is a doubt. */
  readonly isKnown: boolean
}

const certainFrom = 0.6
const worthAsking = 0.35

/** All that is to be confirmed; empty when the mapping is certain. */
export function doubtsOf(known: Known): Doubt[] {
  const low = known.isKnown ? [] : [...lowOnes(known), ...contradicted(known)]
  const twice = known.isKnown ? [] : sameName(known)
  const isKeyAsked = low.some(({ maps }) => maps.some((map) => /^(stock_number|vin)=/.test(map)))
  return known.key === null && !isKeyAsked ? [noKey(known), ...low, ...twice] : [...low, ...twice]
}

/** Columns that were given a field of the warehouse on weak grounds. */
function lowOnes({ columns, sample }: Known): Doubt[] {
  return columns
    .filter(({ field, confidence }) => field && isStockField(field) && confidence < certainFrom)
    .map(({ field, index, evidence }) => lowConfidence(field!, sample[index]!, sample, evidence))
}

/** Columns whose header names a field that their values deny, where nothing else holds that field. */
function contradicted({ columns, sample, candidates, overrides }: Known): Doubt[] {
  const taken = new Set<Field | null>([...columns.map(({ field }) => field), ...overrides.absent])
  return candidates
    .filter(({ column, field, confidence, isPlainName, source }) => {
      const isOpen = columns[column]!.field === null && !overrides.columns.has(column)
      const isKeyName = isPlainName && (field === 'stock_number' || field === 'vin')
      const isAsked = isKeyName || (confidence >= worthAsking && source === 'header')
      return (
        isOpen && isStockField(field) && !taken.has(field) && isAsked && confidence < certainFrom
      )
    })
    .map(({ column, field, evidence }) => lowConfidence(field, sample[column]!, sample, evidence))
}

function lowConfidence(
  field: Field,
  column: SampleColumn,
  sample: readonly SampleColumn[],
  evidence: readonly string[],
): Doubt {
  const name = columnName(column, sample)
  return {
    code: 'MAPPING_LOW_CONFIDENCE',
    message: `It is not certain that the column "${name}" holds ${field}: ${evidence.join('; ')}.`,
    maps: [`${field}=${name}`],
  }
}

/** Two columns with one name and different values, of which one was taken. */
function sameName({ columns, sample }: Known): Doubt[] {
  return columns.flatMap(({ field, index, source }) => {
    if (!field || !isStockField(field) || source !== 'header') return []
    const own = sample[index]!
    const others = sample.filter(
      (other) =>
        other.index !== index &&
        other.name.key === own.name.key &&
        columns[other.index]!.field === null &&
        other.profile.filled > 0 &&
        differs(own, other),
    )
    if (others.length === 0) return []
    const positions = [own, ...others].map((column) => `#${column.index + 1}`)
    return [
      {
        code: 'duplicate-label' as const,
        message: `The columns ${positions.join(' and ')} are both called "${own.header}" and hold different values: say which one holds ${field}.`,
        maps: [`${field}=${positions[0]}`],
      },
    ]
  })
}

function differs(one: SampleColumn, other: SampleColumn): boolean {
  return one.cells.some((cell, row) => cell.trim() !== other.cells[row]?.trim())
}

function noKey({ sample, columns }: Known): Doubt {
  const unused = sample.filter(({ index, profile }) => {
    const isFree = columns[index]!.field === null || columns[index]!.field === 'row_index'
    return isFree && profile.filled > 0 && profile.distinct >= profile.filled * 0.98
  })
  const [best] = unused.filter(
    ({ profile }) => !profile.isRowIndex && profile.share.code >= 0.8 && profile.averageLength >= 4,
  )
  const message =
    'No column holds a stock number or a VIN, so the vehicles cannot be told apart from one file to the next.'
  return {
    code: 'NO_KEY_COLUMN',
    message: best ? message : `${message} Export the list again with one of the two.`,
    maps: best ? [`stock_number=${columnName(best, sample)}`] : [],
  }
}
