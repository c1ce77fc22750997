-- grain: one row per rooftop, month, type of reconditioning and currency
create or replace view mart.rpt_03_recon_drift as
with summed as (
  select
    a.rooftop_id,
    date_trunc('month', a.completed_date_local::timestamp)::date as month_start,
    coalesce(nullif(a.recon_type, ''), 'unknown') as recon_type,
    a.currency_code,
    sum(a.evaluations) as evaluations,
    case when sum(a.costed) > 0 then sum(a.first_cost) end as first_cost,
    case when sum(a.costed) > 0 then sum(a.last_cost) end as latest_cost
  from core.agg_recon_day as a
  group by a.rooftop_id, date_trunc('month', a.completed_date_local::timestamp)::date, coalesce(nullif(a.recon_type, ''), 'unknown'), a.currency_code
)
select
  s.rooftop_id,
  r.rooftop_name,
  s.month_start,
  s.recon_type::varchar(120) as recon_type,
  s.currency_code,
  s.evaluations::int as evaluations,
  s.first_cost::numeric(18,3) as first_cost,
  s.latest_cost::numeric(18,3) as latest_cost,
  (s.latest_cost - s.first_cost)::numeric(18,3) as drift,
  (case when s.first_cost <> 0 then least(greatest((s.latest_cost - s.first_cost) / s.first_cost, -999.9999), 999.9999) end)::numeric(7,4) as drift_share,
  null::numeric(18,3) as actual_cost
from summed as s
join core.rooftop as r using (rooftop_id);

comment on view mart.rpt_03_recon_drift is 'How far do reconditioning estimates change after they are first observed, by type? Only evaluations whose lines of the type all have a cost, then and now, count in the costs. Lines of type info are no cost. | grain: one row per rooftop, month, type of reconditioning and currency | key: rooftop_id, month_start, recon_type, currency_code | history: first and current content of the evaluations that the service still shows, without the contents between | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_03_recon_drift.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_03_recon_drift.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_03_recon_drift.month_start is 'First day of the month of completion, in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_03_recon_drift.recon_type is 'Type of the lines; unknown: they have no type | unit: text | source: core.reconditioning_item.recon_type [A §2 reconditioning_list]';
comment on column mart.rpt_03_recon_drift.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.evaluation.currency_code';
comment on column mart.rpt_03_recon_drift.evaluations is 'Evaluations with such a line in the first or the current content | unit: count | source: core.agg_recon_day.evaluations';
comment on column mart.rpt_03_recon_drift.first_cost is 'Sum of the lines of the first observed content, 0 without a line; null: no evaluation whose lines of the type all have a cost, then and now | unit: currency_code | source: core.agg_recon_day.first_cost';
comment on column mart.rpt_03_recon_drift.latest_cost is 'Sum of the lines of the current content of the same evaluations; null as first_cost | unit: currency_code | source: core.agg_recon_day.last_cost';
comment on column mart.rpt_03_recon_drift.drift is 'latest_cost - first_cost | unit: currency_code | source: first_cost and latest_cost';
comment on column mart.rpt_03_recon_drift.drift_share is 'drift / first_cost; null when first_cost is 0 or null. Limited to ±999.9999 | unit: share, 0.1 is 10 % | source: drift and first_cost';
comment on column mart.rpt_03_recon_drift.actual_cost is 'Money really spent. Always null: neither the service nor a stock list has it by type yet | unit: currency_code | source: none';
