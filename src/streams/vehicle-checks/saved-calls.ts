import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { EnrichmentSettings } from '../../pipeline/enrichment.ts'

/**
 * Calls that a run saved: all three asks for every evaluation that may have new checks, or whose vehicle has some, minus the
 * calls that were made. Saved are evaluations that are not due, vehicles that several evaluations share, watches that have ended
 * or that a listing covered, and links that are still valid.
 */
export async function savedCalls(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  stream: string,
  runStart: Date,
  { lookForNewDays }: EnrichmentSettings['checks'],
): Promise<number> {
  const { rows } = await sql<{ saved: number }>`
    select greatest(0, (
      select 3 * count(*) from core.evaluation as own
      where rooftop_id = ${rooftop.id} and length(vin) = 17 and gone_at is null and (
        coalesce(completed_at, created_at) >= ${runStart}::timestamptz - make_interval(days => ${lookForNewDays})
        or exists (
          select from core.vehicle_check as known where known.group_id = ${rooftop.groupId} and known.vin = upper(own.vin)
        )
      )
    ) - (
      select count(*) from ops.enrichment_state
      where rooftop_id = ${rooftop.id} and stream = ${stream} and last_asked_at >= ${runStart}
    ))::int as saved`.execute(db)
  return rows[0]!.saved
}
