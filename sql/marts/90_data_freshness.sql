-- grain: one row per rooftop and stream
create or replace view mart.data_freshness as
select
  r.rooftop_id,
  r.rooftop_name,
  s.stream,
  (case when r.left_config_at is not null then 'retired' else core.stream_health(
    s.last_status, s.last_good_run_at, s.is_at_work, s.last_error is not null or s.quarantined > 0 or s.open_gaps > 0 or s.unprovable > 0 or x.fault is not null
  ) end)::varchar(12) as status,
  s.last_good_run_at,
  s.last_attempt_at,
  s.last_status as last_attempt_status,
  (case when s.stream = 'evaluations' then upper(s.covered) else s.read_to end) as covered_to,
  (extract(epoch from now() - ((case when s.stream = 'evaluations' then upper(s.covered) else s.read_to end) - s.clock_offset)) / 3600)::numeric(12,2) as hours_behind,
  s.open_gaps,
  s.quarantined,
  s.vanished,
  x.late_completions as late_completions_expected,
  n.newest_fact_at,
  r.left_config_at,
  s.unprovable::int as unprovable_windows,
  core.is_late(s.last_good_run_at, s.is_at_work) as is_late,
  x.fault is not null as is_verified_wrong
from core.stream_status as s
join core.rooftop as r using (rooftop_id)
join core.newest_fact as n using (rooftop_id, stream)
left join ops.verification as x using (rooftop_id, stream);

comment on view mart.data_freshness is 'How fresh and how complete is each stream of each rooftop? Every stream of every rooftop has a row, even when nothing was loaded yet. | grain: one row per rooftop and stream | key: rooftop_id, stream | history: none | freshness: at the moment of the query';
comment on column mart.data_freshness.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.data_freshness.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.data_freshness.stream is 'users, evaluations, pricing, vehicle-checks or stock-prices | unit: text | source: ops.run_stream.stream';
comment on column mart.data_freshness.status is 'As in "forecourt status": ok, partial (quarantine, gaps, an error, wrong rows), failed (last attempt failed or parked), late (no good run within 26 hours, and no run at work), never, or retired (it left the config) | unit: text | source: the columns after';
comment on column mart.data_freshness.last_good_run_at is 'End of the last good run; good: every record is loaded or in quarantine | unit: instant in UTC | source: ops.run_stream.finished_at, status ok or partial';
comment on column mart.data_freshness.last_attempt_at is 'End of the last run, good or not | unit: instant in UTC | source: ops.run_stream.finished_at';
comment on column mart.data_freshness.last_attempt_status is 'How the last run ended: ok, partial, failed or parked | unit: text | source: ops.run_stream.status';
comment on column mart.data_freshness.covered_to is 'Evaluations: end of the span that was listed without a gap from the start of the newest sync. Other streams: start of the last good run. Both by the clock of the source | unit: instant in UTC | source: ops.coverage, ops.window_certificate, ops.run.source_started_at';
comment on column mart.data_freshness.hours_behind is 'Hours from covered_to to now by the clock of the source | unit: hours | source: covered_to, ops.run.source_started_at';
comment on column mart.data_freshness.open_gaps is 'Ranges of time that were to be loaded but never listed, without those that a living run works on; null for streams that list no ranges | unit: count | source: ops.coverage.wanted, ops.window_certificate';
comment on column mart.data_freshness.quarantined is 'Records in quarantine | unit: count | source: ops.quarantine';
comment on column mart.data_freshness.vanished is 'Records that the service no longer shows | unit: count | source: ops.vanished';
comment on column mart.data_freshness.late_completions_expected is 'Expected number of evaluations created in the last 60 days that will still be completed, as the last verification estimated it; null: never verified, or covered for less than 90 days | unit: count | source: ops.verification.late_completions';
comment on column mart.data_freshness.newest_fact_at is 'Newest completion, price, search, or change of a user | unit: instant in UTC | source: core.evaluation.completed_at, core.price_observation, core.vehicle_check, core.stock_price_observation, core.app_user';
comment on column mart.data_freshness.left_config_at is 'When a run found that the config no longer names the rooftop; null: the config names it | unit: instant in UTC | source: core.rooftop.left_config_at';
comment on column mart.data_freshness.unprovable_windows is 'Windows that cannot be proved complete; null for streams that list no ranges | unit: count | source: ops.window_certificate.proof';
comment on column mart.data_freshness.is_late is 'true: no good run within 26 hours, and no run at work | unit: flag | source: ops.run_stream.finished_at, ops.run_stream.status';
comment on column mart.data_freshness.is_verified_wrong is 'true: the last verification found rows that differ from their lists or payloads | unit: flag | source: ops.verification.fault';
