-- grain: one row per rooftop and month
create or replace view mart.rpt_04_time_to_complete as
with summed as (
  select
    e.rooftop_id,
    date_trunc('month', e.completed_date_local::timestamp)::date as month_start,
    count(*) as evaluations,
    count(*) filter (where e.completed_at - e.created_at > interval '1 day') as over_a_day,
    percentile_cont(array[0.5, 0.9]) within group (order by extract(epoch from e.completed_at - e.created_at)::float8 * 1000) as ms
  from core.evaluation as e
  where e.gone_at is null and e.completed_date_local is not null and e.created_at_source = 'CreatedAt' and e.completed_at >= e.created_at
  group by e.rooftop_id, date_trunc('month', e.completed_date_local::timestamp)::date
)
select
  s.rooftop_id,
  r.rooftop_name,
  s.month_start,
  s.evaluations::int as evaluations,
  -- Between two times of whole milliseconds a percentile has two decimals: without what a float adds, halves are rounded up.
  (round(s.ms[1]::numeric, 2) / 60000)::numeric(12,2) as median_minutes,
  (round(s.ms[2]::numeric, 2) / 60000)::numeric(12,2) as p90_minutes,
  s.over_a_day::int as over_a_day,
  (s.over_a_day::numeric / s.evaluations)::numeric(7,4) as over_a_day_share
from summed as s
join core.rooftop as r using (rooftop_id);

comment on view mart.rpt_04_time_to_complete is 'How long does an appraisal take from creation to completion? | grain: one row per rooftop and month | key: rooftop_id, month_start | history: current state of the evaluations that the service still shows | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_04_time_to_complete.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_04_time_to_complete.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_04_time_to_complete.month_start is 'First day of the month of completion, in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_04_time_to_complete.evaluations is 'Evaluations with an exact creation time (CreatedAt) that is not after the completion | unit: count | source: core.evaluation.created_at and completed_at';
comment on column mart.rpt_04_time_to_complete.median_minutes is 'Median time | unit: minutes | source: core.evaluation.created_at and completed_at';
comment on column mart.rpt_04_time_to_complete.p90_minutes is '90th percentile: nine of ten evaluations took no longer | unit: minutes | source: core.evaluation.created_at and completed_at';
comment on column mart.rpt_04_time_to_complete.over_a_day is 'Evaluations that took more than 1,440 minutes | unit: count | source: core.evaluation.created_at and completed_at';
comment on column mart.rpt_04_time_to_complete.over_a_day_share is 'over_a_day / evaluations | unit: share from 0 to 1 | source: over_a_day and evaluations';
