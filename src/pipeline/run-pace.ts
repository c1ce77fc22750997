import type { Tx } from '../db/transaction.ts'
import type { Counts } from './run-ledger.ts'

/** Adds a slice to its run's minute, in the slice's transaction, and forgets what is older than an hour. The run's row is locked
 *  by the fence already, so that nobody waits here for another. */
export async function recordPace(
  { client }: Tx,
  runId: number,
  { windows, inserted, updated }: Pick<Counts, 'windows' | 'inserted' | 'updated'>,
): Promise<void> {
  await client.query(
    `with forgotten as (delete from ops.run_pace where run_id = $1 and minute_at < now() - interval '1 hour')
     insert into ops.run_pace as pace (run_id, minute_at, windows, loaded)
     values ($1, date_trunc('minute', clock_timestamp()), $2, $3)
     on conflict (run_id, minute_at)
     do update set windows = pace.windows + excluded.windows, loaded = pace.loaded + excluded.loaded`,
    [runId, windows, inserted + updated],
  )
}
