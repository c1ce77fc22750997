-- grain: one row per rooftop and month
create or replace view mart.rpt_08_pricing_coverage as
with counted as (
  select
    a.rooftop_id, date_trunc('month', a.completed_date_local::timestamp)::date as month_start,
    a.appraisals as evaluations, 0 as known, 0 as priced, 0 as cannot_be_priced, 0 as failed
  from core.agg_evaluation_day as a
  union all
  select
    p.rooftop_id, date_trunc('month', p.completed_date_local::timestamp)::date,
    0, p.known, p.priced, p.cannot_be_priced, p.failed
  from core.agg_pricing_day as p
), summed as (
  select
    rooftop_id,
    month_start,
    sum(evaluations)::int as evaluations,
    sum(known)::int as known,
    sum(priced)::int as priced,
    sum(cannot_be_priced)::int as cannot_be_priced,
    sum(failed)::int as failed
  from counted
  group by rooftop_id, month_start
), confirmed as (
  -- No sum holds the confirmations, because those of each night would rewrite it.
  select
    a.rooftop_id,
    a.month_start,
    -- The day of today is calculated for each group, not for each price: min, because a group is of one rooftop.
    ((now() at time zone min(r.time_zone))::date - date '2000-01-01'
      - avg((p.last_confirmed_at at time zone r.time_zone)::date - date '2000-01-01'))::numeric(12,2) as average_age_days,
    min(p.last_confirmed_at) as oldest_confirmed_at
  from core.agg_appraisal as a
  join core.rooftop as r using (rooftop_id)
  join core.price_observation as p on p.rooftop_id = a.rooftop_id and p.eval_id = a.eval_id and p.price_source = 'pricing_ai' and p.is_current
  group by a.rooftop_id, a.month_start
)
select
  s.rooftop_id,
  r.rooftop_name,
  s.month_start,
  s.evaluations,
  s.priced,
  (s.priced::numeric / nullif(s.evaluations, 0))::numeric(7,4) as priced_share,
  s.cannot_be_priced,
  s.failed,
  s.evaluations - s.known as not_asked,
  confirmed.average_age_days,
  confirmed.oldest_confirmed_at
from summed as s
join core.rooftop as r using (rooftop_id)
left join confirmed using (rooftop_id, month_start);

comment on view mart.rpt_08_pricing_coverage is 'Which appraisals have a guide price, which cannot have one, and how old are the prices? priced, cannot_be_priced, failed and not_asked add up to evaluations, except for those whose answer is being polled. | grain: one row per rooftop and month | key: rooftop_id, month_start | history: current prices of the evaluations that the service still shows | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_08_pricing_coverage.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_08_pricing_coverage.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_08_pricing_coverage.month_start is 'First day of the month of completion, in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_08_pricing_coverage.evaluations is 'Evaluations completed in the month | unit: count | source: core.agg_evaluation_day.appraisals';
comment on column mart.rpt_08_pricing_coverage.priced is 'Evaluations with a current guide price | unit: count | source: core.price_observation.is_current [A §6 /pricingAi/payload]';
comment on column mart.rpt_08_pricing_coverage.priced_share is 'priced / evaluations | unit: share from 0 to 1 | source: priced and evaluations';
comment on column mart.rpt_08_pricing_coverage.cannot_be_priced is 'Evaluations without a price: the service does not know or does not price them, or its answer is in quarantine | unit: count | source: ops.enrichment_state.outcome';
comment on column mart.rpt_08_pricing_coverage.failed is 'Evaluations without a price whose last request got no answer | unit: count | source: ops.enrichment_state.outcome';
comment on column mart.rpt_08_pricing_coverage.not_asked is 'Evaluations without a price that were never requested; without an odometer none can be | unit: count | source: ops.enrichment_state';
comment on column mart.rpt_08_pricing_coverage.average_age_days is 'Average number of days since the prices were last confirmed, by local days of the rooftop | unit: days | source: core.price_observation.last_confirmed_at';
comment on column mart.rpt_08_pricing_coverage.oldest_confirmed_at is 'When the oldest of the prices was last confirmed | unit: instant in UTC | source: core.price_observation.last_confirmed_at';
