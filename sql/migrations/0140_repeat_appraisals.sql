-- The index of core.evaluation.vehicle_vin replaces it.
drop index core.evaluation_vehicle;

create view core.stream_status as
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
  v.vanished
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
) as v;
comment on view core.stream_status is 'Status of each stream of each rooftop: its last attempt, its last good run (all records are loaded or in quarantine) and, for evaluations, the span listed without a gap from the start of the newest sync. Read by data_freshness and rpt_15.';
