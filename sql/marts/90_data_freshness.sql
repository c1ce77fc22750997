-- grain: one row per rooftop and stream
create or replace view mart.data_freshness as
select
  r.rooftop_id,
  r.rooftop_name,
  s.stream::varchar(40) as stream,
  (case
    when l.status is null then 'never'
    when l.status in ('failed', 'parked') then 'failed'
    when coalesce(g.finished_at < now() - interval '26 hours', true) then 'late'
    when l.error is not null or q.quarantined > 0 or c.open_gaps > 0 or c.unprovable > 0 then 'partial'
    else 'ok'
  end)::varchar(12) as status,
  g.finished_at as last_good_run_at,
  l.finished_at as last_attempt_at,
  l.status as last_attempt_status,
  (case when s.is_windowed then upper(c.range) else g.finished_at end) as covered_to,
  (extract(epoch from now() - (case when s.is_windowed then upper(c.range) - l.clock_offset else g.finished_at end)) / 3600)::numeric(12,2) as hours_behind,
  c.open_gaps,
  q.quarantined,
  v.vanished,
  x.late_completions_expected,
  (case s.stream
    when 'users' then (
      select max(one.last_changed_at) from core.app_user as one join core.app_user_rooftop as shown using (user_id) where shown.rooftop_id = r.rooftop_id
    )
    when 'evaluations' then (
      select max(e.completed_at) from core.evaluation as e
      where e.rooftop_id = r.rooftop_id and e.gone_at is null and e.completed_date_local = (
        select max(newest.completed_date_local) from core.evaluation as newest where newest.rooftop_id = r.rooftop_id and newest.gone_at is null
      )
    )
    when 'pricing' then (select max(p.observed_at) from core.price_observation as p where p.rooftop_id = r.rooftop_id)
    when 'vehicle-checks' then (select max(coalesce(k.searched_at, k.first_seen_at)) from core.vehicle_check as k where k.rooftop_id = r.rooftop_id and k.gone_at is null)
    else (select max(b.observed_at) from core.stock_price_observation as b where b.rooftop_id = r.rooftop_id)
  end) as newest_fact_at
from core.rooftop as r
cross join (values ('users', false), ('evaluations', true), ('pricing', false), ('vehicle-checks', false), ('stock-prices', false)) as s (stream, is_windowed)
left join lateral (
  select part.status, part.error, part.finished_at, run.source_started_at - run.started_at as clock_offset
  from ops.run_stream as part
  join ops.run as run using (run_id)
  where part.rooftop_id = r.rooftop_id and part.stream = s.stream and part.finished_at is not null
    and run.arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
  order by part.run_id desc
  limit 1
) as l on true
left join lateral (
  select part.finished_at
  from ops.run_stream as part
  join ops.run as run using (run_id)
  where part.rooftop_id = r.rooftop_id and part.stream = s.stream and part.status in ('ok', 'partial') and part.finished_at is not null
    and run.arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
  order by part.run_id desc
  limit 1
) as g on true
left join lateral (
  select k.unprovable, (select count(*)::int from unnest(k.wanted - k.listed)) as open_gaps, (select range from unnest(k.listed) as range where range @> k.start) as range
  from (
    select o.wanted, o.covered + coalesce(w.fresh, '{}') as listed, w.unprovable, coalesce(b.start, lower(o.wanted)) as start
    from ops.coverage as o
    cross join (
      select range_agg(tstzrange(window_from, window_until)) as fresh, count(*) filter (where proof = 'unprovable') as unprovable
      from ops.window_certificate
      where rooftop_id = r.rooftop_id and stream = s.stream and not settled
    ) as w
    left join lateral (
      select to_timestamp((run.arguments ->> 'from')::bigint) as start
      from ops.run_stream as part
      join ops.run as run using (run_id)
      where part.rooftop_id = r.rooftop_id and part.stream = s.stream and run.arguments ->> 'mode' = 'sync'
      order by part.run_id desc
      limit 1
    ) as b on true
    where o.rooftop_id = r.rooftop_id and o.stream = s.stream
  ) as k
) as c on s.is_windowed
cross join lateral (
  select count(*)::int as quarantined from ops.quarantine where rooftop_id = r.rooftop_id and stream = s.stream and resolved_at is null
) as q
cross join lateral (
  select count(*)::int as vanished from ops.vanished where rooftop_id = r.rooftop_id and stream = s.stream
) as v
left join lateral (
  select (coalesce(sum(least(extract(epoch from e.completed_at - e.created_at), 5184000)) filter (where e.eval_id is not null), 0) / extract(epoch from k.until - k.since))::numeric(12,1) as late_completions_expected
  from (select upper(c.range) - interval '1440 hours' as until, greatest(lower(c.range), upper(c.range) - interval '5760 hours') as since) as k
  left join core.evaluation as e on e.rooftop_id = r.rooftop_id and e.entry_at >= k.since and e.entry_at < k.until and e.completed_at >= e.created_at and e.gone_at is null
  where k.until - k.since >= interval '720 hours'
  group by k.since, k.until
) as x on s.is_windowed;

comment on view mart.data_freshness is 'How fresh and how complete each stream of each rooftop is; a row for each, also where nothing was loaded yet. | grain: one row per rooftop and stream | key: rooftop_id, stream | history: none | freshness: at the moment of the query';
comment on column mart.data_freshness.rooftop_id is 'Rooftop that the row belongs to | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.data_freshness.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.data_freshness.stream is 'users, evaluations, pricing, vehicle-checks or stock-prices | unit: text | source: ops.run_stream.stream';
comment on column mart.data_freshness.status is 'As "forecourt status" has it, but for what only a look at every row can tell: ok, partial (quarantine, gaps, an error), failed (last attempt failed or parked), late (no good run within 26 hours), never | unit: text | source: the columns after';
comment on column mart.data_freshness.last_good_run_at is 'End of the last good run; good: all but what is in quarantine landed | unit: instant in UTC | source: ops.run_stream.finished_at, status ok or partial';
comment on column mart.data_freshness.last_attempt_at is 'End of the last run, good or not | unit: instant in UTC | source: ops.run_stream.finished_at';
comment on column mart.data_freshness.last_attempt_status is 'How it ended: ok, partial, failed or parked | unit: text | source: ops.run_stream.status';
comment on column mart.data_freshness.covered_to is 'Of evaluations: up to where they were listed without a gap from the start of the newest sync, by the clock of the source. Of others: last_good_run_at | unit: instant in UTC | source: ops.coverage, ops.window_certificate';
comment on column mart.data_freshness.hours_behind is 'Hours from covered_to to now by the clock of the source | unit: hours | source: covered_to, ops.run.source_started_at';
comment on column mart.data_freshness.open_gaps is 'Ranges of time that were asked for and never listed; null of streams that list no ranges | unit: count | source: ops.coverage.wanted, ops.window_certificate';
comment on column mart.data_freshness.quarantined is 'Records that did not fit and wait in quarantine | unit: count | source: ops.quarantine';
comment on column mart.data_freshness.vanished is 'Records that the service no longer shows | unit: count | source: ops.vanished';
comment on column mart.data_freshness.late_completions_expected is 'Evaluations of the last 60 days still to be completed: over those created in the 180 days before them (R; from 30 days on), the sum of min(create to complete, 60 days) / length of R | unit: count | source: core.evaluation.created_at, completed_at';
comment on column mart.data_freshness.newest_fact_at is 'Newest completion, price, search, or change of a user | unit: instant in UTC | source: core.evaluation.completed_at, core.price_observation, core.vehicle_check, core.stock_price_observation, core.app_user';
