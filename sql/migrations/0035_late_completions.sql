-- How many evaluations will still be completed is estimated from half a year of them. mart.data_freshness read these for each query; the
-- verification reads everything anyway, so it stores the estimate.
alter table ops.verification add column late_completions numeric(12,1);
comment on column ops.verification.late_completions is 'Expected number of evaluations of the last 60 days before the end of the coverage that will still be completed; null: covered for too short a time, or a stream without windows';

create function core.late_completions(of_rooftop int, covered tstzrange) returns numeric language sql stable as $$
  select (coalesce(sum(least(extract(epoch from e.completed_at - e.created_at), 5184000)) filter (where e.eval_id is not null), 0) / extract(epoch from k.until - k.since))::numeric(12,1)
  from (select upper(covered) - interval '1440 hours' as until, greatest(lower(covered), upper(covered) - interval '5760 hours') as since) as k
  left join core.evaluation as e on e.rooftop_id = of_rooftop and e.entry_at >= k.since and e.entry_at < k.until and e.completed_at >= e.created_at and e.gone_at is null
  where k.until - k.since >= interval '720 hours'
  group by k.since, k.until
$$;
comment on function core.late_completions(int, tstzrange) is 'Estimated from the evaluations created in the up to 180 days before the last 60 (R, at least 30 days): sum of min(time from creation to completion, 60 days) / length of R.';
