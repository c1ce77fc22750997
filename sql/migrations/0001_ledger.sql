-- The ledger of the loads: runs, the windows that they listed, the proof that a window is complete, rejected records.
-- Nothing here is business data.
create schema if not exists ops;

create table ops.run (
  run_id bigint generated always as identity primary key,
  command varchar(40) not null,
  arguments jsonb not null default '{}',
  status varchar(12) not null default 'running'
    check (status in ('running', 'ok', 'partial', 'failed', 'stopped', 'abandoned')),
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  source_started_at timestamptz not null,
  fence bigint not null default 0,
  host varchar(120),
  process_id int
);
comment on table ops.run is 'One execution of a command. Times are those of the database, source_started_at is the clock of the source (HTTP Date).';
comment on column ops.run.status is 'abandoned: the process died, and another run took over its work';
comment on column ops.run.fence is 'Number of slices that the run committed. When another run has taken over the work, a commit is refused and this number no longer grows';

create table ops.run_stream (
  run_id bigint not null references ops.run,
  rooftop_id int not null,
  stream varchar(40) not null,
  status varchar(12) not null default 'waiting'
    check (status in ('waiting', 'running', 'ok', 'partial', 'failed', 'parked')),
  error text,
  listed int not null default 0,
  hydrated int not null default 0,
  inserted int not null default 0,
  updated int not null default 0,
  unchanged int not null default 0,
  quarantined int not null default 0,
  vanished int not null default 0,
  windows int not null default 0,
  requests int not null default 0,
  retries int not null default 0,
  finished_at timestamptz,
  primary key (run_id, rooftop_id, stream)
);
create index on ops.run_stream (rooftop_id, stream, run_id desc);
comment on table ops.run_stream is 'What a run did for one rooftop and stream; each can fail without the others. The counts are updated in the transaction that loads the rows.';

create table ops.window_certificate (
  rooftop_id int not null,
  stream varchar(40) not null,
  window_from timestamptz not null,
  window_until timestamptz not null,
  listed_at timestamptz not null,
  reread_at timestamptz not null,
  listed int not null,
  loaded int not null,
  quarantined int not null,
  vanished int not null,
  least_entry_at timestamptz,
  greatest_entry_at timestamptz,
  ids_digest bytea not null,
  settled boolean not null,
  proof varchar(12) not null check (proof in ('plain', 'halved', 'unprovable')),
  run_id bigint not null,
  primary key (rooftop_id, stream, window_from),
  check (window_until > window_from),
  check (listed = loaded + quarantined + vanished)
);
create index on ops.window_certificate (rooftop_id, stream, listed_at);
comment on table ops.window_certificate is 'Proof of what one listing of the half-open window [window_from, window_until) returned. Times are by the clock of the source.';
comment on column ops.window_certificate.settled is 'true: the window was older than sync.settleDays when it was listed, so it counts as covered';
comment on column ops.window_certificate.proof is 'plain: fewer items than the longest list that the source ever returned; halved: ids(whole) = ids(left) + ids(right); unprovable: one second holds more items than the source lists at once';
comment on column ops.window_certificate.reread_at is 'Evaluations of the window that were due before this instant have been read again';

create table ops.coverage (
  rooftop_id int not null,
  stream varchar(40) not null,
  covered tstzmultirange not null default '{}',
  wanted tstzmultirange not null default '{}',
  primary key (rooftop_id, stream)
);
comment on table ops.coverage is 'covered: the union of the settled windows. wanted: the spans that sync and backfill were asked to load. wanted - covered is still to do.';

create table ops.stream_state (
  rooftop_id int not null,
  stream varchar(40) not null,
  largest_answer int not null default 0,
  list_cap int,
  state jsonb not null default '{}',
  primary key (rooftop_id, stream)
);
comment on table ops.stream_state is 'Facts observed about the source: the longest list that it returned, and the silent list limit that halving a window revealed (null: none).';

create table ops.quarantine (
  quarantine_id bigint generated always as identity primary key,
  stream varchar(40) not null,
  rooftop_id int not null,
  natural_key varchar(80) not null,
  issues jsonb not null,
  payload text,
  attempts int not null default 1,
  window_from timestamptz,
  window_until timestamptz,
  run_id bigint not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  resolved_at timestamptz
);
create unique index quarantine_open on ops.quarantine (rooftop_id, stream, natural_key) where resolved_at is null;
comment on table ops.quarantine is 'Records that do not match the contract, as received, with the JSON path of each issue.';

create table ops.vanished (
  rooftop_id int not null,
  stream varchar(40) not null,
  natural_key varchar(80) not null,
  reason varchar(12) not null check (reason in ('not found', 'not listed')),
  vanished_at timestamptz not null,
  run_id bigint not null,
  primary key (rooftop_id, stream, natural_key)
);
comment on table ops.vanished is 'Records that the source no longer returns, or no longer lists in a certified window.';

create table ops.data_quality (
  rooftop_id int not null,
  stream varchar(40) not null,
  natural_key varchar(80) not null,
  check_name varchar(40) not null,
  detail varchar(300) not null,
  run_id bigint not null,
  seen_at timestamptz not null default now(),
  primary key (rooftop_id, stream, natural_key, check_name)
);
comment on table ops.data_quality is 'Warnings: records that were loaded but contradict themselves or the document. A warning is deleted when a later read no longer has the problem.';

create table ops.field_drift (
  stream varchar(40) not null,
  json_path varchar(300) not null,
  json_type varchar(10) not null,
  classification varchar(12) not null check (classification in ('documented', 'undocumented', 'missing')),
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  seen bigint not null default 0,
  primary key (stream, json_path, json_type)
);
comment on table ops.field_drift is 'Every JSON path and type that was received, with its count over new and changed records.';
