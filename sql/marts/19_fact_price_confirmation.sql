-- grain: one row per evaluation, price source and different answer
create or replace view mart.fact_price_confirmation as
select
  (p.rooftop_id::text || '-' || p.eval_id::text)::varchar(32) as evaluation_key,
  p.rooftop_id,
  p.eval_id,
  p.price_source,
  p.observed_at,
  p.last_confirmed_at
from core.price_observation as p;

comment on view mart.fact_price_confirmation is 'When each price of fact_price_observation was last confirmed: apart, since most change each night, which a lake would write again with all prices. | grain: one row per evaluation, price source and different answer | key: evaluation_key, price_source, observed_at | history: complete | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.fact_price_confirmation.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.fact_price_confirmation.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_price_confirmation.eval_id is 'EvalID of the appraisal service | unit: id | source: core.price_observation.eval_id';
comment on column mart.fact_price_confirmation.price_source is 'pricing_ai: the pricing AI of the appraisal service | unit: text | source: core.price_observation.price_source';
comment on column mart.fact_price_confirmation.observed_at is 'First answer with these prices | unit: instant in UTC | source: core.price_observation.observed_at';
comment on column mart.fact_price_confirmation.last_confirmed_at is 'Last answer with the same prices | unit: instant in UTC | source: core.price_observation.last_confirmed_at';
