import type { Field } from './stock-fields.ts'
import { type HeaderName, readHeader } from './header-name.ts'
import { type ColumnProfile, profileColumn } from './column-profile.ts'
import { isPlaceholder } from './typing/placeholders.ts'
import { plainText } from './typing/plain-text.ts'

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

/** Turns the rows of the sample into columns. Cells that a short row lacks count as empty. */
export function sampleColumns(
  names: readonly string[] | null,
  rows: readonly (readonly string[])[],
  headerRows: readonly (readonly string[])[] = [],
): SampleColumn[] {
  const width = names?.length ?? rows.reduce((most, row) => Math.max(most, row.length), 0)
  return Array.from({ length: width }, (_, index) => {
    const header = names?.[index] ?? null
    const cells = rows.map((row) => row[index] ?? '')
    const profile = profileColumn(cells)
    const rowNames =
      headerRows.length < 2 ? [] : headerRows.map((row) => row[index] ?? '').reverse()
    return { index, header, name: readHeader(header ?? ''), rowNames, cells, profile }
  })
}

/** Up to three different values that a column holds, as in the file. */
export function samplesOf(column: SampleColumn): string[] {
  const found = new Set<string>()
  for (const cell of column.cells) {
    if (found.size === 3) break
    if (!isPlaceholder(plainText(cell), null)) found.add(cell.slice(0, 60))
  }
  return [...found]
}

/** The name of a column in `--map`: its header, or `#3` where no column or several have that header. */
export function columnName(column: SampleColumn, all: readonly SampleColumn[]): string {
  const { header } = column
  const isAlone = all.filter((other) => other.header === header).length === 1
  return header !== null && header.trim() !== '' && isAlone ? header : `#${column.index + 1}`
}
