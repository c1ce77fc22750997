-- grain: one row per evaluation
create or replace view mart.dim_customer_masked as
select
  (e.rooftop_id::text || '-' || e.eval_id::text)::varchar(32) as evaluation_key,
  e.rooftop_id,
  e.eval_id,
  e.customer_state,
  e.customer_postcode
from core.evaluation as e;

comment on view mart.dim_customer_masked is 'State and postcode of the customer of an evaluation, without other personal data. Null when unknown or erased. | grain: one row per evaluation | key: evaluation_key | history: current state only | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.dim_customer_masked.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.dim_customer_masked.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.dim_customer_masked.eval_id is 'EvalID of the appraisal service | unit: id | source: core.evaluation.eval_id';
comment on column mart.dim_customer_masked.customer_state is 'State of the customer | unit: text | source: core.evaluation.customer_state [A §2]';
comment on column mart.dim_customer_masked.customer_postcode is 'Postcode of the customer | unit: text | source: core.evaluation.customer_postcode [A §2]';
