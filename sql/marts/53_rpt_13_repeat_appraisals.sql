-- grain: one row per dealer group, VIN and currency with more than one evaluation
create or replace view mart.rpt_13_repeat_appraisals as
with listed as materialized (
  select distinct group_id, group_listed_from, (group_listed_to + interval '1 month')::date as group_listed_until from core.stock_listed
)
select
  g.group_code,
  a.vin,
  a.currency_code,
  a.evaluations,
  a.rooftops,
  a.first_on,
  a.last_on,
  a.last_on - a.first_on as days_between,
  a.lowest_price,
  a.highest_price,
  (a.highest_price - a.lowest_price)::numeric(18,3) as price_spread,
  -- Reads by index from the vehicle to its units: most vehicles have no unit.
  case when exists (
    select from core.stock_unit as s
    join core.rooftop as r on r.rooftop_id = s.rooftop_id and r.group_id = a.group_id
    join core.stock_outcome as o on o.rooftop_id = s.rooftop_id and o.stock_no = s.stock_no
    join core.evaluation as e on e.rooftop_id = o.eval_rooftop_id and e.eval_id = o.eval_id and e.currency_code = a.currency_code
    where s.vin = a.vin
    offset 0
  ) then true when a.first_on >= l.group_listed_from and a.last_on < l.group_listed_until then false end as is_bought
from core.agg_repeat_vehicle as a
join core.rooftop_group as g using (group_id)
left join listed as l using (group_id);

comment on view mart.rpt_13_repeat_appraisals is 'Vehicles that a dealer group appraised more than once in one currency, and the difference between the prices. | grain: one row per dealer group, VIN and currency with more than one evaluation | key: group_code, vin, currency_code | history: current state of the evaluations | freshness: as of the last good runs of the rooftops of the group: see data_freshness';
comment on column mart.rpt_13_repeat_appraisals.group_code is 'Dealer group, as the config names it | unit: text | source: core.rooftop_group.group_code';
comment on column mart.rpt_13_repeat_appraisals.vin is 'VIN in capitals | unit: text | source: core.evaluation.vin [A §2 VIN]';
comment on column mart.rpt_13_repeat_appraisals.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.evaluation.currency_code';
comment on column mart.rpt_13_repeat_appraisals.evaluations is 'Evaluations of the VIN in this currency | unit: count | source: core.agg_repeat_vehicle.evaluations';
comment on column mart.rpt_13_repeat_appraisals.rooftops is 'Rooftops that made these evaluations | unit: count | source: core.evaluation.rooftop_id';
comment on column mart.rpt_13_repeat_appraisals.first_on is 'Day of the first completion | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_13_repeat_appraisals.last_on is 'Day of the last completion | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_13_repeat_appraisals.days_between is 'Days from first_on to last_on | unit: days | source: first_on, last_on';
comment on column mart.rpt_13_repeat_appraisals.lowest_price is 'Lowest price of these evaluations; null when none has a price | unit: currency_code | source: core.evaluation.final_price [A §2 FinalPrice]';
comment on column mart.rpt_13_repeat_appraisals.highest_price is 'Highest price of these evaluations | unit: currency_code | source: core.evaluation.final_price [A §2 FinalPrice]';
comment on column mart.rpt_13_repeat_appraisals.price_spread is 'highest_price - lowest_price | unit: currency_code | source: lowest_price, highest_price';
comment on column mart.rpt_13_repeat_appraisals.is_bought is 'true: the vehicle came into stock on one of these evaluations; null: not known, as the dealer group had no list of a whole stock in or before the month of first_on, or none in or after that of last_on | unit: flag | source: core.stock_outcome';
