-- grain: one row per evaluation
create or replace view mart.fact_evaluation as
select
  (e.rooftop_id::text || '-' || e.eval_id::text)::varchar(32) as evaluation_key,
  e.rooftop_id,
  e.eval_id,
  (e.group_id::text || '-' || e.vehicle_vin)::varchar(60) as vehicle_key,
  e.user_id,
  e.completed_at is not null as is_complete,
  e.gone_at is not null as is_gone,
  e.created_at,
  e.completed_at,
  e.created_date_local as created_date,
  e.completed_date_local as completed_date,
  (case when e.created_at_source = 'CreatedAt' and e.completed_at >= e.created_at then extract(epoch from e.completed_at - e.created_at) / 60 end)::numeric(12,2) as minutes_to_complete,
  e.source_updated_at,
  e.odometer,
  e.odometer_unit,
  e.odometer_km,
  e.condition_score,
  e.final_price,
  e.recon_total,
  e.recon_line_total,
  e.currency_code,
  e.photo_count,
  e.hero_source,
  e.user_price_count,
  e.version_no,
  e.first_loaded_at,
  e.last_changed_at,
  a.price_outcome
from core.evaluation as e
left join core.agg_appraisal as a on a.rooftop_id = e.rooftop_id and a.eval_id = e.eval_id;

comment on view mart.fact_evaluation is 'Appraisals with their current values. | grain: one row per evaluation | key: evaluation_key | history: current state; earlier ones in fact_evaluation_change | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.fact_evaluation.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id';
comment on column mart.fact_evaluation.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_evaluation.eval_id is 'EvalID of the appraisal service | unit: id | source: core.evaluation.eval_id [A §2 EvalID]';
comment on column mart.fact_evaluation.vehicle_key is 'Vehicle; null unless the VIN has 17 characters | unit: id | source: core.evaluation.group_id and vin | joins: dim_vehicle.vehicle_key';
comment on column mart.fact_evaluation.user_id is 'Salesperson; null when the evaluation names none | unit: id | source: core.evaluation.user_id [A §2 UserEmail] | joins: dim_user.user_id';
comment on column mart.fact_evaluation.is_complete is 'true: completed | unit: flag | source: core.evaluation.completed_at';
comment on column mart.fact_evaluation.is_gone is 'true: the service no longer shows it, and reports do not count it | unit: flag | source: core.evaluation.gone_at';
comment on column mart.fact_evaluation.created_at is 'Created | unit: instant in UTC | source: core.evaluation.created_at [A §2 CreatedAt, else EntryDate]';
comment on column mart.fact_evaluation.completed_at is 'Completed | unit: instant in UTC | source: core.evaluation.completed_at [A §2 CompletedAt]';
comment on column mart.fact_evaluation.created_date is 'Day of creation in the time zone of the rooftop | unit: date | source: core.evaluation.created_date_local | joins: dim_date.date_day';
comment on column mart.fact_evaluation.completed_date is 'Day of completion in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.fact_evaluation.minutes_to_complete is 'Time from creation to completion; null when the service gave no exact creation time, or one after the completion | unit: minutes | source: core.evaluation.created_at and completed_at';
comment on column mart.fact_evaluation.source_updated_at is 'Last edit at the service | unit: instant in UTC | source: core.evaluation.source_updated_at [A §2 UpdatedAt]';
comment on column mart.fact_evaluation.odometer is 'Odometer in the unit of the rooftop | unit: odometer_unit | source: core.evaluation.odometer [A §2]';
comment on column mart.fact_evaluation.odometer_unit is 'km or mi | unit: text | source: core.evaluation.odometer_unit (config)';
comment on column mart.fact_evaluation.odometer_km is 'Odometer in kilometres | unit: km | source: core.evaluation.odometer_km';
comment on column mart.fact_evaluation.condition_score is 'Condition, 0 to 10 | unit: score | source: core.evaluation.condition_score [A §2]';
comment on column mart.fact_evaluation.final_price is 'Price of the appraisal: 0 when the service sent 0, null when it sent none | unit: currency_code | source: core.evaluation.final_price [A §2 FinalPrice]';
comment on column mart.fact_evaluation.recon_total is 'Total reconditioning as the service gives it; null: it gives no total. Then rpt_01 uses recon_line_total | unit: currency_code | source: core.evaluation.recon_total [A §2 Reconditioning]';
comment on column mart.fact_evaluation.recon_line_total is 'Sum of the known costs of the reconditioning lines; null: no line, or none with a cost | unit: currency_code | source: core.evaluation.recon_line_total [A §2 reconditioning_list]';
comment on column mart.fact_evaluation.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.rooftop.currency_code';
comment on column mart.fact_evaluation.photo_count is 'Photos | unit: count | source: core.evaluation.photo_count [A §2 Photos]';
comment on column mart.fact_evaluation.hero_source is 'How the hero photo was chosen: default, manual, …; null without a hero | unit: text | source: core.evaluation.hero_source [A §2 heroSource]';
comment on column mart.fact_evaluation.user_price_count is 'Prices that users entered | unit: count | source: core.evaluation.user_price_count [A §2 UserPrices]';
comment on column mart.fact_evaluation.version_no is 'Number of contents observed so far, including this one | unit: count | source: core.evaluation.version_no';
comment on column mart.fact_evaluation.first_loaded_at is 'First loaded into this warehouse | unit: instant in UTC | source: core.evaluation.first_loaded_at';
comment on column mart.fact_evaluation.last_changed_at is 'Last changed in this warehouse | unit: instant in UTC | source: core.evaluation.last_changed_at';
comment on column mart.fact_evaluation.price_outcome is 'Guide price of one that is completed and not gone: priced, or how the last request ended: skipped (cannot be priced), rejected (answer in quarantine), failed (no answer), processing (polled), answered (no price); null: never requested | unit: text | source: core.agg_appraisal.price_outcome [A §6 /pricingAi/payload]';
