-- grain: one row per unit of the stock lists that was bought on an evaluation
create or replace view mart.rpt_12_ai_price_accuracy as
select
  s.rooftop_id,
  r.rooftop_name,
  s.stock_no,
  s.vin,
  s.make,
  s.model,
  s.model_year,
  (o.eval_rooftop_id::text || '-' || o.eval_id::text)::varchar(32) as evaluation_key,
  o.acquired_on,
  date_trunc('month', o.acquired_on::timestamp)::date as month_start,
  s.currency_code,
  f.retail as ai_retail_at_appraisal,
  a.asking_price_first::numeric(15,3) as asking_price_first,
  (a.asking_price_first - f.retail)::numeric(18,3) as error,
  (case when a.asking_price_first <> 0 then least(greatest((a.asking_price_first - f.retail) / a.asking_price_first, -999.9999), 999.9999) end)::numeric(7,4) as error_share,
  (case when a.asking_price_first <> 0 then least(abs((a.asking_price_first - f.retail) / a.asking_price_first), 999.9999) end)::numeric(7,4) as absolute_error_share
from core.stock_unit as s
join core.rooftop as r using (rooftop_id)
join core.stock_outcome as o using (rooftop_id, stock_no)
join core.stock_asking_price as a using (rooftop_id, stock_no)
cross join lateral (
  select p.retail
  from core.evaluation as e
  join core.price_observation as p using (rooftop_id, eval_id)
  where e.rooftop_id = o.eval_rooftop_id and e.eval_id = o.eval_id and p.price_source = 'pricing_ai'
    and p.currency_code = s.currency_code and p.retail is not null and p.observed_at < e.completed_at + interval '7 days'
  order by p.observed_at
  limit 1
) as f
where a.asking_price_first is not null;

comment on view mart.rpt_12_ai_price_accuracy is 'How close is the retail price of the pricing AI at the appraisal to the first advertised price? Only units with an appraisal that was priced within 7 days, both prices in one currency; an appraisal counts once per unit. No rows without a stock list. | grain: one row per unit of the stock lists that was bought on an evaluation | key: rooftop_id, stock_no | history: first prices | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_12_ai_price_accuracy.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_12_ai_price_accuracy.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_12_ai_price_accuracy.stock_no is 'Stock number; the VIN where the list has none | unit: text | source: core.stock_unit.stock_no';
comment on column mart.rpt_12_ai_price_accuracy.vin is 'VIN as listed | unit: text | source: core.stock_unit.vin';
comment on column mart.rpt_12_ai_price_accuracy.make is 'Make | unit: text | source: core.stock_unit.make';
comment on column mart.rpt_12_ai_price_accuracy.model is 'Model | unit: text | source: core.stock_unit.model';
comment on column mart.rpt_12_ai_price_accuracy.model_year is 'Model year | unit: year | source: core.stock_unit.model_year';
comment on column mart.rpt_12_ai_price_accuracy.evaluation_key is 'Evaluation on which it was bought, which may be of another rooftop of the group | unit: id | source: core.stock_outcome | joins: fact_evaluation.evaluation_key';
comment on column mart.rpt_12_ai_price_accuracy.acquired_on is 'Day on which the unit came in: as listed, else the day of its first list | unit: date | source: core.stock_outcome.acquired_on | joins: dim_date.date_day';
comment on column mart.rpt_12_ai_price_accuracy.month_start is 'First day of the month of acquired_on | unit: date | source: acquired_on | joins: dim_date.date_day';
comment on column mart.rpt_12_ai_price_accuracy.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.stock_unit.currency_code';
comment on column mart.rpt_12_ai_price_accuracy.ai_retail_at_appraisal is 'First retail price of the pricing AI for the evaluation, within 7 days of its completion: a later one is not of the appraisal | unit: currency_code | source: core.price_observation.retail, earliest observed_at [A §4 /pricingAi/payload]';
comment on column mart.rpt_12_ai_price_accuracy.asking_price_first is 'First asking price in the lists that have the unit | unit: currency_code | source: core.stock_asking_price.asking_price_first';
comment on column mart.rpt_12_ai_price_accuracy.error is 'asking_price_first - ai_retail_at_appraisal. Above 0: it was advertised at a higher price | unit: currency_code | source: asking_price_first, ai_retail_at_appraisal';
comment on column mart.rpt_12_ai_price_accuracy.error_share is 'error / asking_price_first; null when asking_price_first is 0. Limited to ±999.9999 | unit: share, 0.1 is 10 % | source: error, asking_price_first';
comment on column mart.rpt_12_ai_price_accuracy.absolute_error_share is 'error_share without its sign; its average is the mean absolute error. Limited to 999.9999 | unit: share, 0.1 is 10 % | source: error_share';
