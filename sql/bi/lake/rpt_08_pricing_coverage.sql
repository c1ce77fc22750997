with appraised as (
  select evaluation_key, rooftop_id, cast(date_trunc('month', completed_date) as date) as month_start, price_outcome
  from fact_evaluation
  where not is_gone and completed_date is not null
), summed as (
  select rooftop_id, month_start, count(*) as evaluations, count(price_outcome) as requested,
    count(case when price_outcome = 'priced' then 1 end) as priced,
    count(case when price_outcome in ('skipped', 'rejected') then 1 end) as cannot_be_priced,
    count(case when price_outcome = 'failed' then 1 end) as failed
  from appraised
  group by rooftop_id, month_start
), confirmed as (
  select a.rooftop_id, a.month_start, count(*) as prices, min(c.last_confirmed_at) as oldest_confirmed_at,
    sum(days_between(local_day(c.last_confirmed_at, r.time_zone), today(r.time_zone))) as days
  from appraised as a
  join dim_rooftop as r on r.rooftop_id = a.rooftop_id
  join fact_price_observation as p on p.evaluation_key = a.evaluation_key and p.price_source = 'pricing_ai' and p.is_current
  join fact_price_confirmation as c
    on c.evaluation_key = p.evaluation_key and c.price_source = p.price_source and c.observed_at = p.observed_at
  group by a.rooftop_id, a.month_start
)
select s.rooftop_id, r.rooftop_name, s.month_start, s.evaluations, s.priced, cast(ratio(s.priced, s.evaluations) as decimal(7,4)) as priced_share,
  s.cannot_be_priced, s.failed, s.evaluations - s.requested as not_asked,
  cast(ratio(c.days, c.prices) as decimal(12,2)) as average_age_days, c.oldest_confirmed_at
from summed as s
join dim_rooftop as r on r.rooftop_id = s.rooftop_id
left join confirmed as c on c.rooftop_id = s.rooftop_id and c.month_start = s.month_start
