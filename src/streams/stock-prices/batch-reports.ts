import { sql } from 'kysely'
import { recordWarnings, type Warning } from '../../sync/records/data-quality.ts'
import type { SliceJob } from '../../sync/run/stream.ts'
import { storable } from '../../values/text.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'
import type { SkippedUnit } from './batch.ts'

// What batches report in ops.data_quality.

const unknownReference = 'unknown-reference'
/** Per batch, at most. A result list with more is wrong as a whole, and its payload is stored. */
const maxUnknown = 100
/** Reported again at the end of every run. */
const unpricedChecks = ['cannot-be-priced', 'not-priced']

/** Replaces the warnings of the units that were sent. */
export async function reportUnits(
  tx: Tx,
  { stream, rooftop, run }: SliceJob,
  stockNumbers: readonly string[],
  warnings: readonly Warning[],
): Promise<void> {
  const scope = { stream: stream.name, runId: run.runId }
  await recordWarnings(tx, scope, rooftop, stockNumbers, warnings)
}

/** Reports references that were not in the batch. Deletes those of earlier runs. */
export async function reportUnknown(
  { db }: Tx,
  { stream, rooftop, run }: SliceJob,
  batchNo: number,
  references: readonly string[],
): Promise<void> {
  await sql`delete from ops.data_quality where rooftop_id = ${rooftop.id} and stream = ${stream.name}
    and check_name = ${unknownReference} and run_id <> ${run.runId}`.execute(db)
  const shown = references.slice(0, maxUnknown)
  const keys = new Set(shown.map((reference) => storable(reference).slice(0, 80)))
  for (const key of keys)
    await sql`
      insert into ops.data_quality (rooftop_id, stream, natural_key, check_name, detail, run_id)
      values (${rooftop.id}, ${stream.name}, ${key.toWellFormed()}, ${unknownReference}, ${unknownDetail(key, batchNo)}, ${run.runId})
      on conflict do nothing`.execute(db)
}

/** The warning text for an unknown reference. */
function unknownDetail(key: string, batchNo: number): string {
  return key === ''
    ? `batch ${batchNo} has results without a reference`
    : `batch ${batchNo} has a result for it, and did not ask about it`
}

/** How many references in this run's results were not in its batches. */
export async function countUnknown(
  { db }: Tx,
  { stream, rooftop, run }: SliceJob,
): Promise<number> {
  const row = await db
    .selectFrom('ops.data_quality')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .where('check_name', '=', unknownReference)
    .where('run_id', '=', run.runId)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** Reports why units are not priced; an unchanged reason writes nothing. Deletes warnings of units that are no longer in stock. */
export async function reportUnpriced(
  { db }: Tx,
  { stream, rooftop, run }: SliceJob,
  units: readonly SkippedUnit[],
): Promise<void> {
  const values = units.map(({ naturalKey, check, detail }) => ({ naturalKey, check, detail }))
  await sql`
    with reported as (select * from jsonb_to_recordset(${JSON.stringify(values)}::jsonb) as (
      "naturalKey" text, "check" text, detail text)
    ), gone as (
      delete from ops.data_quality as old
      where rooftop_id = ${rooftop.id} and stream = ${stream.name} and check_name <> ${unknownReference} and case
        when check_name = any(${unpricedChecks}::text[])
        then (old.natural_key, old.check_name) not in (select "naturalKey", "check" from reported)
        else not exists (select from core.stock_unit as unit where unit.rooftop_id = old.rooftop_id
          and unit.stock_no = old.natural_key and unit.off_stock_at is null) end
    )
    insert into ops.data_quality as old (rooftop_id, stream, natural_key, check_name, detail, run_id)
    select ${rooftop.id}, ${stream.name}, "naturalKey", "check", left(detail, 300), ${run.runId} from reported
    on conflict (rooftop_id, stream, natural_key, check_name) do update
    set detail = excluded.detail, run_id = excluded.run_id, seen_at = now() where old.detail <> excluded.detail`.execute(
    db,
  )
}
