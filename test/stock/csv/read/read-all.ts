import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import type { CsvFile, CsvOptions, CsvRecord } from '#src/stock/csv/read/csv-file.ts'
import { readCsv } from '#src/stock/csv/read/read-csv.ts'

export interface ReadFile {
  readonly file: CsvFile
  readonly records: readonly CsvRecord[]
}

/** A file read to its end, from memory or from its path. */
export async function readAll(
  content: string | Buffer | { readonly path: string },
  options: CsvOptions = {},
): Promise<ReadFile> {
  const isPath = typeof content === 'object' && 'path' in content
  const source = isPath ? createReadStream(content.path) : Readable.from([Buffer.from(content)])
  const file = await readCsv(source, options)
  const records: CsvRecord[] = []
  for await (const batch of file.batches) records.push(...batch)
  return { file, records }
}

/** The line and problem of each damaged record: `3 missing-cell`, or `3 missing-cell, repaired`. */
export function problemsOf({ records }: ReadFile): string[] {
  return records.flatMap(({ line, problem }) =>
    problem ? [`${line} ${problem.code}${problem.repaired ? ', repaired' : ''}`] : [],
  )
}
