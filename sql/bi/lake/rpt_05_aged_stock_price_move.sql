with unit as (
  select s.*, r.rooftop_name, days_between(s.acquired_on, today(r.time_zone)) as days_at_least
  from fact_stock_unit as s
  join dim_rooftop as r on r.rooftop_id = s.rooftop_id
  where s.is_on_hand
), priced as (
  select p.rooftop_id, p.stock_no, p.retail, p.currency_code, p.observed_at, p.is_current, u.first_seen_at,
    coalesce(upper(p.vin) = upper(u.vin), true) as is_of_unit,
    max(case when upper(p.vin) <> upper(u.vin) then p.observed_at end) over (partition by p.rooftop_id, p.stock_no) as other_until
  from fact_stock_price_observation as p
  join unit as u on u.rooftop_id = p.rooftop_id and u.stock_no = p.stock_no
  where p.price_source = 'price_batch'
), ranked as (
  select p.rooftop_id, p.stock_no, p.currency_code, p.retail, p.observed_at,
    row_number() over (partition by p.rooftop_id, p.stock_no, p.currency_code order by p.observed_at) as rank_no
  from priced as p
  where p.is_of_unit and p.retail is not null and (p.other_until is null or p.other_until <= p.observed_at) and (p.observed_at > p.first_seen_at - interval '1' hour or p.is_current)
)
select u.rooftop_id, u.rooftop_name, u.stock_no, u.vin, u.make, u.model, u.model_year, u.acquired_on,
  case when u.is_acquired_on_listed then u.days_at_least end as days_in_stock, u.currency_code,
  u.asking_price_first, u.asking_price as asking_price_now,
  case when u.is_asking_price_comparable then u.asking_price_first - u.asking_price end as own_cut, u.price_changes,
  f.retail as market_retail_first, u.market_retail as market_retail_now,
  case when u.market_as_of > f.observed_at then u.market_retail - f.retail end as market_move,
  case when u.market_retail is not null then u.market_as_of end as market_as_of,
  cast(case when u.asking_price is not null and u.market_retail <> 0
    then least(greatest(ratio(u.asking_price, u.market_retail), -999.9999), 999.9999) end as decimal(7,4)) as asking_to_market_share
from unit as u
left join ranked as f on f.rooftop_id = u.rooftop_id and f.stock_no = u.stock_no and f.currency_code = u.currency_code and f.rank_no = 1
where u.days_at_least >= 45
