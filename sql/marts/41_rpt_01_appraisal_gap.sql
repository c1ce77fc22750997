-- grain: one row per evaluation with a final price
create or replace view mart.rpt_01_appraisal_gap as
select
  a.rooftop_id,
  r.rooftop_name,
  (a.rooftop_id::text || '-' || a.eval_id::text)::varchar(32) as evaluation_key,
  a.eval_id,
  a.completed_date_local as completed_date,
  a.month_start,
  a.user_id,
  u.display_name as salesperson,
  a.make,
  a.model,
  a.model_year,
  a.currency_code,
  a.appraised_price,
  a.recon_total,
  a.wholesale_first,
  a.retail_first,
  a.wholesale_now,
  a.retail_now,
  a.gap_to_wholesale_first,
  a.gap_share,
  a.gross_room_first,
  a.gross_room_now
from core.agg_appraisal as a
join core.rooftop as r using (rooftop_id)
left join core.app_user as u using (user_id)
where a.appraised_price is not null;

comment on view mart.rpt_01_appraisal_gap is 'How far is the appraised price from the guide, and how much gross profit remains after reconditioning? Guide columns are null when the pricing AI gave no price in the currency of the evaluation. | grain: one row per evaluation with a final price | key: evaluation_key | history: current state of the evaluation, first and current guide price | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_01_appraisal_gap.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_01_appraisal_gap.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_01_appraisal_gap.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column. It has no index: in SQL join on rooftop_id and eval_id | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.rpt_01_appraisal_gap.eval_id is 'EvalID of the appraisal service | unit: id | source: core.evaluation.eval_id [A §2 EvalID]';
comment on column mart.rpt_01_appraisal_gap.completed_date is 'Day of completion in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_01_appraisal_gap.month_start is 'First day of the month of completion | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_01_appraisal_gap.user_id is 'Salesperson; null when the evaluation names none | unit: id | source: core.evaluation.user_id [A §2 UserEmail] | joins: dim_user.user_id';
comment on column mart.rpt_01_appraisal_gap.salesperson is 'Name of the salesperson; null when unknown | unit: text | source: core.app_user.display_name';
comment on column mart.rpt_01_appraisal_gap.make is 'Make | unit: text | source: core.evaluation.make [A §2]';
comment on column mart.rpt_01_appraisal_gap.model is 'Model | unit: text | source: core.evaluation.model [A §2]';
comment on column mart.rpt_01_appraisal_gap.model_year is 'Model year | unit: year | source: core.evaluation.model_year [A §2]';
comment on column mart.rpt_01_appraisal_gap.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.evaluation.currency_code';
comment on column mart.rpt_01_appraisal_gap.appraised_price is 'Price of the appraisal | unit: currency_code | source: core.evaluation.final_price [A §2 FinalPrice]';
comment on column mart.rpt_01_appraisal_gap.recon_total is 'Reconditioning used in the calculation: recon_total of fact_evaluation, else recon_line_total; null: neither is known | unit: currency_code | source: core.evaluation.recon_total, recon_line_total [A §2 Reconditioning]';
comment on column mart.rpt_01_appraisal_gap.wholesale_first is 'Wholesale guide price of the first answer | unit: currency_code | source: core.price_observation.wholesale, earliest observed_at [A §4 /pricingAi/payload]';
comment on column mart.rpt_01_appraisal_gap.retail_first is 'Retail guide price of the first answer | unit: currency_code | source: core.price_observation.retail, earliest observed_at [A §4 /pricingAi/payload]';
comment on column mart.rpt_01_appraisal_gap.wholesale_now is 'Wholesale guide price of the newest answer | unit: currency_code | source: core.price_observation.wholesale, is_current';
comment on column mart.rpt_01_appraisal_gap.retail_now is 'Retail guide price of the newest answer | unit: currency_code | source: core.price_observation.retail, is_current';
comment on column mart.rpt_01_appraisal_gap.gap_to_wholesale_first is 'appraised_price - wholesale_first. Above 0: the appraisal is higher than the guide | unit: currency_code | source: appraised_price, wholesale_first';
comment on column mart.rpt_01_appraisal_gap.gap_share is 'gap_to_wholesale_first / wholesale_first; null when wholesale_first is 0. Limited to ±999.9999 | unit: share, 0.1 is 10 % | source: gap_to_wholesale_first, wholesale_first';
comment on column mart.rpt_01_appraisal_gap.gross_room_first is 'retail_first - appraised_price - recon_total; a missing recon_total counts as 0 | unit: currency_code | source: retail_first, appraised_price, recon_total';
comment on column mart.rpt_01_appraisal_gap.gross_room_now is 'retail_now - appraised_price - recon_total; a missing recon_total counts as 0 | unit: currency_code | source: retail_now, appraised_price, recon_total';
