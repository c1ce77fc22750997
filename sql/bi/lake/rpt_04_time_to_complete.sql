with timed as (
  select rooftop_id, month_start, micros(completed_at) - micros(created_at) as took,
    row_number() over (partition by rooftop_id, month_start order by micros(completed_at) - micros(created_at)) - 1 as rank_no,
    count(*) over (partition by rooftop_id, month_start) - 1 as highest
  from evaluation_wide
  where not is_gone and completed_date is not null and minutes_to_complete is not null
), summed as (
  select rooftop_id, month_start, count(*) as evaluations, count(case when took > 86400000000 then 1 end) as over_a_day,
    -- A percentile between two ranks lies between their values. Tenths of microseconds.
    sum(case when 2 * rank_no = highest then 10 * took when abs(2 * rank_no - highest) = 1 then 5 * took else 0 end) as median,
    sum(case when 10 * rank_no = 9 * highest - 9 * highest % 10 then (10 - 9 * highest % 10) * took
      when 10 * (rank_no - 1) = 9 * highest - 9 * highest % 10 then (9 * highest % 10) * took else 0 end) as p90
  from timed
  group by rooftop_id, month_start
)
select s.rooftop_id, r.rooftop_name, s.month_start, s.evaluations,
  cast(ratio(cast(ratio(s.median, 10000) as decimal(18,2)), 60000) as decimal(12,2)) as median_minutes,
  cast(ratio(cast(ratio(s.p90, 10000) as decimal(18,2)), 60000) as decimal(12,2)) as p90_minutes,
  s.over_a_day, cast(ratio(s.over_a_day, s.evaluations) as decimal(7,4)) as over_a_day_share
from summed as s
join dim_rooftop as r on r.rooftop_id = s.rooftop_id
