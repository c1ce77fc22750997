import { Readable } from 'node:stream'
import { isKnownHeader } from '#src/stock/csv/map/aliases.ts'
import type { CsvFile, CsvRecord } from '#src/stock/csv/read/csv-file.ts'
import { type ListOptions, readList } from '#src/stock/workbook/read-list.ts'

interface ReadBook {
  readonly file: CsvFile
  readonly records: readonly CsvRecord[]
}

/** A list read to its end. */
export async function readBook(bytes: Buffer, options: ListOptions = {}): Promise<ReadBook> {
  const file = await readList(Readable.from([bytes]), { isKnownName: isKnownHeader, ...options })
  const records: CsvRecord[] = []
  for await (const batch of file.batches) records.push(...batch)
  return { file, records }
}

/** Header and cells as rows. */
export async function rowsOf(bytes: Buffer, options?: ListOptions): Promise<(readonly string[])[]> {
  const { file, records } = await readBook(bytes, options)
  return [...(file.header?.rowNames ?? []), ...records.map(({ cells }) => cells)]
}

/** The error of a list that is refused. */
export async function refusalOf(bytes: Buffer, options?: ListOptions): Promise<Error> {
  const error = await readBook(bytes, options).catch((thrown) => thrown)
  if (error instanceof Error) return error
  throw new Error('The list was read.')
}
