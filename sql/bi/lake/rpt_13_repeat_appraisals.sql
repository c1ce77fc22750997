with repeated as (
  select group_name, upper(vin) as vin, currency_code, count(*) as evaluations, count(distinct rooftop_id) as rooftops,
    min(completed_date) as first_on, max(completed_date) as last_on, min(final_price) as lowest_price, max(final_price) as highest_price
  from evaluation_wide
  where vehicle_key is not null and not is_gone and completed_date is not null
  group by group_name, upper(vin), currency_code
  having count(*) > 1
), bought as (
  select distinct r.group_code, s.vin, e.currency_code
  from fact_stock_unit as s
  join dim_rooftop as r on r.rooftop_id = s.rooftop_id
  join fact_evaluation as e on e.evaluation_key = s.evaluation_key
), listed as (
  select group_code, min(stock_listed_from) as listed_from, max(stock_listed_to) as listed_to
  from dim_rooftop
  group by group_code
)
select a.group_name as group_code, a.vin, a.currency_code, a.evaluations, a.rooftops, a.first_on, a.last_on,
  days_between(a.first_on, a.last_on) as days_between, a.lowest_price, a.highest_price, a.highest_price - a.lowest_price as price_spread,
  case when b.vin is not null then true when a.first_on >= l.listed_from and cast(date_trunc('month', a.last_on) as date) <= l.listed_to then false end as is_bought
from repeated as a
left join bought as b on b.group_code = a.group_name and b.vin = a.vin and b.currency_code = a.currency_code
left join listed as l on l.group_code = a.group_name
