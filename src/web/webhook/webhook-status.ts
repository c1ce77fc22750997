import { sql } from 'kysely'
import { readSourceNow } from '../../warehouse/db/source-now.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** The webhooks of a rooftop in the last 7 days. Times are in seconds; null: nothing to measure. */
interface RooftopWebhookStatus {
  readonly received: number
  readonly duplicates: number
  readonly processed: number
  readonly kept: number
  readonly waiting: number
  readonly unusable: number
  readonly failed: number
  /** Whether completions are subscribed. */
  readonly isSubscribed: boolean
  /** Subscribed completions without a delivery within 6 hours. null: not subscribed, or no list of evaluations was read since then or in
   *  these 7 days, so that no completion is known. */
  readonly missed: number | null
  readonly lastReceivedAt: string | null
  /** From the event to the arrival, by the service's clock. */
  readonly arrivalSeconds: { readonly p50: number | null; readonly p95: number | null }
  /** From the arrival until it was loaded. */
  readonly loadingSeconds: { readonly p50: number | null; readonly p95: number | null }
}

/** The webhooks by rooftop uid; rooftops without a subscription and a delivery are left out. */
export interface WebhookStatus {
  readonly rooftops: Readonly<Record<string, RooftopWebhookStatus>>
  /** Deliveries in the last 7 days that name no rooftop of the config. */
  readonly unknownRooftop: number
}

interface StatusRow
  extends Omit<RooftopWebhookStatus, 'lastReceivedAt' | 'arrivalSeconds' | 'loadingSeconds'> {
  readonly uid: string
  readonly lastAt: Date | null
  readonly arrival: readonly (number | null)[] | null
  readonly loading: readonly (number | null)[] | null
}

/** Reads the status; takes a query or two where no webhooks are used. */
export async function readWebhookStatus(db: Db): Promise<WebhookStatus> {
  const used = await sql<{ used: boolean }>`
    select exists (select from ops.webhook_subscription) or (select max(delivery_id) from ops.webhook_delivery) is not null as used`.execute(
    db,
  )
  if (!used.rows[0]!.used) return { rooftops: {}, unknownRooftop: 0 }
  const sourceNow = await readSourceNow(db)
  const { rows } = await sql<StatusRow>`
    with recent as (
      select * from ops.webhook_delivery where received_at > now() - interval '7 days'
    ), counted as (
      select rooftop_id, count(*)::int as received, sum(duplicates)::int as duplicates,
        (count(*) filter (where state = 'processed'))::int as processed, (count(*) filter (where state = 'kept'))::int as kept,
        (count(*) filter (where state = 'unusable'))::int as unusable, (count(*) filter (where state = 'failed'))::int as failed,
        max(received_at) as "lastAt",
        percentile_cont(array[0.5, 0.95]) within group (order by extract(epoch from source_received_at - source_event_at)::float8) as arrival,
        percentile_cont(array[0.5, 0.95]) within group (order by extract(epoch from processed_at - received_at)::float8) as loading
      from recent where rooftop_id is not null group by rooftop_id
    ), open as (
      select rooftop_id, count(*)::int as waiting from ops.webhook_delivery where state = 'waiting' group by rooftop_id
    ), expected as (
      select rooftop_id, min(since) filter (where event = 'ON_COMPLETE') as since from ops.webhook_subscription group by rooftop_id
    ), missed as (
      ${missedCompletions(sourceNow)}
    )
    select rooftop_uid as uid, "lastAt", arrival, loading, coalesce(received, 0) as received, coalesce(duplicates, 0) as duplicates,
      coalesce(processed, 0) as processed, coalesce(kept, 0) as kept, coalesce(waiting, 0) as waiting,
      coalesce(unusable, 0) as unusable, coalesce(failed, 0) as failed, since is not null as "isSubscribed",
      coalesce(missed, case when newest.listed_at > greatest(since, ${sourceNow}::timestamptz - interval '7 days') then 0 end) as missed
    from core.rooftop left join counted using (rooftop_id) left join open using (rooftop_id) left join expected using (rooftop_id)
      left join missed using (rooftop_id)
      left join lateral (
        select listed_at from ops.window_certificate as own
        where since is not null and own.rooftop_id = rooftop.rooftop_id and stream = 'evaluations' and listed_at <= ${sourceNow}
        order by window_from desc limit 1
      ) as newest on true
    where coalesce(counted.rooftop_id, open.rooftop_id, expected.rooftop_id) is not null
    order by rooftop_uid`.execute(db)
  return { rooftops: Object.fromEntries(rows.map(asEntry)), unknownRooftop: await unknown(db) }
}

function missedCompletions(sourceNow: Date) {
  return sql`select e.rooftop_id, count(*)::int as missed from ${lostCompletions(sourceNow)} group by e.rooftop_id`
}

/** By the rule of mart.webhook_latency, but does not read every completion since the subscription. The limit makes each completion
 *  find its deliveries by index: all deliveries that are stored are many more. */
function lostCompletions(sourceNow: Date) {
  return sql`ops.webhook_subscription as s
    join core.evaluation as e on e.rooftop_id = s.rooftop_id and e.completed_at > s.since
      and e.completed_date_local > (${sourceNow}::timestamptz)::date - 8
    left join lateral (
      select true as is_there from ops.webhook_delivery as d
      where d.eval_id = e.eval_id and d.source_received_at < e.completed_at + interval '6 hours'
        and d.rooftop_id in (select rooftop_id from core.rooftop as sibling where sibling.group_id = e.group_id)
      limit 1
    ) as delivered on true
    where s.event = 'ON_COMPLETE' and e.completed_at < ${sourceNow}::timestamptz - interval '6 hours' and is_there is null`
}

/** A completion of the last 7 days that was subscribed and not delivered within 6 hours. */
interface LostCompletion {
  readonly rooftopUid: string
  readonly evalId: number
  readonly completedAt: string
}

/** The newest of them. */
export async function readLostCompletions(db: Db, limit: number): Promise<LostCompletion[]> {
  const { rows } = await sql<Omit<LostCompletion, 'completedAt'> & { completedAt: Date }>`
    select rooftop_uid as "rooftopUid", lost.eval_id as "evalId", lost.completed_at as "completedAt"
    from (
      select e.rooftop_id, e.eval_id, e.completed_at from ${lostCompletions(await readSourceNow(db))}
      order by e.completed_at desc limit ${limit}
    ) as lost join core.rooftop using (rooftop_id) order by lost.completed_at desc, lost.eval_id`.execute(
    db,
  )
  return rows.map((row) => ({ ...row, completedAt: row.completedAt.toISOString() }))
}

async function unknown(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from ops.webhook_delivery
    where rooftop_id is null and received_at > now() - interval '7 days'`.execute(db)
  return rows[0]!.count
}

/** The number of missed completions, or why there is none. */
export function missedText({
  missed,
  isSubscribed,
}: Pick<RooftopWebhookStatus, 'missed' | 'isSubscribed'>): string {
  if (missed !== null) return missed.toLocaleString('en')
  return isSubscribed ? 'not known' : 'not subscribed'
}

function asEntry({
  uid,
  lastAt,
  arrival,
  loading,
  ...counts
}: StatusRow): [string, RooftopWebhookStatus] {
  const pair = (values: StatusRow['arrival']) => ({
    p50: rounded(values?.[0]),
    p95: rounded(values?.[1]),
  })
  return [
    uid,
    {
      ...counts,
      lastReceivedAt: lastAt?.toISOString() ?? null,
      arrivalSeconds: pair(arrival),
      loadingSeconds: pair(loading),
    },
  ]
}

function rounded(value: number | null | undefined): number | null {
  return value === null || value === undefined ? null : Math.round(value * 100) / 100
}
