import { submitPriceBatch } from '../../api/contract/vehicle-data/prices.ts'
import type { PayloadRows } from '../../sync/records/payload-rows.ts'
import { commitSlice, readRunStream, type SliceWritten } from '../../sync/run/commit-slice.ts'
import type { CallPlan, PlanScope, SliceJob, SliceResult, Stream } from '../../sync/run/stream.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'
import {
  endBatch,
  type OpenBatch,
  openBatches,
  type RunBatches,
  readRunBatches,
  readRunFaults,
} from './batch-ledger.ts'
import {
  type PollItem,
  pollBatches,
  pollItems,
  withPollItems,
  writePollResults,
} from './batch-poll.ts'
import { countUnknown, reportNotAsked } from './batch-reports.ts'
import {
  dueRequest,
  lostReason,
  type RecordedBatch,
  recordNextBatch,
  sendBatch,
  writeNotTaken,
} from './batch-submit.ts'
import { countOnHand, dueUnits, skippedUnits } from './due.ts'
import { skipReasonOf } from './market.ts'
import { deriveStockPrices, pricedKeys } from './observe.ts'
import { lookUpAll, storeLookUps, vinsToDecode } from './vin-lookups.ts'

/** Writes what a slice did in its transaction; the result says what is left to do. */
type Writes = (tx: Tx, items: readonly PollItem[]) => Promise<SliceWritten>

/** A step that writes single results; each of them may fail to be stored. */
interface Step {
  readonly items: readonly PollItem[]
  readonly write: Writes
}

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
 * Looks up VINs, or sends a batch, or polls the open batches. A batch is recorded and committed before it is sent. Between two
 * polls the run holds no worker slot. Batches that an earlier run left open are polled too.
 */
async function priceStock(job: SliceJob): Promise<SliceResult> {
  const { context, rooftop } = job
  const open = await openBatches(context.db, job)
  if (open.length === 0 && (await countOnHand(context.db, rooftop)) === 0)
    return await commit(job, (tx) => nothingToAsk(tx, job, null))
  const refusal = skipReasonOf(rooftop, context.config)
  if (refusal !== null) return await commit(job, (tx) => nothingToAsk(tx, job, refusal))
  return await commit(job, await nextStep(job, open))
}

/** Look-ups, and of every batch that it is sent and asked for once at least. */
async function planBatches({ db, config, run, rooftop }: PlanScope): Promise<CallPlan> {
  if (db === null || rooftop === null || skipReasonOf(rooftop, config) !== null)
    return { lists: 0, reads: 0 }
  const all = 1_000_000
  const vins = await vinsToDecode(db, rooftop, all, fromUnixSeconds(run.sourceStart))
  const units = await dueUnits(db, rooftop, dueRequest(run, all))
  return { lists: 0, reads: vins.length + 2 * Math.ceil(units.length / config.prices.batchSize) }
}

/** Chooses the step: end lost batches, look up VINs, send a batch, conclude, or poll. */
async function nextStep(job: SliceJob, open: readonly OpenBatch[]): Promise<Writes | Step> {
  const { context, rooftop } = job
  const orphans = open.filter(({ batchId }) => batchId === null)
  if (orphans.length > 0) return (tx) => markLost(tx, orphans)
  const made = await readRunBatches(context.db, job)
  if (!made.any) {
    const now = context.appraisal.clock.now()
    const vins = await vinsToDecode(context.db, rooftop, lookUpsPerSlice, now)
    const found = vins.length === 0 ? [] : await lookUpAll(job, vins)
    // VINs without any answer are not tried again in this run.
    if (found.length > 0)
      return async ({ db }) => {
        await storeLookUps(db, rooftop, found, now)
        return { more: true }
      }
  }
  const maySend = made.lost < lossesAllowed && made.refused < refusalsAllowed
  const batch = maySend && open.length < maxOpen ? await recordNextBatch(job) : null
  if (batch !== null) return await send(job, batch)
  if (open.length === 0) return (tx) => conclude(tx, job, made)
  return await poll(job, open)
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
async function send(job: SliceJob, batch: RecordedBatch): Promise<Writes> {
  const sent = await sendBatch(job, batch)
  const counts = { listed: batch.units.length }
  if (sent.kind === 'taken') return async () => ({ more: true, counts })
  const pause = sent.kind === 'tooLarge' ? {} : { delaySeconds: refusalPauseSeconds }
  return async (tx) => {
    await writeNotTaken(tx, job, batch, sent)
    const refusedKey = (sent.kind !== 'tooLarge' && sent.refusedKey) || null
    return { more: true, ...pause, refusedKey, ...(sent.kind === 'lost' ? { counts } : {}) }
  }
}

async function poll(job: SliceJob, open: readonly OpenBatch[]): Promise<Step> {
  const polls = await pollBatches(job, open)
  const { everySeconds } = submitPriceBatch.polling!
  return {
    items: pollItems(polls),
    write: async (tx, items) => {
      const { counts, inProgress } = await writePollResults(tx, job, withPollItems(polls, items))
      const unstored = items.filter(({ issues }) => issues !== null).length
      const error = `${unstored} prices cannot be stored: see ops.data_quality`
      const why = unstored > 0 ? { error } : {}
      return { more: true, counts, ...why, ...(inProgress ? { delaySeconds: everySeconds } : {}) }
    },
  }
}

/** Ends the stream for this run, and reports everything that is missing. */
async function conclude(tx: Tx, job: SliceJob, made: RunBatches) {
  const { run, rooftop } = job
  await reportNotAsked(tx, job, await skippedUnits(tx.db, rooftop))
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
async function nothingToAsk(tx: Tx, job: SliceJob, refusal: string | null) {
  const { context, run, stream, rooftop } = job
  if (refusal !== null)
    context.log.warn({ stream: stream.name, runId: run.runId }, `${rooftop.name}: ${refusal}`)
  const warning = { naturalKey: rooftop.uid, check: 'not-priced', detail: refusal ?? '' }
  await reportNotAsked(tx, job, refusal === null ? [] : [warning])
  return { more: false }
}

/** Commits a step. */
async function commit(job: SliceJob, step: Writes | Step): Promise<SliceResult> {
  const { items, write } = typeof step === 'function' ? { items: [], write: step } : step
  return await commitSlice<PollItem>(job, {
    items,
    store: write,
    reject: (item, issues) => ({ ...item, issues }),
    write,
  })
}
