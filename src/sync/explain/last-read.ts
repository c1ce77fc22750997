import { sql } from 'kysely'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'

// What has happened to a record: its last read, and the last run of its rooftop. Times are those of the source's clock.

/** The last read that left a trace. An unchanged record that is read again leaves none. */
export interface LastRead {
  readonly at: Date
  readonly runId: number
  readonly reason: 'new' | 'changed' | 'again' | 'backfill' | 'retry' | 'webhook' | 'reread'
  readonly outcome: string
}

export interface LastRun {
  readonly runId: number
  readonly command: string
  readonly status: string
  readonly finishedAt: Date | null
  readonly error: string | null
}

/** Reads that left a row. Our times are turned into the source's by the difference that their run measured. */
export async function readLastRead(
  db: Db,
  { name, endpoint }: WindowedRecords,
  { rooftopId, id }: { readonly rooftopId: number; readonly id: number },
): Promise<LastRead | null> {
  const key = String(id)
  const { rows } = await sql<{
    at: Date
    runId: number
    outcome: string
    isRetry: boolean
    isNew: boolean
    mode: string
  }>`
    with read_again (at, run_id, outcome, is_retry, is_new) as (
      select fetched_at, run_id, 'stored', false, not exists (
        select from core.evaluation as stored
        where stored.rooftop_id = payload.rooftop_id and eval_id = ${id} and first_loaded_at < fetched_at)
      from raw.payload as payload where rooftop_id = ${rooftopId} and endpoint = ${endpoint} and natural_key = ${key}
      union all
      select started_at, run_id, 'stored', false, version_no = 1 and first_loaded_at >= started_at
      from core.evaluation join ops.run using (run_id) where rooftop_id = ${rooftopId} and eval_id = ${id}
      union all
      select last_seen_at, run_id, 'quarantined', attempts > 1, not exists (
        select from core.evaluation as stored
        where stored.rooftop_id = ${rooftopId} and eval_id = ${id} and first_loaded_at < last_seen_at)
      from ops.quarantine where rooftop_id = ${rooftopId} and stream = ${name} and natural_key = ${key}
        and split_part(natural_key, '/', 1) = ${key}
      union all
      select processed_at, run_id, outcome, false, false
      from ops.webhook_delivery where rooftop_id = ${rooftopId} and eval_id = ${id} and state = 'processed'
      union all
      select started_at, run_id, 'vanished', false, false
      from ops.vanished as gone join ops.run using (run_id)
      where rooftop_id = ${rooftopId} and gone.stream = ${name} and natural_key = ${key} and reason = 'not found'
    )
    select read_again.at + (source_started_at - started_at) as at, run_id as "runId", outcome, is_retry as "isRetry",
      is_new as "isNew", arguments ->> 'mode' as mode
    from read_again join ops.run using (run_id)
    where arguments ->> 'mode' <> 'replay' order by read_again.at desc limit 1`.execute(db)
  const [found] = rows
  if (found === undefined) return null
  const { at, runId, outcome } = found
  return { at, runId, reason: readReason(found), outcome }
}

function readReason(read: {
  mode: string
  outcome: string
  isRetry: boolean
  isNew: boolean
}): LastRead['reason'] {
  if (read.mode === 'hints') return 'webhook'
  if (read.mode === 'retry' || read.isRetry) return 'retry'
  if (read.mode === 'backfill') return 'backfill'
  if (read.outcome === 'vanished') return 'reread'
  if (read.isNew) return 'new'
  // Nothing was stored that would show whether it had changed.
  return read.outcome === 'quarantined' ? 'again' : 'changed'
}

/** The newest sync or backfill of the rooftop; null: there was none. */
export async function readLastRun(
  db: Db,
  { name }: WindowedRecords,
  rooftopId: number,
): Promise<LastRun | null> {
  const { rows } = await sql<LastRun>`
    select run_id as "runId", command, part.status, part.finished_at + (source_started_at - started_at) as "finishedAt", error
    from ops.run_stream as part join ops.run using (run_id)
    where rooftop_id = ${rooftopId} and stream = ${name} and arguments ->> 'mode' in ('sync', 'backfill')
    order by run_id desc limit 1`.execute(db)
  return rows[0] ?? null
}
