-- grain: one row per rooftop, month and way of capture
create or replace view mart.rpt_14_link_capture_funnel as
with bought as (
  select distinct e.rooftop_id, e.eval_id, e.completed_date_local, e.user_id
  from core.rooftop as r
  join core.rooftop as holder on holder.group_id = r.group_id
  join core.stock_outcome as o on o.rooftop_id = holder.rooftop_id and o.eval_rooftop_id = r.rooftop_id
  join core.evaluation as e on e.rooftop_id = r.rooftop_id and e.eval_id = o.eval_id
), counted as (
  select
    a.rooftop_id,
    date_trunc('month', a.completed_date_local::timestamp)::date as month_start,
    a.user_id,
    sum(a.appraisals) as evaluations,
    sum(a.photos) as photos,
    sum(a.no_photo) as no_photo,
    0 as bought,
    null::float8 as ms
  from core.agg_evaluation_day as a
  group by a.rooftop_id, date_trunc('month', a.completed_date_local::timestamp)::date, a.user_id
  union all
  select
    e.rooftop_id, date_trunc('month', e.completed_date_local::timestamp)::date, coalesce(e.user_id, 0), 0::bigint, 0::bigint, 0::bigint, 1, null
  from bought as e
  union all
  -- Not joined, so that a filter of the month reaches them.
  select
    e.rooftop_id, date_trunc('month', e.completed_date_local::timestamp)::date, coalesce(e.user_id, 0), 0::bigint, 0::bigint, 0::bigint, 0,
    extract(epoch from e.completed_at - e.created_at)::float8 * 1000
  from core.evaluation as e
  where e.gone_at is null and e.completed_date_local is not null and e.created_at_source = 'CreatedAt' and e.completed_at >= e.created_at
), summed as (
  select
    c.rooftop_id,
    c.month_start,
    coalesce(u.is_generated_link_account, false) as is_link_captured,
    sum(c.evaluations)::int as evaluations,
    sum(c.photos)::int as photos,
    sum(c.no_photo) as no_photo,
    sum(c.bought)::int as bought,
    percentile_cont(0.5) within group (order by c.ms) as ms
  from counted as c
  left join core.app_user as u on u.user_id = c.user_id
  group by c.rooftop_id, c.month_start, coalesce(u.is_generated_link_account, false)
), listed as materialized (
  select * from core.stock_listed
)
select
  s.rooftop_id,
  r.rooftop_name,
  s.month_start,
  s.is_link_captured,
  s.evaluations,
  s.photos,
  (s.photos::numeric / nullif(s.evaluations, 0))::numeric(12,2) as average_photos,
  (s.no_photo::numeric / nullif(s.evaluations, 0))::numeric(7,4) as no_photo_share,
  -- As in rpt_04_time_to_complete.
  (round(s.ms::numeric, 2) / 60000)::numeric(12,2) as median_minutes,
  k.bought,
  (k.bought::numeric / nullif(s.evaluations, 0))::numeric(7,4) as bought_share
from summed as s
join core.rooftop as r using (rooftop_id)
join listed as l using (rooftop_id)
cross join lateral (
  select case when s.month_start between l.listed_from and l.listed_to then s.bought end as bought
) as k;

comment on view mart.rpt_14_link_capture_funnel is 'Do appraisals that customers capture through a link differ from those made in person: photos, time, bought? What was bought is as in rpt_02_look_to_book. | grain: one row per rooftop, month and way of capture | key: rooftop_id, month_start, is_link_captured | history: current state of the evaluations that the service still shows | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_14_link_capture_funnel.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_14_link_capture_funnel.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_14_link_capture_funnel.month_start is 'First day of the month of completion, in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_14_link_capture_funnel.is_link_captured is 'true: captured through a link, not by a salesperson; false when the evaluation names no one | unit: flag | source: core.app_user.is_generated_link_account';
comment on column mart.rpt_14_link_capture_funnel.evaluations is 'Evaluations completed in the month | unit: count | source: core.agg_evaluation_day.appraisals';
comment on column mart.rpt_14_link_capture_funnel.photos is 'Number of their photos | unit: count | source: core.evaluation.photo_count [A §2 Photos]';
comment on column mart.rpt_14_link_capture_funnel.average_photos is 'photos / evaluations | unit: count | source: photos and evaluations';
comment on column mart.rpt_14_link_capture_funnel.no_photo_share is 'Evaluations without a photo / evaluations | unit: share from 0 to 1 | source: core.agg_evaluation_day.no_photo';
comment on column mart.rpt_14_link_capture_funnel.median_minutes is 'Median time of the evaluations with an exact creation time, see rpt_04_time_to_complete; null: no evaluation has one | unit: minutes | source: core.evaluation.created_at and completed_at';
comment on column mart.rpt_14_link_capture_funnel.bought is 'Evaluations that were bought: see evaluation_key of fact_stock_unit; null: not known, as the rooftop had no list of its whole stock in or before the month, or none since | unit: count | source: core.stock_outcome';
comment on column mart.rpt_14_link_capture_funnel.bought_share is 'bought / evaluations; null: not known | unit: share from 0 to 1 | source: bought and evaluations';
