import type { RooftopConfig } from '../../app/config/read.ts'
import type { CsvRecord } from '../csv/read/csv-file.ts'
import { openSource } from '../import/list-source.ts'
import { type OpenList, openList, withFileName } from '../import/open-list.ts'
import type { ImportRequest, ListSource } from '../import/request.ts'
import { columnNamed, valueKey } from '../import/row-filter.ts'
import type { NewUpload } from '../upload/stock-uploads.ts'
import type { Inbox, InboxServices } from './inbox.ts'

/** The import of one rooftop's rows. */
export type PlannedPart = Pick<ImportRequest, 'rooftop' | 'only'>

/** What a file is going to be: one import for each of its rooftops. */
export interface FilePlan {
  readonly parts: readonly PlannedPart[]
  /** Values of the rooftop column that name no rooftop, and how many rows have each. */
  readonly unknown: ReadonlyMap<string, number>
  /** The check of a part that this process refused. */
  readonly checked?: NewUpload['checked']
}

/** Reads a file of several rooftops to see whose rows it has. UsageError when it is not a list, or has no such column. */
export async function planParts(
  inbox: Inbox,
  request: ImportRequest,
  source: ListSource,
  signal: AbortSignal,
): Promise<FilePlan> {
  if (inbox.rooftop !== null) return { parts: [{ rooftop: inbox.rooftop }], unknown: new Map() }
  try {
    const list = await openList(request, source, signal)
    try {
      return await splitRows(list, inbox, request.file)
    } finally {
      await list.csv.close()
    }
  } catch (error) {
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
  services: InboxServices,
): AsyncGenerator<CsvRecord & { readonly value: string; readonly names: readonly string[] }> {
  await using source = await openSource(request, services)
  const list = await openList(request, source, services.signal)
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
