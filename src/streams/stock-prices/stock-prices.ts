import { MissingField } from '../../api/contract/operation.ts'
import { submitPriceBatch } from '../../api/contract/vehicle-data/prices.ts'
import { findRefusedKey, wasAccepted } from '../../api/sources/status-rules.ts'
import type { Config } from '../../app/config/read.ts'
import { errorText, SyncError } from '../../errors.ts'
import type { PayloadRows } from '../../sync/records/payload-rows.ts'
import { commitSlice, readRunStream } from '../../sync/run/commit-slice.ts'
import { advanceFence, type Run } from '../../sync/run/run-ledger.ts'
import { pickSources } from '../../sync/run/sources.ts'
import {
  type CallPlan,
  callOptions,
  type PlanScope,
  type SliceJob,
  type SliceResult,
  type Stream,
} from '../../sync/run/stream.ts'
import { gccCurrencies } from '../../values/regions.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { storable } from '../../values/text.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import { inTransaction, type Tx } from '../../warehouse/db/transaction.ts'
import { type BatchUnit, countOnHand, dueUnits, heldHours, skippedUnits } from './batch.ts'
import {
  endBatch,
  lockBatches,
  lowerBatchSize,
  type OpenBatch,
  openBatches,
  type RunBatches,
  raiseBatchSize,
  readBatchSize,
  readRunBatches,
  readRunFaults,
  recordAccepted,
  recordBatch,
  recordOutcomes,
} from './batch-ledger.ts'
import { pollBatches } from './batch-poll.ts'
import { countUnknown, reportUnits, reportUnpriced } from './batch-reports.ts'
import { deriveStockPrices, pricedKeys } from './observe.ts'
import { markOffStockIfFree } from './off-stock.ts'
import { lookUpAll, storeLookUps, vinsToDecode } from './vin-lookups.ts'

const lookUpsPerSlice = 200
/** Batches in progress at the source at once, at most. */
const maxOpen = 4
/** After this many refused or lost batches, the fault is the service's, and the run sends no more. */
const refusalsAllowed = 3
const lossesAllowed = 2
/** Pause before the next batch after a refused one. */
const refusalPauseSeconds = 15

const payloadRows: PayloadRows = { keysOf: pricedKeys, derive: deriveStockPrices }

/** Prices of the stock on hand, stored as observations [V §4 /v1/price-batch]. */
export const stockPrices: Stream = {
  name: 'stock-prices',
  // A batch is asked for once.
  endpoints: [],
  follows: [],
  payloadRows,
  slices: { sync: priceStock, reprice: priceStock },
  plan: planBatches,
}

/**
 * Vehicles whose days of grace are over leave the stock, also where no list comes. Then a slice does the first of these that there is to
 * do: end batches that were left in `submitting`, look up VINs, send a batch, poll the batches in `submitted`, also those that an earlier
 * run left open, or conclude. A batch is recorded and committed before it is sent. Between two polls the run holds no worker slot.
 */
async function priceStock(job: SliceJob): Promise<SliceResult> {
  const { context, rooftop } = job
  const now = context.appraisal.clock.now()
  // Lists come by our clock: a source that is ahead must not end the days of grace early.
  const stock = {
    db: context.db,
    rooftopId: rooftop.id,
    now: new Date(Math.min(now.getTime(), Date.now())),
  }
  await markOffStockIfFree(stock, context.config.stock.graceDays)
  const open = await openBatches(context.db, job)
  const isEmpty = open.length === 0 && (await countOnHand(context.db, rooftop)) === 0
  const refusal = isEmpty ? null : skipReason(rooftop, context.config)
  if (isEmpty || refusal !== null)
    return await commitSlice(job, { write: (tx) => endWithoutRequest(tx, job, refusal) })
  const submitting = open.filter(({ state }) => state === 'submitting')
  const submitted = open.filter((batch) => batch.state === 'submitted')
  if (submitting.length > 0)
    return await commitSlice(job, { write: (tx) => markLost(tx, submitting) })
  const made = await readRunBatches(context.db, job)
  if (!made.any) {
    const vins = await vinsToDecode(context.db, rooftop, lookUpsPerSlice, now)
    const found = vins.length === 0 ? [] : await lookUpAll(job, vins)
    const write = async ({ db }: Tx) => {
      await storeLookUps(db, rooftop, found, now)
      return { more: true }
    }
    // VINs without any answer are not tried again in this run.
    if (found.length > 0) return await commitSlice(job, { write })
  }
  const maySend = made.lost < lossesAllowed && made.refused < refusalsAllowed
  const batch = maySend && submitted.length < maxOpen ? await recordNextBatch(job) : null
  if (batch !== null) return await send(job, batch)
  if (submitted.length > 0) return await pollBatches(job, submitted)
  return await commitSlice(job, { write: (tx) => conclude(tx, job, made) })
}

/** Look-ups, and of every batch that it is sent and asked for once at least. */
async function planBatches({ db, config, run, rooftop }: PlanScope): Promise<CallPlan> {
  if (db === null || rooftop === null || skipReason(rooftop, config) !== null)
    return { lists: 0, reads: 0 }
  const all = 1_000_000
  const vins = await vinsToDecode(db, rooftop, all, fromUnixSeconds(run.sourceStart))
  const units = await dueUnits(db, rooftop, dueRequest(run, all))
  return { lists: 0, reads: vins.length + 2 * Math.ceil(units.length / config.prices.batchSize) }
}

/** Marks batches as lost whose process ended before their answer came. */
async function markLost(tx: Tx, orphans: readonly OpenBatch[]) {
  const reason = lostReason('forecourt ended before the answer came')
  for (const { batchNo } of orphans) await endBatch(tx, batchNo, 'lost', reason)
  const messages = orphans.map(
    ({ batchNo, units }) => `batch ${batchNo} of ${units} vehicles is lost: ${reason}`,
  )
  return { more: true, error: messages.join('; ') }
}

/** Sends a batch. An accepted one was recorded when it was sent; the others are recorded in the slice's transaction. */
async function send(job: SliceJob, batch: RecordedBatch): Promise<SliceResult> {
  const sent = await sendBatch(job, batch)
  const counts = { listed: batch.units.length }
  return await commitSlice(job, {
    write: async (tx) => {
      if (sent.kind === 'accepted') return { more: true, counts }
      await writeRejected(tx, job, batch, sent)
      if (sent.kind === 'tooLarge') return { more: true }
      const { kind, refusedKey = null } = sent
      const next = { more: true, delaySeconds: refusalPauseSeconds, refusedKey }
      return kind === 'lost' ? { ...next, counts } : next
    },
  })
}

/** Ends the stream for this run, and reports everything that is missing. */
async function conclude(tx: Tx, job: SliceJob, made: RunBatches) {
  const { run, rooftop } = job
  await reportUnpriced(tx, job, await skippedUnits(tx.db, rooftop))
  const { error } = (await readRunStream(tx.db, job)) ?? {}
  const faults = [...(error ? [error] : []), ...(await readRunFaults(tx.db, job))]
  const unknown = await countUnknown(tx, job)
  if (unknown > 0) faults.push(`${unknown} references in the results are unknown`)
  if (made.lost > 0 || made.refused > 0) {
    const left = await dueUnits(tx.db, rooftop, dueRequest(run, 1_000_000))
    if (left.length > 0) faults.push(`${left.length} vehicles were not sent`)
  }
  if (faults.length === 0) return { more: false }
  return { more: false, error: `${faults.join('; ')}: see ops.price_batch and ops.data_quality` }
}

/** Ends the stream without a request: nothing is in stock, or the service cannot be used for the rooftop (`refusal`). */
async function endWithoutRequest(tx: Tx, job: SliceJob, refusal: string | null) {
  const { context, run, stream, rooftop } = job
  if (refusal !== null)
    context.log.warn({ stream: stream.name, runId: run.runId }, `${rooftop.name}: ${refusal}`)
  const warning = { naturalKey: rooftop.uid, check: 'not-priced', detail: refusal ?? '' }
  await reportUnpriced(tx, job, refusal === null ? [] : [warning])
  return { more: false }
}

/** A batch that is recorded; only this process sends it. */
interface RecordedBatch {
  readonly batchNo: number
  readonly units: readonly BatchUnit[]
}

/**
 * The result of sending a batch. lost: the service may be processing it, but without its id it cannot be polled. refused and
 * tooLarge: the service certainly did not accept it. Only tooLarge is fixed by smaller batches.
 */
type SendResult =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'tooLarge' }
  | {
      readonly kind: 'refused' | 'lost'
      readonly reason: string
      /** The key whose refusal that is. */
      readonly refusedKey?: string | null
    }

/** The run's query for units that are due. */
function dueRequest(run: Run, limit: number) {
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
async function sendBatch(job: SliceJob, batch: RecordedBatch): Promise<SendResult> {
  const { context } = job
  try {
    const id = await submit(job, batch)
    context.crashPoint('record-read')
    await recordAccepted(context.db, batch.batchNo, id)
    await raiseBatchSize(context.db, job, batch.units.length)
    return { kind: 'accepted' }
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
  const market = findMarket(rooftop, context.config.prices)
  const { answer } = await pickSources(context).services.call(submitPriceBatch, {
    ...callOptions(job),
    signal: undefined,
    naturalKey: `batch ${batchNo}`,
    fields: {
      vehicles: units.map(batchVehicle),
      ...(market === null || market === unnamedMarket ? {} : { market }),
    },
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
async function writeRejected(
  tx: Tx,
  job: SliceJob,
  { batchNo, units }: RecordedBatch,
  sent: Exclude<SendResult, { kind: 'accepted' }>,
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
function lostReason(reason: string): string {
  const text = reason.replace(/\.$/, '').slice(0, 220)
  return `${text}. Whether the service accepted it is not known, so it was not sent again; its vehicles are due in the first run more than ${heldHours} hours later.`
}

interface BatchSettings {
  readonly vehicleData: Pick<Config['vehicleData'], 'apiKey'>
  readonly prices: Pick<Config['prices'], 'market'>
}

/** As `prices.market`: the request names no market, and the service chooses. [V §4] does not say that a batch takes one. */
const unnamedMarket = 'NONE'

type MarketRooftop = Pick<RooftopRow, 'region' | 'currency'>

/**
 * The country whose prices the rooftop's stock is given: `prices.market` of the config, else Australia, else the GCC country of
 * the rooftop's currency. null: it is unknown, or the service covers nothing there, as in the US [V §1].
 */
export function findMarket(
  { region, currency }: MarketRooftop,
  { market }: BatchSettings['prices'],
): string | null {
  if (region === 'US') return null
  if (market !== null) return market.trim().toUpperCase()
  if (region === 'AU') return 'AU'
  const gcc = Object.entries(gccCurrencies).find(([, code]) => code === currency)
  return gcc?.[0] ?? null
}

/** Why the rooftop's stock is not priced, and what to do; null: it is. */
export function skipReason(rooftop: MarketRooftop, settings: BatchSettings): string | null {
  if (rooftop.region === 'US')
    return 'its stock cannot be priced: the vehicle-data APIs cover Australia and the GCC alone'
  if (settings.vehicleData.apiKey === null)
    return 'its stock is not priced: set vehicleData.apiKey in the config'
  if (findMarket(rooftop, settings.prices) !== null) return null
  return `its stock is not priced: ${rooftop.currency} is not the currency of a GCC country, so set prices.market in the config`
}
