import type { RooftopConfig } from '../../app/config/read.ts'
import { UsageError } from '../../errors.ts'
import type { CsvRecord } from '../csv/read/csv-file.ts'
import { FileChangedError, openSource } from '../import/list-source.ts'
import { type OpenList, openList, withFileName } from '../import/open-list.ts'
import type { ImportRequest } from '../import/request.ts'
import { columnNamed, valueKey } from '../import/row-filter.ts'
import { isRejectsFile } from '../own-columns.ts'
import type { Inbox } from './inbox.ts'

/** The import of one rooftop's rows. */
export type PlannedPart = Pick<ImportRequest, 'rooftop' | 'only' | 'mode'>

/** What a file is going to be: one import for each of its rooftops. */
export interface FilePlan {
  readonly sha256: Buffer
  readonly parts: readonly PlannedPart[]
  /** Values of the rooftop column that name no rooftop, and how many rows have each. */
  readonly unknown: ReadonlyMap<string, number>
}

/** Reads a file far enough to see whose rows it has. UsageError when it is not a list, or has no such column. */
export async function planParts(
  inbox: Inbox,
  request: ImportRequest,
  signal: AbortSignal,
): Promise<FilePlan> {
  await using source = await openSource(request, signal)
  try {
    const list = await openList(request, source, signal)
    try {
      // Corrected rows are never the whole stock.
      const mode = isRejectsFile(list.csv.header?.names ?? []) ? 'delta' : inbox.mode
      const split =
        inbox.column === null
          ? { parts: [{ rooftop: inbox.rooftop! }], unknown: new Map<string, number>() }
          : await splitRows(list, inbox, request.file)
      const parts = split.parts.map((part) => ({ ...part, mode }))
      return { ...split, parts, sha256: source.sha256 }
    } finally {
      await list.csv.close()
    }
  } catch (error) {
    // The import of the only rooftop fails for the same reason, and knows what confirms it.
    if (
      inbox.rooftop !== null &&
      error instanceof UsageError &&
      !(error instanceof FileChangedError)
    )
      return {
        parts: [{ rooftop: inbox.rooftop, mode: inbox.mode }],
        unknown: new Map(),
        sha256: source.sha256,
      }
    throw withFileName(request.file, error)
  }
}

async function splitRows(list: OpenList, inbox: Inbox, file: string) {
  const column = inbox.column!
  const values = new Map<RooftopConfig, Map<string, string>>()
  const unknown = new Map<string, number>()
  const at = columnNamed(list.csv, column, file)
  for await (const { cells } of listRecords(list)) {
    const value = rooftopCell(cells, at)
    if (value === null) continue
    const rooftop = inbox.rooftopNamed(value)
    if (rooftop === undefined) {
      unknown.set(value, (unknown.get(value) ?? 0) + 1)
      continue
    }
    const known = values.get(rooftop) ?? new Map<string, string>()
    values.set(rooftop, known.set(valueKey(value), value))
  }
  const parts = [...values].map(([rooftop, named]) => ({
    rooftop,
    only: { column, values: [...named.values()] },
  }))
  return { parts, unknown }
}

/** Every record, those of the sample first. */
async function* listRecords({ sample, rest }: OpenList): AsyncGenerator<CsvRecord> {
  yield* sample
  for await (const batch of rest) yield* batch
}

/** The cell that names the rooftop, without blanks around it; null: the row is a title, a footer, blank or cut, and no vehicle. */
function rooftopCell(cells: readonly string[], at: number): string | null {
  const cell = cells[at]
  const filled = cells.filter((one) => one.trim() !== '').length
  return cell === undefined || filled * 3 <= cells.length ? null : cell.trim()
}

/** The rows that no rooftop takes. */
export async function* unknownRows(
  inbox: Inbox,
  request: ImportRequest,
  signal: AbortSignal,
): AsyncGenerator<CsvRecord & { readonly value: string; readonly names: readonly string[] }> {
  await using source = await openSource(request, signal)
  const list = await openList(request, source, signal)
  try {
    const at = columnNamed(list.csv, inbox.column!, request.file)
    const names = list.names!
    for await (const record of listRecords(list)) {
      const value = rooftopCell(record.cells, at)
      if (value !== null && inbox.rooftopNamed(value) === undefined)
        yield { ...record, value, names }
    }
  } finally {
    await list.csv.close()
  }
}
