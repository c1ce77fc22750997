import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import type { SliceJob } from './slice.ts'

/** Whether work may run now, must wait, or is no longer needed. */
export type Readiness =
  | { readonly kind: 'now' }
  /** The run has ended, so its work is dropped. */
  | { readonly kind: 'never' }
  | { readonly kind: 'later'; readonly seconds: number }

/** Returns to the queue per second, for any number of waiting rooftops. */
const checksPerSecond = 20

/**
 * Whether the run's earlier streams have ended: for the rooftop, or for its whole group where the stream follows them in the
 * group. Without a dealer id a list covers the group, so then all streams must have ended for the whole group. The more work
 * waits, the later each piece is checked again.
 */
export async function checkDependencies(
  db: Db,
  { run, stream, rooftop, siblings }: Pick<SliceJob, 'run' | 'stream' | 'rooftop' | 'siblings'>,
): Promise<Readiness> {
  const group = siblings.map(({ id }) => id)
  const concerned = rooftop.dealerId === null ? group : [rooftop.id]
  const followed = stream.kind === 'enrichment' ? stream.followsInGroup : []
  const { rows } = await sql<{ isRunning: boolean; before: number; waiting: number }>`
    with planned as (
      select stream, rank from ops.run, jsonb_array_elements_text(arguments -> 'streams')
        with ordinality as entry (stream, rank) where run_id = ${run.runId}
    ), open as (
      select rooftop_id, stream from ops.run_stream
      where run_id = ${run.runId} and status in ('waiting', 'running')
    )
    select (select status = 'running' from ops.run where run_id = ${run.runId}) as "isRunning",
      (select count(*)::int from open join planned using (stream)
        where (rooftop_id = any(${concerned}::int[])
            or rooftop_id = any(${group}::int[]) and stream = any(${[...followed]}::text[]))
          and rank < (select rank from planned where stream = ${stream.name})) as before,
      (select count(*)::int from open where stream = ${stream.name}) as waiting`.execute(db)
  const { isRunning, before, waiting } = rows[0]!
  if (!isRunning) return { kind: 'never' }
  if (before === 0) return { kind: 'now' }
  return { kind: 'later', seconds: Math.min(60, Math.max(0.5, waiting / checksPerSecond)) }
}
