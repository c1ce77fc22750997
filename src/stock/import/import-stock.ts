import type { Mapping } from '../../csv/map/column-mapping.ts'
import { inTransaction, type Tx } from '../../db/transaction.ts'
import { awaitErasures } from '../../erasure/suppression.ts'
import { BusyError } from '../../errors.ts'
import { findRooftops, registerRooftops } from '../../pipeline/rooftops.ts'
import { endGrace } from './apply.ts'
import {
  isReadAlike,
  newestImport,
  rememberedMapping,
  rememberMapping,
  saysTheSame,
} from './known.ts'
import { type Loaded, load } from './load.ts'
import { type ListSource, openSource } from './list-source.ts'
import { fingerprintOf, mapList, naming, openList } from './open-list.ts'
import { ownMappingOf } from './own-columns.ts'
import { checkRejectsPath, type WaitingFile } from './rejects.ts'
import { alreadyImported } from './repeated.ts'
import type { StockImportReport } from './report.ts'
import type { ImportRequest, ImportServices } from './request.ts'
import { lockClass } from '../../values/lock-classes.ts'

const importLocks = lockClass.import

/** Thrown to undo a dry run. */
class DryRunEnd extends Error {}

/**
 * Imports one stock list in one transaction: all of it, or nothing. UsageError, and nothing changed, where the file or the
 * mapping is not fit, or the guard holds it back; BusyError while another import of the rooftop runs.
 */
export async function importStock(
  services: ImportServices,
  request: ImportRequest,
): Promise<StockImportReport> {
  if (request.rejects !== null) await checkRejectsPath(request.rejects)
  await using source = await openSource(request, services.signal)
  let waiting: WaitingFile | null = null
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
      await (waiting as WaitingFile | null)?.discard()
      throw naming(request.file, error)
    }
  }
  await (waiting as WaitingFile | null)?.place()
  return report!
}

async function importWithin(
  tx: Tx,
  services: ImportServices,
  request: ImportRequest,
  source: ListSource,
): Promise<Loaded> {
  if (!request.dryRun) await awaitErasures(tx)
  const rooftopId = await rooftopOf(tx, request)
  const newest = await newestImport(tx.db, rooftopId)
  const isSame = saysTheSame(newest, source.sha256, request.mode)
  const again = async (mapping: Mapping) => {
    const { graceDays } = services.warehouse.config.stock
    const offStock = await endGrace(tx.client, rooftopId, graceDays, { ...request, dryRun: false })
    if (!request.dryRun) await rememberMapping(tx.client, rooftopId, mapping)
    const { missing } = mapping
    return await alreadyImported(tx.client, newest!, request, { offStock, missing })
  }
  const list = await openList(request, source)
  try {
    const remembered =
      ownMappingOf(list.csv.header?.names ?? []) ??
      (await rememberedMapping(tx.db, rooftopId, fingerprintOf(list)))
    const mapping = mapList(list, request, remembered)
    if (isSame && isReadAlike(newest!, mapping, list.csv)) return await again(mapping)
    return await load({ tx, services, request, bytes: source, rooftopId, list, mapping })
  } finally {
    await list.csv.close()
  }
}

async function rooftopOf({ db, client }: Tx, request: ImportRequest): Promise<number> {
  const { rooftop, dryRun } = request
  if (dryRun) return (await findRooftops(db, [rooftop]))[0]!.id
  const { id } = (await registerRooftops(db, [rooftop]))[0]!
  const { rows } = await client.query<{ free: boolean }>(
    'select pg_try_advisory_xact_lock($1, $2::int) as free',
    [importLocks, id],
  )
  if (rows[0]!.free) return id
  throw new BusyError(
    `Another stock import for ${rooftop.name} (${rooftop.uid}) is running: nothing was imported. Run this one again when it has ended.`,
  )
}
