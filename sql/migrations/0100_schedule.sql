-- The schedule: which jobs the schedulers keep, every time that one was fired, and what people were told of.
create table ops.job (
  job_name varchar(30) primary key,
  schedule varchar(120) not null,
  time_zone varchar(60) not null,
  known_since timestamptz not null default now()
);
comment on table ops.job is 'Jobs that a scheduler of this warehouse has kept. Empty: no scheduler has ever run here, and no job can be late.';
comment on column ops.job.schedule is 'Cron expression by which the scheduler that started last fires it';
comment on column ops.job.known_since is 'Slots from here on are fired or made up; it moves when the schedule or its time zone is changed';

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
comment on table ops.job_fire is 'One row for each (job, slot) over all hosts, and one for each "forecourt run". Times are those of the database.';
comment on column ops.job_fire.slot_at is 'When it was due; null: started by hand';
comment on column ops.job_fire.status is 'stopped: by a signal, another scheduler goes on with it; skipped: not needed or not possible, error says why; died: its process ended, a newer slot made up for it';
comment on column ops.job_fire.attempt is 'Above 1: taken over from a process that died or was stopped. It is the fence: an earlier attempt records nothing';
comment on column ops.job_fire.made_up is 'Claimed more than a minute after it was due';
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
comment on table ops.alert is 'What alerts.url was told of: one row from the failure to the recovery.';
comment on column ops.alert.alert_key is 'Dedupe key: while it stands unresolved, nobody is told again';
comment on column ops.alert.attempts is 'Deliveries tried since it was raised or resolved';
