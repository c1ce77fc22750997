import type { MappingQuestion } from '#src/stock/csv/map/column-mapping.ts'
import { proposeMapping } from '#src/stock/csv/map/mapping.ts'
import { parseOverrides } from '#src/stock/csv/map/overrides.ts'
import { cellReader } from '#src/stock/csv/map/typing/cell-numbers.ts'
import { startStyles } from '#src/stock/csv/map/typing/column-styles.ts'
import { rowTyper } from '#src/stock/csv/map/typing/row.ts'
import type { TypedRow } from '#src/stock/csv/map/typing/typed-row.ts'
import type { TypingOptions } from '#src/stock/csv/map/typing/typing-options.ts'
import { sydney } from '../csv/map/table.ts'
import { readBook } from './read-book.ts'

/** A list as an import types it. */
export interface TypedBook {
  readonly rows: readonly TypedRow[]
  /** As they are stored. */
  readonly cells: readonly (readonly string[])[]
  /** Of the cells, not of the columns. */
  readonly questions: readonly MappingQuestion[]
}

/** Types a list of any form whose columns are named by `maps`. */
export async function typeBook(
  bytes: Buffer,
  maps: readonly string[],
  options: TypingOptions = sydney,
): Promise<TypedBook> {
  const { file, records } = await readBook(bytes)
  const names = file.header!.names
  const sample = records.map(({ cells }) => cells)
  const mapping = proposeMapping(names, sample, { overrides: parseOverrides(maps, names) })
  const evidence = startStyles(mapping, options)
  for (const record of records) evidence.observe(record)
  const styles = evidence.styles()
  const read = records.map(cellReader(mapping, styles))
  return {
    rows: read.map(rowTyper(mapping, styles)),
    cells: read.map(({ cells }) => cells),
    questions: styles.questions,
  }
}
