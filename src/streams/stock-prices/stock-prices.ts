import { submitPriceBatch } from '../../api/contract/vehicle-data/prices.ts'
import type { PayloadRows } from '../../sync/records/payload-rows.ts'
import { commitSlice, readRunStream } from '../../sync/run/commit-slice.ts'
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
  type SubmittedBatch,
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
import { skipReason } from './market.ts'
import { deriveStockPrices, pricedKeys } from './observe.ts'
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
 * A slice does the first of these that there is to do: end batches that were left in `submitting`, look up VINs, send a batch, poll
 * the batches in `submitted`, also those that an earlier run left open, or conclude. A batch is recorded and committed before it is
 * sent. Between two polls the run holds no worker slot.
 */
async function priceStock(job: SliceJob): Promise<SliceResult> {
  const { context, rooftop } = job
  const open = await openBatches(context.db, job)
  const isEmpty = open.length === 0 && (await countOnHand(context.db, rooftop)) === 0
  const refusal = isEmpty ? null : skipReason(rooftop, context.config)
  if (isEmpty || refusal !== null)
    return await commitSlice(job, { write: (tx) => nothingToAsk(tx, job, refusal) })
  const submitting = open.filter(({ state }) => state === 'submitting')
  const submitted = open.filter((batch) => batch.state === 'submitted')
  if (submitting.length > 0)
    return await commitSlice(job, { write: (tx) => markLost(tx, submitting) })
  const made = await readRunBatches(context.db, job)
  if (!made.any) {
    const now = context.appraisal.clock.now()
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
  if (submitted.length > 0) return await poll(job, submitted)
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
      if (sent.kind === 'taken') return { more: true, counts }
      await writeNotTaken(tx, job, batch, sent)
      if (sent.kind === 'tooLarge') return { more: true }
      const { kind, refusedKey = null } = sent
      const next = { more: true, delaySeconds: refusalPauseSeconds, refusedKey }
      return kind === 'lost' ? { ...next, counts } : next
    },
  })
}

async function poll(job: SliceJob, submitted: readonly SubmittedBatch[]): Promise<SliceResult> {
  const polls = await pollBatches(job, submitted)
  const { everySeconds } = submitPriceBatch.polling!
  const write = async (tx: Tx, items: readonly PollItem[]) => {
    const { counts, inProgress } = await writePollResults(tx, job, withPollItems(polls, items))
    const unstored = items.filter(({ issues }) => issues !== null).length
    const error = `${unstored} prices cannot be stored: see ops.data_quality`
    const why = unstored > 0 ? { error } : {}
    return { more: true, counts, ...why, ...(inProgress ? { delaySeconds: everySeconds } : {}) }
  }
  const reject = (item: PollItem, issues: PollItem['issues']) => ({ ...item, issues })
  return await commitSlice(job, { items: pollItems(polls), store: write, reject, write })
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
