-- Lanes: runs of different urgency share a rooftop and stream by turns. With them what a long backfill needs: it may be paused,
-- may belong to no process, and says how fast it goes.
alter table ops.run
  add column lane varchar(10) not null default 'foreground' check (lane in ('event', 'foreground', 'background')),
  add column is_detached boolean not null default false,
  add column resumes bigint references ops.run,
  drop constraint run_status_check,
  add constraint run_status_check
    check (status in ('running', 'ok', 'partial', 'failed', 'stopped', 'abandoned', 'paused'));
comment on column ops.run.status is 'abandoned: the process died and another run took its work over; paused: no slice of it begins until another run resumes it';
comment on column ops.run.lane is 'Whose turn comes first where several runs want the same rooftop and stream: event, then foreground, then background';
comment on column ops.run.is_detached is 'No process waits for it: any worker does its work, and it is alive while its status is running';
comment on column ops.run.resumes is 'The paused, stopped or killed run that this one goes on with';
create index run_running on ops.run (run_id) where status = 'running';

alter table ops.run_stream add column not_before timestamptz;
comment on column ops.run_stream.not_before is 'Its next slice begins no earlier: an answer is waited for, or an earlier stream. Others have their turn meanwhile';

create table ops.run_pace (
  run_id bigint not null references ops.run,
  minute_at timestamptz not null,
  windows int not null default 0,
  loaded int not null default 0,
  primary key (run_id, minute_at)
);
comment on table ops.run_pace is 'What the slices of a run committed, by the minute, for its pace; of the last hour of its work.';
comment on column ops.run_pace.loaded is 'Records inserted or updated';
