import { BusyError } from '../../errors.ts'
import { erasedContacts, holdErasureLock } from '../../privacy/screen/suppression.ts'
import { findRooftops, registerRooftops } from '../../sync/run/rooftops.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { inTransaction, openDb, type Tx } from '../../warehouse/db/transaction.ts'
import type { Mapping } from '../csv/map/column-mapping.ts'
import type { CsvFile } from '../csv/read/csv-file.ts'
import { mappingForAppended } from '../own-columns.ts'
import { ListRefused } from '../refusal.ts'
import { assertNothingLost, countRows, countWritten } from './count-outcomes.ts'
import { applyDiff, countOffStock, diffStock, firstChanges, markOffStock } from './diff.ts'
import { resolveDuplicates } from './duplicates.ts'
import { guardOdometers } from './guard-odometers.ts'
import { guardChanges, guardRemovals } from './guards.ts'
import { IssueTally } from './issue-tally.ts'
import { type FileDigest, type ListSource, openSource } from './list-source.ts'
import { guardNewerLists } from './newer-lists.ts'
import {
  assertSure,
  listFingerprint,
  mapList,
  type OpenList,
  openList,
  withFileName,
} from './open-list.ts'
import { otherRooftopWarnings } from './other-rooftops.ts'
import { checkRejectsPath, type PendingFile, writeRejects } from './rejects.ts'
import { matchRenumbered, renumberedWarning } from './renumbered.ts'
import type { ImportRequest, ImportServices, StockImportReport } from './request.ts'
import {
  createStage,
  dryRunTables,
  type ImportTables,
  Stage,
  type Staging,
  stockTables,
} from './stage.ts'
import {
  finishImport,
  isUnchanged,
  type NewestImport,
  newestImport,
  rememberedMapping,
  rememberMapping,
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

/** Thrown to undo a dry run. */
class DryRunEnd extends Error {}

/**
 * Registers the rooftop, then imports one stock list in one transaction: all of it, or nothing. UsageError, without changes to the
 * stock, if the file or the mapping is unusable, or a guard stops the import; BusyError while another import of the rooftop runs.
 */
export async function importStock(
  services: ImportServices,
  request: ImportRequest,
): Promise<StockImportReport> {
  if (request.rejects !== null) await checkRejectsPath(request.rejects)
  await using source = await openSource(request, services.signal)
  let done: Imported | null = null
  try {
    // By itself: it locks the sums of a changed rooftop, for which loads would wait as long as an import takes.
    if (!request.dryRun) await registerRooftops(openDb(services.warehouse.pool), [request.rooftop])
    await inTransaction(services.warehouse.pool, async (tx) => {
      done = await importWithin(tx, services, request, source)
      await source.assertUnchanged()
      if (request.dryRun) throw new DryRunEnd()
      await services.beforeCommit?.(tx.client, done.report, source.sha256)
      services.crashPoint?.('before-commit')
    })
  } catch (error) {
    if (!(error instanceof DryRunEnd)) {
      await (done as Imported | null)?.rejects?.discard()
      throw withFileName(request.file, error)
    }
  }
  const { report, rejects } = done! as Imported
  await rejects?.place()
  return report
}

/** The report of an import, and its rejects file, which is renamed after the commit. */
interface Imported {
  readonly report: StockImportReport
  readonly rejects: PendingFile | null
}

/** A list at work. */
interface Work {
  readonly tx: Tx
  readonly services: ImportServices
  readonly request: ImportRequest
  readonly digest: FileDigest
  readonly rooftopId: number
  /** The newest import before; 0: none. */
  readonly newest: number
  readonly list: OpenList
  readonly csv: CsvFile
  readonly mapping: Mapping
}

async function importWithin(
  tx: Tx,
  services: ImportServices,
  request: ImportRequest,
  source: ListSource,
): Promise<Imported> {
  if (!request.dryRun) await holdErasureLock(tx)
  const rooftopId = await lockRooftop(tx, request)
  const newest = await newestImport(tx.db, rooftopId)
  const list = await openList(request, source, services.signal)
  const { csv } = list
  try {
    const remembered =
      mappingForAppended(csv.header?.names ?? []) ??
      (await rememberedMapping(tx.db, rooftopId, listFingerprint(list)))
    const mapping = withFirstQuestions(await mapList(list, request, remembered), list, request)
    services.onColumns?.(list, mapping)
    assertSure(list, request, mapping)
    const before = newest?.import_id ?? 0
    const known = { rooftopId, newest: before }
    const work = { tx, services, request, digest: source, ...known, list, csv, mapping }
    return isUnchanged(newest, source, request, mapping, csv)
      ? await importedBefore(work, newest)
      : await loadList(work)
  } finally {
    await csv.close()
  }
}

async function lockRooftop({ db, client }: Tx, request: ImportRequest): Promise<number> {
  const { rooftop, dryRun } = request
  const { id } = (await findRooftops(db, [rooftop]))[0]!
  if (dryRun) return id
  const { rows } = await client.query<{ free: boolean }>(
    `select ${lockSql.try('import', '$1')} as free`,
    [id],
  )
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
  if (!request.dryRun) await rememberMapping(tx.client, rooftopId, work.mapping)
  return await imported(work, staging, {
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
  const { client } = tx
  const { dryRun } = request
  const screen = rowRedaction(await erasedContacts(tx.db))
  const importId = dryRun ? 0 : await startImport(client, work, screen)
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
    await guardOdometers(staging, work.list, request, mapping)
  const diff = await diffStock(staging, request.mode, staged.units)
  const figures = await readFigures(staging, request)
  for (const objection of [
    await guardRemovals(staging, request, rows, tally.report().issues, diff),
    await guardChanges(staging, request, { mapping, rows, diff }),
    guardValues(figures, request),
    await guardNewerLists(staging, request, corrects),
  ]) {
    if (objection === null) continue
    if (services.onGuard === undefined) throw new ListRefused(objection, request)
    services.onGuard(objection)
  }
  const { stock, rooftops } = services.warehouse.config
  const warnings = [
    ...staged.warnings,
    ...(await renumberedWarning(staging, renumbered)),
    ...(await otherRooftopWarnings(staging, rooftops, request.rooftop, rows.accepted)),
  ]
  const changes = await firstChanges(staging)
  if (!dryRun) await applyDiff(staging)
  const { added, updated, unchanged, removed, reappeared } = diff
  const written = dryRun ? { added, updated, removed, reappeared } : await countWritten(staging)
  const units = { ...written, unchanged }
  assertNothingLost(rows, units, removed)
  const counts = { ...rows, ...units }
  if (!dryRun) {
    await rememberMapping(client, rooftopId, mapping)
    await finishImport(client, importId, { ...staged, warnings, corrects }, counts)
  }
  const offStock = await (dryRun ? countOffStock : markOffStock)(staging, stock.graceDays)
  return await imported(work, staging, {
    ...{ importId: dryRun ? null : importId, status: dryRun ? 'dry-run' : 'imported' },
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
  return { client: tx.client, tables, importId, rooftopId, now: request.now }
}

async function stageRows(
  { services, request, list, mapping }: Work,
  staging: Staging,
  screen: RowRedaction,
): Promise<TypedList> {
  const { client } = staging
  await client.query('savepoint staging')
  const openStage = async () => {
    await client.query('rollback to savepoint staging')
    return await Stage.open(staging, services.signal)
  }
  const typed = await typeRows(list, mapping, { request, screen, openStage })
  if (!typed.isCut || request.mode !== 'snapshot') return typed
  // The vehicles after the cut would count as gone.
  const { hint } = typed.warnings.find(({ code }) => code === 'TRUNCATED_FILE')!
  throw new ListRefused({ is: 'cut', why: hint }, request)
}

type OfList = 'delimiter' | 'sheet' | 'entry' | 'mapping' | 'missing'

/** The report, with the rejected rows in their file. */
async function imported(
  { request, csv, mapping, newest }: Work,
  { client, tables, importId }: Staging,
  result: Omit<StockImportReport, 'rooftop' | 'file' | 'mode' | OfList | 'rejectsFile'>,
): Promise<Imported> {
  const { rooftop, file, mode, rejects: path } = request
  const { delimiter } = csv.dialect
  const { columns, missing } = mapping
  const asOf = request.dryRun ? newest : importId
  const source = { rowsTable: tables.rows, importId, asOf, delimiter, columns }
  const isWanted = path !== null && result.rejected > 0
  const rejects = isWanted
    ? await writeRejects(client, path, { ...source, names: csv.header?.names ?? null })
    : null
  const { sheet, entry } = csv.origin ?? { sheet: null, entry: null }
  const about = {
    ...{ rooftop: rooftop.uid, file, mode, delimiter, sheet, entry },
    ...{ mapping: columns, missing },
  }
  return { report: { ...about, ...result, rejectsFile: rejects ? path : null }, rejects }
}
