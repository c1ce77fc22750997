-- grain: one row per PPSR search or Car History report
create or replace view mart.fact_vehicle_check as
select
  (c.rooftop_id::text || '-' || c.eval_id::text)::varchar(32) as evaluation_key,
  c.rooftop_id,
  c.eval_id,
  c.check_kind,
  c.check_ref,
  (case when length(c.vin) = 17 then c.group_id || '-' || upper(c.vin) end)::varchar(60) as vehicle_key,
  c.vin,
  c.searched_at,
  c.search_number,
  c.certificate_number,
  c.security_interest_count,
  c.written_off_count,
  c.stolen_count,
  c.watch_status,
  c.watch_status_since,
  c.watch_ends_at,
  c.gone_at is not null as is_gone
from core.vehicle_check as c;

comment on view mart.fact_vehicle_check is 'PPSR searches and Car History reports of the appraisal service. Each has one row, even where several evaluations of the dealer group list it. The permalink GET /links/<check_kind>_pdf/<check_ref> of "forecourt serve" opens the PDF. | grain: one row per PPSR search or Car History report | key: rooftop_id, check_kind, check_ref | history: current state; statuses of its watch in fact_watch_status_change | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.fact_vehicle_check.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.fact_vehicle_check.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_vehicle_check.eval_id is 'EvalID of the appraisal service | unit: id | source: core.vehicle_check.eval_id';
comment on column mart.fact_vehicle_check.check_kind is 'ppsr or car_history | unit: text | source: core.vehicle_check.check_kind';
comment on column mart.fact_vehicle_check.check_ref is 'Id of the check at the service | unit: id | source: core.vehicle_check.check_ref';
comment on column mart.fact_vehicle_check.vehicle_key is 'Vehicle; null unless the VIN has 17 characters | unit: id | source: core.vehicle_check.vin';
comment on column mart.fact_vehicle_check.vin is 'VIN that was searched | unit: text | source: core.vehicle_check.vin';
comment on column mart.fact_vehicle_check.searched_at is 'Time of the search | unit: instant in UTC | source: core.vehicle_check.searched_at [A §4]';
comment on column mart.fact_vehicle_check.search_number is 'Number of the search | unit: text | source: core.vehicle_check.search_number';
comment on column mart.fact_vehicle_check.certificate_number is 'Number of the certificate | unit: text | source: core.vehicle_check.certificate_number';
comment on column mart.fact_vehicle_check.security_interest_count is 'Security interests that the search found; null: not known | unit: count | source: core.vehicle_check.security_interest_count';
comment on column mart.fact_vehicle_check.written_off_count is 'Write-off notices that the search found; null: not known | unit: count | source: core.vehicle_check.written_off_count';
comment on column mart.fact_vehicle_check.stolen_count is 'Stolen notices that the search found; null: not known | unit: count | source: core.vehicle_check.stolen_count';
comment on column mart.fact_vehicle_check.watch_status is 'Last reported status of the watch; null: never reported | unit: text | source: core.vehicle_check.watch_status [A §3] | joins: dim_watch_status.watch_status';
comment on column mart.fact_vehicle_check.watch_status_since is 'First answer with this status | unit: instant in UTC | source: core.vehicle_check.watch_status_since';
comment on column mart.fact_vehicle_check.watch_ends_at is 'When the watch ends | unit: instant in UTC | source: core.vehicle_check.watch_ends_at [A §8]';
comment on column mart.fact_vehicle_check.is_gone is 'true: the service no longer lists it | unit: flag | source: core.vehicle_check.gone_at';
