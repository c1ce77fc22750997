-- grain: one row per evaluation with a final price whose guide was known 30 days later
create or replace view mart.appraisal_accuracy as
select
  e.rooftop_id,
  r.rooftop_name,
  (e.rooftop_id::text || '-' || e.eval_id::text)::varchar(32) as evaluation_key,
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
  l.wholesale_first::numeric(15,3) as wholesale_first,
  l.guide_at as guide_later_at,
  (extract(epoch from l.guide_at - e.completed_at) / 86400)::numeric(12,2) as days_later,
  l.wholesale::numeric(15,3) as wholesale_later,
  l.retail::numeric(15,3) as retail_later,
  (l.wholesale - l.wholesale_first)::numeric(18,3) as guide_move,
  (e.final_price - l.wholesale)::numeric(18,3) as error,
  (case when l.wholesale <> 0 then least(greatest((e.final_price - l.wholesale) / l.wholesale, -999.9999), 999.9999) end)::numeric(7,4) as error_share,
  (case when l.wholesale <> 0 then least(abs((e.final_price - l.wholesale) / l.wholesale), 999.9999) end)::numeric(7,4) as absolute_error_share
from core.evaluation as e
join core.rooftop as r using (rooftop_id)
left join core.app_user as u using (user_id)
left join core.price_observation as n
  on n.rooftop_id = e.rooftop_id and n.eval_id = e.eval_id and n.price_source = 'pricing_ai' and n.is_current and n.currency_code = e.currency_code
left join (
  select distinct on (rooftop_id, eval_id, currency_code) rooftop_id, eval_id, currency_code, wholesale
  from core.price_observation
  where price_source = 'pricing_ai' and not is_current
  order by rooftop_id, eval_id, currency_code, observed_at
) as f on f.rooftop_id = e.rooftop_id and f.eval_id = e.eval_id and f.currency_code = e.currency_code
left join (
  select distinct on (p.rooftop_id, p.eval_id) p.rooftop_id, p.eval_id, p.observed_at, p.wholesale, p.retail
  from core.price_observation as p
  join core.evaluation as own on own.rooftop_id = p.rooftop_id and own.eval_id = p.eval_id and own.currency_code = p.currency_code
  where p.price_source = 'pricing_ai' and not p.is_current and p.wholesale is not null and p.last_confirmed_at >= own.completed_at + interval '720 hours'
  order by p.rooftop_id, p.eval_id, p.observed_at
) as c on c.rooftop_id = e.rooftop_id and c.eval_id = e.eval_id
-- The current price is the newest. Where no price came before it, it is also the first price, and the first one after 30 days.
cross join lateral (
  select case when f.eval_id is null then n.wholesale else f.wholesale end as wholesale_first,
    case when c.eval_id is null then n.wholesale else c.wholesale end as wholesale,
    case when c.eval_id is null then n.retail else c.retail end as retail,
    greatest(case when c.eval_id is null then n.observed_at else c.observed_at end, e.completed_at + interval '720 hours') as guide_at
) as l
where e.final_price is not null and e.completed_date_local is not null and e.gone_at is null
  and (c.eval_id is not null or (n.wholesale is not null and n.last_confirmed_at >= e.completed_at + interval '720 hours'));

comment on view mart.appraisal_accuracy is 'How close is the appraised price to the guide price 30 days (720 hours) after completion? When the guide was not requested then, the first later answer counts. Evaluations without such a guide price are not included. | grain: one row per evaluation with a final price whose guide was known 30 days later | key: evaluation_key | history: current state of the evaluation, guide price of that time | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.appraisal_accuracy.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.appraisal_accuracy.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.appraisal_accuracy.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.appraisal_accuracy.eval_id is 'EvalID of the appraisal service | unit: id | source: core.evaluation.eval_id [A §2 EvalID]';
comment on column mart.appraisal_accuracy.completed_date is 'Day of completion in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.appraisal_accuracy.month_start is 'First day of the month of completion | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.appraisal_accuracy.user_id is 'Salesperson; null when the evaluation names none | unit: id | source: core.evaluation.user_id [A §2 UserEmail] | joins: dim_user.user_id';
comment on column mart.appraisal_accuracy.salesperson is 'Name of the salesperson; null when unknown | unit: text | source: core.app_user.display_name';
comment on column mart.appraisal_accuracy.make is 'Make | unit: text | source: core.evaluation.make [A §2]';
comment on column mart.appraisal_accuracy.model is 'Model | unit: text | source: core.evaluation.model [A §2]';
comment on column mart.appraisal_accuracy.model_year is 'Model year | unit: year | source: core.evaluation.model_year [A §2]';
comment on column mart.appraisal_accuracy.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.evaluation.currency_code';
comment on column mart.appraisal_accuracy.appraised_price is 'Price of the appraisal | unit: currency_code | source: core.evaluation.final_price [A §2 FinalPrice]';
comment on column mart.appraisal_accuracy.wholesale_first is 'Wholesale guide price of the first answer | unit: currency_code | source: core.price_observation.wholesale, earliest observed_at [A §4 /pricingAi/payload]';
comment on column mart.appraisal_accuracy.guide_later_at is '30 days after completion when the answers before and after it are the same, else the first later answer | unit: instant in UTC | source: core.price_observation.observed_at, last_confirmed_at';
comment on column mart.appraisal_accuracy.days_later is 'Days from completion to guide_later_at, 30 or more | unit: days | source: guide_later_at, core.evaluation.completed_at';
comment on column mart.appraisal_accuracy.wholesale_later is 'Wholesale guide price at guide_later_at | unit: currency_code | source: core.price_observation.wholesale';
comment on column mart.appraisal_accuracy.retail_later is 'Retail guide price at guide_later_at | unit: currency_code | source: core.price_observation.retail';
comment on column mart.appraisal_accuracy.guide_move is 'wholesale_later - wholesale_first: the change of the market meanwhile | unit: currency_code | source: wholesale_first, wholesale_later';
comment on column mart.appraisal_accuracy.error is 'appraised_price - wholesale_later. Above 0: the appraisal is higher than the later guide price | unit: currency_code | source: appraised_price, wholesale_later';
comment on column mart.appraisal_accuracy.error_share is 'error / wholesale_later; null when wholesale_later is 0. Limited to ±999.9999 | unit: share, 0.1 is 10 % | source: error, wholesale_later';
comment on column mart.appraisal_accuracy.absolute_error_share is 'error_share without its sign; its average is the mean absolute error. Limited to 999.9999 | unit: share, 0.1 is 10 % | source: error_share';
