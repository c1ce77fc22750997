-- grain: one row per evaluation with a current reconditioning line of type info
create or replace view mart.rpt_09_ev_battery_health as
select
  e.rooftop_id,
  r.rooftop_name,
  (e.rooftop_id::text || '-' || e.eval_id::text)::varchar(32) as evaluation_key,
  e.eval_id,
  e.completed_date_local as completed_date,
  date_trunc('month', e.completed_date_local::timestamp)::date as month_start,
  e.user_id,
  u.display_name as salesperson,
  e.vin,
  e.make,
  e.model,
  e.model_year,
  e.odometer_km,
  i.battery_soh_pct,
  i.source as reading_source,
  i.battery_soh_pct is null as is_reading_missing
from core.evaluation as e
join core.rooftop as r using (rooftop_id)
join (
  select distinct on (rooftop_id, eval_id) rooftop_id, eval_id, battery_soh_pct, source
  from core.reconditioning_item
  where last_version is null and lower(recon_type) = 'info'
  order by rooftop_id, eval_id, battery_soh_pct is null, line_no
) as i using (rooftop_id, eval_id)
left join core.app_user as u using (user_id)
where e.completed_date_local is not null and e.gone_at is null;

comment on view mart.rpt_09_ev_battery_health is 'State of health of batteries as vehicle makers report it, and missing readings. | grain: one row per evaluation with a current reconditioning line of type info | key: evaluation_key | history: current state | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_09_ev_battery_health.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_09_ev_battery_health.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_09_ev_battery_health.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.rpt_09_ev_battery_health.eval_id is 'EvalID of the appraisal service | unit: id | source: core.evaluation.eval_id [A §2 EvalID]';
comment on column mart.rpt_09_ev_battery_health.completed_date is 'Day of completion in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_09_ev_battery_health.month_start is 'First day of the month of completion | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_09_ev_battery_health.user_id is 'Salesperson; null when the evaluation names none | unit: id | source: core.evaluation.user_id [A §2 UserEmail] | joins: dim_user.user_id';
comment on column mart.rpt_09_ev_battery_health.salesperson is 'Name of the salesperson; null when unknown | unit: text | source: core.app_user.display_name';
comment on column mart.rpt_09_ev_battery_health.vin is 'VIN as the evaluation has it | unit: text | source: core.evaluation.vin [A §2 VIN]';
comment on column mart.rpt_09_ev_battery_health.make is 'Make | unit: text | source: core.evaluation.make [A §2]';
comment on column mart.rpt_09_ev_battery_health.model is 'Model | unit: text | source: core.evaluation.model [A §2]';
comment on column mart.rpt_09_ev_battery_health.model_year is 'Model year | unit: year | source: core.evaluation.model_year [A §2]';
comment on column mart.rpt_09_ev_battery_health.odometer_km is 'Odometer in kilometres | unit: km | source: core.evaluation.odometer_km';
comment on column mart.rpt_09_ev_battery_health.battery_soh_pct is 'State of health of the battery, from the first line with a percentage; null: no line has a percentage | unit: percent, 0 to 100 | source: core.reconditioning_item.battery_soh_pct [A §2 reconditioning_list]';
comment on column mart.rpt_09_ev_battery_health.reading_source is 'Vehicle maker that gave the reading; when the reading is missing, the maker of the first line | unit: text | source: core.reconditioning_item.source [A §2 reconditioning_list]';
comment on column mart.rpt_09_ev_battery_health.is_reading_missing is 'true: the evaluation has lines of type info, but none with a percentage | unit: flag | source: battery_soh_pct';
