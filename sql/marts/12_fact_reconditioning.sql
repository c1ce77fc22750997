-- grain: one row per reconditioning line and content of the evaluation in which it first appeared
create or replace view mart.fact_reconditioning as
select
  (i.rooftop_id::text || '-' || i.eval_id::text)::varchar(32) as evaluation_key,
  i.rooftop_id,
  i.eval_id,
  i.first_version,
  i.last_version,
  i.last_version is null as is_current,
  i.line_no,
  i.recon_type,
  (lower(i.recon_type) is distinct from 'info') as is_cost,
  i.source,
  i.cost,
  left(i.value_text, 255)::varchar(255) as value_text,
  i.battery_soh_pct,
  r.currency_code
from core.reconditioning_item as i
join core.rooftop as r using (rooftop_id);

comment on view mart.fact_reconditioning is 'Reconditioning lines, current and past. The service gives them no id: a changed list is stored as a new set of lines. | grain: one row per reconditioning line and content of the evaluation in which it first appeared | key: evaluation_key, first_version, line_no | history: all observed contents since loading began | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.fact_reconditioning.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.fact_reconditioning.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_reconditioning.eval_id is 'EvalID of the appraisal service | unit: id | source: core.reconditioning_item.eval_id';
comment on column mart.fact_reconditioning.first_version is 'version_no of the evaluation in which the line first appeared | unit: number | source: core.reconditioning_item.first_version';
comment on column mart.fact_reconditioning.last_version is 'version_no in which the line last appeared; null: it is current | unit: number | source: core.reconditioning_item.last_version';
comment on column mart.fact_reconditioning.is_current is 'true: part of the current content | unit: flag | source: core.reconditioning_item.last_version';
comment on column mart.fact_reconditioning.line_no is 'Position in the list, from 1 | unit: number | source: core.reconditioning_item.line_no';
comment on column mart.fact_reconditioning.recon_type is 'Type as the service writes it | unit: text | source: core.reconditioning_item.recon_type [A §2 reconditioning_list]';
comment on column mart.fact_reconditioning.is_cost is 'false for lines of type info, which are information without a cost | unit: flag | source: core.reconditioning_item.recon_type';
comment on column mart.fact_reconditioning.source is 'Origin of the line | unit: text | source: core.reconditioning_item.source [A §2]';
comment on column mart.fact_reconditioning.cost is 'Cost | unit: currency_code | source: core.reconditioning_item.cost [A §2]';
comment on column mart.fact_reconditioning.value_text is 'Value of the line, the first 255 characters | unit: text | source: core.reconditioning_item.value_text [A §2]';
comment on column mart.fact_reconditioning.battery_soh_pct is 'State of health of the battery | unit: percent from 0 to 100 | source: core.reconditioning_item.battery_soh_pct [A §2]';
comment on column mart.fact_reconditioning.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.rooftop.currency_code';
