import { UsageError } from '../../errors.ts'
import { headerKey } from '../csv/map/header-name.ts'
import { type CsvFile, type CsvRecord, withBatches } from '../csv/read/csv-file.ts'

/** The rows of a file whose cell of one column has one of these values. */
export interface RowFilter {
  /** As in the header; case, blanks and punctuation do not matter. */
  readonly column: string
  readonly values: readonly string[]
}

/** The form in which values of such a column are compared. */
export function valueKey(text: string): string {
  return text.normalize('NFKC').replaceAll(/\s+/g, ' ').trim().toLowerCase()
}

/** The position of the column with that header. UsageError names the headers when none or several have it. */
export function columnNamed(
  { header }: Pick<CsvFile, 'header'>,
  column: string,
  file: string,
): number {
  if (header === null)
    throw new UsageError(
      `${file} has no header, so nothing shows which column is "${column}": nothing was imported. Export it with a header.`,
    )
  const found = header.names.flatMap((name, index) =>
    headerKey(name) === headerKey(column) ? [index] : [],
  )
  if (found.length === 1) return found[0]!
  const names = header.names.map((name) => `"${name.trim()}"`).join(', ')
  throw new UsageError(
    `${file}: ${found.length === 0 ? 'no column' : 'more than one column'} is called "${column}", so nothing was imported. Its columns are ${names}.`,
  )
}

/** The same file with only these rows. A damaged row that ends before the column may be of any rooftop: it stays, and is rejected. */
export function onlyRows<File extends CsvFile>(
  csv: File,
  { column, values }: RowFilter,
  file: string,
): File {
  const at = columnNamed(csv, column, file)
  const wanted = new Set(values.map(valueKey))
  const isWanted = ({ cells, problem }: CsvRecord) => {
    const cell = cells[at]
    return cell === undefined
      ? problem !== undefined && !problem.repaired
      : wanted.has(valueKey(cell))
  }
  return withBatches(csv, filtered(csv.batches, isWanted))
}

async function* filtered(
  batches: CsvFile['batches'],
  isWanted: (record: CsvRecord) => boolean,
): AsyncGenerator<readonly CsvRecord[]> {
  for await (const batch of batches) yield batch.filter(isWanted)
}

/** Whether both choose the same rows. */
export function isSameFilter(one: RowFilter | undefined, other: RowFilter | undefined): boolean {
  const formOf = (filter: RowFilter | undefined) =>
    filter && [headerKey(filter.column), ...filter.values.map(valueKey).sort()].join('\n')
  return formOf(one) === formOf(other)
}
