import { sql } from 'kysely'
import type { SliceJob } from '../../sync/run/stream.ts'
import { storable } from '../../values/text.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import type { Db, Tx } from '../../warehouse/db/transaction.ts'
import type { BatchUnit } from './batch.ts'

// ops.price_batch records each batch that was sent, and its result. Its times are by the warehouse's clock.

/** A batch that the service has accepted. Next: complete, stuck (no progress), or lost (the service no longer knows it). */
export interface SubmittedBatch {
  readonly state: 'submitted'
  readonly batchNo: number
  readonly batchId: string
  readonly units: number
}

/** A batch that has not ended. `submitting`: recorded, and whether it was sent is not known. Next: submitted, refused or lost; a
 *  lost one is submitted when its answer comes after all. */
export type OpenBatch =
  | SubmittedBatch
  | (Omit<SubmittedBatch, 'state' | 'batchId'> & { readonly state: 'submitting' })

/** Counts of a run's batches so far. */
export interface RunBatches {
  /** Whether the run has sent any. */
  readonly any: boolean
  /** Sent, but no answer says whether the service accepted them. */
  readonly lost: number
  /** Refused for another reason than their size. */
  readonly refused: number
}

/** Locks the rooftop's batches, so that no unit is in two; waits while another process puts one together. */
export async function lockBatches({ db }: Tx, { rooftop }: SliceJob): Promise<void> {
  await sql`select ${lockSql.wait('batch', rooftop.id)}`.execute(db)
}

/** All batches of the rooftop that have not ended, also those of earlier runs. */
export async function openBatches(db: Db, { rooftop }: SliceJob): Promise<OpenBatch[]> {
  const { rows } = await sql<OpenBatch>`
    select state, batch_no as "batchNo", batch_id as "batchId", units from ops.price_batch
    where rooftop_id = ${rooftop.id} and finished_at is null order by batch_no`.execute(db)
  return rows
}

function ofRun({ run, rooftop }: SliceJob) {
  return sql`rooftop_id = ${rooftop.id} and run_id = ${run.runId}`
}

/** Assigns batches that an earlier run left open to this run. */
export async function takeOverBatches(
  { db }: Tx,
  { run }: SliceJob,
  batches: readonly OpenBatch[],
): Promise<void> {
  await sql`
    update ops.price_batch set run_id = ${run.runId}
    where batch_no = any(${batches.map(({ batchNo }) => batchNo)}::bigint[]) and run_id <> ${run.runId}`.execute(
    db,
  )
}

/** Counts the batches of the run. */
export async function readRunBatches(db: Db, job: SliceJob): Promise<RunBatches> {
  const { rows } = await sql<RunBatches>`
    select count(*) > 0 as any,
      count(*) filter (where state = 'lost' and batch_id is null)::int as lost,
      count(*) filter (where state = 'refused' and detail is not null)::int as refused
    from ops.price_batch where ${ofRun(job)}`.execute(db)
  return rows[0]!
}

/** Records a batch that is about to be sent. */
export async function recordBatch(
  { db }: Tx,
  { run, rooftop }: SliceJob,
  units: readonly BatchUnit[],
): Promise<number> {
  const { rows } = await sql<{ batchNo: number }>`
    insert into ops.price_batch (rooftop_id, run_id, state, units, submitted_at, progressed_at)
    values (${rooftop.id}, ${run.runId}, 'submitting', ${units.length}, now(), now())
    returning batch_no as "batchNo"`.execute(db)
  const { batchNo } = rows[0]!
  await sql`
    insert into ops.price_batch_unit (batch_no, stock_no, vin, adcode, odometer_km)
    select ${batchNo}, unit.* from unnest(${units.map(({ stockNo }) => stockNo)}::text[], ${units.map(({ vin }) => vin)}::text[],
      ${units.map(({ adcode }) => adcode)}::text[], ${units.map(({ odometerKm }) => odometerKm)}::int[]) as unit`.execute(
    db,
  )
  return batchNo
}

/** Records that the service accepted a batch, even if another process has marked it lost meanwhile. */
export async function recordAccepted(db: Db, batchNo: number, batchId: string): Promise<void> {
  await sql`
    update ops.price_batch
    set state = 'submitted', batch_id = ${batchId}, percent = 0, progressed_at = now(), finished_at = null, detail = null
    where batch_no = ${batchNo} and state in ('submitting', 'lost') and batch_id is null`.execute(
    db,
  )
}

/** Ends a batch that has no results. detail null: it was too large, and its units are sent again in smaller batches. */
export async function endBatch(
  { db }: Tx,
  batchNo: number,
  state: 'refused' | 'lost',
  detail: string | null,
): Promise<void> {
  await sql`
    update ops.price_batch set state = ${state}, finished_at = now(), detail = ${detail === null ? null : storable(detail).slice(0, 400).toWellFormed()}
    where batch_no = ${batchNo} and finished_at is null`.execute(db)
}

/** How long a batch may make no progress. The document names no time limit: it may take as long as it makes some. */
const maxStallSeconds = 600

/** Records the progress of a batch. True when it made no progress for too long and was ended as stuck. */
export async function recordProgress(
  { db }: Tx,
  { run }: SliceJob,
  batchNo: number,
  { percent, fault }: { readonly percent: number | null; readonly fault: string | null },
): Promise<boolean> {
  const bounded = percent === null ? null : Math.min(100, Math.max(0, percent))
  await sql`
    update ops.price_batch set percent = ${bounded}, progressed_at = now()
    where batch_no = ${batchNo} and ${bounded}::numeric > coalesce(percent, 0)`.execute(db)
  const why = fault === null ? '' : `; last fault: ${fault}`
  // No process polled a batch between the run that sent it and this run, so the time counts from this run's start.
  const { numAffectedRows } = await sql`
    update ops.price_batch set state = 'stuck', finished_at = now(),
      detail = left('no progress for ' || ${maxStallSeconds / 60}::text || ' minutes at ' || trim_scale(coalesce(percent, 0))::text || ' percent' || ${storable(why)}::text, 400)
    where batch_no = ${batchNo} and finished_at is null
      and greatest(progressed_at, ${run.startedAt}) < now() - make_interval(secs => ${maxStallSeconds})`.execute(
    db,
  )
  return numAffectedRows === 1n
}

/** The units as they were sent, since the stock may have changed. */
export async function readBatchUnits(db: Db, batchNo: number): Promise<BatchUnit[]> {
  return await db
    .selectFrom('ops.price_batch_unit')
    .select(['stock_no as stockNo', 'vin', 'adcode', 'odometer_km as odometerKm'])
    .where('batch_no', '=', batchNo)
    .orderBy('stock_no')
    .execute()
}

/** priced and failed come from the service; missing and duplicate from matching its results. */
export type UnitOutcome = 'priced' | 'failed' | 'missing' | 'duplicate'

/** Records the outcome of units, by stock number. */
export async function recordOutcomes(
  { db }: Tx,
  batchNo: number,
  outcomes: ReadonlyMap<string, UnitOutcome>,
): Promise<void> {
  await sql`
    update ops.price_batch_unit as unit set outcome = result.outcome
    from unnest(${[...outcomes.keys()]}::text[], ${[...outcomes.values()]}::text[]) as result (stock_no, outcome)
    where unit.batch_no = ${batchNo} and unit.stock_no = result.stock_no`.execute(db)
}

/** Ends a batch whose results are written. */
export async function completeBatch({ db }: Tx, batchNo: number): Promise<void> {
  await sql`
    update ops.price_batch set state = 'complete', percent = 100, progressed_at = now(), finished_at = now(), detail = null
    where batch_no = ${batchNo}`.execute(db)
}

/** After this time a learned size is tested again, since a service's limit may rise. */
const sizeValidDays = 7

/** The size of the next batch: the learned size, or twice that once it is a week old; at most the size in the config. */
export async function readBatchSize(db: Db, { rooftop, context }: SliceJob): Promise<number> {
  const { rows } = await sql<{ size: number; isOld: boolean }>`
    select size, learned_at <= now() - make_interval(days => ${sizeValidDays}) as "isOld"
    from ops.price_batch_size where rooftop_id = ${rooftop.id}`.execute(db)
  const known = rows[0]
  const most = known === undefined ? Infinity : known.isOld ? known.size * 2 : known.size
  return Math.min(most, context.config.prices.batchSize)
}

/** Lowers the batch size after a refusal: to half of the refused size, or to the known good size, for a week. */
export async function lowerBatchSize(
  { db }: Tx,
  { rooftop }: SliceJob,
  refused: number,
): Promise<void> {
  const half = Math.max(1, Math.floor(refused / 2))
  await sql`
    insert into ops.price_batch_size as known (rooftop_id, size) values (${rooftop.id}, ${half})
    on conflict (rooftop_id) do update
    set size = case when known.size < ${refused} then known.size else excluded.size end, learned_at = now()`.execute(
    db,
  )
}

/** Raises the batch size to what was accepted. The time of learning does not change, so that the next batch tries twice as many. */
export async function raiseBatchSize(db: Db, { rooftop }: SliceJob, taken: number): Promise<void> {
  await sql`
    update ops.price_batch_size set size = ${taken}
    where rooftop_id = ${rooftop.id} and size < ${taken}`.execute(db)
}

/** What is missing from the run's batches, one sentence each; empty when nothing is. */
export async function readRunFaults(db: Db, job: SliceJob): Promise<string[]> {
  const { rows } = await sql<{ batchNo: number; state: string; units: number; detail: string }>`
    select batch_no as "batchNo", state, units, detail from ops.price_batch
    where ${ofRun(job)} and state in ('refused', 'lost', 'stuck') and detail is not null order by batch_no`.execute(
    db,
  )
  const outcomes = await sql<{ missing: number; duplicate: number }>`
    select count(*) filter (where outcome = 'missing')::int as missing, count(*) filter (where outcome = 'duplicate')::int as duplicate
    from ops.price_batch_unit where batch_no in (select batch_no from ops.price_batch where ${ofRun(job)})`.execute(
    db,
  )
  const { missing, duplicate } = outcomes.rows[0]!
  return [
    ...rows.map(
      ({ batchNo, state, units, detail }) =>
        `batch ${batchNo} of ${units} vehicles is ${state}: ${detail}`,
    ),
    ...(missing > 0 ? [`${missing} vehicles are missing in the results`] : []),
    ...(duplicate > 0 ? [`${duplicate} vehicles are in the results more than once`] : []),
  ]
}
