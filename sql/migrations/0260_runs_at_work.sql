-- A run at work was reported like an outage: until its end, the spans that it had not listed yet counted as gaps. The heartbeat
-- distinguishes it from a run whose process died, also on a replica, which does not have the locks of the primary.
alter table ops.run add heartbeat_at timestamptz not null default now();
comment on column ops.run.heartbeat_at is 'When a process last worked for the run. Older than a minute while status is running: no process works for it';
comment on column ops.run.is_detached is 'true: no process waits for it. Any worker does its work and updates its heartbeat';

create view core.stream_at_work as
select part.rooftop_id, part.stream,
  range_agg(tstzrange(span.lower, greatest(span.lower, span.upper)))
    filter (where run.arguments ->> 'mode' in ('sync', 'backfill')) as held
from ops.run as run
join ops.run_stream as part using (run_id)
cross join lateral (
  select to_timestamp((run.arguments ->> 'from')::bigint) as lower,
    coalesce(to_timestamp((run.arguments ->> 'until')::bigint), run.source_started_at) as upper
) as span
where run.status = 'running' and run.heartbeat_at > now() - interval '1 minute'
  and part.status in ('waiting', 'running') and run.arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
  and (part.stream = 'evaluations' or run.lane <> 'background')
group by part.rooftop_id, part.stream;
comment on view core.stream_at_work is 'Streams of rooftops that a living run works on, and the span that it is listing: neither a gap nor late. Streams that a dead or ended run left are not included.';

-- A backfill of another stream than evaluations proves nothing about the nightly runs, so it does not count as a good run.
create or replace view core.stream_status as
select
  r.rooftop_id,
  s.stream::varchar(40) as stream,
  l.status as last_status,
  l.error as last_error,
  l.finished_at as last_attempt_at,
  l.clock_offset,
  g.finished_at as last_good_run_at,
  c.range as covered,
  c.open_gaps,
  c.unprovable,
  q.quarantined,
  v.vanished,
  work.rooftop_id is not null as is_at_work,
  g.source_started_at as read_to
from core.rooftop as r
cross join (values ('users', false), ('evaluations', true), ('pricing', false), ('vehicle-checks', false), ('stock-prices', false)) as s (stream, is_windowed)
left join core.stream_at_work as work on work.rooftop_id = r.rooftop_id and work.stream = s.stream
left join lateral (
  select part.status, part.error, part.finished_at, run.source_started_at - run.started_at as clock_offset
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
  select k.unprovable, (select count(*)::int from unnest(k.wanted - k.listed - coalesce(work.held, '{}'))) as open_gaps, (select range from unnest(k.listed) as range where range @> k.start) as range
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
) as v;
comment on view core.stream_status is 'Status of each stream of each rooftop: its last attempt, its last good run (all records are loaded or in quarantine) with the source time of its start (read_to), whether a living run works on it, and, for evaluations, the span listed without a gap from the start of the newest sync. Read by data_freshness and rpt_15.';
