import type { ColumnMapping, Mapping } from '../../csv/map/column-mapping.ts'
import { parseOverrides } from '../../csv/map/overrides.ts'
import { type Field, fieldNamed } from '../../csv/map/stock-fields.ts'
import { UsageError } from '../../errors.ts'
import { labelOf, plainWords } from './plain-words.ts'

/** How a column is read, for a person. */
export interface UploadColumn {
  /** From 0. */
  readonly index: number
  readonly header: string | null
  readonly samples: readonly string[]
  /** null: the column is not used. */
  readonly field: string | null
  /** The field that a question proposes for it; null: nothing is asked about it. */
  readonly proposed: string | null
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

/** The columns of a mapping with its questions. */
export function uploadColumns(mapping: Mapping): UploadColumns {
  const { columns, questions, hasHeader } = mapping
  const proposals = proposalsOf(mapping)
  return {
    hasHeader,
    columns: columns.map((column) => uploadColumn(column, proposals.get(column.index) ?? null)),
    questions: questions.map(({ message }) => plainWords(message)),
    asked: [...proposals.values()],
  }
}

/** The field that a question proposes, by index of its column. */
export function proposalsOf({ columns, questions, hasHeader }: Mapping): Map<number, Field> {
  const names = hasHeader ? columns.map(({ header }) => header ?? '') : null
  return new Map(
    questions.flatMap(({ maps }) => [...parseOverrides(maps, names, columns.length).columns]),
  )
}

/** A column of a mapping. */
export function uploadColumn(
  { index, header, samples, field, source, confidence, evidence }: ColumnMapping,
  proposed: string | null = null,
): UploadColumn {
  const share =
    source === 'header' || source === 'values' ? `, ${Math.round(confidence * 100)} %` : ''
  const how = source === null ? '' : `${sources[source]}${share}`
  const reasons = source === 'header' || source === 'values' || source === null ? evidence : []
  const why = plainWords([how, ...reasons].filter((part) => part !== '').join('; '))
  return { index, header, samples, field, proposed, why }
}

/** The `--map` texts for what a person chose: the field by index of the column, '' for none. What is as it was is left out, so that
 *  the guards go on checking these columns. UsageError: one field for two columns. */
export function mapsOf(
  { columns, asked, hasHeader }: UploadColumns,
  before: readonly string[],
  chosen: ReadonlyMap<number, string>,
): readonly string[] {
  const fields = new Map<Field, UploadColumn>()
  for (const column of columns) {
    const field = fieldOf(chosen.get(column.index) ?? column.field ?? '')
    if (field === null) continue
    const other = fields.get(field)
    if (other !== undefined) throw twice(field, other, column)
    fields.set(field, column)
  }
  const earlier = before.map((map) => map.slice(0, map.indexOf('=')))
  const isNew = ([field, { field: was, proposed }]: [Field, UploadColumn]) =>
    !hasHeader || field !== was || proposed !== null || earlier.includes(field)
  const named = [...fields].filter(isNew).map(([field, { index }]) => `${field}=#${index + 1}`)
  const possible = new Set([...asked, ...columns.flatMap(({ field }) => field ?? []), ...earlier])
  const absent = [...possible].filter((field) => !fields.has(field as Field))
  return [...named, ...absent.map((field) => `${field}=`)]
}

function fieldOf(name: string): Field | null {
  return name === '' ? null : (fieldNamed(name) ?? null)
}

function twice(field: Field, one: UploadColumn, other: UploadColumn): UsageError {
  const names = [one, other].map(({ header, index }) => `"${header ?? `column ${index + 1}`}"`)
  return new UsageError(
    `The columns ${names.join(' and ')} cannot both be the ${labelOf(field)}: choose one of them.`,
  )
}
