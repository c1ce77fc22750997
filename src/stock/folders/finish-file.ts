import { lstat, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { inTransaction } from '../../warehouse/db/transaction.ts'
import { byteOrderMark, csvText, defaultStyle } from '../csv/write/csv-text.ts'
import { escapeFormula } from '../csv/write/escape-formula.ts'
import { writeRejects } from '../import/rejects.ts'
import { rejectColumns } from '../own-columns.ts'
import { type FileOutcome, readOutcome } from './file-outcome.ts'
import { recordChanged, recordEnd } from './file-records.ts'
import { anyRooftop, type FileWork, planAgain, requestFor } from './import-file.ts'
import { folders } from './inbox.ts'
import { consoleStep, offerUpload } from './offer-upload.ts'
import { isThere, moveFile, placeText } from './place-file.ts'
import { type FilePlan, unknownRows } from './plan-parts.ts'
import { type ReportSource, reportText } from './report-text.ts'

/** How a file ended, for the log and `--json`. */
export interface FileResult {
  readonly file: string
  readonly state: 'done' | 'failed' | 'gone'
  /** Its path now; null: it is nowhere. */
  readonly path: string | null
  readonly report: string | null
  readonly reason: string | null
  /** Commands that import it after all. */
  readonly commands: readonly string[]
  readonly rooftops: readonly {
    readonly rooftop: string
    readonly outcome: 'imported' | 'already-imported' | 'refused'
    readonly importId: number | null
    readonly accepted: number
    readonly rejected: number
    readonly reason: string | null
  }[]
  /** Rows of unknown rooftops. */
  readonly unknownRows: number
}

/**
 * Writes the report and the rejected rows of a decided file, and moves it to done/ or failed/. Everything is written from what the
 * warehouse holds, so that it can be done again. null: the file has grown since it was read, until it was moved; it is read again, and
 * what was written about it is removed.
 */
export async function finishFile(
  work: FileWork,
  given: FilePlan | null | undefined,
): Promise<FileResult | null> {
  const { services, inbox, at, file } = work
  const { db } = services.warehouse
  const from = join(at.working, file.takenAs!)
  if (await takeBackGrown(work, from)) return null
  const outcome = await readOutcome(db, inbox, file)
  const plan = given === undefined && (await isThere(from)) ? await planAgain(work) : given
  const unknown = plan?.unknown ?? new Map<string, number>()
  const isRefused = outcome.parts.some((part) => part.outcome === 'refused')
  const isEmpty = outcome.parts.length === 0
  const state = file.reason !== null || isRefused || isEmpty ? 'failed' : 'done'
  const to = join(at[state], file.takenAs!)
  const rejects = await placeRejects(work, outcome, to)
  const unknownFile = unknown.size === 0 ? null : await placeUnknown(work, from, to)
  const report = reportPath(to)
  const { name, seenAt, reason } = file
  const uploadId = state === 'failed' ? await offerUpload(work, outcome, plan, from) : null
  services.crashPoint?.('inbox-offered')
  const inConsole = consoleStep(services.warehouse.config, inbox, uploadId)
  const texts = { inbox, name, seenAt, state, reason, outcome, unknown } as const
  await placeText(report, reportText({ ...texts, rejects, unknownFile, inConsole }))
  services.crashPoint?.('inbox-reported')
  const written = [report, ...rejects.values(), ...(unknownFile === null ? [] : [unknownFile])]
  if (await takeBackGrown(work, from, written)) return null
  await moveFile(from, to)
  services.crashPoint?.('inbox-moved')
  if (await takeBackGrown(work, to, written)) return null
  const why = reason ?? (state === 'failed' && isEmpty ? 'no row is of a known rooftop' : null)
  await recordEnd(db, file, state, why)
  return fileResult(work, { state, outcome, unknown, reason: why })
}

function reportPath(path: string): string {
  return `${path}.report.txt`
}

/**
 * Whether the file changed after it was decided: a program may go on writing to a file that was moved. Then it is in working/ again, its
 * record is as after it was taken, and `written`, which is about a part of it, is removed.
 */
export async function takeBackGrown(
  { services, at, file }: FileWork,
  path: string,
  written: readonly string[] = [],
): Promise<boolean> {
  const found = await lstat(path, { bigint: true }).catch(() => null)
  if (found === null || !found.isFile()) return false
  const { size, mtimeNs: modifiedNs } = found
  // A copy on another disk has a new time.
  const isCopy = found.dev !== (await lstat(at.working, { bigint: true })).dev
  if (String(size) === file.bytes && (isCopy || String(modifiedNs) === file.modifiedNs))
    return false
  for (const one of written) await rm(one, { force: true })
  // Before the record: a decided file in working/ is compared again.
  await moveFile(path, join(at.working, file.takenAs!))
  await recordChanged(services.warehouse.db, file, { size, modifiedNs })
  return true
}

/** Writes the rejected rows of each rooftop from the warehouse. */
async function placeRejects(
  { services }: FileWork,
  { parts }: FileOutcome,
  to: string,
): Promise<ReadonlyMap<string, string>> {
  const placed = new Map<string, string>()
  for (const { uid, import: done } of parts) {
    if (done === null || done.rejected === 0) continue
    const path = `${to}.${parts.length === 1 ? '' : `${safe(uid)}.`}rejected.csv`
    const { importId, delimiter, names, mapping: columns } = done
    const source = { rowsTable: 'core.stock_import_row', importId, delimiter, names, columns }
    await inTransaction(services.warehouse.pool, async ({ db }) => {
      await (await writeRejects(db, path, source)).place()
    })
    placed.set(uid, path)
  }
  return placed
}

function safe(uid: string): string {
  return uid.replaceAll(/[^\p{L}\p{N}._-]/gu, '_')
}

/** Writes the rows of unknown rooftops, in the form of a rejects file. */
async function placeUnknown(work: FileWork, from: string, to: string): Promise<string> {
  const path = `${to}.unknown-rooftop.csv`
  const request = { ...requestFor(work, { rooftop: anyRooftop(work) }), path: from }
  const lines: string[] = []
  const { rows: newest } = await sql<{ id: string }>`
    select coalesce(max(import_id), 0)::text as id
    from core.stock_import`.execute(work.services.warehouse.db)
  for await (const row of unknownRows(work.inbox, request, work.services)) {
    const { names, cells, line, value } = row
    if (lines.length === 0) lines.push(csvText([[...names, ...rejectColumns]], defaultStyle))
    const originals = names.map((_, index) => escapeFormula(cells[index] ?? ''))
    const error = value === '' ? 'no rooftop' : `${value} is not a known rooftop`
    lines.push(csvText([[...originals, newest[0]!.id, String(line), '', error]], defaultStyle))
  }
  await rm(path, { force: true })
  await placeText(path, byteOrderMark + lines.join(''))
  return path
}

type Ended = Pick<ReportSource, 'state' | 'outcome' | 'unknown' | 'reason'>

function fileResult({ inbox, file }: FileWork, ended: Ended): FileResult {
  const { state, outcome, unknown } = ended
  const path = join(inbox.folder, folders[state], file.takenAs!)
  const { parts } = outcome
  const refused = parts.find((part) => part.reason !== null)?.reason ?? null
  return {
    ...{ file: file.name, state, path, report: reportPath(path), reason: ended.reason ?? refused },
    commands: parts.flatMap(({ command }) => command ?? []),
    rooftops: parts.map((part) => ({
      ...{ rooftop: part.uid, outcome: part.outcome, reason: part.reason },
      importId: part.import?.importId ?? null,
      accepted: part.import?.accepted ?? 0,
      rejected: part.import?.rejected ?? 0,
    })),
    unknownRows: [...unknown.values()].reduce((sum, count) => sum + count, 0),
  }
}
