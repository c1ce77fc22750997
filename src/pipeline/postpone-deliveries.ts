import type pg from 'pg'

/** Failures in a row until a delivery is given up: about six hours, with the waits below. A nightly loads it all the same. */
const attemptsAtMost = 30

/** Counts a failed attempt of the deliveries that wait and were due at a moment (left out: now): they come again later, and in the
 *  end are given up. Whatever was put off since is left as it is. */
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
    [ids, reason, attemptsAtMost, asOf],
  )
}
