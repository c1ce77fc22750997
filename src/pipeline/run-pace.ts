import type { Tx } from '../db/transaction.ts'
import type { Counts } from './run-ledger.ts'

/** Adds a slice to its run's current minute, in the slice's transaction, and deletes minutes older than an hour. The fence has
 *  already locked the run's row, so this adds no wait. */
export async function recordPace(
  { client }: Tx,
  runId: number,
  { windows, inserted, updated }: Pick<Counts, 'windows' | 'inserted' | 'updated'>,
): Promise<void> {
  await client.query(
    `with deleted as (delete from ops.run_pace where run_id = $1 and minute_at < now() - interval '1 hour')
     insert into ops.run_pace as pace (run_id, minute_at, windows, loaded)
     values ($1, date_trunc('minute', clock_timestamp()), $2, $3)
     on conflict (run_id, minute_at)
     do update set windows = pace.windows + excluded.windows, loaded = pace.loaded + excluded.loaded`,
    [runId, windows, inserted + updated],
  )
}
