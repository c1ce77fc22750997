import { sql } from 'kysely'
import type { Db } from './transaction.ts'

/** SQL for the source's time without asking it: ours, and the difference that the newest run measured. */
export const sourceNow = sql<Date>`(now() + coalesce(
  (select source_started_at - started_at from ops.run
   where arguments ->> 'mode' <> 'replay' order by run_id desc limit 1), '0'))`

/** The same as a value. */
export async function readSourceNow(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select ${sourceNow} as now`.execute(db)
  return rows[0]!.now
}
