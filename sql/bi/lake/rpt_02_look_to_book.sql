with counted as (
  select rooftop_id, month_start, user_id, 1 as appraisals, 0 as bought
  from evaluation_wide
  where not is_gone and completed_date is not null
  union all
  select rooftop_id, month_start, user_id, 0, 1
  from evaluation_wide
  where evaluation_key in (
    select s.evaluation_key
    from fact_stock_unit as s
    join dim_rooftop as holder on holder.rooftop_id = s.rooftop_id
    join dim_rooftop as r on r.rooftop_id = s.eval_rooftop_id and r.group_id = holder.group_id
  )
), summed as (
  select rooftop_id, month_start, user_id, sum(appraisals) as appraisals, sum(bought) as bought
  from counted
  group by rooftop_id, month_start, user_id
)
select s.rooftop_id, r.rooftop_name, s.month_start, s.user_id, u.display_name as salesperson, s.appraisals,
  case when s.month_start between r.stock_listed_from and r.stock_listed_to then s.bought end as bought,
  cast(case when s.month_start between r.stock_listed_from and r.stock_listed_to
    then ratio(s.bought, s.appraisals) end as decimal(7,4)) as look_to_book_share
from summed as s
join dim_rooftop as r on r.rooftop_id = s.rooftop_id
left join dim_user as u on u.user_id = s.user_id
