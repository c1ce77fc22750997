import type { Mapping } from '../../csv/map/column-mapping.ts'
import { inTransaction, type Tx } from '../../db/transaction.ts'
import { holdErasureLock } from '../../erasure/suppression.ts'
import { BusyError } from '../../errors.ts'
import { findRooftops, registerRooftops } from '../../pipeline/rooftops.ts'
import { markOffStock } from './apply-diff.ts'
import {
  isReadUnchanged,
  newestImport,
  rememberedMapping,
  rememberMapping,
  isUnchangedFile,
} from './previous-import.ts'
import { type LoadResult, loadList } from './load-list.ts'
import { type ListSource, openSource } from './list-source.ts'
import { fingerprintOf, mapList, withFileName, openList } from './open-list.ts'
import { ownMapping } from '../own-columns.ts'
import { checkRejectsPath, type PendingFile } from './rejects.ts'
import { alreadyImported } from './already-imported.ts'
import type { StockImportReport } from './import-report.ts'
import type { ImportRequest, ImportServices } from './request.ts'
import { lockSql } from '../../db/locks.ts'

/** Thrown to undo a dry run. */
class DryRunEnd extends Error {}

/**
 * Imports one stock list in one transaction: all of it, or nothing. UsageError, without changes, if the file or the
 * mapping is unusable, or a guard stops the import; BusyError while another import of the rooftop runs.
 */
export async function importStock(
  services: ImportServices,
  request: ImportRequest,
): Promise<StockImportReport> {
  if (request.rejects !== null) await checkRejectsPath(request.rejects)
  await using source = await openSource(request, services.signal)
  let waiting: PendingFile | null = null
  let report: StockImportReport | null = null
  try {
    await inTransaction(services.warehouse.pool, async (tx) => {
      const done = await importWithin(tx, services, request, source)
      report = done.report
      waiting = done.rejects
      await source.assertUnchanged()
      if (request.dryRun) throw new DryRunEnd()
      services.crashPoint?.('before-commit')
    })
  } catch (error) {
    if (!(error instanceof DryRunEnd)) {
      await (waiting as PendingFile | null)?.discard()
      throw withFileName(request.file, error)
    }
  }
  await (waiting as PendingFile | null)?.place()
  return report!
}

async function importWithin(
  tx: Tx,
  services: ImportServices,
  request: ImportRequest,
  source: ListSource,
): Promise<LoadResult> {
  if (!request.dryRun) await holdErasureLock(tx)
  const rooftopId = await rooftopOf(tx, request)
  const newest = await newestImport(tx.db, rooftopId)
  const isSame = isUnchangedFile(newest, source.sha256, request.mode)
  const again = async (mapping: Mapping) => {
    const { graceDays } = services.warehouse.config.stock
    const offStock = await markOffStock(tx.client, rooftopId, graceDays, {
      ...request,
      dryRun: false,
    })
    if (!request.dryRun) await rememberMapping(tx.client, rooftopId, mapping)
    const { missing } = mapping
    return await alreadyImported(tx.client, newest!, request, { offStock, missing })
  }
  const list = await openList(request, source)
  try {
    const remembered =
      ownMapping(list.csv.header?.names ?? []) ??
      (await rememberedMapping(tx.db, rooftopId, fingerprintOf(list)))
    const mapping = mapList(list, request, remembered)
    if (isSame && isReadUnchanged(newest!, mapping, list.csv)) return await again(mapping)
    return await loadList({ tx, services, request, bytes: source, rooftopId, list, mapping })
  } finally {
    await list.csv.close()
  }
}

async function rooftopOf({ db, client }: Tx, request: ImportRequest): Promise<number> {
  const { rooftop, dryRun } = request
  if (dryRun) return (await findRooftops(db, [rooftop]))[0]!.id
  const { id } = (await registerRooftops(db, [rooftop]))[0]!
  const { rows } = await client.query<{ free: boolean }>(
    `select ${lockSql.try('import', '$1')} as free`,
    [id],
  )
  if (rows[0]!.free) return id
  throw new BusyError(
    `Another stock import for ${rooftop.name} (${rooftop.uid}) is running: nothing was imported. Run this import again when the other has ended.`,
  )
}
