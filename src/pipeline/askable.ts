import type { EnrichmentStream } from '../streams/enrichment-stream.ts'
import type { SliceJob } from './slice.ts'

/** Whether the source has ever answered for the rooftop. */
export async function hasAnswered({
  context,
  stream,
  rooftop,
}: SliceJob<EnrichmentStream>): Promise<boolean> {
  const row = await context.db
    .selectFrom('ops.enrichment_state')
    .select('eval_id')
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .where('outcome', '=', 'answered')
    .where('last_asked_at', '>', new Date(0))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Rooftops of the group that this run asks for as well, and that answered last time: one that cannot be asked keeps nobody
 *  else from asking. */
export async function askableRooftops({
  context,
  run,
  stream,
  rooftop,
  siblings,
}: SliceJob<EnrichmentStream>): Promise<number[]> {
  const served = siblings.filter((one) => stream.serves(one)).map(({ id }) => id)
  const { rows } = await context.pool.query<{ rooftop_id: number }>(
    `select rooftop_id from ops.run_stream as part
     where run_id = $1 and stream = $2 and rooftop_id = any($3) and status not in ('failed', 'parked')
       and coalesce((
         select last.status from ops.run_stream as last
         where last.rooftop_id = part.rooftop_id and last.stream = $2 and last.run_id < $1 and last.finished_at is not null
         order by last.run_id desc limit 1), 'ok') not in ('failed', 'parked')`,
    [run.runId, stream.name, served],
  )
  return [...new Set([rooftop.id, ...rows.map(({ rooftop_id }) => rooftop_id)])]
}
