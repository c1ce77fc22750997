import type pg from 'pg'

/** Failures in a row until a delivery is marked as failed: about six hours. A nightly run loads its evaluation anyway. */
const maxAttempts = 30

/** Counts a failed attempt for waiting deliveries that were due at a moment (left out: now), and delays them. After the last
 *  attempt they are marked as failed. Deliveries that were postponed since that moment are not changed. */
export async function postponeDeliveries(
  on: pg.Pool | pg.ClientBase,
  ids: readonly number[],
  reason: string,
  asOf: string | null = null,
): Promise<void> {
  await on.query(
    `update ops.webhook_delivery set attempts = attempts + 1, issue = left($2, 400),
       state = case when attempts + 1 >= $3 then 'failed' else state end,
       due_at = now() + least(interval '15 minutes', interval '5 s' * power(2, least(attempts, 10)))
     where delivery_id = any($1::bigint[]) and state = 'waiting' and due_at <= coalesce($4::timestamptz, now())`,
    [ids, reason, maxAttempts, asOf],
  )
}
