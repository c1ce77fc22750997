import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import type { Sample } from './gauges.ts'

/** Metrics of the webhook inbox: deliveries whose evaluation is not read again yet. */
export async function webhookSamples(db: Db): Promise<Sample[]> {
  const { rows } = await sql<{ waiting: number; oldest: number }>`
    select count(*)::int as waiting,
      coalesce(extract(epoch from now() - min(received_at)), 0)::float8 as oldest
    from ops.webhook_delivery
    where state = 'waiting'`.execute(db)
  const { waiting, oldest } = rows[0]!
  return [
    { gauge: 'forecourt_webhook_deliveries_waiting', value: waiting },
    { gauge: 'forecourt_webhook_oldest_waiting_seconds', value: oldest },
  ]
}
