-- grain: one row per evaluation, price source and different answer
create or replace view mart.fact_price_observation as
select
  (p.rooftop_id::text || '-' || p.eval_id::text)::varchar(32) as evaluation_key,
  p.rooftop_id,
  p.eval_id,
  p.price_source,
  p.observed_at,
  p.last_confirmed_at,
  p.is_current,
  p.as_of_date,
  p.retail,
  p.wholesale,
  p.wholesale_low,
  p.wholesale_high,
  p.buy_to_retail,
  p.quick_sale,
  p.sweet_spot,
  p.currency_code,
  p.confidence,
  p.reasoning_status
from core.price_observation as p;

comment on view mart.fact_price_observation is 'Prices of an evaluation from price sources. A row is added only when the answer differs from the one before. The first row is the first answer: that of the appraisal where the evaluation was loaded in time, later where history was loaded. | grain: one row per evaluation, price source and different answer | key: evaluation_key, price_source, observed_at | history: complete | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.fact_price_observation.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.fact_price_observation.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_price_observation.eval_id is 'EvalID of the appraisal service | unit: id | source: core.price_observation.eval_id';
comment on column mart.fact_price_observation.price_source is 'pricing_ai: the pricing AI of the appraisal service | unit: text | source: core.price_observation.price_source';
comment on column mart.fact_price_observation.observed_at is 'First answer with these prices | unit: instant in UTC | source: core.price_observation.observed_at';
comment on column mart.fact_price_observation.last_confirmed_at is 'Last answer with the same prices | unit: instant in UTC | source: core.price_observation.last_confirmed_at';
comment on column mart.fact_price_observation.is_current is 'true: the newest answer | unit: flag | source: core.price_observation.is_current';
comment on column mart.fact_price_observation.as_of_date is 'Day for which the prices are | unit: date | source: core.price_observation.as_of_date | joins: dim_date.date_day';
comment on column mart.fact_price_observation.retail is 'Retail price | unit: currency_code | source: core.price_observation.retail';
comment on column mart.fact_price_observation.wholesale is 'Wholesale price | unit: currency_code | source: core.price_observation.wholesale';
comment on column mart.fact_price_observation.wholesale_low is 'Lower end of wholesale | unit: currency_code | source: core.price_observation.wholesale_low';
comment on column mart.fact_price_observation.wholesale_high is 'Upper end of wholesale | unit: currency_code | source: core.price_observation.wholesale_high';
comment on column mart.fact_price_observation.buy_to_retail is 'Price at which to buy in order to retail | unit: currency_code | source: core.price_observation.buy_to_retail';
comment on column mart.fact_price_observation.quick_sale is 'Price for a quick sale | unit: currency_code | source: core.price_observation.quick_sale';
comment on column mart.fact_price_observation.sweet_spot is 'Price that the source advises | unit: currency_code | source: core.price_observation.sweet_spot';
comment on column mart.fact_price_observation.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.rooftop.currency_code';
comment on column mart.fact_price_observation.confidence is 'Confidence as the source words it | unit: text | source: core.price_observation.confidence';
comment on column mart.fact_price_observation.reasoning_status is 'State of the reasoning; null: not requested | unit: text | source: core.price_observation.reasoning_status';
