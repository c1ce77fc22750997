with summed as (
  select rooftop_id, completed_date, month_start, currency_code, count(*) as appraisals, count(final_price) as with_price,
    cast(sum(final_price) as decimal(18,3)) as value_sum
  from evaluation_wide
  where not is_gone and completed_date is not null
  group by rooftop_id, completed_date, month_start, currency_code
)
select s.rooftop_id, r.rooftop_name, s.completed_date, s.month_start, s.currency_code, s.appraisals, s.with_price, s.value_sum,
  cast(ratio(s.value_sum, s.with_price) as decimal(15,3)) as average_price
from summed as s
join dim_rooftop as r on r.rooftop_id = s.rooftop_id
