-- The log of a run is where its process writes it, which may be nowhere: its warnings and errors are beside the run, for the console.
create table ops.run_log (
  run_id bigint not null references ops.run on delete cascade,
  line_id bigint generated always as identity,
  at timestamptz not null,
  level varchar(5) not null check (level in ('info', 'warn', 'error', 'fatal')),
  message varchar(1000) not null,
  primary key (run_id, line_id)
);
create index on ops.run_log (at);
comment on table ops.run_log is 'The warnings and errors that the processes of a run logged, and its first other lines: at most 200 of a run, masked like the log, stored for retention.rawDays';
comment on column ops.run_log.at is 'By the clock of the process';
