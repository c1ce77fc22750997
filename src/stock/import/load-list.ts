import type pg from 'pg'
import type { Mapping } from '../../csv/map/column-mapping.ts'
import type { CellIssue } from '../../csv/map/typing/issue.ts'
import type { Tx } from '../../db/transaction.ts'
import { erasedContacts } from '../../erasure/suppression.ts'
import { UsageError } from '../../errors.ts'
import { applyDiff, markOffStock } from './apply-diff.ts'
import { diffStock, type Diff } from './diff.ts'
import { type Duplicates, resolveDuplicates } from './duplicates.ts'
import { otherRooftopWarnings } from './other-rooftops.ts'
import { guardRemovals } from './guard-removals.ts'
import { guardChanges } from './guard-changes.ts'
import { rememberMapping } from './previous-import.ts'
import type { FileDigest } from './list-source.ts'
import type { OpenList } from './open-list.ts'
import { finishImport, startImport } from './record-import.ts'
import { type PendingFile, writeRejects } from './rejects.ts'
import { matchRenumbered, renumberedWarning } from './renumbered.ts'
import type { RowCounts, StockImportReport, UnitCounts } from './import-report.ts'
import type { ImportRequest, ImportServices } from './request.ts'
import { firstAddedUnits, firstChanges } from './shown-changes.ts'
import { type RowRedaction, rowRedaction } from './redact-rows.ts'
import { createStage, dryRunTables, stockTables, Stage, type Staging } from './stage.ts'
import { type TypedList, typeRows } from './type-rows.ts'

/** A list to load, with its transaction. */
export interface LoadInput {
  readonly tx: Tx
  readonly services: ImportServices
  readonly request: ImportRequest
  readonly bytes: FileDigest
  readonly rooftopId: number
  readonly list: OpenList
  readonly mapping: Mapping
}

/** The report of a loaded list, and its rejects file, which is renamed after the commit. */
export interface LoadResult {
  readonly report: StockImportReport
  readonly rejects: PendingFile | null
}

/** Types, stages, compares and writes a list, all in the open transaction; an error undoes it. */
export async function loadList(loading: LoadInput): Promise<LoadResult> {
  const { tx, services, request, rooftopId, list, mapping } = loading
  const { client } = tx
  const screen = rowRedaction(await erasedContacts(tx.db))
  await createStage(client, request.dryRun)
  const importId = request.dryRun
    ? 0
    : await startImport(client, rooftopId, list, mapping, { ...loading, screen })
  const tables = request.dryRun ? dryRunTables : stockTables
  const staging: Staging = { tables, importId, rooftopId, now: request.now }
  const staged = await stageRows(loading, staging, screen)
  services.crashPoint?.('rows-written')
  const { hadStock, firstAdded, left } = staged.units
  const duplicates = await resolveDuplicates(client, staging, staged.units)
  const rows = countRows(staged.counts, duplicates)
  staged.tally.addMany(duplicates.rejected, duplicates.rejectedFirst)
  staged.tally.addMany(duplicates.sameVin, duplicates.sameVinFirst)
  const renumbered = await matchRenumbered(client, staging, staged.units)
  const added = staged.units.added - duplicates.rolledBack - renumbered
  const diff = await diffStock(client, staging, request.mode, { added, hadStock, left })
  await guardRemovals(client, request, rows, staged.tally.first(), diff)
  await guardChanges(client, rooftopId, { request, mapping, rows, diff })
  const warnings = [
    ...staged.warnings,
    ...(await renumberedWarning(client, renumbered)),
    ...(await rooftopWarnings(loading, staging, rows)),
  ]
  const typed = { ...staged, warnings }
  const units = countUnits(rows, diff)
  const shown =
    duplicates.rolledBack + renumbered === 0 ? firstAdded : await firstAddedUnits(client, staging)
  const changes = await firstChanges(client, shown)
  if (!request.dryRun) {
    await applyDiff(client, staging)
    await rememberMapping(client, rooftopId, mapping)
    await finishImport(client, importId, typed, rows, units)
  }
  const { graceDays } = services.warehouse.config.stock
  const offStock = await markOffStock(client, rooftopId, graceDays, request)
  const rejects = await rejectsOf(client, loading, { rowsTable: tables.rows, importId }, rows)
  const report = reportOf(loading, typed, rows, units, offStock)
  const rejectsFile = rejects ? request.rejects : null
  return {
    report: { ...report, importId: request.dryRun ? null : importId, changes, rejectsFile },
    rejects,
  }
}

async function stageRows(
  { tx: { client }, services, request, list, mapping }: LoadInput,
  staging: Staging,
  screen: RowRedaction,
): Promise<TypedList> {
  await client.query('savepoint staging')
  const newStage = () => Stage.open(client, staging, services.signal)
  const typed = await typeRows(list, mapping, { request, screen }, await newStage(), async () => {
    await client.query('rollback to savepoint staging')
    return await newStage()
  })
  if (typed.isCut && request.mode === 'snapshot') throw new UsageError(cutText(request, typed))
  return typed
}

async function rooftopWarnings(
  { tx: { client }, services, request: { rooftop } }: LoadInput,
  staging: Staging,
  { accepted }: RowCounts,
): Promise<readonly CellIssue[]> {
  const { rooftops } = services.warehouse.config
  return await otherRooftopWarnings(client, rooftops, rooftop, staging, accepted)
}

/** The error for a cut list: the vehicles after the cut would count as gone. */
function cutText({ file }: ImportRequest, { warnings }: TypedList): string {
  const hint = warnings.find(({ code }) => code === 'TRUNCATED_FILE')!.hint
  return `${file}: ${hint}. Nothing was imported, because missing vehicles would count as sold. To import the rows that exist, add --mode delta.`
}

function countRows(counts: RowCounts, { collapsed, rejected }: Duplicates): RowCounts {
  return {
    ...counts,
    accepted: counts.accepted - collapsed - rejected,
    rejected: counts.rejected + rejected,
    collapsed,
  }
}

function countUnits({ accepted }: RowCounts, diff: Diff): UnitCounts {
  const { added, updated, reappeared, missing, reused } = diff
  const unchanged = accepted - added - updated - reappeared
  return { added, updated, unchanged, removed: missing + reused, reappeared }
}

async function rejectsOf(
  client: pg.ClientBase,
  { request, list, mapping }: LoadInput,
  from: { readonly rowsTable: string; readonly importId: number },
  { rejected }: RowCounts,
): Promise<PendingFile | null> {
  if (request.rejects === null || rejected === 0) return null
  const { dialect, header } = list.csv
  const { delimiter } = dialect
  const names = header?.names ?? null
  return await writeRejects(client, request.rejects, {
    ...from,
    ...{ delimiter, names, columns: mapping.columns },
  })
}

function reportOf(
  { request, list, mapping }: LoadInput,
  typed: TypedList,
  rows: RowCounts,
  units: UnitCounts,
  offStock: number,
): Omit<StockImportReport, 'importId' | 'changes' | 'rejectsFile'> {
  const { rooftop, file, mode, dryRun } = request
  return {
    rooftop: rooftop.uid,
    file,
    mode,
    status: dryRun ? 'dry-run' : 'imported',
    encoding: typed.encoding.name,
    delimiter: list.csv.dialect.delimiter,
    mapping: mapping.columns,
    missing: mapping.missing,
    ...rows,
    ...units,
    offStock,
    issueCounts: typed.tally.counts(),
    issueTotals: typed.tally.totals(),
    issues: typed.tally.first(),
    warnings: typed.warnings,
  }
}
