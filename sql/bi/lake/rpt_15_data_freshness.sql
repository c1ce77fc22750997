with flagged as (
  select *, last_attempt_status in ('failed', 'parked') as is_failing from data_freshness
), summed as (
  select rooftop_id, rooftop_name, left_config_at,
    max(case when stream = 'evaluations' then last_good_run_at end) as last_good_run_at,
    max(case when stream = 'evaluations' then last_attempt_status end) as last_attempt_status,
    max(case when stream = 'evaluations' then covered_to end) as covered_to,
    max(case when stream = 'evaluations' then hours_behind end) as hours_behind,
    max(case when stream = 'evaluations' then open_gaps end) as open_gaps,
    max(case when stream = 'evaluations' then unprovable_windows end) as unprovable_windows,
    max(case when stream = 'evaluations' then newest_fact_at end) as newest_completed_at,
    max(case when stream = 'evaluations' and is_late then 1 else 0 end) as late,
    max(case when is_verified_wrong then 1 else 0 end) as wrong,
    sum(quarantined) as quarantined, sum(vanished) as vanished, count(case when is_failing then 1 end) as streams_failing,
    concat_ws(', ',
      max(case when is_failing and stream = 'evaluations' then stream end), max(case when is_failing and stream = 'pricing' then stream end),
      max(case when is_failing and stream = 'stock-prices' then stream end), max(case when is_failing and stream = 'users' then stream end),
      max(case when is_failing and stream = 'vehicle-checks' then stream end)
    ) as failing
  from flagged
  group by rooftop_id, rooftop_name, left_config_at
), judged as (
  select *, nullif(concat_ws('; ',
    case when last_attempt_status is null then 'evaluations were never loaded' end,
    case when last_attempt_status is not null and late = 1 then 'no good run of evaluations within 26 hours' end,
    case when streams_failing > 0 then concat('failed at the last attempt: ', failing) end,
    case when open_gaps > 0 then concat(cast(open_gaps as varchar(20)), ' gaps in what was listed') end,
    case when unprovable_windows > 0 then concat(cast(unprovable_windows as varchar(20)), ' windows that cannot be proved complete') end,
    case when quarantined > 0 then concat(cast(quarantined as varchar(20)), ' records in quarantine') end,
    case when wrong = 1 then 'the last verification found wrong rows' end
  ), '') as fault
  from summed
)
select rooftop_id, rooftop_name, last_good_run_at, covered_to, hours_behind, open_gaps, quarantined, vanished, streams_failing, newest_completed_at,
  case when left_config_at is null then fault is null end as may_trust,
  case when left_config_at is null then substr(fault, 1, 255) else 'it left the config: it is loaded no more' end as reason,
  left_config_at
from judged
