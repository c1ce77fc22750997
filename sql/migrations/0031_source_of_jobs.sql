-- Schedulers with different services on one warehouse each run their jobs: a job, its slots and an alert belong to a source. Rows of an
-- earlier version have none. Their job runs belong to any source; their jobs and alerts to the first scheduler that registers them.
alter table ops.job add column source_id int references ops.source;
alter table ops.job drop constraint job_pkey, add unique nulls not distinct (job_name, source_id);
comment on table ops.job is 'Jobs that a scheduler of this warehouse has run, for each pair of services. Empty: no scheduler has ever run here, so no job can be late.';
comment on column ops.job.source_id is 'The services of the scheduler; null: of an earlier version';

alter table ops.job_fire add column source_id int references ops.source;
alter table ops.job_fire drop constraint job_fire_job_name_slot_at_key, add unique (job_name, slot_at, source_id);
comment on table ops.job_fire is 'One row per job, slot and pair of services over all hosts, and one per "forecourt run". Times are by the clock of the database.';
comment on column ops.job_fire.source_id is 'The services that it reads; null: of an earlier version, it belongs to any';

alter table ops.alert add column source_id int references ops.source;
drop index ops.alert_open;
create unique index alert_open on ops.alert (alert_key, source_id) nulls not distinct where resolved_at is null;
comment on column ops.alert.source_id is 'The services of the process that found the problem: only such a process ends it. null: of an earlier version';
