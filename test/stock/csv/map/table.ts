import type { Mapping } from '#src/stock/csv/map/column-mapping.ts'
import { type MappingOptions, proposeMapping } from '#src/stock/csv/map/mapping.ts'
import { type ColumnStyles, startStyles } from '#src/stock/csv/map/typing/column-styles.ts'
import { rowTyper } from '#src/stock/csv/map/typing/row.ts'
import type { TypedRow } from '#src/stock/csv/map/typing/typed-row.ts'
import type { TypingOptions } from '#src/stock/csv/map/typing/typing-options.ts'

export const sydney: TypingOptions = { market: 'AU', currency: 'AUD', today: '2026-11-21' }
export const dallas: TypingOptions = { market: 'US', currency: 'USD', today: '2026-11-21' }
export const dubai: TypingOptions = { market: 'GCC', currency: 'AED', today: '2026-11-21' }
export const kuwait: TypingOptions = { market: 'GCC', currency: 'KWD', today: '2026-11-21' }

/** Twelve values of a column, from a few. */
export function twelve(...values: readonly string[]): string[] {
  return Array.from({ length: 12 }, (_, index) => values[index % values.length]!)
}

/** `U1001`, `U1014` …: stock numbers that are not a row count. */
export const stockNumbers = Array.from({ length: 12 }, (_, index) => `U${1001 + index * 13}`)

/** Maps a table given by columns. */
export function mapColumns(
  columns: readonly (readonly [header: string, values: readonly string[]])[],
  options: MappingOptions = {},
): Mapping {
  const names = columns.map(([header]) => header)
  return proposeMapping(names, rowsOf(columns.map(([, values]) => values)), options)
}

/** Field by header, without columns that have none. */
export function fieldsOf(mapping: Mapping): Record<string, string> {
  return Object.fromEntries(
    mapping.columns.flatMap(({ header, index, field }) =>
      field === null ? [] : [[header ?? `#${index + 1}`, field]],
    ),
  )
}

function rowsOf(columns: readonly (readonly string[])[]): string[][] {
  const height = Math.max(0, ...columns.map((values) => values.length))
  return Array.from({ length: height }, (_, row) => columns.map((values) => values[row] ?? ''))
}

/** Types a table; the header is line 1. */
export function typeTable(
  names: readonly string[],
  rows: readonly (readonly string[])[],
  options: TypingOptions = sydney,
): { readonly rows: readonly TypedRow[]; readonly styles: ColumnStyles } {
  const mapping = proposeMapping(names, rows)
  const evidence = startStyles(mapping, options)
  for (const cells of rows) evidence.observe({ cells })
  const styles = evidence.styles()
  const type = rowTyper(mapping, styles)
  return { rows: rows.map((cells, index) => type({ line: index + 2, cells })), styles }
}

/** Types one column beside a stock number and returns the results. */
export function typeColumn(
  header: string,
  values: readonly string[],
  options: TypingOptions = sydney,
): ReturnType<typeof typeTable> {
  const rows = values.map((value, index) => [`S${index}X`, value])
  return typeTable(['Stock No', header], rows, options)
}
