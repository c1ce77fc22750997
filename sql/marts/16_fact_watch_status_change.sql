-- grain: one row per change of the status of a watch
create or replace view mart.fact_watch_status_change as
select
  (w.rooftop_id::text || '-' || w.eval_id::text)::varchar(32) as evaluation_key,
  w.rooftop_id,
  w.eval_id,
  w.check_kind,
  w.check_ref,
  w.observed_at,
  w.from_status,
  w.to_status
from core.watch_status_change as w;

comment on view mart.fact_watch_status_change is 'Every observed status of a PPSR watch, including the first. | grain: one row per change of the status of a watch | key: rooftop_id, check_kind, check_ref, observed_at | history: all observed contents since loading began | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.fact_watch_status_change.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.fact_watch_status_change.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_watch_status_change.eval_id is 'EvalID of the appraisal service | unit: id | source: core.watch_status_change.eval_id';
comment on column mart.fact_watch_status_change.check_kind is 'ppsr or car_history | unit: text | source: core.watch_status_change.check_kind';
comment on column mart.fact_watch_status_change.check_ref is 'Id of the check at the service | unit: id | source: core.watch_status_change.check_ref';
comment on column mart.fact_watch_status_change.observed_at is 'First answer with this status | unit: instant in UTC | source: core.watch_status_change.observed_at';
comment on column mart.fact_watch_status_change.from_status is 'Status before; null: to_status is the first one observed | unit: text | source: core.watch_status_change.from_status | joins: dim_watch_status.watch_status';
comment on column mart.fact_watch_status_change.to_status is 'Status from this time on | unit: text | source: core.watch_status_change.to_status | joins: dim_watch_status.watch_status';
