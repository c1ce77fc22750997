import { UsageError } from '../../errors.ts'
import type { CellReading, ColumnMapping } from '../csv/map/column-mapping.ts'
import { fieldLabel } from '../csv/map/mapping-text.ts'
import { readingName, splitReading } from '../csv/map/overrides.ts'
import { type Field, fieldNamed } from '../csv/map/stock-fields.ts'
import { buildProposals, type Proposal } from '../import/first-rows.ts'
import type { ListCheck } from '../import/list-check.ts'
import { plainWords } from './plain-words.ts'

/** How a column is read, for a person. */
export interface UploadColumn {
  /** From 0. */
  readonly index: number
  readonly header: string | null
  readonly samples: readonly string[]
  /** With how its cells are read, if a person chose that: `price_asking:decimals`. null: the column is not used. */
  readonly field: string | null
  /** The field that a question proposes for it; null: nothing is asked about it. */
  readonly proposed: string | null
  /** Where its cells can be read in several ways: the choices, in words. */
  readonly readings: readonly { readonly name: string; readonly label: string }[]
  /** Why, in words. */
  readonly why: string
}

/** The columns of a list with what is open about them. */
export interface UploadColumns {
  readonly hasHeader: boolean
  readonly columns: readonly UploadColumn[]
  /** In words, to be answered before the list is loaded. */
  readonly questions: readonly string[]
  /** Fields that the questions are about. */
  readonly asked: readonly string[]
}

const sources = {
  ...{ header: 'by its name', values: 'by its values', remembered: 'as confirmed before' },
  override: 'chosen here',
} as const

/** The columns of a list with what is open about them; null: it could not be opened. */
export function uploadColumns({
  mapping,
  first,
}: Pick<ListCheck, 'mapping' | 'first'>): UploadColumns | null {
  if (mapping === null) return null
  const { columns, questions, hasHeader } = mapping
  const proposals = buildProposals(mapping)
  return {
    hasHeader,
    columns: columns.map((column) => ({
      ...uploadColumn(column, proposals.get(column.index)),
      samples: first?.samples[column.index] ?? column.samples,
    })),
    questions: questions.map(({ message }) => plainWords(message)),
    asked: [...proposals.values()].map(({ field }) => field),
  }
}

/** A column of a mapping. */
function uploadColumn(
  { index, header, field, source, confidence, evidence, readings }: ColumnMapping,
  proposal?: Proposal,
): Omit<UploadColumn, 'samples'> {
  const share =
    source === 'header' || source === 'values' ? `, ${Math.round(confidence * 100)} %` : ''
  const how = source === null ? '' : `${sources[source]}${share}`
  const reasons = source === 'header' || source === 'values' || source === null ? evidence : []
  const why = plainWords([how, ...reasons].filter((part) => part !== '').join('; '))
  return {
    ...{ index, header, why, field: field && readingName(field, readings) },
    proposed: proposal ? readingName(proposal.field, proposal.readings) : null,
    readings: readingChoices(field, readings, proposal),
  }
}

/** What a person can choose, or has chosen. */
function readingChoices(
  field: Field | null,
  readings: readonly CellReading[] | undefined,
  proposal: Proposal | undefined,
): UploadColumn['readings'] {
  const choices = proposal?.choices ?? []
  const asked = choices.map(({ name, meaning }) => ({
    name,
    label: `${fieldLabel(proposal!.field)}: ${meaning}`,
  }))
  if (asked.length > 0 || field === null || !readings) return asked
  return [{ name: readingName(field, readings), label: `${fieldLabel(field)}: as chosen` }]
}

/** The `--map` texts for what a person chose: the field by index of the column, '' for none. What is as it was is left out, so that
 *  the guards go on checking these columns. UsageError: one field for two columns. */
export function buildMaps(
  { columns, asked, hasHeader }: UploadColumns,
  before: readonly string[],
  chosen: ReadonlyMap<number, string>,
): readonly string[] {
  const fields = new Map<Field, { readonly name: string; readonly column: UploadColumn }>()
  for (const column of columns) {
    const name = chosen.get(column.index) ?? column.field ?? ''
    const field = findField(name)
    if (field === null) continue
    const other = fields.get(field)
    if (other !== undefined) throw twice(field, other.column, column)
    fields.set(field, { name, column })
  }
  const earlier = before.map((map) => splitReading(map.slice(0, map.indexOf('=')))[0])
  const named = [...fields].flatMap(([field, { name, column }]) => {
    const isNew = name !== column.field || column.proposed !== null || earlier.includes(field)
    return isNew || !hasHeader ? [`${name}=#${column.index + 1}`] : []
  })
  const possible = new Set([
    ...asked,
    ...columns.flatMap(({ field }) => findField(field ?? '') ?? []),
    ...earlier,
  ])
  const absent = [...possible].filter((field) => !fields.has(field as Field))
  return [...named, ...absent.map((field) => `${field}=`)]
}

function findField(name: string): Field | null {
  return name === '' ? null : (fieldNamed(splitReading(name)[0]) ?? null)
}

function twice(field: Field, one: UploadColumn, other: UploadColumn): UsageError {
  const names = [one, other].map(({ header, index }) => `"${header ?? `column ${index + 1}`}"`)
  return new UsageError(
    `The columns ${names.join(' and ')} cannot both be the ${fieldLabel(field)}: choose one of them.`,
  )
}
