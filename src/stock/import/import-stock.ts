import { sql } from 'kysely'
import { BusyError } from '../../errors.ts'
import { erasedContacts } from '../../privacy/screen/suppression.ts'
import { markOffStock } from '../../streams/stock-prices/off-stock.ts'
import { findRooftops, registerRooftops } from '../../sync/run/rooftops.ts'
import { holdErasureLock, lockSql } from '../../warehouse/db/locks.ts'
import { inTransaction, type Tx } from '../../warehouse/db/transaction.ts'
import { isRejectsFile, mappingForAppended } from '../own-columns.ts'
import { ListRefused } from '../refusal.ts'
import type { Refusal } from '../refusal-kinds.ts'
import { SheetChoiceError } from '../workbook/choose-sheet.ts'
import { applyDiff, countOffStock, diffStock, firstChanges } from './diff.ts'
import { resolveDuplicates } from './duplicates.ts'
import { firstRows } from './first-rows.ts'
import {
  changeWarnings,
  findLargeChanges,
  guardChanges,
  guardNewerLists,
  guardOdometers,
  guardRemovals,
  otherRooftopWarnings,
} from './guards.ts'
import { IssueTally } from './issue-tally.ts'
import { closedCheck, type ListCheck, withState } from './list-check.ts'
import { openSource } from './list-source.ts'
import {
  assertSure,
  EarlyRefusal,
  listFingerprint,
  mapList,
  type OpenList,
  openList,
  withFileName,
} from './open-list.ts'
import { checkRejectsPath, type PendingFile, writeRejects } from './rejects.ts'
import { matchRenumbered, renumberedWarning } from './renumbered.ts'
import type { ImportRequest, ImportServices, ListSource, StockImportReport } from './request.ts'
import {
  createStage,
  dryRunTables,
  type ImportTables,
  Stage,
  type Staging,
  stockTables,
} from './stage.ts'
import {
  assertNothingLost,
  confirmImport,
  countRows,
  countWritten,
  finishImport,
  isUnchanged,
  type NewestImport,
  newestImport,
  rememberedMapping,
  rememberMapping,
  type StartedImport,
  startImport,
} from './stored-import.ts'
import {
  type RowRedaction,
  rowRedaction,
  type TypedList,
  typeRows,
  withFirstQuestions,
} from './type-rows.ts'
import { guardValues, readFigures } from './unusual-values.ts'

/** Thrown to undo what was written. */
class Undone extends Error {}

/** `importList`, with ListRefused where the list is refused. */
export async function importStock(
  services: ImportServices,
  request: ImportRequest,
): Promise<StockImportReport> {
  const check = await importList(services, request)
  if (check.refusals.length > 0) throw new ListRefused(check, request)
  return check.report!
}

/**
 * Registers the rooftop, then checks one stock list and, unless it is refused or a dry run, imports it, in one transaction: all of it, or
 * nothing. UsageError, without changes to the stock, if the file is unusable; BusyError while another import of the rooftop runs.
 */
export async function importList(
  services: ImportServices,
  request: ImportRequest,
): Promise<ListCheck> {
  if (request.rejects !== null) await checkRejectsPath(request.rejects)
  await using opened = new AsyncDisposableStack()
  const source = request.source ?? opened.use(await openSource(request, services))
  let done: Checked | null = null
  try {
    // By itself: it locks the sums of a changed rooftop, for which loads would wait as long as an import takes.
    if (!request.dryRun) await registerRooftops(services.warehouse.db, [request.rooftop])
    await inTransaction(services.warehouse.pool, async (tx) => {
      done = await checkWithin(tx, services, request, source)
      await source.assertUnchanged()
      const { refusals, report } = done.check
      if (request.dryRun || refusals.length > 0) throw new Undone()
      await services.beforeCommit?.(tx.db, report!)
      services.crashPoint?.('before-commit')
    })
  } catch (error) {
    if (!(error instanceof Undone)) {
      await (done as Checked | null)?.rejects?.discard()
      if (!(error instanceof SheetChoiceError)) throw withFileName(request.file, error)
      const { message: why, sheets } = error
      return closedCheck(request, { is: 'sheets', why, sheets })
    }
  }
  const { check, rejects } = done! as Checked
  await rejects?.place()
  return check
}

/** The check of a list that could be opened, and its rejects file, which is renamed after the commit. */
interface Checked {
  readonly check: ListCheck
  readonly rejects: PendingFile | null
}

/** What an import found and wrote. */
interface Imported {
  readonly refusals: readonly Refusal[]
  readonly report: StockImportReport | null
  readonly rejects: PendingFile | null
}

/** A list at work. */
interface Work extends StartedImport {
  readonly tx: Tx
  readonly services: ImportServices
  /** The newest import before; 0: none. */
  readonly newest: number
  readonly list: OpenList
}

async function checkWithin(
  tx: Tx,
  services: ImportServices,
  given: ImportRequest,
  source: ListSource,
): Promise<Checked> {
  if (!given.dryRun) await holdErasureLock(tx)
  const rooftopId = await lockRooftop(tx, given)
  const stored = await newestImport(tx.db, rooftopId)
  const list = await openList(given, source, services.signal)
  const { csv } = list
  try {
    const names = csv.header?.names ?? []
    const isPart = given.rejectsAreDelta && isRejectsFile(names)
    const request: ImportRequest = isPart ? { ...given, mode: 'delta' } : given
    const remembered =
      mappingForAppended(names) ??
      (await rememberedMapping(tx.db, rooftopId, listFingerprint(list)))
    const mapping = withFirstQuestions(await mapList(list, request, remembered), list, request)
    const newest = stored?.import_id ?? 0
    const known = { rooftopId, newest }
    const work = { tx, services, request, digest: source, ...known, list, csv, mapping }
    const first = firstRows(list, request, mapping)
    let asFound = mapping
    const importOrRefuse = async (): Promise<Imported> => {
      assertSure(mapping)
      return isUnchanged(stored, source, request, mapping, csv)
        ? await importedBefore(work, stored)
        : await loadList(work)
    }
    const { rejects, ...found } = await importOrRefuse().catch((error: unknown): Imported => {
      if (!(error instanceof EarlyRefusal)) throw error
      asFound = error.mapping ?? mapping
      return { refusals: [error.refusal], report: null, rejects: null }
    })
    const { mode, only } = request
    const form = { encoding: csv.encoding.name, delimiter: csv.dialect.delimiter }
    const about = { mode, ...(only && { only }), newest, ...form }
    return { check: withState({ ...about, mapping: asFound, first, ...found }), rejects }
  } finally {
    await csv.close()
  }
}

async function lockRooftop({ db }: Tx, request: ImportRequest): Promise<number> {
  const { rooftop, dryRun } = request
  const { id } = (await findRooftops(db, [rooftop]))[0]!
  if (dryRun) return id
  const { rows } = await sql<{ free: boolean }>`
    select ${lockSql.try('import', id)} as free`.execute(db)
  if (rows[0]!.free) return id
  throw new BusyError(
    `Another stock import for ${rooftop.name} (${rooftop.uid}) is running: nothing was imported. Run this import again when the other has ended.`,
  )
}

/** The list is already in the warehouse. Its rejected rows can be written again, and days of grace may be over. */
async function importedBefore(work: Work, newest: NewestImport): Promise<Imported> {
  const { tx, request, rooftopId, services } = work
  const { import_id: importId, records, accepted, rejected, collapsed, skipped } = newest
  const staging = stagingOptions(work, stockTables, importId)
  const offStock = await markOffStock(staging, services.warehouse.config.stock.graceDays)
  if (!request.dryRun) {
    await rememberMapping(tx.db, rooftopId, work.mapping)
    await confirmImport(staging)
  }
  return await imported(work, staging, [], {
    ...{ importId, status: 'already-imported', encoding: newest.encoding, offStock },
    figures: [],
    ...{ records, accepted, rejected, collapsed, skipped },
    ...{ added: 0, updated: 0, unchanged: accepted, removed: 0, reappeared: 0 },
    ...{ changes: [], ...new IssueTally().report(), warnings: [] },
  })
}

/** Types, stages, compares and writes a list, all in the open transaction; an error undoes it. */
async function loadList(work: Work): Promise<Imported> {
  const { tx, services, request, rooftopId, mapping } = work
  const { dryRun } = request
  const screen = rowRedaction(await erasedContacts(tx.db))
  const importId = dryRun ? 0 : await startImport(tx.db, work, screen)
  const staging = stagingOptions(work, dryRun ? dryRunTables : stockTables, importId)
  await createStage(staging)
  const staged = await stageRows(work, staging, screen)
  services.crashPoint?.('rows-written')
  const { tally } = staged
  const corrects = request.corrects ?? staged.corrects
  const duplicates = await resolveDuplicates(staging, staged.units)
  const rows = await countRows(staging, staged.records)
  tally.addMany(duplicates.rejected)
  tally.addMany(duplicates.sameVin)
  const renumbered = await matchRenumbered(staging, staged.units)
  if ((tally.report().issueCounts['ODOMETER_DOUBTED'] ?? 0) > 0)
    await guardOdometers(staging, mapping)
  const diff = await diffStock(staging, request.mode, staged.units)
  const { figures, warnings: unusual } = await readFigures(staging, request)
  const largeChanges = await findLargeChanges(staging, diff)
  const refusals = [
    await guardRemovals(staging, request, rows, tally.report().issues, diff),
    await guardChanges(staging, request, { mapping, rows, diff, changes: largeChanges }),
    guardValues(figures, request),
    await guardNewerLists(staging, request, corrects),
  ].filter((refusal) => refusal !== null)
  const isImported = !dryRun && refusals.length === 0
  const { stock, rooftops } = services.warehouse.config
  const warnings = [
    ...staged.warnings,
    ...(await renumberedWarning(staging, renumbered)),
    ...[...unusual, ...changeWarnings(largeChanges)],
    ...(await otherRooftopWarnings(staging, rooftops, request.rooftop, rows.accepted)),
  ]
  const changes = await firstChanges(staging)
  if (isImported) await applyDiff(staging)
  const { added, updated, unchanged, removed, reappeared } = diff
  const written = isImported ? await countWritten(staging) : { added, updated, removed, reappeared }
  const units = { ...written, unchanged }
  assertNothingLost(rows, units, removed)
  const counts = { ...rows, ...units }
  if (isImported) {
    await rememberMapping(tx.db, rooftopId, mapping)
    await finishImport(tx.db, importId, { ...staged, warnings, corrects }, counts)
  }
  const offStock = await (isImported ? markOffStock : countOffStock)(staging, stock.graceDays)
  return await imported(work, staging, refusals, {
    ...(isImported
      ? { importId, status: 'imported' as const }
      : { importId: null, status: 'dry-run' as const }),
    ...{
      encoding: staged.encoding.name,
      offStock,
      figures,
      ...counts,
      changes,
      ...tally.report(),
      warnings,
    },
  })
}

function stagingOptions({ tx, rooftopId, request }: Work, tables: ImportTables, importId: number) {
  return { ...tx, tables, importId, rooftopId, now: request.now }
}

async function stageRows(
  { services, request, list, mapping }: Work,
  staging: Staging,
  screen: RowRedaction,
): Promise<TypedList> {
  const { db } = staging
  await sql`savepoint staging`.execute(db)
  const openStage = async () => {
    await sql`rollback to savepoint staging`.execute(db)
    return await Stage.open(staging, services.signal)
  }
  const typed = await typeRows(list, mapping, { request, screen, openStage })
  if (!typed.isCut || request.mode !== 'snapshot') return typed
  // The vehicles after the cut would count as gone.
  const { hint } = typed.warnings.find(({ code }) => code === 'TRUNCATED_FILE')!
  throw new EarlyRefusal({ is: 'cut', why: hint })
}

type OfList = 'delimiter' | 'sheet' | 'entry' | 'mapping' | 'missing'

/** The report, with the rejected rows in their file. */
async function imported(
  { request, csv, mapping, newest }: Work,
  { db, tables, importId }: Staging,
  refusals: readonly Refusal[],
  result: Omit<StockImportReport, 'rooftop' | 'file' | 'mode' | OfList | 'rejectsFile'>,
): Promise<Imported> {
  const { rooftop, file, mode, rejects: path } = request
  const { delimiter } = csv.dialect
  const { columns, missing } = mapping
  const asOf = request.dryRun ? newest : importId
  const source = { rowsTable: tables.rows, importId, asOf, delimiter, columns }
  const isWanted = path !== null && result.rejected > 0 && refusals.length === 0
  const rejects = isWanted
    ? await writeRejects(db, path, { ...source, names: csv.header?.names ?? null })
    : null
  const { sheet, entry } = csv.origin ?? { sheet: null, entry: null }
  const about = {
    ...{ rooftop: rooftop.uid, file, mode, delimiter, sheet, entry },
    ...{ mapping: columns, missing },
  }
  const report = { ...about, ...result, rejectsFile: rejects ? path : null }
  return { refusals, report, rejects }
}
