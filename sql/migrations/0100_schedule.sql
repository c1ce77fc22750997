-- The schedule: the jobs of the schedulers, each time that a job was started, and the alerts that were sent.
create table ops.job (
  job_name varchar(30) primary key,
  schedule varchar(120) not null,
  time_zone varchar(60) not null,
  known_since timestamptz not null default now()
);
comment on table ops.job is 'Jobs that a scheduler of this warehouse has run. Empty: no scheduler has ever run here, so no job can be late.';
comment on column ops.job.schedule is 'Cron expression of the scheduler that started last';
comment on column ops.job.known_since is 'Slots from this instant on are run, or run late if they were missed. It is reset when the schedule or its time zone changes';

create table ops.job_fire (
  fire_id bigint generated always as identity primary key,
  job_name varchar(30) not null,
  cause varchar(8) not null check (cause in ('schedule', 'manual')),
  slot_at timestamptz,
  status varchar(8) not null default 'running'
    check (status in ('running', 'ok', 'partial', 'failed', 'stopped', 'skipped', 'died')),
  attempt int not null default 1,
  made_up boolean not null default false,
  claimed_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  finished_at timestamptz,
  host varchar(120) not null,
  process_id int not null,
  run_ids bigint[] not null default '{}',
  error text,
  unique (job_name, slot_at),
  check ((cause = 'manual') = (slot_at is null))
);
create index on ops.job_fire (job_name, fire_id desc);
comment on table ops.job_fire is 'One row per job and slot over all hosts, and one per "forecourt run". Times are by the clock of the database.';
comment on column ops.job_fire.slot_at is 'When it was due; null: started by hand';
comment on column ops.job_fire.status is 'stopped: by a signal, another scheduler continues it; skipped: not needed or not possible, see error; died: its process ended, a newer slot did its work';
comment on column ops.job_fire.attempt is 'Above 1: taken over from a process that died or was stopped. It is the fence: an earlier attempt cannot record a result';
comment on column ops.job_fire.made_up is 'true: started more than a minute after it was due';
comment on column ops.job_fire.run_ids is 'Its runs in ops.run';

create table ops.alert (
  alert_id bigint generated always as identity primary key,
  alert_key varchar(120) not null,
  detail varchar(1000) not null,
  raised_at timestamptz not null default now(),
  told_at timestamptz,
  resolved_at timestamptz,
  resolution_told_at timestamptz,
  attempts int not null default 0
);
create unique index alert_open on ops.alert (alert_key) where resolved_at is null;
comment on table ops.alert is 'Alerts sent to alerts.url: one row from the failure to the recovery.';
comment on column ops.alert.alert_key is 'Deduplication key: while an alert with this key is open, it is not sent again';
comment on column ops.alert.attempts is 'Attempts to deliver since it was raised or resolved';
