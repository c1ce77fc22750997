import { MissingField } from '../../api/contract/operation.ts'
import { submitPriceBatch } from '../../api/contract/vehicle-data/prices.ts'
import { findRefusedKey, wasAccepted } from '../../api/sources/status-rules.ts'
import { errorText, SyncError } from '../../errors.ts'
import { advanceFence, type Run } from '../../sync/run/run-ledger.ts'
import { pickSources } from '../../sync/run/sources.ts'
import { callOptions, type SliceJob } from '../../sync/run/stream.ts'
import { storable } from '../../values/text.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import { inTransaction, type Tx } from '../../warehouse/db/transaction.ts'
import type { BatchUnit } from './batch.ts'
import {
  endBatch,
  lockBatches,
  lowerBatchSize,
  raiseBatchSize,
  readBatchSize,
  recordAccepted,
  recordBatch,
  recordOutcomes,
} from './batch-ledger.ts'
import { reportUnits } from './batch-reports.ts'
import { dueUnits } from './due.ts'
import { marketField } from './market.ts'

/** A batch that is recorded; only this process sends it. */
export interface RecordedBatch {
  readonly batchNo: number
  readonly units: readonly BatchUnit[]
}

/**
 * The result of sending a batch. lost: the service may be processing it, but without its id it cannot be polled. refused and
 * tooLarge: the service certainly did not accept it. Only tooLarge is fixed by smaller batches.
 */
type SendResult =
  | { readonly kind: 'taken' }
  | { readonly kind: 'tooLarge' }
  | {
      readonly kind: 'refused' | 'lost'
      readonly reason: string
      /** The key whose refusal that is. */
      readonly refusedKey?: string | null
    }

/** The run's query for units that are due. */
export function dueRequest(run: Run, limit: number) {
  const again = run.mode === 'reprice'
  return { runId: run.runId, sourceStart: fromUnixSeconds(run.sourceStart), limit, again }
}

/** Chooses the units of the next batch, records it and commits, before anything is sent. null: nothing is due. */
export async function recordNextBatch(job: SliceJob): Promise<RecordedBatch | null> {
  const { context, run, rooftop } = job
  return await inTransaction(context.pool, async (tx) => {
    await lockBatches(tx, job)
    const units = await dueUnits(tx.db, rooftop, dueRequest(run, await readBatchSize(tx.db, job)))
    if (units.length === 0) return null
    // A process whose run was taken over sends nothing.
    await advanceFence(tx, run.runId)
    return { batchNo: await recordBatch(tx, job, units), units }
  })
}

/** Sends a batch once. A signal does not cancel it, because a batch without its answer is lost. */
export async function sendBatch(job: SliceJob, batch: RecordedBatch): Promise<SendResult> {
  const { context } = job
  try {
    const id = await submit(job, batch)
    context.crashPoint('record-read')
    await recordAccepted(context.db, batch.batchNo, id)
    await raiseBatchSize(context.db, job, batch.units.length)
    return { kind: 'taken' }
  } catch (error) {
    if (error instanceof MissingField)
      return { kind: 'lost', reason: `the answer of ${submitPriceBatch.name} ${error.message}` }
    if (!(error instanceof SyncError)) throw error
    if (error.status === 413) return { kind: 'tooLarge' }
    const refusedKey = findRefusedKey(error)
    const kind = wasAccepted(error) === 'no' ? 'refused' : 'lost'
    return { kind, reason: errorText(error), refusedKey }
  }
}

/** Returns the id for polling. MissingField when the answer holds none. */
async function submit(job: SliceJob, { batchNo, units }: RecordedBatch): Promise<string> {
  const { context, rooftop } = job
  const { answer } = await pickSources(context).services.call(submitPriceBatch, {
    ...callOptions(job),
    signal: undefined,
    naturalKey: `batch ${batchNo}`,
    fields: { vehicles: units.map(batchVehicle), ...marketField(rooftop, context.config) },
  })
  const { batchId } = answer()
  if (batchId === null || !isStorableId(batchId))
    throw new MissingField('vehicleData.priceBatch.submit.batchId')
  return batchId
}

/** Whether the column can hold the id; a batch with any other id could never be polled. */
function isStorableId(batchId: string): boolean {
  return batchId.length <= 200 && storable(batchId) === batchId
}

/** The code identifies the vehicle, the VIN its specification. A mileage that is not known is left out [V §8]. */
function batchVehicle({ stockNo, vin, adcode, odometerKm }: BatchUnit) {
  return {
    reference: stockNo,
    ...(adcode === null ? {} : { adcode }),
    ...(vin === null || vin.length !== 17 ? {} : { vin }),
    ...(odometerKm === null ? {} : { km: odometerKm }),
  }
}

/** Records the end of a batch that was not accepted. */
export async function writeNotTaken(
  tx: Tx,
  job: SliceJob,
  { batchNo, units }: RecordedBatch,
  sent: Exclude<SendResult, { kind: 'taken' }>,
): Promise<void> {
  if (sent.kind !== 'tooLarge') {
    const { kind, reason } = sent
    return await endBatch(tx, batchNo, kind, kind === 'lost' ? lostReason(reason) : reason)
  }
  // The refusal of a single unit says nothing about the right batch size.
  if (units.length > 1) {
    await lowerBatchSize(tx, job, units.length)
    return await endBatch(tx, batchNo, 'refused', null)
  }
  const [{ stockNo }] = units as readonly [BatchUnit]
  const detail = `the service refuses ${stockNo} as too large, although the batch holds no other vehicle`
  await endBatch(tx, batchNo, 'refused', detail)
  await recordOutcomes(tx, batchNo, new Map([[stockNo, 'failed']]))
  await reportUnits(
    tx,
    job,
    [stockNo],
    [{ naturalKey: stockNo, check: 'refused-alone', detail: 'refused as too large (413)' }],
  )
}

/** The message for a batch that the service may or may not have accepted, and what is done about it. */
export function lostReason(reason: string): string {
  const text = reason.replace(/\.$/, '').slice(0, 220)
  return `${text}. Whether the service accepted it is not known, so it was not sent again; its vehicles are due the next night.`
}
