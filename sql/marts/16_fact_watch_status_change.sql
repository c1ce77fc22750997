-- grain: one row per change of the status of a watch
create or replace view mart.fact_watch_status_change as
select
  (w.rooftop_id || '-' || w.eval_id)::varchar(32) as evaluation_key,
  w.rooftop_id,
  w.eval_id,
  w.check_kind,
  w.check_ref,
  w.observed_at,
  w.from_status,
  w.to_status
from core.watch_status_change as w;

comment on view mart.fact_watch_status_change is 'Every status that a PPSR watch was seen to take, the first one included. | grain: one row per change of the status of a watch | key: rooftop_id, check_kind, check_ref, observed_at | history: complete since loading began, as far as it was sampled | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.fact_watch_status_change.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one; without an index: in SQL join on rooftop_id and eval_id | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.fact_watch_status_change.rooftop_id is 'Rooftop that the row belongs to | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_watch_status_change.eval_id is 'Evaluation, as the appraisal service numbers it | unit: id | source: core.watch_status_change.eval_id';
comment on column mart.fact_watch_status_change.check_kind is 'ppsr or car_history | unit: text | source: core.watch_status_change.check_kind';
comment on column mart.fact_watch_status_change.check_ref is 'The check, as the service names it | unit: id | source: core.watch_status_change.check_ref';
comment on column mart.fact_watch_status_change.observed_at is 'First answer that said so | unit: instant in UTC | source: core.watch_status_change.observed_at';
comment on column mart.fact_watch_status_change.from_status is 'Status before; null: this is the first one seen | unit: text | source: core.watch_status_change.from_status | joins: dim_watch_status.watch_status';
comment on column mart.fact_watch_status_change.to_status is 'Status from then on | unit: text | source: core.watch_status_change.to_status | joins: dim_watch_status.watch_status';
