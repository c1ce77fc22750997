import { MissingField } from '../contract/operation.ts'
import type { Tx } from '../db/transaction.ts'
import { messageOf, SyncError } from '../errors.ts'
import type { BatchLoaded, BatchProgress, BatchStream, BatchUnit } from '../streams/batch-stream.ts'
import type { Issue } from '../streams/record.ts'
import { bodyHash } from '../values/content-hash.ts'
import {
  takeOverBatches,
  completeBatch,
  endBatch,
  recordOutcomes,
  recordProgress,
  type OpenBatch,
  type UnitOutcome,
  readBatchUnits,
} from './batch-ledger.ts'
import { isKeyRefused } from './batch-look-ups.ts'
import { type Matched, matchResults } from './batch-match.ts'
import { reportUnits, reportUnknown } from './batch-reports.ts'
import type { Counts } from './run-ledger.ts'
import { savePayloads, storableList } from './load-records.ts'
import { type SliceJob, sourcesOf } from './slice.ts'
import type { Warning } from './data-quality.ts'

type Job = SliceJob<BatchStream>
type Submitted = OpenBatch & { readonly batchId: string }
type Complete = BatchProgress & { readonly results: NonNullable<BatchProgress['results']> }

/** A batch as it was found; `gone`: the service does not know it any more. */
export type PollResult = { readonly batch: Submitted } & (
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

/** Asks how far the batches are. Rejects with SyncError when the key is refused: they stay open for the next run. */
export async function pollBatches(job: Job, batches: readonly OpenBatch[]): Promise<PollResult[]> {
  const submitted = batches.filter((batch): batch is Submitted => batch.batchId !== null)
  return await Promise.all(submitted.map((batch) => lookAtOne(job, batch)))
}

async function lookAtOne(job: Job, batch: Submitted): Promise<PollResult> {
  const { context, stream, traffic } = job
  const options = { signal: context.signal, onAttempt: traffic.onAttempt }
  try {
    const found = await stream.poll(sourcesOf(context), batch, options)
    const { results, percent } = found
    if (results === null) return { batch, kind: 'underway', percent, fault: null }
    const at = found.at ?? context.appraisal.clock.now()
    return { batch, kind: 'complete', found: { ...found, results }, at, fetchedAt: new Date() }
  } catch (error) {
    if (error instanceof MissingField)
      return { batch, kind: 'underway', percent: null, fault: `the answer ${error.message}` }
    if (!(error instanceof SyncError) || isKeyRefused(error)) throw error
    if (error.status === 404) return { batch, kind: 'gone', reason: messageOf(error) }
    return { batch, kind: 'underway', percent: null, fault: messageOf(error) }
  }
}

/** A result of one of the looks; with issues it cannot be stored. */
export interface PollItem {
  readonly batchNo: number
  readonly reference: string
  readonly issues: readonly Issue[] | null
}

/** The results of the looks, to be written each by itself if need be. */
export function pollItems(looks: readonly PollResult[]): PollItem[] {
  return looks.flatMap((look) => {
    if (look.kind !== 'complete') return []
    const references = new Set(look.found.results.map(({ reference }) => reference ?? ''))
    return [...references].map((reference) => ({
      ...{ batchNo: look.batch.batchNo, reference, issues: null },
    }))
  })
}

/** The looks with these results alone, those with issues refused. */
export function withPollItems(
  looks: readonly PollResult[],
  items: readonly PollItem[],
): PollResult[] {
  return looks.map((look) => {
    if (look.kind !== 'complete') return look
    const own = items.filter(({ batchNo }) => batchNo === look.batch.batchNo)
    const good = new Set(own.flatMap(({ reference, issues }) => (issues ? [] : [reference])))
    const refused = own.flatMap(({ reference, issues }) =>
      issues ? [[reference, issues.map(({ message }) => message).join('; ')] as const] : [],
    )
    const results = look.found.results.filter(({ reference }) => good.has(reference ?? ''))
    return { ...look, found: { ...look.found, results }, refused: new Map(refused) }
  })
}

/** Writes what the looks have brought, and tells whether any batch goes on. */
export async function writePollResults(
  tx: Tx,
  job: Job,
  looks: readonly PollResult[],
): Promise<{ readonly counts: Partial<Counts>; readonly goesOn: boolean }> {
  const counts = { hydrated: 0, inserted: 0, updated: 0, unchanged: 0 }
  await takeOverBatches(
    tx,
    job,
    looks.map(({ batch }) => batch),
  )
  let goesOn = false
  for (const look of looks) {
    const { batchNo } = look.batch
    if (look.kind === 'gone') await endBatch(tx, batchNo, 'lost', look.reason)
    else if (look.kind === 'underway') {
      const isStuck = await recordProgress(tx, job, batchNo, look)
      goesOn ||= !isStuck
    } else
      for (const { outcome } of await settle(tx, job, look)) {
        counts.hydrated += 1
        counts[outcome] += 1
      }
  }
  return { counts, goesOn }
}

/** Brings a complete batch to its end: results to their units, observations, outcomes, reports and the payload. */
async function settle(
  tx: Tx,
  job: Job,
  look: Extract<PollResult, { kind: 'complete' }>,
): Promise<readonly BatchLoaded[]> {
  const { stream, rooftop, run } = job
  const { batch, found, at, fetchedAt, refused = new Map<string, string>() } = look
  const { batchNo } = batch
  const all = matchResults(await readBatchUnits(tx.db, batchNo), found.results)
  const [unstored, missing] = divide(all.missing, ({ stockNo }) => refused.has(stockNo))
  const matched = { ...all, missing }
  const same = await sameVehicles(tx, job, matched)
  const answers = matched.answers
    .filter(({ unit }) => same.has(unit.stockNo))
    .map((answer) => ({ ...answer, at }))
  const loaded = await stream.load(tx.db, rooftop, answers, run.runId)
  const told = answers.map(({ unit }, index) => ({ unit, ...loaded[index]! }))
  const failed = unstored.map(({ stockNo }): [string, UnitOutcome] => [stockNo, 'failed'])
  await recordOutcomes(tx, batchNo, new Map([...outcomesOf(matched, told), ...failed]))
  const asked = [...answers, ...unmatched(matched)].map(({ unit }) => unit.stockNo)
  const unstoredWarnings = unstored.map(({ stockNo }) => ({
    ...{ naturalKey: stockNo, check: 'cannot-be-stored', detail: refused.get(stockNo)! },
  }))
  await reportUnits(
    tx,
    job,
    [...asked, ...unstored.map(({ stockNo }) => stockNo)],
    [...warningsOf(matched, told, batchNo), ...unstoredWarnings],
  )
  await reportUnknown(tx, job, batchNo, matched.unknown)
  const text = storableList(found.text)
  const payload = { naturalKey: String(batchNo), text, hash: bodyHash(text), fetchedAt }
  await savePayloads(tx, stream.endpoint, rooftop, run.runId, [payload])
  await completeBatch(tx, batchNo)
  return loaded
}

/** Units whose stock number still means the vehicle that was asked about; the lock keeps it so until the commit. */
async function sameVehicles(
  { client }: Tx,
  { rooftop }: Job,
  { answers }: Matched,
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ stock_no: string }>(
    `select unit.stock_no from core.stock_unit as unit
     join unnest($2::text[], $3::text[]) as asked (stock_no, vin) on unit.stock_no = asked.stock_no
     where unit.rooftop_id = $1 and unit.vin is not distinct from asked.vin
     order by unit.stock_no for share of unit`,
    [rooftop.id, answers.map(({ unit }) => unit.stockNo), answers.map(({ unit }) => unit.vin)],
  )
  return new Set(rows.map(({ stock_no }) => stock_no))
}

type Told = BatchLoaded & { readonly unit: BatchUnit }

function unmatched({ missing, duplicate }: Matched) {
  return [
    ...missing.map((unit) => ({ unit, outcome: 'missing' as const })),
    ...duplicate.map((unit) => ({ unit, outcome: 'duplicate' as const })),
  ]
}

function outcomesOf(matched: Matched, told: readonly Told[]): Map<string, UnitOutcome> {
  return new Map([
    ...told.map(({ unit, priced }): [string, UnitOutcome] => [unit.stockNo, priced]),
    ...unmatched(matched).map(({ unit, outcome }): [string, UnitOutcome] => [
      unit.stockNo,
      outcome,
    ]),
  ])
}

const unmatchedWarnings = {
  missing: { check: 'missing-in-results', says: 'has no result for it' },
  duplicate: { check: 'twice-in-results', says: 'has several results for it: none was kept' },
} as const

function warningsOf(matched: Matched, told: readonly Told[], batchNo: number): Warning[] {
  return [
    ...told.flatMap(({ unit, warnings }) =>
      warnings.map((warning) => ({ naturalKey: unit.stockNo, ...warning })),
    ),
    ...unmatched(matched).map(({ unit, outcome }) => {
      const { check, says } = unmatchedWarnings[outcome]
      return { naturalKey: unit.stockNo, check, detail: `batch ${batchNo} ${says}` }
    }),
  ]
}

function divide<T>(list: readonly T[], test: (one: T) => boolean): [T[], T[]] {
  return [list.filter(test), list.filter((one) => !test(one))]
}
