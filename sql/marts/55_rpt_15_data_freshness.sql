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
  case when t.left_config_at is null then t.reason is null end as may_trust,
  (case when t.left_config_at is null then left(t.reason, 255) else 'it left the config: it is loaded no more' end)::varchar(255) as reason,
  t.left_config_at
from (
  select
    r.rooftop_id,
    r.rooftop_name,
    r.left_config_at,
    e.last_good_run_at,
    upper(e.covered) as covered_to,
    (extract(epoch from now() - (upper(e.covered) - e.clock_offset)) / 3600)::numeric(12,2) as hours_behind,
    e.open_gaps,
    q.quarantined,
    v.vanished,
    f.streams_failing,
    n.newest_completed_at,
    nullif(concat_ws('; ',
      case when e.last_status is null then 'evaluations were never loaded' end,
      case when e.last_status is not null and core.is_late(e.last_good_run_at, e.is_at_work) then 'no good run of evaluations within 26 hours' end,
      case when f.streams_failing > 0 then 'failed at the last attempt: ' || f.names end,
      case when e.open_gaps > 0 then e.open_gaps || ' gaps in what was listed' end,
      case when e.unprovable > 0 then e.unprovable || ' windows that cannot be proved complete' end,
      case when q.quarantined > 0 then q.quarantined || ' records in quarantine' end,
      case when w.is_verified_wrong then 'the last verification found wrong rows' end
    ), '') as reason
  from core.rooftop as r
  join core.stream_status as e on e.rooftop_id = r.rooftop_id and e.stream = 'evaluations'
  cross join lateral (
    select count(*)::int as quarantined from ops.quarantine where rooftop_id = r.rooftop_id and resolved_at is null
  ) as q
  cross join lateral (
    select count(*)::int as vanished from ops.vanished where rooftop_id = r.rooftop_id
  ) as v
  cross join lateral (
    select count(*)::int as streams_failing, string_agg(s.stream, ', ' order by s.stream) as names
    from core.stream_status as s
    where s.rooftop_id = r.rooftop_id and s.last_status in ('failed', 'parked')
  ) as f
  cross join lateral (
    select count(*) > 0 as is_verified_wrong from ops.verification where rooftop_id = r.rooftop_id and fault is not null
  ) as w
  cross join lateral (
    select max(one.completed_at) as newest_completed_at
    from core.evaluation as one
    where one.rooftop_id = r.rooftop_id and one.gone_at is null and one.completed_date_local = (
      select max(newest.completed_date_local) from core.evaluation as newest where newest.rooftop_id = r.rooftop_id and newest.gone_at is null
    )
  ) as n
) as t;

comment on view mart.rpt_15_data_freshness is 'May I trust today''s numbers of this rooftop? Every rooftop has a row, even when nothing was loaded yet. By stream: data_freshness. "forecourt verify" also checks every row. | grain: one row per rooftop | key: rooftop_id | history: none | freshness: at the moment of the query';
comment on column mart.rpt_15_data_freshness.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_15_data_freshness.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_15_data_freshness.last_good_run_at is 'End of the last good run of evaluations; good: every record is loaded or in quarantine | unit: instant in UTC | source: ops.run_stream.finished_at, status ok or partial';
comment on column mart.rpt_15_data_freshness.covered_to is 'End of the span that was listed without a gap from the start of the newest sync, by the clock of the source; null: nothing was listed | unit: instant in UTC | source: ops.coverage, ops.window_certificate';
comment on column mart.rpt_15_data_freshness.hours_behind is 'Hours from covered_to to now by the clock of the source | unit: hours | source: covered_to, ops.run.source_started_at';
comment on column mart.rpt_15_data_freshness.open_gaps is 'Ranges of time that were to be loaded but never listed, without those that a living run works on | unit: count | source: ops.coverage.wanted, ops.window_certificate';
comment on column mart.rpt_15_data_freshness.quarantined is 'Records of all streams in quarantine | unit: count | source: ops.quarantine';
comment on column mart.rpt_15_data_freshness.vanished is 'Records that the service no longer shows | unit: count | source: ops.vanished';
comment on column mart.rpt_15_data_freshness.streams_failing is 'Streams whose last attempt failed or was parked | unit: count | source: ops.run_stream.status';
comment on column mart.rpt_15_data_freshness.newest_completed_at is 'Newest completion of an evaluation | unit: instant in UTC | source: core.evaluation.completed_at';
comment on column mart.rpt_15_data_freshness.may_trust is 'true: a good run within 26 hours or a run at work, no gap, no unprovable window, nothing in quarantine, no stream failing, no wrong row found; null: the rooftop left the config, so no new numbers come | unit: flag | source: reason';
comment on column mart.rpt_15_data_freshness.reason is 'Why may_trust is not true; null when it is | unit: text | source: the columns before';
comment on column mart.rpt_15_data_freshness.left_config_at is 'When a run found that the config no longer names the rooftop; null: the config names it | unit: instant in UTC | source: core.rooftop.left_config_at';
