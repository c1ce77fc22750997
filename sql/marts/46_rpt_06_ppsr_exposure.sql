-- grain: one row per unit on hand of an Australian rooftop with a VIN of 17 characters
create or replace view mart.rpt_06_ppsr_exposure as
select
  s.rooftop_id,
  r.rooftop_name,
  s.stock_no,
  upper(s.vin)::varchar(17) as vin,
  s.make,
  s.model,
  s.model_year,
  coalesce(s.acquired_on, (s.first_seen_at at time zone r.time_zone)::date) as acquired_on,
  case when c.searches > 0 or c.ppsr_outcome = 'answered' then c.searches end as searches,
  c.last_searched_at,
  (now() at time zone r.time_zone)::date - (c.last_searched_at at time zone r.time_zone)::date as days_since_search,
  c.watch_status,
  c.security_interest_count,
  (case
    when c.stolen_count > 0 then 'stolen'
    when c.written_off_count > 0 then 'written off'
    when c.is_interest_changed then 'interest changed'
    when c.security_interest_count > 0 then 'interest on search'
    when c.searches = 0 then case c.ppsr_outcome
      when 'answered' then 'never searched'
      when 'no answer' then 'no answer'
      else 'not asked' end
    when coalesce((now() at time zone r.time_zone)::date - (c.last_searched_at at time zone r.time_zone)::date > 14, true) then 'stale search'
    when c.newest_count is null then 'result unknown'
    else 'clear'
  end)::varchar(20) as exposure
from core.stock_unit as s
join core.rooftop as r using (rooftop_id)
cross join lateral (
  select count(*)::int as searches,
    case when count(*) = 0 then (select u.ppsr_outcome from core.stock_unit_known as u where u.rooftop_id = s.rooftop_id and u.stock_no = s.stock_no) end as ppsr_outcome,
    max(k.searched_at) as last_searched_at,
    coalesce(bool_or(k.watch_status = 'changed'), false) as is_interest_changed,
    (array_agg(k.watch_status order by w.noteworthiness, k.watch_status) filter (where k.watch_status is not null))[1]::varchar(40) as watch_status,
    (array_agg(k.security_interest_count order by k.searched_at desc nulls last) filter (where k.security_interest_count is not null))[1] as security_interest_count,
    (array_agg(k.written_off_count order by k.searched_at desc nulls last) filter (where k.written_off_count is not null))[1] as written_off_count,
    (array_agg(k.stolen_count order by k.searched_at desc nulls last) filter (where k.stolen_count is not null))[1] as stolen_count,
    (array_agg(n.counted order by k.searched_at desc nulls last, n.counted desc nulls first))[1] as newest_count
  from core.vehicle_check as k
  left join core.ref_watch_status as w using (watch_status)
  cross join lateral (select k.security_interest_count + k.written_off_count + k.stolen_count as counted) as n
  where k.group_id = r.group_id and k.vin = upper(s.vin) and k.check_kind = 'ppsr' and k.gone_at is null
) as c
where r.region = 'AU' and s.off_stock_at is null and length(s.vin) = 17;

comment on view mart.rpt_06_ppsr_exposure is 'Which cars in stock have a PPSR risk: stolen, written off, with a security interest, not searched or long ago? Evaluations older than checks.lookForNewDays are not asked about. Searches count for the whole dealer group. No rows without a stock list. | grain: one row per unit on hand of an Australian rooftop with a VIN of 17 characters | key: rooftop_id, stock_no | history: none | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_06_ppsr_exposure.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_06_ppsr_exposure.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_06_ppsr_exposure.stock_no is 'Stock number; the VIN where the list has none | unit: text | source: core.stock_unit.stock_no';
comment on column mart.rpt_06_ppsr_exposure.vin is 'VIN in capitals | unit: text | source: core.stock_unit.vin';
comment on column mart.rpt_06_ppsr_exposure.make is 'Make | unit: text | source: core.stock_unit.make';
comment on column mart.rpt_06_ppsr_exposure.model is 'Model | unit: text | source: core.stock_unit.model';
comment on column mart.rpt_06_ppsr_exposure.model_year is 'Model year | unit: year | source: core.stock_unit.model_year';
comment on column mart.rpt_06_ppsr_exposure.acquired_on is 'Day on which the unit came in: as listed, else the day of its first list | unit: date | source: core.stock_unit.acquired_on, first_seen_at | joins: dim_date.date_day';
comment on column mart.rpt_06_ppsr_exposure.searches is 'PPSR searches of the VIN in the dealer group that the service still lists; null: not known, as it was not asked or did not answer | unit: count | source: core.vehicle_check [A §4 /getpastppsrsearch]';
comment on column mart.rpt_06_ppsr_exposure.last_searched_at is 'Newest of these searches; null: no search, or none with a time | unit: instant in UTC | source: core.vehicle_check.searched_at';
comment on column mart.rpt_06_ppsr_exposure.days_since_search is 'Days from last_searched_at to today, both in the time zone of the rooftop | unit: days | source: last_searched_at';
comment on column mart.rpt_06_ppsr_exposure.watch_status is 'Most noteworthy status of their watches; null: never reported | unit: text | source: core.vehicle_check.watch_status, core.ref_watch_status.noteworthiness [A §3] | joins: dim_watch_status.watch_status';
comment on column mart.rpt_06_ppsr_exposure.security_interest_count is 'Security interests found by the newest search whose count is known; null: no count is known | unit: count | source: core.vehicle_check.security_interest_count';
comment on column mart.rpt_06_ppsr_exposure.exposure is 'The first that applies: stolen, written off (newest known count), interest changed (a watch), interest on search, not asked (checks.lookForNewDays), no answer, never searched, stale search (above 14 days), result unknown (newest search not counted), clear | unit: text | source: core.vehicle_check, ops.enrichment_state';
