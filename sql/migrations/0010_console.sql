-- The console: who is signed in, and what they did.
create table ops.console_session (
  token_hash bytea primary key,
  email varchar(320) not null,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  ends_at timestamptz not null,
  user_agent varchar(400)
);
create index console_session_ends on ops.console_session (ends_at);
comment on table ops.console_session is 'Who is signed in to the console. A row that is deleted ends its session; a person who is no longer in the config has none.';
comment on column ops.console_session.token_hash is 'sha256 of the cookie, so that a reader of this table cannot sign in';

create table ops.console_link (
  token_hash bytea primary key,
  email varchar(320) not null,
  made_at timestamptz not null default now(),
  ends_at timestamptz not null
);
comment on table ops.console_link is 'Sign-in links that were not used yet. Using one deletes its row.';

create table ops.console_try (
  address varchar(64) not null,
  tried_at timestamptz not null default now()
);
create index console_try_address on ops.console_try (address, tried_at);
comment on table ops.console_try is 'Failed attempts to sign in, of the last 15 minutes, by the address of the client. In Postgres, so that several processes share the limit.';

create table ops.console_action (
  action_id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  email varchar(320) not null,
  role varchar(10) not null check (role in ('engineer', 'viewer', 'stock')),
  action varchar(40) not null,
  target jsonb not null default '{}',
  shown_count int,
  outcome varchar(12) not null default 'started' check (outcome in ('started', 'done', 'refused', 'failed')),
  message varchar(400),
  run_id bigint references ops.run
);
create index console_action_email on ops.console_action (email, action_id desc);
comment on table ops.console_action is 'What people did in the console. A row is written before the action starts, so that none is missing.';
comment on column ops.console_action.shown_count is 'How many records the page had announced when the person confirmed';
comment on column ops.console_action.outcome is 'started: the process ended before the action did; refused: a rule was against it; failed: an error, see message';

alter table ops.run_stream add column began_at timestamptz;
comment on column ops.run_stream.began_at is 'When the first slice of it started; null: none has';

-- What a person of role stock sees. `serve` becomes forecourt_console and names the rooftops of the person; the setting means
-- nothing to any other role, so that no login of BI sees more by it.
create function ops.console_rooftops(who name) returns int[]
language sql stable security definer parallel safe set search_path = '' as $$
  select pg_catalog.string_to_array(pg_catalog.current_setting('forecourt.rooftops', true), ',')::int[]
  from pg_catalog.pg_roles as asked
  where asked.rolname = who and who = 'forecourt_console' and pg_catalog.pg_has_role(session_user, asked.oid, 'member')
$$;
comment on function ops.console_rooftops(name) is 'Rooftops of the person that the console reads for; null for every role but forecourt_console.';
revoke execute on function ops.console_rooftops(name) from public;

create or replace function ops.visible_groups(who name) returns int[]
language sql stable security definer parallel safe set search_path = '' as $$
  select coalesce(array_agg(group_id), '{}') from (
    select g.group_id
    from ops.bi_access as a
    join pg_catalog.pg_roles as granted on granted.rolname = a.role_name
    join pg_catalog.pg_roles as asked on asked.rolname = who
    join core.rooftop_group as g on g.group_code = a.group_code
    where pg_catalog.pg_has_role(asked.oid, granted.oid, 'member') and pg_catalog.pg_has_role(session_user, asked.oid, 'member')
    union
    -- What belongs to a group, such as its salespeople, is for a person who sees all its rooftops.
    select r.group_id from core.rooftop as r group by 1 having bool_and(r.rooftop_id = any ((select ops.console_rooftops(who))::int[]))
  ) as visible
$$;

create or replace function ops.visible_rooftops(who name) returns int[]
language sql stable security definer parallel safe set search_path = '' as $$
  select coalesce(array_agg(r.rooftop_id), '{}') from core.rooftop as r
  where r.group_id = any ((select ops.visible_groups(who))::int[]) or r.rooftop_id = any ((select ops.console_rooftops(who))::int[])
$$;

-- The word for the status of a stream is written here alone: "forecourt status", the marts and the console use it.
create function core.is_late(last_good_run_at timestamptz, is_at_work boolean) returns boolean language sql stable parallel safe
return not is_at_work and coalesce(last_good_run_at < now() - interval '26 hours', true);
comment on function core.is_late(timestamptz, boolean) is 'Whether the last good run of a stream is too old: a night and some margin. A stream that a living run works on is not late.';

create function core.stream_health(last_status text, last_good_run_at timestamptz, is_at_work boolean, is_incomplete boolean) returns text
language sql stable parallel safe
return case
  when last_status is null then 'never'
  when last_status in ('failed', 'parked') then 'failed'
  when core.is_late(last_good_run_at, is_at_work) then 'late'
  when is_incomplete then 'partial'
  else 'ok'
end;
comment on function core.stream_health(text, timestamptz, boolean, boolean) is 'never, failed (last attempt failed or parked), late, partial (something is missing: quarantine, gaps, an error) or ok.';

-- What pages of the console find without reading a whole table.
create index data_quality_check on ops.data_quality (stream, check_name, seen_at desc);
create index webhook_delivery_problem on ops.webhook_delivery (delivery_id) where state in ('failed', 'unusable');
create index vehicle_check_watch on core.vehicle_check (watch_ends_at) where check_kind = 'ppsr' and gone_at is null;
create index quarantine_record on ops.quarantine (split_part(natural_key, '/', 1), rooftop_id);
create index evaluation_vin_end on core.evaluation (right(vehicle_vin, 6)) where vehicle_vin is not null;
create index stock_unit_vin_end on core.stock_unit (right(vin, 6)) where vin is not null;

-- A webhook makes a run each minute: the list of runs reads by their end, and those that did not end well by an index of their own.
create index run_ended on ops.run (coalesce(finished_at, 'infinity'::timestamptz), run_id);
create index run_not_ok on ops.run (coalesce(finished_at, 'infinity'::timestamptz), run_id) where status <> 'ok';
create index job_fire_claimed on ops.job_fire (claimed_at);
create index job_fire_runs on ops.job_fire using gin (run_ids);
create index quarantine_unresolved on ops.quarantine (quarantine_id) where resolved_at is null;
create index quarantine_resolved on ops.quarantine (quarantine_id) where resolved_at is not null;

-- Four hundred records that do not fit for one reason are one line of the console.
create function ops.issue_path(issues jsonb) returns text language sql immutable parallel safe
return regexp_replace(coalesce(issues -> 0 ->> 'path', '$'), '\[\d+\]|(^|\.)\d+(?=\.|$)', '[*]', 'g');
comment on function ops.issue_path(jsonb) is 'The path of the first issue of a quarantined record, without the positions in lists.';

create function ops.issue_text(issues jsonb) returns text language sql immutable parallel safe
return regexp_replace(regexp_replace(coalesce(issues -> 0 ->> 'message', 'no reason was stored'), '"[^"]*"', '"…"', 'g'),
  '\m(\d{4}-\d\d-\d\d[\dT:.Z+-]*|\d{6,})\M', '…', 'g');
comment on function ops.issue_text(jsonb) is 'Its message, without what differs from record to record: quoted texts and long numbers.';

create function ops.cause_of(path text, message text) returns text language sql immutable parallel safe
return left(md5(path || chr(10) || message), 12);
comment on function ops.cause_of(text, text) is 'The id of the records that do not fit for one reason, of its path and its message.';

create function ops.issue_cause(issues jsonb) returns text language sql immutable parallel safe
return ops.cause_of(ops.issue_path(issues), ops.issue_text(issues));
comment on function ops.issue_cause(jsonb) is 'The same for records that do not fit for the same reason.';
create index quarantine_cause on ops.quarantine (ops.issue_cause(issues), quarantine_id) where resolved_at is null;

-- The newest fact of a rooftop is read by index: the first page of the console asks for it all the time.
create index price_observation_newest on core.price_observation (rooftop_id, observed_at);
create index stock_price_observation_newest on core.stock_price_observation (rooftop_id, observed_at);
create index vehicle_check_newest on core.vehicle_check (rooftop_id, (coalesce(searched_at, first_seen_at))) where gone_at is null;
create view core.newest_fact as
select
  r.rooftop_id,
  s.stream::varchar(40) as stream,
  case s.stream
    when 'users' then (
      select max(one.last_changed_at) from core.app_user as one join core.app_user_rooftop as shown using (user_id) where shown.rooftop_id = r.rooftop_id
    )
    when 'evaluations' then (
      select max(e.completed_at) from core.evaluation as e
      where e.rooftop_id = r.rooftop_id and e.gone_at is null and e.completed_date_local = (
        select max(newest.completed_date_local) from core.evaluation as newest where newest.rooftop_id = r.rooftop_id and newest.gone_at is null
      )
    )
    when 'pricing' then (select max(p.observed_at) from core.price_observation as p where p.rooftop_id = r.rooftop_id)
    when 'vehicle-checks' then (select max(coalesce(k.searched_at, k.first_seen_at)) from core.vehicle_check as k where k.rooftop_id = r.rooftop_id and k.gone_at is null)
    else (select max(b.observed_at) from core.stock_price_observation as b where b.rooftop_id = r.rooftop_id)
  end as newest_fact_at
from core.rooftop as r
cross join (values ('users'), ('evaluations'), ('pricing'), ('vehicle-checks'), ('stock-prices')) as s (stream);
comment on view core.newest_fact is 'Newest completion, price, search, or change of a user, by stream of each rooftop. Read by data_freshness and the console.';

-- What the last comparison of stored rows with their lists found: a page cannot compare every row when it is opened.
create table ops.verification (
  rooftop_id int not null references core.rooftop on delete cascade,
  stream varchar(40) not null,
  verified_at timestamptz not null,
  fault varchar(400),
  fault_since timestamptz,
  primary key (rooftop_id, stream)
);
comment on table ops.verification is 'The last "forecourt verify" of each windowed stream of a rooftop, by the command or the job.';
comment on column ops.verification.fault is 'What differed, in words; null: nothing';
comment on column ops.verification.fault_since is 'When the first of the verifications that found a fault, without a good one since, was made';

-- The calendar draws every rooftop over a year: few windows are in doubt, and few records are in quarantine.
create index window_certificate_doubted on ops.window_certificate (rooftop_id, stream, window_from) where proof = 'unprovable';
create index quarantine_window on ops.quarantine (rooftop_id, stream, window_from, window_until) where resolved_at is null;

-- The page of a run names the person who started it.
create index console_action_run on ops.console_action (run_id) where run_id is not null;
-- Runs of one command, which may be few among those of webhooks.
create index run_command on ops.run (command, coalesce(finished_at, 'infinity'::timestamptz), run_id);

-- The calls of today and of the last 90 days, by budget. A paid call is rare, so that its indexes cost nothing.
create index billable_call_day on ops.billable_call (day, budget, state);

-- What is on hand is a small part of what ever was.
create index stock_unit_on_hand on core.stock_unit (rooftop_id, stock_no) where off_stock_at is null;

-- Whether a vehicle has an evaluation that is not gone is asked for every link: with gone_at it is answered by the index alone.
drop index core.evaluation_vehicle_vin;
create index evaluation_vehicle_vin on core.evaluation (group_id, vehicle_vin) include (gone_at) where vehicle_vin is not null;

-- A stock list on its way through the console. It is in Postgres, so that any `serve` takes the next step.
create table ops.stock_upload (
  upload_id uuid primary key default gen_random_uuid(),
  rooftop_id int not null references core.rooftop,
  email varchar(320) not null,
  file_name varchar(120) not null,
  sha256 bytea not null check (length(sha256) = 32),
  byte_count int not null,
  content bytea,
  options jsonb not null,
  result jsonb,
  newest_import_id bigint not null,
  corrects_import_id bigint,
  import_began_at timestamptz,
  import_id bigint,
  made_at timestamptz not null default now(),
  ends_at timestamptz not null default now() + interval '24 hours'
);
create index stock_upload_rooftop on ops.stock_upload (rooftop_id, made_at);
create index stock_upload_corrects on ops.stock_upload (corrects_import_id) where corrects_import_id is not null;
comment on table ops.stock_upload is 'Stock lists that were uploaded in the console. One that is not imported within 24 hours is deleted; the row of an imported one stays without its content.';
comment on column ops.stock_upload.content is 'The file; null: it was imported, and core.stock_import_row has its rows';
comment on column ops.stock_upload.options is '{ mode, maps, encoding, delimiter }: how the person wants it to be read';
comment on column ops.stock_upload.result is 'What the dry run found, as of newest_import_id';
comment on column ops.stock_upload.newest_import_id is 'The newest import of the rooftop when it was uploaded or checked; 0: none';
comment on column ops.stock_upload.corrects_import_id is 'The import whose rejected rows it has, corrected';
comment on column ops.stock_upload.import_began_at is 'When a person last confirmed it; the import may be running';
