import { type Kysely, sql } from 'kysely'
import { watchPpsr } from '../../api/contract/appraisal/checks.ts'
import { pastOperations } from '../../api/contract/appraisal/past-checks.ts'
import type { Tables } from '../../warehouse/db/tables.ts'

/** The stream's name: its key in `ops.enrichment_state`. */
export const vehicleChecksName = 'vehicle-checks'

/**
 * Makes the Car History reports of vehicles due in the next slice, after the status of their watch has changed. A report has the
 * status of the certificate that came with it, and no answer about the search holds it. Inside the transaction of the change.
 */
export async function relistReports(
  db: Kysely<Tables>,
  groupId: number,
  vins: readonly string[],
): Promise<void> {
  if (vins.length === 0) return
  const { rows } = await sql<{ vin: string }>`
    select distinct vin from core.vehicle_check left join core.ref_watch_status using (watch_status)
    where group_id = ${groupId} and vin = any(${[...vins]}::text[]) and check_kind = 'car_history'
      and certificate_number is not null and gone_at is null and not coalesce(is_terminal, false)`.execute(
    db,
  )
  await makeDue(
    db,
    pastOperations.car_history.name,
    groupId,
    rows.map(({ vin }) => vin),
  )
}

/** Makes an ask due at once for the vehicles, unless the run has asked already, whichever evaluation asks for them. */
export async function makeDue(
  db: Kysely<Tables>,
  ask: string,
  groupId: number,
  vins: readonly string[],
): Promise<void> {
  if (vins.length === 0) return
  await sql`
    insert into ops.enrichment_state
      (rooftop_id, stream, eval_id, ask, next_due_at, last_asked_at, outcome)
    select rooftop_id, ${vehicleChecksName}, eval_id, ${ask}, '-infinity'::timestamptz, '-infinity'::timestamptz, 'answered'
    from core.evaluation
    where group_id = ${groupId} and vehicle_vin = any(${[...vins]}::text[]) and gone_at is null
    order by rooftop_id, eval_id
    on conflict (rooftop_id, stream, eval_id, ask) do update set next_due_at = excluded.next_due_at`.execute(
    db,
  )
}

/** Less than a day: a night that begins up to an hour earlier than the last one finds its watches due again. */
const watchHours = 23

/**
 * Counts a listing of PPSR searches as a check of their watches: they are due again as if `/ppsrwatch` had been called in the
 * same run, whichever evaluation of the vehicle asks. A vehicle without a running watch gets no row.
 */
export async function countAsWatchCheck(
  db: Kysely<Tables>,
  groupId: number,
  vins: readonly string[],
  runId: number,
): Promise<void> {
  if (vins.length === 0) return
  await sql`
    insert into ops.enrichment_state as old
      (rooftop_id, stream, eval_id, ask, next_due_at, last_asked_at, outcome)
    select rooftop_id, ${vehicleChecksName}, eval_id, ${watchPpsr.name},
      run.source_started_at + make_interval(hours => ${watchHours}), '-infinity'::timestamptz, 'answered'
    from core.evaluation as known join ops.run as run on run.run_id = ${runId}
    where known.group_id = ${groupId} and vehicle_vin = any(${[...vins]}::text[]) and known.gone_at is null and exists (
      select from core.vehicle_check as search left join core.ref_watch_status using (watch_status)
      where search.group_id = known.group_id and search.vin = known.vehicle_vin and check_kind = 'ppsr'
        and search.gone_at is null and not coalesce(is_terminal, false) and watch_ends_at > run.source_started_at)
    order by rooftop_id, eval_id
    on conflict (rooftop_id, stream, eval_id, ask) do update
      set next_due_at = greatest(old.next_due_at, excluded.next_due_at)`.execute(db)
}
