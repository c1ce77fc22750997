-- The ledger of the loads: runs, the windows that they listed, the proof that a window is complete, rejected records.
-- Nothing here is business data.
create schema if not exists ops;

create table ops.run (
  run_id bigint generated always as identity primary key,
  command varchar(40) not null,
  arguments jsonb not null default '{}',
  status varchar(12) not null default 'running'
    check (status in ('running', 'ok', 'partial', 'failed', 'stopped', 'abandoned', 'paused')),
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  source_started_at timestamptz not null,
  fence bigint not null default 0,
  host varchar(120),
  process_id int,
  lane varchar(10) not null default 'foreground' check (lane in ('event', 'foreground', 'background')),
  is_detached boolean not null default false,
  resumes bigint references ops.run,
  heartbeat_at timestamptz not null default now()
);
create index run_running on ops.run (run_id) where status = 'running';
-- Webhooks make a run each minute, and few runs are backfills: the queries for backfills and for recent deliveries read by index.
create index run_background on ops.run (run_id) where lane = 'background';
create index run_resumes on ops.run (resumes) where resumes is not null;
create index run_event_ended on ops.run (finished_at) where lane = 'event';
comment on table ops.run is 'One execution of a command. Times are those of the database, source_started_at is the clock of the source (HTTP Date).';
comment on column ops.run.status is 'abandoned: the process died, and another run took over its work; paused: no slice begins until another run resumes it';
comment on column ops.run.fence is 'Number of slices that the run committed. When another run has taken over the work, a commit is refused and this number no longer grows';
comment on column ops.run.lane is 'Priority where several runs want the same rooftop and stream: event, then foreground, then background';
comment on column ops.run.is_detached is 'true: no process waits for it. Any worker does its work and updates its heartbeat';
comment on column ops.run.resumes is 'The paused, stopped or killed run that this run continues';
comment on column ops.run.heartbeat_at is 'When a process last worked for the run. Older than a minute while status is running: no process works for it';

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
  saved int not null default 0,
  not_before timestamptz,
  primary key (run_id, rooftop_id, stream)
);
create index on ops.run_stream (rooftop_id, stream, run_id desc);
comment on table ops.run_stream is 'What a run did for one rooftop and stream; each can fail without the others. The counts are updated in the transaction that loads the rows.';
comment on column ops.run_stream.saved is 'Calls that were not needed: asking about every evaluation in every run would have taken this many more requests';
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
  malformed int not null default 0,
  primary key (rooftop_id, stream, window_from),
  check (window_until > window_from)
);
create index on ops.window_certificate (rooftop_id, stream, listed_at);
create index window_certificate_unsettled on ops.window_certificate (rooftop_id, stream) where not settled;
comment on table ops.window_certificate is 'Proof of what one listing of the half-open window [window_from, window_until) returned. Times are by the clock of the source.';
comment on column ops.window_certificate.malformed is 'List items without a usable id; also counted in quarantined';
comment on column ops.window_certificate.settled is 'true: the window was older than sync.settleDays when it was listed, so it counts as covered';
comment on column ops.window_certificate.proof is 'plain: fewer items than the longest list that the source ever returned; halved: ids(whole) = ids(left) + ids(right); unprovable: one second holds more items than the source lists at once';
comment on column ops.window_certificate.reread_at is 'Evaluations of the window that were due before this instant have been read again';

-- A certificate names each record that it listed and the rooftop that owns it, so that `verify` can compare it exactly with the
-- tables. No check says that its counts add up: `verify` finds those that do not.
create table ops.certified_ids (
  rooftop_id int not null,
  stream varchar(40) not null,
  window_from timestamptz not null,
  owner_id int not null,
  outcome varchar(12) not null check (outcome in ('loaded', 'outdated', 'quarantined', 'vanished')),
  ids bigint[] not null,
  primary key (rooftop_id, stream, window_from, owner_id, outcome)
);
create index certified_ids_owner on ops.certified_ids (owner_id, stream);
comment on table ops.certified_ids is 'The ids that the certificate of a window listed, sorted, by owning rooftop and outcome. Written only when they change.';
comment on column ops.certified_ids.outcome is 'loaded: in the tables; outdated: in the tables, but the newest read is in quarantine; quarantined and vanished: not in the tables';

create table ops.unlisted_record (
  rooftop_id int not null,
  stream varchar(40) not null,
  record_id bigint not null,
  entry_at timestamptz not null,
  primary key (rooftop_id, stream, record_id)
);
comment on table ops.unlisted_record is 'Records that were stored or moved outside of the list of their window: by a webhook, a retry, or the list of another window. The next certificate that lists the record deletes its row here.';

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

-- Payloads as received. The type is json, not jsonb: it stores the exact text (\u0000, duplicate keys, key order) at a third of the cost.
create schema raw;

create table raw.payload (
  rooftop_id int not null,
  endpoint varchar(40) not null,
  natural_key varchar(80) not null,
  fetched_at timestamptz not null,
  content_hash bytea not null,
  body json not null,
  run_id bigint not null,
  primary key (rooftop_id, endpoint, natural_key, fetched_at)
);
comment on table raw.payload is 'Answers of the source; a new row only when the content changed. Only forecourt_writer may read it.';
comment on column raw.payload.content_hash is 'sha256 of the body without the query strings of its links, because each read returns new signatures';

-- \u0000 and lone surrogates are legal JSON, but the JSON operators of Postgres fail on them: one such body would fail a whole
-- query. Where an escaped backslash comes before the u, it is text and not an escape.
create function raw.readable(body json) returns json
language sql immutable parallel safe
as $$
  select case when body::text ~ '\\u(0000|[dD][89a-fA-F])' then
    regexp_replace(
      regexp_replace(
        regexp_replace(body::text, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g'),
        '(?<!\\)((?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g'),
      '(?<!\\u[dD][89abAB][0-9a-fA-F]{2})(?<!\\)((?:\\\\)*)\\u[dD][c-fC-F][0-9a-fA-F]{2}', '\1\\ufffd', 'g')::json
  else body end
$$;
comment on function raw.readable(json) is 'The body with U+FFFD in place of what Postgres cannot read: NUL and lone surrogates.';

create view raw.payload_json as
select rooftop_id, endpoint, natural_key, fetched_at, content_hash, raw.readable(body) as body, run_id
from raw.payload;
comment on view raw.payload_json is 'raw.payload with a body that every JSON operator can read; raw.payload has the exact text.';

-- The planner assumes that a table without statistics is empty, and that any index of a rooftop is as good as the key: a first load
-- would read the whole rooftop for each evaluation until autovacuum runs, a minute later. security definer, because forecourt_writer
-- owns no table.
create function ops.refresh_statistics() returns int
language plpgsql security definer set search_path = pg_catalog as $$
declare
  grown regclass;
  refreshed int := 0;
begin
  -- Another process does it now.
  if not pg_try_advisory_xact_lock(7383, 0) then return 0; end if;
  for grown in
    select c.oid::regclass from pg_class as c
    where c.relnamespace in ('core'::regnamespace, 'pii'::regnamespace, 'raw'::regnamespace, 'ops'::regnamespace)
      and c.relkind = 'r' and pg_relation_size(c.oid) / 8192 > 4 * greatest(c.relpages, 8)
    order by c.oid
  loop
    execute format('analyze %s', grown);
    refreshed := refreshed + 1;
  end loop;
  return refreshed;
end
$$;
comment on function ops.refresh_statistics() is 'Analyses the tables that have grown to more than four times the size in their statistics, and returns their number. Autovacuum maintains the statistics afterwards.';
revoke all on function ops.refresh_statistics() from public;
