with unit as (
  select s.rooftop_id, r.rooftop_name, r.time_zone, s.stock_no, s.vehicle_key, upper(s.vin) as vin, s.make, s.model, s.model_year, s.acquired_on, s.ppsr_outcome
  from fact_stock_unit as s
  join dim_rooftop as r on r.rooftop_id = s.rooftop_id
  where r.region = 'AU' and s.is_on_hand and length(s.vin) = 17
), checked as (
  select u.rooftop_id, u.stock_no, c.searched_at, c.watch_status, c.security_interest_count, c.written_off_count, c.stolen_count,
    c.security_interest_count + c.written_off_count + c.stolen_count as counted,
    row_number() over (partition by u.rooftop_id, u.stock_no order by case when c.watch_status is null then 1 else 0 end, w.noteworthiness nulls last, c.watch_status) as status_no,
    row_number() over (partition by u.rooftop_id, u.stock_no order by case when c.security_interest_count is null then 1 else 0 end, c.searched_at desc nulls last) as count_no,
    row_number() over (partition by u.rooftop_id, u.stock_no order by case when c.written_off_count is null then 1 else 0 end, c.searched_at desc nulls last) as written_off_no,
    row_number() over (partition by u.rooftop_id, u.stock_no order by case when c.stolen_count is null then 1 else 0 end, c.searched_at desc nulls last) as stolen_no,
    row_number() over (partition by u.rooftop_id, u.stock_no
      order by c.searched_at desc nulls last, c.security_interest_count + c.written_off_count + c.stolen_count desc nulls first) as newest_no
  from unit as u
  join fact_vehicle_check as c on c.vehicle_key = u.vehicle_key and c.vin = u.vin and c.check_kind = 'ppsr' and not c.is_gone
  left join dim_watch_status as w on w.watch_status = c.watch_status
), summed as (
  select rooftop_id, stock_no, count(*) as searches, max(searched_at) as last_searched_at,
    max(case when watch_status = 'changed' then 1 else 0 end) as changed,
    max(case when status_no = 1 then watch_status end) as watch_status,
    max(case when count_no = 1 then security_interest_count end) as security_interest_count,
    max(case when written_off_no = 1 then written_off_count end) as written_off_count, max(case when stolen_no = 1 then stolen_count end) as stolen_count,
    max(case when newest_no = 1 then counted end) as newest_count
  from checked
  group by rooftop_id, stock_no
), dated as (
  select u.rooftop_id, u.rooftop_name, u.stock_no, u.vin, u.make, u.model, u.model_year, u.acquired_on, u.ppsr_outcome,
    coalesce(c.searches, 0) as searches, c.last_searched_at, days_between(local_day(c.last_searched_at, u.time_zone), today(u.time_zone)) as days_since_search,
    c.watch_status, c.security_interest_count, c.written_off_count, c.stolen_count, c.newest_count, c.changed
  from unit as u
  left join summed as c on c.rooftop_id = u.rooftop_id and c.stock_no = u.stock_no
)
select rooftop_id, rooftop_name, stock_no, vin, make, model, model_year, acquired_on,
  case when searches > 0 or ppsr_outcome = 'answered' then searches end as searches, last_searched_at, days_since_search,
  watch_status, security_interest_count,
  case when stolen_count > 0 then 'stolen'
    when written_off_count > 0 then 'written off'
    when changed = 1 then 'interest changed'
    when security_interest_count > 0 then 'interest on search'
    when searches = 0 then case when ppsr_outcome = 'answered' then 'never searched' else coalesce(ppsr_outcome, 'not asked') end
    when coalesce(days_since_search > 14, true) then 'stale search'
    when newest_count is null then 'result unknown'
    else 'clear' end as exposure
from dated
