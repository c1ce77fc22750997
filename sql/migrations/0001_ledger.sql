-- The ledger: runs, what they covered and how it is proved, what did not fit. Nothing here is business data.
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
comment on column ops.run.status is 'abandoned: the process died and another run took its work over';
comment on column ops.run.fence is 'Slices committed by the run. A commit of a run that no longer holds its work is refused, so that this number only grows while the run is alive';

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
comment on table ops.run_stream is 'What a run did for one rooftop and stream: the unit of failure. Counts move in the transaction that loads the rows.';

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
comment on table ops.window_certificate is 'What one listing of a half-open window [window_from, window_until) proved. Times are the source''s.';
comment on column ops.window_certificate.settled is 'Older than the settle margin when it was listed: counts as covered';
comment on column ops.window_certificate.proof is 'plain: fewer items than the source has been seen to give; halved: ids(whole) = ids(left) + ids(right); unprovable: a single second that does not fit under the learned cap';
comment on column ops.window_certificate.reread_at is 'Known evaluations of the window that fell due before this instant have been read again';

create table ops.coverage (
  rooftop_id int not null,
  stream varchar(40) not null,
  covered tstzmultirange not null default '{}',
  wanted tstzmultirange not null default '{}',
  primary key (rooftop_id, stream)
);
comment on table ops.coverage is 'covered: the union of the settled windows. wanted: what sync and backfills were asked for. What is to do is wanted - covered.';

create table ops.stream_state (
  rooftop_id int not null,
  stream varchar(40) not null,
  largest_answer int not null default 0,
  list_cap int,
  state jsonb not null default '{}',
  primary key (rooftop_id, stream)
);
comment on table ops.stream_state is 'What was learned of a source: the largest list that it gave, the silent cap that halving exposed (null: none).';

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
comment on table ops.quarantine is 'Records that did not fit, as received, with the JSON path of every issue.';

create table ops.vanished (
  rooftop_id int not null,
  stream varchar(40) not null,
  natural_key varchar(80) not null,
  reason varchar(12) not null check (reason in ('not found', 'not listed')),
  vanished_at timestamptz not null,
  run_id bigint not null,
  primary key (rooftop_id, stream, natural_key)
);
comment on table ops.vanished is 'Records that the source no longer answers for or no longer lists in a certified window.';

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
comment on table ops.data_quality is 'Warnings: records that landed, but contradict themselves or the document. Gone when a later read of the record no longer shows them.';

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
comment on table ops.field_drift is 'Every JSON path and type that was received, counted over new and changed records.';
