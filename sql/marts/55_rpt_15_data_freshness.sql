-- grain: one row per rooftop
create or replace view mart.rpt_15_data_freshness as
select
  t.rooftop_id,
  t.rooftop_name,
  t.last_good_run_at,
  t.covered_to,
  t.hours_behind,
  t.open_gaps,
  t.quarantined,
  t.vanished,
  t.streams_failing,
  t.newest_completed_at,
  t.reason is null as may_trust,
  left(t.reason, 255)::varchar(255) as reason
from (
  select
    r.rooftop_id,
    r.rooftop_name,
    g.finished_at as last_good_run_at,
    upper(c.range) as covered_to,
    (extract(epoch from now() - (upper(c.range) - l.clock_offset)) / 3600)::numeric(12,2) as hours_behind,
    c.open_gaps,
    q.quarantined,
    v.vanished,
    f.streams_failing,
    n.newest_completed_at,
    nullif(concat_ws('; ',
      case when l.status is null then 'evaluations were never loaded' end,
      case when l.status is not null and coalesce(g.finished_at < now() - interval '26 hours', true) then 'no good run of evaluations within 26 hours' end,
      case when f.streams_failing > 0 then 'failed at the last attempt: ' || f.names end,
      case when c.open_gaps > 0 then c.open_gaps || ' gaps in what was listed' end,
      case when c.unprovable > 0 then c.unprovable || ' windows that cannot be proved complete' end,
      case when q.quarantined > 0 then q.quarantined || ' records in quarantine' end
    ), '') as reason
  from core.rooftop as r
  left join lateral (
    select part.status, run.source_started_at - run.started_at as clock_offset
    from ops.run_stream as part
    join ops.run as run using (run_id)
    where part.rooftop_id = r.rooftop_id and part.stream = 'evaluations' and part.finished_at is not null
      and run.arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
    order by part.run_id desc
    limit 1
  ) as l on true
  left join lateral (
    select part.finished_at
    from ops.run_stream as part
    join ops.run as run using (run_id)
    where part.rooftop_id = r.rooftop_id and part.stream = 'evaluations' and part.status in ('ok', 'partial') and part.finished_at is not null
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
        where rooftop_id = r.rooftop_id and stream = 'evaluations' and not settled
      ) as w
      left join lateral (
        select to_timestamp((run.arguments ->> 'from')::bigint) as start
        from ops.run_stream as part
        join ops.run as run using (run_id)
        where part.rooftop_id = r.rooftop_id and part.stream = 'evaluations' and run.arguments ->> 'mode' = 'sync'
        order by part.run_id desc
        limit 1
      ) as b on true
      where o.rooftop_id = r.rooftop_id and o.stream = 'evaluations'
    ) as k
  ) as c on true
  cross join lateral (
    select count(*)::int as quarantined from ops.quarantine where rooftop_id = r.rooftop_id and resolved_at is null
  ) as q
  cross join lateral (
    select count(*)::int as vanished from ops.vanished where rooftop_id = r.rooftop_id
  ) as v
  cross join lateral (
    select count(*)::int as streams_failing, string_agg(s.stream, ', ' order by s.stream) as names
    from (values ('users'), ('evaluations'), ('pricing'), ('vehicle-checks'), ('stock-prices')) as s (stream)
    cross join lateral (
      select part.status
      from ops.run_stream as part
      join ops.run as run using (run_id)
      where part.rooftop_id = r.rooftop_id and part.stream = s.stream and part.finished_at is not null
        and run.arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
      order by part.run_id desc
      limit 1
    ) as newest
    where newest.status in ('failed', 'parked')
  ) as f
  cross join lateral (
    select max(e.completed_at) as newest_completed_at
    from core.evaluation as e
    where e.rooftop_id = r.rooftop_id and e.gone_at is null and e.completed_date_local = (
      select max(newest.completed_date_local) from core.evaluation as newest where newest.rooftop_id = r.rooftop_id and newest.gone_at is null
    )
  ) as n
) as t;

comment on view mart.rpt_15_data_freshness is 'May I trust today''s numbers of this rooftop? One row for each, also where nothing was loaded yet. By stream: data_freshness. What only a look at every row can tell, "forecourt verify" tells. | grain: one row per rooftop | key: rooftop_id | history: none | freshness: at the moment of the query';
comment on column mart.rpt_15_data_freshness.rooftop_id is 'Rooftop that the row belongs to | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_15_data_freshness.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_15_data_freshness.last_good_run_at is 'End of the last good run of evaluations; good: all but what is in quarantine landed | unit: instant in UTC | source: ops.run_stream.finished_at, status ok or partial';
comment on column mart.rpt_15_data_freshness.covered_to is 'Up to where the source was listed without a gap from the start of the newest sync, by its clock; null: not at all | unit: instant in UTC | source: ops.coverage, ops.window_certificate';
comment on column mart.rpt_15_data_freshness.hours_behind is 'Hours from covered_to to now by the clock of the source | unit: hours | source: covered_to, ops.run.source_started_at';
comment on column mart.rpt_15_data_freshness.open_gaps is 'Ranges of time that were asked for and never listed | unit: count | source: ops.coverage.wanted, ops.window_certificate';
comment on column mart.rpt_15_data_freshness.quarantined is 'Records of all streams that did not fit and wait in quarantine | unit: count | source: ops.quarantine';
comment on column mart.rpt_15_data_freshness.vanished is 'Records that the service no longer shows | unit: count | source: ops.vanished';
comment on column mart.rpt_15_data_freshness.streams_failing is 'Streams whose last attempt failed or was parked | unit: count | source: ops.run_stream.status';
comment on column mart.rpt_15_data_freshness.newest_completed_at is 'Newest completion of an evaluation | unit: instant in UTC | source: core.evaluation.completed_at';
comment on column mart.rpt_15_data_freshness.may_trust is 'A good run within 26 hours, no gap, nothing that cannot be proved, nothing in quarantine, no stream failing | unit: flag | source: reason';
comment on column mart.rpt_15_data_freshness.reason is 'Why not; null where may_trust | unit: text | source: the columns before';
