with counted as (
  select e.rooftop_id, e.month_start, e.is_link_captured, e.photo_count, micros(e.completed_at) - micros(e.created_at) as took,
    not e.is_gone and e.completed_date is not null as is_counted,
    not e.is_gone and e.completed_date is not null and e.minutes_to_complete is not null as is_timed, b.evaluation_key is not null as is_bought
  from evaluation_wide as e
  left join (
    select distinct s.evaluation_key
    from fact_stock_unit as s
    join dim_rooftop as holder on holder.rooftop_id = s.rooftop_id
    join dim_rooftop as r on r.rooftop_id = s.eval_rooftop_id and r.group_id = holder.group_id
  ) as b on b.evaluation_key = e.evaluation_key
), ranked as (
  select counted.*,
    row_number() over (partition by rooftop_id, month_start, is_link_captured, is_timed order by took) - 1 as rank_no,
    count(*) over (partition by rooftop_id, month_start, is_link_captured, is_timed) - 1 as highest
  from counted
  where is_counted or is_bought
), summed as (
  select rooftop_id, month_start, is_link_captured, count(case when is_counted then 1 end) as evaluations,
    coalesce(sum(case when is_counted then photo_count end), 0) as photos,
    count(case when is_counted and photo_count = 0 then 1 end) as no_photo,
    count(case when is_bought then 1 end) as bought,
    -- The median in tenths of microseconds.
    sum(case when is_timed and 2 * rank_no = highest then 10 * took when is_timed and abs(2 * rank_no - highest) = 1 then 5 * took end) as median
  from ranked
  group by rooftop_id, month_start, is_link_captured
)
select s.rooftop_id, r.rooftop_name, s.month_start, s.is_link_captured, s.evaluations, s.photos,
  cast(ratio(s.photos, s.evaluations) as decimal(12,2)) as average_photos, cast(ratio(s.no_photo, s.evaluations) as decimal(7,4)) as no_photo_share,
  cast(ratio(cast(ratio(s.median, 10000) as decimal(18,2)), 60000) as decimal(12,2)) as median_minutes,
  case when s.month_start between r.stock_listed_from and r.stock_listed_to then s.bought end as bought,
  cast(case when s.month_start between r.stock_listed_from and r.stock_listed_to
    then ratio(s.bought, s.evaluations) end as decimal(7,4)) as bought_share
from summed as s
join dim_rooftop as r on r.rooftop_id = s.rooftop_id
