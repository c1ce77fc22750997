-- grain: one row per dealer group, VIN and currency with more than one evaluation
create or replace view mart.rpt_13_repeat_appraisals as
select
  g.group_code,
  e.vehicle_vin as vin,
  e.currency_code,
  count(*)::int as evaluations,
  count(distinct e.rooftop_id)::int as rooftops,
  min(e.completed_date_local) as first_on,
  max(e.completed_date_local) as last_on,
  max(e.completed_date_local) - min(e.completed_date_local) as days_between,
  min(e.final_price)::numeric(15,3) as lowest_price,
  max(e.final_price)::numeric(15,3) as highest_price,
  (max(e.final_price) - min(e.final_price))::numeric(18,3) as price_spread,
  bool_or(b.eval_id is not null) as is_bought
from core.rooftop_group as g
cross join lateral (
  select vehicle_vin as vin from core.evaluation where group_id = g.group_id and vehicle_vin is not null group by vehicle_vin having count(*) > 1
) as again
join core.evaluation as e on e.group_id = g.group_id and e.vehicle_vin = again.vin
left join (select distinct eval_rooftop_id, eval_id from core.stock_outcome) as b on b.eval_rooftop_id = e.rooftop_id and b.eval_id = e.eval_id
where e.completed_date_local is not null and e.gone_at is null
group by g.group_code, e.vehicle_vin, e.currency_code
having count(*) > 1;

comment on view mart.rpt_13_repeat_appraisals is 'Vehicles that a dealer group appraised more than once, and how far the prices lie apart. | grain: one row per dealer group, VIN and currency with more than one evaluation | key: group_code, vin, currency_code | history: current state of the evaluations | freshness: as of the last good runs of the rooftops of the group: see data_freshness';
comment on column mart.rpt_13_repeat_appraisals.group_code is 'Dealer group, as the config names it | unit: text | source: core.rooftop_group.group_code';
comment on column mart.rpt_13_repeat_appraisals.vin is 'VIN in capitals | unit: text | source: core.evaluation.vin [A §2 VIN]';
comment on column mart.rpt_13_repeat_appraisals.currency_code is 'Currency of the money of the row | unit: ISO 4217 | source: core.evaluation.currency_code';
comment on column mart.rpt_13_repeat_appraisals.evaluations is 'Evaluations of the VIN in this currency | unit: count | source: core.evaluation';
comment on column mart.rpt_13_repeat_appraisals.rooftops is 'Rooftops that made them | unit: count | source: core.evaluation.rooftop_id';
comment on column mart.rpt_13_repeat_appraisals.first_on is 'Day of the first completion | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_13_repeat_appraisals.last_on is 'Day of the last completion | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_13_repeat_appraisals.days_between is 'Days from first_on to last_on | unit: days | source: first_on, last_on';
comment on column mart.rpt_13_repeat_appraisals.lowest_price is 'Lowest price of them; null where none has a price | unit: currency_code | source: core.evaluation.final_price [A §2 FinalPrice]';
comment on column mart.rpt_13_repeat_appraisals.highest_price is 'Highest price of them | unit: currency_code | source: core.evaluation.final_price [A §2 FinalPrice]';
comment on column mart.rpt_13_repeat_appraisals.price_spread is 'highest_price less lowest_price | unit: currency_code | source: lowest_price, highest_price';
comment on column mart.rpt_13_repeat_appraisals.is_bought is 'Came into stock on one of them; false without a stock list | unit: flag | source: core.stock_outcome';
