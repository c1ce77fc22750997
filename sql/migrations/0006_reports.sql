-- What the marts (sql/marts) read: the calendar, the status of the streams, and the sums of the reports.
create schema mart;
create schema mart_scoped;
create schema mart_pii;
comment on schema mart is 'The contract with BI tools: views with stable names, types that every driver supports, and a comment on every column. Built from sql/marts.';
comment on schema mart_scoped is 'The views of mart; each reader sees only the rows of its own dealer groups.';
comment on schema mart_pii is 'Views that name customers.';
create schema core_scoped;
comment on schema core_scoped is 'Copies of the views of core that mart_scoped reads, rebuilt with the marts. Row-level security checks the owner of a view, so the marts of a tenant cannot read through views of the warehouse owner.';

create table ops.mart_version (
  version varchar(20) not null,
  checksum varchar(64) not null,
  built_at timestamptz not null default now(),
  primary key (built_at)
);
comment on table ops.mart_version is 'One row per build of the marts; the newest row is current. version: semver of sql/marts/VERSION; removing, renaming or retyping a column raises the major number.';
comment on column ops.mart_version.checksum is 'sha256 of all files of sql/marts. When it differs, the next migrate builds the marts again';

-- One statement drops all: then the order does not matter where views read one another.
create function ops.drop_marts() returns void language plpgsql as $$
declare
  views text;
begin
  select string_agg(format('%I.%I', n.nspname, c.relname), ', ') into views
  from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname in ('mart', 'mart_scoped', 'mart_pii', 'core_scoped') and c.relkind = 'v';
  if views is not null then
    execute 'drop view ' || views;
  end if;
end
$$;
comment on function ops.drop_marts() is 'Drops the views of all mart schemas. A migration that changes a column of theirs calls it first; migrate builds them again at its end.';

create view ops.mart_source as
with recursive step as (
  select distinct v.oid as view_oid, v.relnamespace as view_schema, d.refobjid as source_oid
  from pg_class as v
  join pg_rewrite as w on w.ev_class = v.oid
  join pg_depend as d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass and d.refobjid <> v.oid
  where v.relkind = 'v'
), reached as (
  select view_schema as reader, source_oid, true as is_direct from step
  where view_schema = any (array['mart', 'mart_scoped', 'mart_pii', 'core_scoped']::regnamespace[]::oid[])
  union
  select reached.reader, step.source_oid, false from reached join step on step.view_oid = reached.source_oid
)
select n.nspname as reader, s.nspname as source_schema, c.relname as source_name, c.oid as source_oid, c.relkind as source_kind,
  bool_or(reached.is_direct) as is_direct
from reached
join pg_namespace as n on n.oid = reached.reader
join pg_class as c on c.oid = reached.source_oid
join pg_namespace as s on s.oid = c.relnamespace
group by 1, 2, 3, 4, 5;
comment on view ops.mart_source is 'Tables and views that each mart schema (reader) reads, directly (is_direct) or through other views. Grants and row-level security follow from it, so that a new mart is covered.';

create table core.dim_date (
  date_day date primary key,
  year smallint not null,
  quarter smallint not null,
  month smallint not null,
  month_start date not null,
  month_label varchar(8) not null,
  iso_year smallint not null,
  iso_week smallint not null,
  iso_dow smallint not null,
  day_name varchar(9) not null,
  is_weekend boolean not null,
  au_fiscal_year smallint not null
);
comment on table core.dim_date is 'The calendar, 2000 to 2049.';
comment on column core.dim_date.au_fiscal_year is 'The year in which the Australian fiscal year (1 July to 30 June) ends';
insert into core.dim_date
select day, extract(year from day), extract(quarter from day), extract(month from day), date_trunc('month', day)::date,
  to_char(day, 'YYYY-MM'), extract(isoyear from day), extract(week from day), extract(isodow from day),
  (array['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'])[extract(isodow from day)::int],
  extract(isodow from day) >= 6, extract(year from day + interval '6 months')
from (select day::date as day from generate_series('2000-01-01'::timestamp, '2049-12-31', '1 day') as day) as days;

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
