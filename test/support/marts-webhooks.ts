import type pg from 'pg'

/** A subscription and a delivery at the first rooftop: what webhooks bring is tested with a server of its own. */
export async function plantWebhook(pool: pg.Pool): Promise<void> {
  await pool.query(`
    insert into ops.webhook_subscription (rooftop_id, event, subscription_id, url, header_hash, since)
    select min(rooftop_id), 'ON_COMPLETE', 1, 'https://hooks.example/webhooks', decode(repeat('00', 32), 'hex'), now()
    from core.rooftop`)
  await pool.query(`
    insert into ops.webhook_delivery (event, rooftop_id, eval_id, body_hash, state, source_event_at, source_updated_at,
      source_received_at, received_at, run_id, outcome, processed_at)
    select 'ON_COMPLETE', rooftop_id, eval_id, decode(repeat('11', 32), 'hex'), 'processed', completed_at, source_updated_at,
      completed_at + interval '2 s', completed_at + interval '2 s', run_id, 'unchanged', completed_at + interval '5 s'
    from core.evaluation where rooftop_id = (select min(rooftop_id) from core.rooftop) and completed_at is not null
    order by completed_at desc limit 1`)
}
