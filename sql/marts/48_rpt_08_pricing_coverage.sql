-- grain: one row per rooftop and month
create or replace view mart.rpt_08_pricing_coverage as
with asked as (
  select
    e.rooftop_id,
    r.rooftop_name,
    date_trunc('month', e.completed_date_local::timestamp)::date as month_start,
    p.eval_id is not null as is_priced,
    s.outcome,
    p.last_confirmed_at,
    (now() at time zone r.time_zone)::date - (p.last_confirmed_at at time zone r.time_zone)::date as age_days
  from core.evaluation as e
  join core.rooftop as r using (rooftop_id)
  left join core.price_observation as p
    on p.rooftop_id = e.rooftop_id and p.eval_id = e.eval_id and p.price_source = 'pricing_ai' and p.is_current
  left join ops.enrichment_state as s
    on s.rooftop_id = e.rooftop_id and s.eval_id = e.eval_id and s.stream = 'pricing' and s.ask = 'pricingAi'
  where e.gone_at is null and e.completed_date_local is not null
)
select
  a.rooftop_id,
  a.rooftop_name,
  a.month_start,
  count(*)::int as evaluations,
  count(*) filter (where a.is_priced)::int as priced,
  (count(*) filter (where a.is_priced)::numeric / count(*))::numeric(7,4) as priced_share,
  count(*) filter (where not a.is_priced and a.outcome in ('skipped', 'rejected'))::int as cannot_be_priced,
  count(*) filter (where not a.is_priced and a.outcome = 'failed')::int as failed,
  count(*) filter (where not a.is_priced and a.outcome is null)::int as not_asked,
  avg(a.age_days)::numeric(12,2) as average_age_days,
  min(a.last_confirmed_at) as oldest_confirmed_at
from asked as a
group by a.rooftop_id, a.rooftop_name, a.month_start;

comment on view mart.rpt_08_pricing_coverage is 'Which appraisals have a guide price, which cannot have one, and how old are the prices? priced, cannot_be_priced, failed and not_asked add up to evaluations, but for those whose answer is under way. | grain: one row per rooftop and month | key: rooftop_id, month_start | history: present prices; those that the service no longer shows are left out | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_08_pricing_coverage.rooftop_id is 'Rooftop that the row belongs to | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_08_pricing_coverage.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_08_pricing_coverage.month_start is 'First day of the month of completion, in the zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_08_pricing_coverage.evaluations is 'Evaluations completed in the month | unit: count | source: core.evaluation';
comment on column mart.rpt_08_pricing_coverage.priced is 'With a current guide price | unit: count | source: core.price_observation.is_current [A §6 /pricingAi/payload]';
comment on column mart.rpt_08_pricing_coverage.priced_share is 'priced / evaluations | unit: share from 0 to 1 | source: priced and evaluations';
comment on column mart.rpt_08_pricing_coverage.cannot_be_priced is 'Without a price: the service does not know or not price them, or its answer is in quarantine | unit: count | source: ops.enrichment_state.outcome';
comment on column mart.rpt_08_pricing_coverage.failed is 'Without a price: the last asking brought no answer | unit: count | source: ops.enrichment_state.outcome';
comment on column mart.rpt_08_pricing_coverage.not_asked is 'Without a price, and never asked about | unit: count | source: ops.enrichment_state';
comment on column mart.rpt_08_pricing_coverage.average_age_days is 'Days since the prices were last confirmed, on average, by the calendar of the rooftop | unit: days | source: core.price_observation.last_confirmed_at';
comment on column mart.rpt_08_pricing_coverage.oldest_confirmed_at is 'Longest unconfirmed price | unit: instant in UTC | source: core.price_observation.last_confirmed_at';
