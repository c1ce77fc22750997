-- grain: one row per reconditioning line and content of the evaluation that it first stood in
create or replace view mart.fact_reconditioning as
select
  (i.rooftop_id || '-' || i.eval_id)::varchar(32) as evaluation_key,
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

comment on view mart.fact_reconditioning is 'Reconditioning lines, present and past. The service gives them no id: a changed list is kept as a new set. | grain: one row per reconditioning line and content of the evaluation that it first stood in | key: evaluation_key, first_version, line_no | history: complete since loading began, as far as it was sampled | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.fact_reconditioning.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one; without an index: in SQL join on rooftop_id and eval_id | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.fact_reconditioning.rooftop_id is 'Rooftop that the row belongs to | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_reconditioning.eval_id is 'Evaluation, as the appraisal service numbers it | unit: id | source: core.reconditioning_item.eval_id';
comment on column mart.fact_reconditioning.first_version is 'version_no of the evaluation in which the line first stood | unit: number | source: core.reconditioning_item.first_version';
comment on column mart.fact_reconditioning.last_version is 'version_no in which it last stood; null: it stands | unit: number | source: core.reconditioning_item.last_version';
comment on column mart.fact_reconditioning.is_current is 'Part of the present content | unit: flag | source: core.reconditioning_item.last_version';
comment on column mart.fact_reconditioning.line_no is 'Place in the list, from 1 | unit: number | source: core.reconditioning_item.line_no';
comment on column mart.fact_reconditioning.recon_type is 'Type as the service writes it | unit: text | source: core.reconditioning_item.recon_type [A §2 reconditioning_list]';
comment on column mart.fact_reconditioning.is_cost is 'false for lines of type info, which state something and cost nothing | unit: flag | source: core.reconditioning_item.recon_type';
comment on column mart.fact_reconditioning.source is 'Where the line comes from | unit: text | source: core.reconditioning_item.source [A §2]';
comment on column mart.fact_reconditioning.cost is 'Cost | unit: currency_code | source: core.reconditioning_item.cost [A §2]';
comment on column mart.fact_reconditioning.value_text is 'Value of the line, the first 255 characters | unit: text | source: core.reconditioning_item.value_text [A §2]';
comment on column mart.fact_reconditioning.battery_soh_pct is 'State of health of the battery | unit: percent from 0 to 100 | source: core.reconditioning_item.battery_soh_pct [A §2]';
comment on column mart.fact_reconditioning.currency_code is 'Currency of the money of the row | unit: ISO 4217 | source: core.rooftop.currency_code';
