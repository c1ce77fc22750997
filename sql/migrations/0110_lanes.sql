-- Lanes: runs of different urgency share a rooftop and stream. Also what a long backfill needs: it can be paused, can run without
-- a process that waits for it, and reports its speed.
alter table ops.run
  add column lane varchar(10) not null default 'foreground' check (lane in ('event', 'foreground', 'background')),
  add column is_detached boolean not null default false,
  add column resumes bigint references ops.run,
  drop constraint run_status_check,
  add constraint run_status_check
    check (status in ('running', 'ok', 'partial', 'failed', 'stopped', 'abandoned', 'paused'));
comment on column ops.run.status is 'abandoned: the process died, and another run took over its work; paused: no slice begins until another run resumes it';
comment on column ops.run.lane is 'Priority where several runs want the same rooftop and stream: event, then foreground, then background';
comment on column ops.run.is_detached is 'true: no process waits for it. Any worker does its work, and it is alive while its status is running';
comment on column ops.run.resumes is 'The paused, stopped or killed run that this run continues';
create index run_running on ops.run (run_id) where status = 'running';

alter table ops.run_stream add column not_before timestamptz;
comment on column ops.run_stream.not_before is 'The next slice begins no earlier, because the stream waits for an answer or for an earlier stream. Other runs work meanwhile';

create table ops.run_pace (
  run_id bigint not null references ops.run,
  minute_at timestamptz not null,
  windows int not null default 0,
  loaded int not null default 0,
  primary key (run_id, minute_at)
);
comment on table ops.run_pace is 'Number of windows and records that a run committed in each minute of the last hour of its work; its speed is calculated from it.';
comment on column ops.run_pace.loaded is 'Records inserted or updated';
