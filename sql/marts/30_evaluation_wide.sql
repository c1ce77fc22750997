-- grain: one row per evaluation
create or replace view mart.evaluation_wide as
select
  (e.rooftop_id::text || '-' || e.eval_id::text)::varchar(32) as evaluation_key,
  e.rooftop_id,
  r.rooftop_name,
  g.group_code as group_name,
  r.region,
  e.eval_id,
  (e.group_id::text || '-' || e.vehicle_vin)::varchar(60) as vehicle_key,
  e.user_id,
  u.display_name as salesperson,
  coalesce(u.is_generated_link_account, false) as is_link_captured,
  e.completed_at is not null as is_complete,
  e.gone_at is not null as is_gone,
  e.created_at,
  e.completed_at,
  e.created_date_local as created_date,
  e.completed_date_local as completed_date,
  date_trunc('month', e.completed_date_local::timestamp)::date as month_start,
  (case when e.created_at_source = 'CreatedAt' and e.completed_at >= e.created_at then extract(epoch from e.completed_at - e.created_at) / 60 end)::numeric(12,2) as minutes_to_complete,
  e.vin,
  e.make,
  e.model,
  e.variant,
  e.model_year,
  e.colour,
  e.registration_state,
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
  coalesce(f.observed_at, n.observed_at) as priced_first_at,
  case when f.eval_id is null then n.retail else f.retail end as retail_first,
  case when f.eval_id is null then n.wholesale else f.wholesale end as wholesale_first,
  n.last_confirmed_at as priced_last_at,
  n.retail as retail_now,
  n.wholesale as wholesale_now,
  case when c.is_known then c.searches end as ppsr_searches,
  c.last_searched_at as ppsr_last_searched_at,
  case when c.is_known then coalesce(c.is_interest_changed, false) end as is_ppsr_interest_changed,
  case
    when e.vehicle_vin is not null and e.gone_at is null and e.completed_at between l.first_list_at and l.newest_list_at then b.eval_id is not null
  end as is_bought,
  b.acquired_on as bought_on
from core.evaluation as e
join core.rooftop as r using (rooftop_id)
join core.rooftop_group as g on g.group_id = r.group_id
left join core.stock_listed as l on l.rooftop_id = e.rooftop_id
left join core.app_user as u using (user_id)
left join lateral (
  select p.eval_id, p.observed_at, p.retail, p.wholesale
  from core.price_observation as p
  where p.rooftop_id = e.rooftop_id and p.eval_id = e.eval_id and p.price_source = 'pricing_ai' and not p.is_current
  order by p.observed_at
  limit 1
) as f on true
left join core.price_observation as n on n.rooftop_id = e.rooftop_id and n.eval_id = e.eval_id and n.price_source = 'pricing_ai' and n.is_current
left join lateral (
  select count(*)::int as searches, max(k.searched_at) as last_searched_at, bool_or(k.watch_status = 'changed') as is_interest_changed,
    -- Not a join, which would be one too many for the planner to reorder.
    count(*) > 0 or (e.vehicle_vin is not null and exists (
      select from ops.enrichment_state as asked
      where asked.rooftop_id = e.rooftop_id and asked.stream = 'vehicle-checks' and asked.eval_id = e.eval_id and asked.ask = 'getpastppsrsearch'
        and asked.outcome = 'answered' and asked.last_asked_at > '-infinity'
    )) as is_known
  from core.vehicle_check as k
  where k.group_id = e.group_id and k.vin = e.vehicle_vin and k.check_kind = 'ppsr' and k.gone_at is null
) as c on true
left join lateral (
  select o.eval_id, min(o.acquired_on) as acquired_on
  from core.stock_unit as s
  join core.stock_outcome as o on o.rooftop_id = s.rooftop_id and o.stock_no = s.stock_no
  where s.vin = e.vehicle_vin and o.eval_rooftop_id = e.rooftop_id and o.eval_id = e.eval_id
  group by o.eval_id
) as b on true;

comment on view mart.evaluation_wide is 'Appraisals with the columns that reports need most: rooftop, salesperson, vehicle, first and current guide prices, PPSR searches, and whether the vehicle was bought. | grain: one row per evaluation | key: evaluation_key | history: current state | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.evaluation_wide.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id';
comment on column mart.evaluation_wide.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.evaluation_wide.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.evaluation_wide.group_name is 'Dealer group, as the config names it | unit: text | source: core.rooftop_group.group_code';
comment on column mart.evaluation_wide.region is 'AU, US or GCC | unit: text | source: core.rooftop.region';
comment on column mart.evaluation_wide.eval_id is 'EvalID of the appraisal service | unit: id | source: core.evaluation.eval_id [A §2 EvalID]';
comment on column mart.evaluation_wide.vehicle_key is 'Vehicle; null unless the VIN has 17 characters | unit: id | source: core.evaluation.group_id and vin | joins: dim_vehicle.vehicle_key';
comment on column mart.evaluation_wide.user_id is 'Salesperson; null when the evaluation names none | unit: id | source: core.evaluation.user_id [A §2 UserEmail] | joins: dim_user.user_id';
comment on column mart.evaluation_wide.salesperson is 'Name of the salesperson | unit: text | source: core.app_user.display_name';
comment on column mart.evaluation_wide.is_link_captured is 'true: captured through a link, not by a salesperson | unit: flag | source: core.app_user.is_generated_link_account';
comment on column mart.evaluation_wide.is_complete is 'true: completed | unit: flag | source: core.evaluation.completed_at';
comment on column mart.evaluation_wide.is_gone is 'true: the service no longer shows it, and reports do not count it | unit: flag | source: core.evaluation.gone_at';
comment on column mart.evaluation_wide.created_at is 'Created | unit: instant in UTC | source: core.evaluation.created_at [A §2 CreatedAt, else EntryDate]';
comment on column mart.evaluation_wide.completed_at is 'Completed | unit: instant in UTC | source: core.evaluation.completed_at [A §2 CompletedAt]';
comment on column mart.evaluation_wide.created_date is 'Day of creation in the time zone of the rooftop | unit: date | source: core.evaluation.created_date_local | joins: dim_date.date_day';
comment on column mart.evaluation_wide.completed_date is 'Day of completion in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.evaluation_wide.month_start is 'First day of the month of completion | unit: date | source: core.evaluation.completed_date_local';
comment on column mart.evaluation_wide.minutes_to_complete is 'Time from creation to completion; null when the service gave no exact creation time, or one after the completion | unit: minutes | source: core.evaluation.created_at and completed_at';
comment on column mart.evaluation_wide.vin is 'VIN as the evaluation has it | unit: text | source: core.evaluation.vin [A §2 VIN]';
comment on column mart.evaluation_wide.make is 'Make | unit: text | source: core.evaluation.make [A §2]';
comment on column mart.evaluation_wide.model is 'Model | unit: text | source: core.evaluation.model [A §2]';
comment on column mart.evaluation_wide.variant is 'Variant | unit: text | source: core.evaluation.variant [A §2]';
comment on column mart.evaluation_wide.model_year is 'Model year | unit: year | source: core.evaluation.model_year [A §2]';
comment on column mart.evaluation_wide.colour is 'Exterior colour | unit: text | source: core.evaluation.colour [A §2]';
comment on column mart.evaluation_wide.registration_state is 'State of registration | unit: text | source: core.evaluation.registration_state [A §2]';
comment on column mart.evaluation_wide.odometer is 'Odometer in the unit of the rooftop | unit: odometer_unit | source: core.evaluation.odometer [A §2]';
comment on column mart.evaluation_wide.odometer_unit is 'km or mi | unit: text | source: core.evaluation.odometer_unit (config)';
comment on column mart.evaluation_wide.odometer_km is 'Odometer in kilometres | unit: km | source: core.evaluation.odometer_km';
comment on column mart.evaluation_wide.condition_score is 'Condition, 0 to 10 | unit: score | source: core.evaluation.condition_score [A §2]';
comment on column mart.evaluation_wide.final_price is 'Price of the appraisal: 0 when the service sent 0, null when it sent none | unit: currency_code | source: core.evaluation.final_price [A §2 FinalPrice]';
comment on column mart.evaluation_wide.recon_total is 'Total reconditioning as the service gives it; null: it gives no total. Then rpt_01 uses recon_line_total | unit: currency_code | source: core.evaluation.recon_total [A §2 Reconditioning]';
comment on column mart.evaluation_wide.recon_line_total is 'Sum of the known costs of the reconditioning lines; null: no line, or none with a cost | unit: currency_code | source: core.evaluation.recon_line_total [A §2 reconditioning_list]';
comment on column mart.evaluation_wide.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.rooftop.currency_code';
comment on column mart.evaluation_wide.photo_count is 'Photos | unit: count | source: core.evaluation.photo_count [A §2 Photos]';
comment on column mart.evaluation_wide.hero_source is 'How the hero photo was chosen: default, manual, …; null without a hero | unit: text | source: core.evaluation.hero_source [A §2 heroSource]';
comment on column mart.evaluation_wide.user_price_count is 'Prices that users entered | unit: count | source: core.evaluation.user_price_count [A §2 UserPrices]';
comment on column mart.evaluation_wide.version_no is 'Number of contents observed so far, including this one | unit: count | source: core.evaluation.version_no';
comment on column mart.evaluation_wide.priced_first_at is 'First answer of the pricing AI; null: never priced | unit: instant in UTC | source: core.price_observation.observed_at';
comment on column mart.evaluation_wide.retail_first is 'Retail price of the first answer | unit: currency_code | source: core.price_observation.retail';
comment on column mart.evaluation_wide.wholesale_first is 'Wholesale price of the first answer | unit: currency_code | source: core.price_observation.wholesale';
comment on column mart.evaluation_wide.priced_last_at is 'Newest answer of the pricing AI | unit: instant in UTC | source: core.price_observation.last_confirmed_at';
comment on column mart.evaluation_wide.retail_now is 'Retail price of the newest answer | unit: currency_code | source: core.price_observation.retail';
comment on column mart.evaluation_wide.wholesale_now is 'Wholesale price of the newest answer | unit: currency_code | source: core.price_observation.wholesale';
comment on column mart.evaluation_wide.ppsr_searches is 'PPSR searches of the vehicle in the dealer group; null: not known, as there is none and the service was not asked about this evaluation, or did not answer | unit: count | source: core.vehicle_check, ops.enrichment_state';
comment on column mart.evaluation_wide.ppsr_last_searched_at is 'Newest PPSR search of the vehicle; null: none | unit: instant in UTC | source: core.vehicle_check.searched_at';
comment on column mart.evaluation_wide.is_ppsr_interest_changed is 'true: a watch of the vehicle reports changed security interests; null where ppsr_searches is | unit: flag | source: core.vehicle_check.watch_status';
comment on column mart.evaluation_wide.is_bought is 'true: the vehicle came into stock on this evaluation; null: not known, as it is gone, has no VIN of 17 characters, or the rooftop had no list of its whole stock by its completion, or none since. bought_on may be known all the same | unit: flag | source: core.stock_outcome';
comment on column mart.evaluation_wide.bought_on is 'Day on which the vehicle came into stock | unit: date | source: core.stock_outcome.acquired_on';
