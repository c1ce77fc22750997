import type pg from 'pg'

/** Failures in a row until a delivery is given up: about six hours, with the waits below. A nightly loads it all the same. */
const attemptsAtMost = 30
const deliveriesAtOnce = 500

/** A rooftop with deliveries that are due. */
export interface DueRooftop {
  readonly rooftopId: number
  readonly uid: string
  /** The longest waiting, at most 500. */
  readonly deliveries: readonly number[]
}

/** Rooftops whose deliveries are due, the longest waiting first. */
export async function readDue(pool: pg.Pool): Promise<DueRooftop[]> {
  const { rows } = await pool.query<DueRooftop>(
    `select rooftop_id as "rooftopId", rooftop_uid as uid, deliveries
     from (select distinct rooftop_id from ops.webhook_delivery where state = 'waiting' and due_at <= now()) as told
     join core.rooftop using (rooftop_id)
     cross join lateral (
       select array_agg(delivery_id) as deliveries, min(due_at) as since
       from (
         select delivery_id, due_at from ops.webhook_delivery
         where rooftop_id = told.rooftop_id and state = 'waiting' and due_at <= now()
         order by due_at, delivery_id limit $1
       ) as first
     ) as due
     where deliveries is not null
     order by since`,
    [deliveriesAtOnce],
  )
  return rows.map((row) => ({ ...row, deliveries: row.deliveries.map(Number) }))
}

/** Counts a failed attempt of those that still wait and are still due: they come again later, and in the end are given up. */
export async function putOff(pool: pg.Pool, due: DueRooftop, reason: string): Promise<void> {
  await pool.query(
    `update ops.webhook_delivery set attempts = attempts + 1, issue = left($2, 400),
       state = case when attempts + 1 >= $3 then 'failed' else state end,
       due_at = now() + least(interval '15 minutes', interval '5 s' * power(2, least(attempts, 10)))
     where delivery_id = any($1::bigint[]) and state = 'waiting' and due_at <= now()`,
    [due.deliveries, reason, attemptsAtMost],
  )
}
