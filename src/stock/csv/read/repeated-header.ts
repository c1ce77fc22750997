import type { CsvHeader, CsvRecord } from './csv-file.ts'

const repeatedHeader = {
  code: 'repeated-header',
  message: 'a repeated header',
  repaired: false,
} as const

/** The record, marked if it has the names of the header again. */
export function withRepeatedHeader(record: CsvRecord, { rowNames }: CsvHeader): CsvRecord {
  const { cells } = record
  const names = rowNames[0]!
  if (cells[0] !== names[0] || cells.length !== names.length) return record
  const isRepeated = cells.length > 1 && cells.every((cell, column) => cell === names[column])
  return isRepeated ? { ...record, problem: repeatedHeader } : record
}
