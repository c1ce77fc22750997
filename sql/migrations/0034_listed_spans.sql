-- What of a windowed stream is listed, and what is missing: `status`, the metrics, the console and the marts read one definition. It reads the
-- coverage and the few windows that are not settled or cannot be proved, so that it costs the same after years.
create or replace view core.stream_status as
select
  r.rooftop_id,
  s.stream::varchar(40) as stream,
  l.status as last_status,
  l.error as last_error,
  l.finished_at as last_attempt_at,
  l.clock_offset,
  g.finished_at as last_good_run_at,
  (select range from unnest(c.listed) as range where range @> coalesce(b.start, lower(c.wanted))) as covered,
  case when c.gaps is not null then (select count(*)::int from unnest(c.gaps)) end as open_gaps,
  c.unprovable,
  q.quarantined,
  v.vanished,
  work.rooftop_id is not null as is_at_work,
  g.source_started_at as read_to,
  case when ops.is_refused(l.refused_key, r.rooftop_uid) then l.refused_key end as refused_key,
  c.listed,
  c.settled,
  c.gaps
from core.rooftop as r
cross join (values ('users', false), ('evaluations', true), ('pricing', false), ('vehicle-checks', false), ('stock-prices', false)) as s (stream, is_windowed)
left join core.stream_at_work as work on work.rooftop_id = r.rooftop_id and work.stream = s.stream
left join lateral (
  select part.status, part.error, part.refused_key, part.finished_at, run.source_started_at - run.started_at as clock_offset
  from ops.run_stream as part
  join ops.run as run using (run_id)
  where part.rooftop_id = r.rooftop_id and part.stream = s.stream and part.finished_at is not null
    and run.arguments ->> 'mode' in ('sync', 'backfill', 'reprice') and (s.is_windowed or run.lane <> 'background')
  order by part.run_id desc
  limit 1
) as l on true
left join lateral (
  select part.finished_at, run.source_started_at
  from ops.run_stream as part
  join ops.run as run using (run_id)
  where part.rooftop_id = r.rooftop_id and part.stream = s.stream and part.status in ('ok', 'partial') and part.finished_at is not null
    and run.arguments ->> 'mode' in ('sync', 'backfill', 'reprice') and (s.is_windowed or run.lane <> 'background')
  order by part.run_id desc
  limit 1
) as g on true
left join lateral (
  select o.wanted, o.covered as settled, o.covered + fresh.listed as listed, doubted.unprovable,
    o.wanted - (o.covered + fresh.listed) - coalesce(work.held, '{}') - coalesce(last.future, '{}') as gaps
  from ops.coverage as o
  cross join (
    select coalesce(range_agg(tstzrange(window_from, window_until)), '{}') as listed
    from ops.window_certificate where rooftop_id = r.rooftop_id and stream = s.stream and not settled
  ) as fresh
  cross join (
    select count(*) as unprovable
    from ops.window_certificate where rooftop_id = r.rooftop_id and stream = s.stream and proof = 'unprovable'
  ) as doubted
  left join lateral (
    -- A source whose clock was set back has not reached what an earlier sync wanted.
    select tstzmultirange(tstzrange(run.source_started_at, null)) as future
    from ops.run_stream as part join ops.run as run using (run_id)
    where part.rooftop_id = r.rooftop_id and part.stream = s.stream and run.arguments ->> 'mode' in ('sync', 'backfill')
    order by part.run_id desc limit 1
  ) as last on true
  where o.rooftop_id = r.rooftop_id and o.stream = s.stream
) as c on s.is_windowed
left join lateral (
  select to_timestamp((run.arguments ->> 'from')::bigint) as start
  from ops.run_stream as part
  join ops.run as run using (run_id)
  where s.is_windowed and part.rooftop_id = r.rooftop_id and part.stream = s.stream and run.arguments ->> 'mode' = 'sync'
  order by part.run_id desc
  limit 1
) as b on true
cross join lateral (
  select count(*)::int as quarantined from ops.quarantine where rooftop_id = r.rooftop_id and stream = s.stream and resolved_at is null
) as q
cross join lateral (
  select count(*)::int as vanished from ops.vanished where rooftop_id = r.rooftop_id and stream = s.stream
) as v;
comment on column core.stream_status.listed is 'Spans that were listed; null for streams without windows, and before the first run';
comment on column core.stream_status.settled is 'Spans that were listed once they were older than sync.settleDays';
comment on column core.stream_status.gaps is 'Spans that are wanted and not listed, and no living run works on them';
comment on column core.stream_status.unprovable is 'Windows that cannot be proved complete';
