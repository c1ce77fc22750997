-- grain: one row per evaluation and observed content
create or replace view mart.fact_evaluation_change as
select
  (v.rooftop_id::text || '-' || v.eval_id::text)::varchar(32) as evaluation_key,
  v.rooftop_id,
  v.eval_id,
  v.version_no,
  v.valid_from,
  v.valid_to,
  v.valid_to is null as is_current,
  v.observed_at,
  left(array_to_string(v.changed_fields, ', '), 255)::varchar(255) as changed_fields,
  v.user_id,
  v.odometer,
  v.condition_score,
  v.final_price,
  v.recon_total,
  r.currency_code
from core.evaluation_version as v
join core.rooftop as r using (rooftop_id);

comment on view mart.fact_evaluation_change is 'Every observed content of an evaluation. Several edits between two reads appear as one. The first row is the content as first read. | grain: one row per evaluation and observed content | key: evaluation_key, version_no | history: all observed contents since loading began | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.fact_evaluation_change.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.fact_evaluation_change.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_evaluation_change.eval_id is 'EvalID of the appraisal service | unit: id | source: core.evaluation_version.eval_id';
comment on column mart.fact_evaluation_change.version_no is '1 is the first observed content | unit: number | source: core.evaluation_version.version_no';
comment on column mart.fact_evaluation_change.valid_from is 'Time of the edit at the service that made this content | unit: instant in UTC | source: core.evaluation_version.valid_from [A §2 UpdatedAt]';
comment on column mart.fact_evaluation_change.valid_to is 'Time of the edit that replaced it; null: it is current | unit: instant in UTC | source: core.evaluation_version.valid_to';
comment on column mart.fact_evaluation_change.is_current is 'true: the current content | unit: flag | source: core.evaluation_version.valid_to';
comment on column mart.fact_evaluation_change.observed_at is 'When it was first read | unit: instant in UTC | source: core.evaluation_version.observed_at';
comment on column mart.fact_evaluation_change.changed_fields is 'Fields that changed since the previous content, the first 255 characters of the list; empty for the first content | unit: text | source: core.evaluation_version.changed_fields';
comment on column mart.fact_evaluation_change.user_id is 'Salesperson in this content | unit: id | source: core.evaluation_version.user_id | joins: dim_user.user_id';
comment on column mart.fact_evaluation_change.odometer is 'Odometer in this content | unit: odometer_unit of the rooftop | source: core.evaluation_version.odometer';
comment on column mart.fact_evaluation_change.condition_score is 'Condition in this content, 0 to 10 | unit: score | source: core.evaluation_version.condition_score';
comment on column mart.fact_evaluation_change.final_price is 'Price of the appraisal in this content | unit: currency_code | source: core.evaluation_version.final_price';
comment on column mart.fact_evaluation_change.recon_total is 'Reconditioning total in this content | unit: currency_code | source: core.evaluation_version.recon_total';
comment on column mart.fact_evaluation_change.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.rooftop.currency_code';
