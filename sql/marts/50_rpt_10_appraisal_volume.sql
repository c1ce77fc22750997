-- grain: one row per rooftop, day of completion and currency
create or replace view mart.rpt_10_appraisal_volume as
with summed as (
  select
    a.rooftop_id,
    a.completed_date_local,
    a.currency_code,
    sum(a.appraisals)::int as appraisals,
    sum(a.with_price)::int as with_price,
    sum(a.value_sum) as value_sum
  from core.agg_evaluation_day as a
  group by a.rooftop_id, a.completed_date_local, a.currency_code
)
select
  s.rooftop_id,
  r.rooftop_name,
  s.completed_date_local as completed_date,
  date_trunc('month', s.completed_date_local::timestamp)::date as month_start,
  s.currency_code,
  s.appraisals,
  s.with_price,
  (case when s.with_price > 0 then s.value_sum end)::numeric(18,3) as value_sum,
  (s.value_sum / nullif(s.with_price, 0))::numeric(15,3) as average_price
from summed as s
join core.rooftop as r using (rooftop_id);

comment on view mart.rpt_10_appraisal_volume is 'How many vehicles were appraised on a day, and what are they worth? | grain: one row per rooftop, day of completion and currency | key: rooftop_id, completed_date, currency_code | history: current state of the evaluations that the service still shows | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_10_appraisal_volume.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_10_appraisal_volume.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_10_appraisal_volume.completed_date is 'Day of completion in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_10_appraisal_volume.month_start is 'First day of the month of completion, in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_10_appraisal_volume.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.evaluation.currency_code';
comment on column mart.rpt_10_appraisal_volume.appraisals is 'Evaluations completed on the day | unit: count | source: core.agg_evaluation_day.appraisals';
comment on column mart.rpt_10_appraisal_volume.with_price is 'Evaluations with a price, including 0 | unit: count | source: core.agg_evaluation_day.with_price';
comment on column mart.rpt_10_appraisal_volume.value_sum is 'Sum of their prices; null when no evaluation has a price | unit: currency_code | source: core.evaluation.final_price [A §2 FinalPrice]';
comment on column mart.rpt_10_appraisal_volume.average_price is 'value_sum / with_price; null when no evaluation has a price | unit: currency_code | source: value_sum and with_price';
