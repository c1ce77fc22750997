import { sql } from 'kysely'
import { MissingField } from '../../api/contract/operation.ts'
import { pollPriceBatch, submitPriceBatch } from '../../api/contract/vehicle-data/prices.ts'
import type { CallOptions } from '../../api/sources/http.ts'
import { isKeyRefused } from '../../api/sources/status-rules.ts'
import { errorText, SyncError } from '../../errors.ts'
import type { Warning } from '../../sync/records/data-quality.ts'
import { savePayloads, storableList } from '../../sync/records/load-records.ts'
import { commitSlice } from '../../sync/run/commit-slice.ts'
import { pickSources, type Sources } from '../../sync/run/sources.ts'
import { callOptions, type SliceJob, type SliceResult } from '../../sync/run/stream.ts'
import { bodyHash } from '../../values/content-hash.ts'
import { partition } from '../../values/partition.ts'
import type { Issue } from '../../values/record.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'
import {
  type BatchLoaded,
  type BatchProgress,
  type BatchUnit,
  type Matched,
  matchResults,
  normaliseResults,
} from './batch.ts'
import {
  completeBatch,
  endBatch,
  readBatchUnits,
  recordOutcomes,
  recordProgress,
  type SubmittedBatch,
  takeOverBatches,
  type UnitOutcome,
} from './batch-ledger.ts'
import { reportUnits, reportUnknown } from './batch-reports.ts'
import { observeStockPrices } from './observe.ts'

type Complete = BatchProgress & { readonly results: NonNullable<BatchProgress['results']> }

/** What a poll found. gone: the service no longer knows the batch. */
type PollResult = { readonly batch: SubmittedBatch } & (
  | {
      readonly kind: 'complete'
      readonly found: Complete
      readonly at: Date
      readonly fetchedAt: Date
      /** Results that cannot be stored, by reference, and why. */
      readonly refused?: ReadonlyMap<string, string>
    }
  | { readonly kind: 'underway'; readonly percent: number | null; readonly fault: string | null }
  | { readonly kind: 'gone'; readonly reason: string }
)

/** Polls the batches and commits what they answer. Rejects with SyncError when the key is refused; the batches then stay open for
 *  the next run. A result that fails the transaction is left out. */
export async function pollBatches(
  job: SliceJob,
  submitted: readonly SubmittedBatch[],
): Promise<SliceResult> {
  const polls = await Promise.all(submitted.map((batch) => pollOne(job, batch)))
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

async function pollOne(job: SliceJob, batch: SubmittedBatch): Promise<PollResult> {
  const { context } = job
  const options = callOptions(job)
  try {
    const found = await pollBatch(pickSources(context), batch, options)
    const { results, percent } = found
    if (results === null) return { batch, kind: 'underway', percent, fault: null }
    const at = found.at ?? context.appraisal.clock.now()
    return { batch, kind: 'complete', found: { ...found, results }, at, fetchedAt: new Date() }
  } catch (error) {
    if (error instanceof MissingField)
      return { batch, kind: 'underway', percent: null, fault: `the answer ${error.message}` }
    if (!(error instanceof SyncError) || isKeyRefused(error)) throw error
    if (error.status === 404) return { batch, kind: 'gone', reason: errorText(error) }
    return { batch, kind: 'underway', percent: null, fault: errorText(error) }
  }
}

/** MissingField when the answer does not hold what the wire settings name. */
async function pollBatch(
  { services }: Sources,
  { batchNo, batchId }: SubmittedBatch,
  options: CallOptions,
): Promise<BatchProgress> {
  const { answer, text, date } = await services.call(pollPriceBatch, {
    ...options,
    naturalKey: `batch ${batchNo}`,
    fields: { batchId },
  })
  const { percentComplete: percent, results } = answer()
  if (percent === null) throw new MissingField('vehicleData.priceBatch.poll.percentComplete')
  if (percent < 100) return { percent, results: null, text, at: date }
  if (results === null) throw new MissingField('vehicleData.priceBatch.poll.results')
  return { percent, results: normaliseResults(results), text, at: date }
}

/** One result of a poll. A result with issues cannot be stored. */
interface PollItem {
  readonly batchNo: number
  readonly reference: string
  readonly issues: readonly Issue[] | null
}

/** The single results of the polls, so that each can be written alone where one of them fails the transaction. */
function pollItems(polls: readonly PollResult[]): PollItem[] {
  return polls.flatMap((poll) => {
    if (poll.kind !== 'complete') return []
    const references = new Set(poll.found.results.map(({ reference }) => reference ?? ''))
    return [...references].map((reference) => ({
      ...{ batchNo: poll.batch.batchNo, reference, issues: null },
    }))
  })
}

/** The polls with only these results; results with issues are refused. */
function withPollItems(polls: readonly PollResult[], items: readonly PollItem[]): PollResult[] {
  return polls.map((poll) => {
    if (poll.kind !== 'complete') return poll
    const ofBatch = items.filter(({ batchNo }) => batchNo === poll.batch.batchNo)
    const good = new Set(ofBatch.flatMap(({ reference, issues }) => (issues ? [] : [reference])))
    const refused = ofBatch.flatMap(({ reference, issues }) =>
      issues ? [[reference, issues.map(({ message }) => message).join('; ')] as const] : [],
    )
    const results = poll.found.results.filter(({ reference }) => good.has(reference ?? ''))
    return { ...poll, found: { ...poll.found, results }, refused: new Map(refused) }
  })
}

/** Writes the results of the polls, and returns whether any batch is still in progress. */
async function writePollResults(tx: Tx, job: SliceJob, polls: readonly PollResult[]) {
  const counts = { hydrated: 0, inserted: 0, updated: 0, unchanged: 0 }
  await takeOverBatches(
    tx,
    job,
    polls.map(({ batch }) => batch),
  )
  let inProgress = false
  for (const poll of polls) {
    const { batchNo } = poll.batch
    switch (poll.kind) {
      case 'gone':
        await endBatch(tx, batchNo, 'lost', poll.reason)
        break
      case 'underway':
        if (!(await recordProgress(tx, job, batchNo, poll))) inProgress = true
        break
      case 'complete':
        for (const { outcome } of await writeComplete(tx, job, poll)) {
          counts.hydrated += 1
          counts[outcome] += 1
        }
    }
  }
  return { counts, inProgress }
}

/** Writes a complete batch: price observations, outcomes of the units, warnings and the payload. */
async function writeComplete(
  tx: Tx,
  job: SliceJob,
  poll: Extract<PollResult, { kind: 'complete' }>,
): Promise<readonly BatchLoaded[]> {
  const { rooftop, run } = job
  const { batch, found, at, fetchedAt, refused = new Map<string, string>() } = poll
  const { batchNo } = batch
  const all = matchResults(await readBatchUnits(tx.db, batchNo), found.results)
  const [unstored, missing] = partition(all.missing, ({ stockNo }) => refused.has(stockNo))
  const matched = { ...all, missing }
  const unchanged = await sameVehicles(tx, job, matched)
  const answers = matched.answers
    .filter(({ unit }) => unchanged.has(unit.stockNo))
    .map((answer) => ({ ...answer, at }))
  const loaded = await observeStockPrices(tx.db, rooftop, answers, run.runId)
  const loadedUnits = answers.map(({ unit }, index) => ({ unit, ...loaded[index]! }))
  const failed = unstored.map(({ stockNo }): [string, UnitOutcome] => [stockNo, 'failed'])
  await recordOutcomes(tx, batchNo, new Map([...unitOutcomes(matched, loadedUnits), ...failed]))
  const stockNumbers = [...answers, ...unmatched(matched)].map(({ unit }) => unit.stockNo)
  const unstoredWarnings = unstored.map(({ stockNo }) => ({
    ...{ naturalKey: stockNo, check: 'cannot-be-stored', detail: refused.get(stockNo)! },
  }))
  await reportUnits(
    tx,
    job,
    [...stockNumbers, ...unstored.map(({ stockNo }) => stockNo)],
    [...batchWarnings(matched, loadedUnits, batchNo), ...unstoredWarnings],
  )
  await reportUnknown(tx, job, batchNo, matched.unknown)
  const text = storableList(found.text)
  const payload = { naturalKey: String(batchNo), text, hash: bodyHash(text), fetchedAt }
  await savePayloads(tx, submitPriceBatch.name, rooftop, run.runId, [payload])
  await completeBatch(tx, batchNo)
  return loaded
}

/** Units whose stock number still belongs to the vehicle that was sent; a row lock holds this until the commit. */
async function sameVehicles(
  { db }: Tx,
  { rooftop }: SliceJob,
  { answers }: Matched,
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ stock_no: string }>`
    select unit.stock_no from core.stock_unit as unit
    join unnest(${answers.map(({ unit }) => unit.stockNo)}::text[], ${answers.map(({ unit }) => unit.vin)}::text[])
      as asked (stock_no, vin) on unit.stock_no = asked.stock_no
    where unit.rooftop_id = ${rooftop.id} and unit.vin is not distinct from asked.vin
    order by unit.stock_no for share of unit`.execute(db)
  return new Set(rows.map(({ stock_no }) => stock_no))
}

type LoadedUnit = BatchLoaded & { readonly unit: BatchUnit }

function unmatched({ missing, duplicate }: Matched) {
  return [
    ...missing.map((unit) => ({ unit, outcome: 'missing' as const })),
    ...duplicate.map((unit) => ({ unit, outcome: 'duplicate' as const })),
  ]
}

function unitOutcomes(
  matched: Matched,
  loadedUnits: readonly LoadedUnit[],
): Map<string, UnitOutcome> {
  return new Map([
    ...loadedUnits.map(({ unit, priced }): [string, UnitOutcome] => [unit.stockNo, priced]),
    ...unmatched(matched).map(({ unit, outcome }): [string, UnitOutcome] => [
      unit.stockNo,
      outcome,
    ]),
  ])
}

const unmatchedWarnings = {
  missing: { check: 'missing-in-results', text: 'has no result for it' },
  duplicate: { check: 'twice-in-results', text: 'has several results for it; none was stored' },
} as const

function batchWarnings(
  matched: Matched,
  loadedUnits: readonly LoadedUnit[],
  batchNo: number,
): Warning[] {
  return [
    ...loadedUnits.flatMap(({ unit, warnings }) =>
      warnings.map((warning) => ({ naturalKey: unit.stockNo, ...warning })),
    ),
    ...unmatched(matched).map(({ unit, outcome }) => {
      const { check, text } = unmatchedWarnings[outcome]
      return { naturalKey: unit.stockNo, check, detail: `batch ${batchNo} ${text}` }
    }),
  ]
}
