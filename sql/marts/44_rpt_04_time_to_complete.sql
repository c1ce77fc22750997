-- grain: one row per rooftop and month
create or replace view mart.rpt_04_time_to_complete as
with summed as (
  select
    a.rooftop_id,
    date_trunc('month', a.completed_date_local::timestamp)::date as month_start,
    sum(a.timed) as evaluations,
    sum(a.ttc_bucket_9 + a.ttc_bucket_10 + a.ttc_bucket_11) as over_a_day,
    array[
      sum(a.ttc_bucket_0), sum(a.ttc_bucket_1), sum(a.ttc_bucket_2), sum(a.ttc_bucket_3), sum(a.ttc_bucket_4), sum(a.ttc_bucket_5),
      sum(a.ttc_bucket_6), sum(a.ttc_bucket_7), sum(a.ttc_bucket_8), sum(a.ttc_bucket_9), sum(a.ttc_bucket_10), sum(a.ttc_bucket_11)
    ] as buckets
  from core.agg_evaluation_day as a
  group by a.rooftop_id, date_trunc('month', a.completed_date_local::timestamp)::date
  having sum(a.timed) > 0
)
select
  s.rooftop_id,
  r.rooftop_name,
  s.month_start,
  s.evaluations::int as evaluations,
  core.bucket_percentile(s.buckets, 0.5)::numeric(12,2) as median_minutes,
  core.bucket_percentile(s.buckets, 0.9)::numeric(12,2) as p90_minutes,
  s.over_a_day::int as over_a_day,
  (s.over_a_day::numeric / s.evaluations)::numeric(7,4) as over_a_day_share
from summed as s
join core.rooftop as r using (rooftop_id);

comment on view mart.rpt_04_time_to_complete is 'How long does an appraisal take from creation to completion? Percentiles come from 12 buckets (to 5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 10080, 43200 minutes), linear inside a bucket. | grain: one row per rooftop and month | key: rooftop_id, month_start | history: evaluations as they stand now; those that the service no longer shows are left out | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_04_time_to_complete.rooftop_id is 'Rooftop that the row belongs to | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_04_time_to_complete.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_04_time_to_complete.month_start is 'First day of the month of completion, in the zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_04_time_to_complete.evaluations is 'Evaluations with an exact creation time (CreatedAt) that is not after the completion | unit: count | source: core.agg_evaluation_day.timed';
comment on column mart.rpt_04_time_to_complete.median_minutes is 'Half of them took no longer | unit: minutes, estimated inside the bucket | source: core.agg_evaluation_day.ttc_bucket_0 to 11';
comment on column mart.rpt_04_time_to_complete.p90_minutes is 'Nine of ten took no longer | unit: minutes, estimated inside the bucket | source: core.agg_evaluation_day.ttc_bucket_0 to 11';
comment on column mart.rpt_04_time_to_complete.over_a_day is 'Took more than 1,440 minutes | unit: count | source: core.agg_evaluation_day.ttc_bucket_9 to 11';
comment on column mart.rpt_04_time_to_complete.over_a_day_share is 'over_a_day / evaluations | unit: share from 0 to 1 | source: over_a_day and evaluations';
