-- Whether a key is refused is stored where its answers arrive, not read out of the texts of errors. A failed stream or read says which
-- key was refused; it counts as stopped by that key only while the key is refused.
create table ops.key_state (
  key_name varchar(130) not null,
  rooftop_uid varchar(120) not null,
  operation varchar(60) not null,
  good_at timestamptz,
  refused_since timestamptz,
  refused_at timestamptz,
  refused_calls int not null default 0,
  status int,
  answer varchar(400),
  primary key (key_name, rooftop_uid, operation)
);
comment on table ops.key_state is 'The last answers to an API key: one row for each operation and rooftop, as a key may be refused at one of either. Processes write what changed, within a second; unchanged answers once a minute. Times are by the clock of the database.';
comment on column ops.key_state.key_name is 'As in ops.rate_budget: appraisal/<name under keys:>, or vehicleData';
comment on column ops.key_state.rooftop_uid is 'Empty for vehicleData, whose key is the same for every rooftop';
comment on column ops.key_state.good_at is 'The last answer that accepted the key, by about a minute';
comment on column ops.key_state.refused_since is 'The first refusal after that; null: the key is not refused';
comment on column ops.key_state.refused_at is 'The last refusal';
comment on column ops.key_state.refused_calls is 'Calls that were refused since; calls that were not sent any more are not counted';
comment on column ops.key_state.status is 'HTTP status of the last refusal';
comment on column ops.key_state.answer is 'What the service answered then, without the key';

-- An operation that no run calls any more would stay refused. It counts no longer once the key was accepted at the rooftop for a day
-- and some margin.
create view ops.key_refusal as
select key_name, rooftop_uid, operation, refused_since, refused_at, refused_calls, status, answer
from ops.key_state as refused
where refused_since is not null and not exists (
  select from ops.key_state as other
  where other.key_name = refused.key_name and other.rooftop_uid = refused.rooftop_uid
    and other.good_at > refused.refused_at + interval '26 hours');
comment on view ops.key_refusal is 'Where API keys are refused now, one row for each operation and rooftop.';

create function ops.is_refused(of_key varchar, uid varchar) returns boolean language sql stable as $$
  select exists (select from ops.key_refusal where key_name = of_key and rooftop_uid in (uid, ''))
$$;
comment on function ops.is_refused(varchar, varchar) is 'Whether a key is refused now at a rooftop; false for null.';

alter table ops.run_stream add column refused_key varchar(130);
comment on column ops.run_stream.refused_key is 'The key whose refusal the error is, or may be where the documents leave open what was refused; null: another cause';
alter table ops.enrichment_state add column refused_key varchar(130);
comment on column ops.enrichment_state.refused_key is 'The key whose refusal the failure is, or may be; null: another cause';

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
  g.source_started_at as read_to,
  case when ops.is_refused(l.refused_key, r.rooftop_uid) then l.refused_key end as refused_key
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
