-- grain: one row per evaluation with a customer
create or replace view mart_pii.customer as
select
  (c.rooftop_id::text || '-' || c.eval_id::text)::varchar(32) as evaluation_key,
  c.rooftop_id,
  r.rooftop_name,
  c.eval_id,
  e.completed_date_local as completed_date,
  c.customer_name::varchar(255) as customer_name,
  c.phone,
  c.email::varchar(255) as email,
  c.address::varchar(255) as address,
  c.suburb,
  e.customer_state,
  e.customer_postcode
from pii.evaluation_customer as c
join core.evaluation as e using (rooftop_id, eval_id)
join core.rooftop as r using (rooftop_id)
where c.erased_at is null
  and coalesce(c.customer_name, c.phone, c.email, c.address, c.suburb) is not null;

comment on view mart_pii.customer is 'The customer of an evaluation, only for bi_pii_reader. Erased customers and evaluations without a customer are not included. | grain: one row per evaluation with a customer | key: evaluation_key | history: current state only | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart_pii.customer.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart_pii.customer.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart_pii.customer.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name (config)';
comment on column mart_pii.customer.eval_id is 'EvalID of the appraisal service | unit: id | source: core.evaluation.eval_id [A §2 EvalID]';
comment on column mart_pii.customer.completed_date is 'Day of completion in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart_pii.customer.customer_name is 'Name; its first 255 characters | unit: text | source: pii.evaluation_customer.customer_name [A §2]';
comment on column mart_pii.customer.phone is 'Telephone as the service has it | unit: text | source: pii.evaluation_customer.phone [A §2]';
comment on column mart_pii.customer.email is 'E-mail; its first 255 characters | unit: text | source: pii.evaluation_customer.email [A §2]';
comment on column mart_pii.customer.address is 'Address; its first 255 characters | unit: text | source: pii.evaluation_customer.address [A §2]';
comment on column mart_pii.customer.suburb is 'Suburb | unit: text | source: pii.evaluation_customer.suburb [A §2]';
comment on column mart_pii.customer.customer_state is 'State | unit: text | source: core.evaluation.customer_state [A §2]';
comment on column mart_pii.customer.customer_postcode is 'Postcode | unit: text | source: core.evaluation.customer_postcode [A §2]';
