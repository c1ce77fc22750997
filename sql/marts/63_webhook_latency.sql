-- grain: one row per rooftop and local day with a delivery or an expected one
create or replace view mart.webhook_latency as
with source_clock as (
  select now() + coalesce((
    select source_started_at - started_at from ops.run
    where arguments ->> 'mode' <> 'replay' order by run_id desc limit 1
  ), '0') as source_now
),
delivered as (
  select
    d.rooftop_id,
    (d.source_received_at at time zone r.time_zone)::date as webhook_date,
    count(*)::int as deliveries,
    sum(d.duplicates)::int as duplicates,
    (count(*) filter (where d.state = 'processed'))::int as processed,
    (count(*) filter (where d.state = 'kept'))::int as kept,
    (count(*) filter (where d.state = 'waiting'))::int as waiting,
    (count(*) filter (where d.state = 'unusable'))::int as unusable,
    (count(*) filter (where d.state = 'failed'))::int as failed,
    percentile_cont(array[0.5, 0.95]) within group (order by extract(epoch from d.source_received_at - d.source_event_at)) as arrival,
    percentile_cont(array[0.5, 0.95]) within group (order by extract(epoch from d.processed_at - d.received_at)) as loading
  from ops.webhook_delivery as d
  join core.rooftop as r using (rooftop_id)
  cross join ops.webhook_settled as settled
  where (d.source_received_at at time zone r.time_zone)::date > settled.last_date
  group by d.rooftop_id, webhook_date
),
arrived as (
  -- Any event that shows the evaluation makes it be read again, at whatever rooftop of the dealer group.
  select r.group_id, d.eval_id, min(d.source_received_at) as first_received_at
  from ops.webhook_delivery as d
  join core.rooftop as r using (rooftop_id)
  group by r.group_id, d.eval_id
),
completed as (
  select
    e.rooftop_id,
    e.completed_date_local as webhook_date,
    count(*)::int as expected,
    (count(*) filter (where (a.first_received_at < e.completed_at + interval '6 hours') is not true))::int as missed
  from ops.webhook_subscription as s
  join core.evaluation as e
    on e.rooftop_id = s.rooftop_id and e.completed_date_local >= s.since::date - 1 and e.completed_at > s.since
    and e.completed_date_local > (select last_date from ops.webhook_settled)
  cross join source_clock
  left join arrived as a on a.group_id = e.group_id and a.eval_id = e.eval_id
  where s.event = 'ON_COMPLETE' and e.completed_at < source_now - interval '6 hours'
  group by e.rooftop_id, e.completed_date_local
),
counted as (
  select
    rooftop_id,
    webhook_date,
    coalesce(d.deliveries, 0) as deliveries,
    coalesce(d.duplicates, 0) as duplicates,
    coalesce(d.processed, 0) as processed,
    coalesce(d.kept, 0) as kept,
    coalesce(d.waiting, 0) as waiting,
    coalesce(d.unusable, 0) as unusable,
    coalesce(d.failed, 0) as failed,
    coalesce(c.expected, 0) as expected,
    coalesce(c.missed, 0) as missed,
    d.arrival[1]::numeric(12,2) as arrival_p50_seconds,
    d.arrival[2]::numeric(12,2) as arrival_p95_seconds,
    d.loading[1]::numeric(12,2) as loading_p50_seconds,
    d.loading[2]::numeric(12,2) as loading_p95_seconds
  from delivered as d
  full join completed as c using (rooftop_id, webhook_date)
  union all
  select
    rooftop_id, webhook_date, deliveries, duplicates, processed, kept, waiting, unusable, failed, expected, missed,
    arrival_p50_seconds, arrival_p95_seconds, loading_p50_seconds, loading_p95_seconds
  from ops.webhook_day
)
select
  rooftop_id,
  r.rooftop_name,
  webhook_date,
  deliveries,
  duplicates,
  processed,
  kept,
  waiting,
  unusable,
  failed,
  expected,
  missed,
  arrival_p50_seconds,
  arrival_p95_seconds,
  loading_p50_seconds,
  loading_p95_seconds
from counted
join core.rooftop as r using (rooftop_id);

comment on view mart.webhook_latency is 'Do the webhooks of the service arrive, how late, and which completions did they miss? | grain: one row per rooftop and local day with a delivery or an expected one | key: rooftop_id, webhook_date | history: since the first delivery; missed events since "webhooks apply" subscribed; days older than retention.ledgerDays as they were counted then | freshness: deliveries at once, missed ones as of the last good run of evaluations: see data_freshness';
comment on column mart.webhook_latency.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.webhook_latency.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.webhook_latency.webhook_date is 'Day of the arrival, and for expected and missed of the completion, in the time zone of the rooftop | unit: date | source: ops.webhook_delivery.source_received_at and core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.webhook_latency.deliveries is 'Events that arrived, without duplicates | unit: count | source: ops.webhook_delivery';
comment on column mart.webhook_latency.duplicates is 'Further deliveries of the same body | unit: count | source: ops.webhook_delivery.duplicates';
comment on column mart.webhook_latency.processed is 'Events whose evaluation was read again and loaded | unit: count | source: ops.webhook_delivery.state';
comment on column mart.webhook_latency.kept is 'Drives, which are stored as received | unit: count | source: ops.webhook_delivery.state';
comment on column mart.webhook_latency.waiting is 'Events that must still be processed | unit: count | source: ops.webhook_delivery.state';
comment on column mart.webhook_latency.unusable is 'Events that name no evaluation | unit: count | source: ops.webhook_delivery.state and issue';
comment on column mart.webhook_latency.failed is 'Events for which every attempt failed; the next nightly run loads their evaluations | unit: count | source: ops.webhook_delivery.state';
comment on column mart.webhook_latency.expected is 'Evaluations completed on the day, at least 6 hours ago, while ON_COMPLETE was subscribed | unit: count | source: core.evaluation.completed_at and ops.webhook_subscription.since';
comment on column mart.webhook_latency.missed is 'Expected events that did not arrive within 6 hours of the completion | unit: count | source: core.evaluation.completed_at and ops.webhook_delivery.source_received_at';
comment on column mart.webhook_latency.arrival_p50_seconds is 'Median time from the event at the service to the arrival, by its clock | unit: seconds | source: ops.webhook_delivery.source_event_at and source_received_at';
comment on column mart.webhook_latency.arrival_p95_seconds is '95 of 100 arrived within this time | unit: seconds | source: ops.webhook_delivery.source_event_at and source_received_at';
comment on column mart.webhook_latency.loading_p50_seconds is 'Median time from the arrival until it was loaded | unit: seconds | source: ops.webhook_delivery.received_at and processed_at';
comment on column mart.webhook_latency.loading_p95_seconds is '95 of 100 were loaded within this time | unit: seconds | source: ops.webhook_delivery.received_at and processed_at';
