-- grain: one row per rooftop and stream
create or replace view mart.data_freshness as
select
  r.rooftop_id,
  r.rooftop_name,
  s.stream,
  (case when r.left_config_at is not null then 'retired' else core.stream_health(
    s.last_status, s.last_good_run_at, s.is_at_work, s.last_error is not null or s.quarantined > 0 or s.open_gaps > 0 or s.unprovable > 0
  ) end)::varchar(12) as status,
  s.last_good_run_at,
  s.last_attempt_at,
  s.last_status as last_attempt_status,
  (case when s.stream = 'evaluations' then upper(s.covered) else s.read_to end) as covered_to,
  (extract(epoch from now() - ((case when s.stream = 'evaluations' then upper(s.covered) else s.read_to end) - s.clock_offset)) / 3600)::numeric(12,2) as hours_behind,
  s.open_gaps,
  s.quarantined,
  s.vanished,
  x.late_completions_expected,
  n.newest_fact_at,
  r.left_config_at
from core.stream_status as s
join core.rooftop as r using (rooftop_id)
join core.newest_fact as n using (rooftop_id, stream)
left join lateral (
  select (coalesce(sum(least(extract(epoch from e.completed_at - e.created_at), 5184000)) filter (where e.eval_id is not null), 0) / extract(epoch from k.until - k.since))::numeric(12,1) as late_completions_expected
  from (select upper(s.covered) - interval '1440 hours' as until, greatest(lower(s.covered), upper(s.covered) - interval '5760 hours') as since) as k
  left join core.evaluation as e on e.rooftop_id = r.rooftop_id and e.entry_at >= k.since and e.entry_at < k.until and e.completed_at >= e.created_at and e.gone_at is null
  where k.until - k.since >= interval '720 hours'
  group by k.since, k.until
) as x on true;

comment on view mart.data_freshness is 'How fresh and how complete is each stream of each rooftop? Every stream of every rooftop has a row, even when nothing was loaded yet. | grain: one row per rooftop and stream | key: rooftop_id, stream | history: none | freshness: at the moment of the query';
comment on column mart.data_freshness.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.data_freshness.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.data_freshness.stream is 'users, evaluations, pricing, vehicle-checks or stock-prices | unit: text | source: ops.run_stream.stream';
comment on column mart.data_freshness.status is 'As in "forecourt status", which also checks every row: ok, partial (quarantine, gaps, an error), failed (last attempt failed or parked), late (no good run within 26 hours, and no run at work), never, or retired (it left the config) | unit: text | source: the columns after';
comment on column mart.data_freshness.last_good_run_at is 'End of the last good run; good: every record is loaded or in quarantine | unit: instant in UTC | source: ops.run_stream.finished_at, status ok or partial';
comment on column mart.data_freshness.last_attempt_at is 'End of the last run, good or not | unit: instant in UTC | source: ops.run_stream.finished_at';
comment on column mart.data_freshness.last_attempt_status is 'How the last run ended: ok, partial, failed or parked | unit: text | source: ops.run_stream.status';
comment on column mart.data_freshness.covered_to is 'Evaluations: end of the span that was listed without a gap from the start of the newest sync. Other streams: start of the last good run. Both by the clock of the source | unit: instant in UTC | source: ops.coverage, ops.window_certificate, ops.run.source_started_at';
comment on column mart.data_freshness.hours_behind is 'Hours from covered_to to now by the clock of the source | unit: hours | source: covered_to, ops.run.source_started_at';
comment on column mart.data_freshness.open_gaps is 'Ranges of time that were to be loaded but never listed, without those that a living run works on; null for streams that list no ranges | unit: count | source: ops.coverage.wanted, ops.window_certificate';
comment on column mart.data_freshness.quarantined is 'Records in quarantine | unit: count | source: ops.quarantine';
comment on column mart.data_freshness.vanished is 'Records that the service no longer shows | unit: count | source: ops.vanished';
comment on column mart.data_freshness.late_completions_expected is 'Expected number of evaluations created in the last 60 days that will still be completed. Estimated from the evaluations created in the up to 180 days before (R, at least 30 days): sum of min(time from creation to completion, 60 days) / length of R | unit: count | source: core.evaluation.created_at, completed_at';
comment on column mart.data_freshness.newest_fact_at is 'Newest completion, price, search, or change of a user | unit: instant in UTC | source: core.evaluation.completed_at, core.price_observation, core.vehicle_check, core.stock_price_observation, core.app_user';
comment on column mart.data_freshness.left_config_at is 'When a run found that the config no longer names the rooftop; null: the config names it | unit: instant in UTC | source: core.rooftop.left_config_at';
