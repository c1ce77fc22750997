import type { CsvRecord } from '#src/stock/csv/read/csv-file.ts'
import type { Polluted, Table } from './pollutions.ts'
import { readAll } from './read-all.ts'

export interface Outcome {
  readonly header: readonly string[]
  readonly records: readonly CsvRecord[]
}

export async function read(text: string): Promise<Outcome> {
  const { file, records } = await readAll(text)
  const filled = records.filter(({ problem }) => problem?.code !== 'blank-row')
  return { header: file.header?.names ?? [], records: filled }
}

/** The benchmark's measure, 0 to 10: success, and precision, recall and F1 of header, records and cells as multisets. */
export function scoreOf(outcome: Outcome, { header, rows }: Table): number {
  const record = (cells: readonly string[]) => cells.map((cell) => cell || 'null').join('')
  const found = outcome.records.map(({ cells }) => cells)
  return (
    1 +
    measures(header, outcome.header) +
    measures(rows.map(record), found.map(record)) +
    measures(rows.flat(), found.flat())
  )
}

function measures(expected: readonly string[], found: readonly string[]): number {
  if (expected.length === 0) return 3
  const left = new Map<string, number>()
  for (const text of expected) left.set(text, (left.get(text) ?? 0) + 1)
  let both = 0
  for (const text of found) {
    const count = left.get(text) ?? 0
    if (count > 0) both += 1
    left.set(text, count - 1)
  }
  if (both === 0) return 0
  const [precision, recall] = [both / expected.length, both / found.length]
  return precision + recall + (2 * precision * recall) / (precision + recall)
}

/** Records without a fault, or marked as repaired, that were not expected: values in wrong columns. */
export function silentlyWrong({ records }: Outcome, { expected }: Polluted): readonly CsvRecord[] {
  const known = new Set(expected.rows.map((cells) => cells.join('\0')))
  return records.filter(
    ({ cells, problem }) => (problem?.repaired ?? true) && !known.has(cells.join('\0')),
  )
}
