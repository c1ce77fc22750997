-- grain: one row per evaluation with a final price
create or replace view mart.rpt_01_appraisal_gap as
select
  e.rooftop_id,
  r.rooftop_name,
  (e.rooftop_id || '-' || e.eval_id)::varchar(32) as evaluation_key,
  e.eval_id,
  e.completed_date_local as completed_date,
  date_trunc('month', e.completed_date_local::timestamp)::date as month_start,
  e.user_id,
  u.display_name as salesperson,
  e.make,
  e.model,
  e.model_year,
  e.currency_code,
  e.final_price as appraised_price,
  coalesce(e.recon_total, e.recon_line_total)::numeric(15,3) as recon_total,
  first.wholesale as wholesale_first,
  first.retail as retail_first,
  n.wholesale as wholesale_now,
  n.retail as retail_now,
  (e.final_price - first.wholesale)::numeric(18,3) as gap_to_wholesale_first,
  (case when first.wholesale <> 0 then least(greatest((e.final_price - first.wholesale) / first.wholesale, -999.9999), 999.9999) end)::numeric(7,4) as gap_share,
  (first.retail - e.final_price - coalesce(e.recon_total, e.recon_line_total, 0))::numeric(18,3) as gross_room_first,
  (n.retail - e.final_price - coalesce(e.recon_total, e.recon_line_total, 0))::numeric(18,3) as gross_room_now
from core.evaluation as e
join core.rooftop as r using (rooftop_id)
left join core.app_user as u using (user_id)
left join core.price_observation as n
  on n.rooftop_id = e.rooftop_id and n.eval_id = e.eval_id and n.price_source = 'pricing_ai' and n.is_current and n.currency_code = e.currency_code
left join (
  select distinct on (rooftop_id, eval_id, currency_code) rooftop_id, eval_id, currency_code, wholesale, retail
  from core.price_observation
  where price_source = 'pricing_ai' and not is_current
  order by rooftop_id, eval_id, currency_code, observed_at
) as f on f.rooftop_id = e.rooftop_id and f.eval_id = e.eval_id and f.currency_code = e.currency_code
-- The current price is the newest: where none came before it, it is the first.
cross join lateral (
  select case when f.eval_id is null then n.wholesale else f.wholesale end as wholesale, case when f.eval_id is null then n.retail else f.retail end as retail
) as first
where e.final_price is not null and e.completed_date_local is not null and e.gone_at is null;

comment on view mart.rpt_01_appraisal_gap is 'How far the appraised price is from the guide, and what gross profit is left after reconditioning. Guide columns are null where the pricing AI gave no price in the currency of the evaluation. | grain: one row per evaluation with a final price | key: evaluation_key | history: current state of the evaluation, first and present guide | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_01_appraisal_gap.rooftop_id is 'Rooftop that the row belongs to | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_01_appraisal_gap.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_01_appraisal_gap.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.rpt_01_appraisal_gap.eval_id is 'Evaluation, as the appraisal service numbers it | unit: id | source: core.evaluation.eval_id [A §2 EvalID]';
comment on column mart.rpt_01_appraisal_gap.completed_date is 'Day of completion in the zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_01_appraisal_gap.month_start is 'First day of the month of completion | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_01_appraisal_gap.user_id is 'Salesperson; null where the evaluation names none | unit: id | source: core.evaluation.user_id [A §2 UserEmail] | joins: dim_user.user_id';
comment on column mart.rpt_01_appraisal_gap.salesperson is 'Name of the salesperson; null where it is not known | unit: text | source: core.app_user.display_name';
comment on column mart.rpt_01_appraisal_gap.make is 'Make | unit: text | source: core.evaluation.make [A §2]';
comment on column mart.rpt_01_appraisal_gap.model is 'Model | unit: text | source: core.evaluation.model [A §2]';
comment on column mart.rpt_01_appraisal_gap.model_year is 'Model year | unit: year | source: core.evaluation.model_year [A §2]';
comment on column mart.rpt_01_appraisal_gap.currency_code is 'Currency of the money of the row | unit: ISO 4217 | source: core.evaluation.currency_code';
comment on column mart.rpt_01_appraisal_gap.appraised_price is 'Price of the appraisal | unit: currency_code | source: core.evaluation.final_price [A §2 FinalPrice]';
comment on column mart.rpt_01_appraisal_gap.recon_total is 'Reconditioning: the total of the service, else the sum of its lines; null: neither is known | unit: currency_code | source: core.evaluation.recon_total, recon_line_total [A §2 Reconditioning]';
comment on column mart.rpt_01_appraisal_gap.wholesale_first is 'Wholesale guide when it was first priced | unit: currency_code | source: core.price_observation.wholesale, least observed_at [A §4 /pricingAi/payload]';
comment on column mart.rpt_01_appraisal_gap.retail_first is 'Retail guide when it was first priced | unit: currency_code | source: core.price_observation.retail, least observed_at [A §4 /pricingAi/payload]';
comment on column mart.rpt_01_appraisal_gap.wholesale_now is 'Wholesale guide as last told | unit: currency_code | source: core.price_observation.wholesale, is_current';
comment on column mart.rpt_01_appraisal_gap.retail_now is 'Retail guide as last told | unit: currency_code | source: core.price_observation.retail, is_current';
comment on column mart.rpt_01_appraisal_gap.gap_to_wholesale_first is 'appraised_price less wholesale_first: above 0, more was offered than the guide says | unit: currency_code | source: appraised_price, wholesale_first';
comment on column mart.rpt_01_appraisal_gap.gap_share is 'gap_to_wholesale_first over wholesale_first; null where that is 0. Beyond ±999.9999 it is shown as that | unit: share, 0.1 is 10 % | source: gap_to_wholesale_first, wholesale_first';
comment on column mart.rpt_01_appraisal_gap.gross_room_first is 'retail_first less appraised_price less recon_total, of which none counts as 0 | unit: currency_code | source: retail_first, appraised_price, recon_total';
comment on column mart.rpt_01_appraisal_gap.gross_room_now is 'retail_now less appraised_price less recon_total, of which none counts as 0 | unit: currency_code | source: retail_now, appraised_price, recon_total';
