-- Calls that cost money. Each is reserved before it is sent, so that two processes cannot spend more than the budget of the day.
create table ops.billable_call (
  call_id bigint generated always as identity primary key,
  operation varchar(40) not null,
  budget varchar(40) not null,
  rooftop_id int,
  natural_key varchar(64),
  day date not null,
  state varchar(12) not null check (state in ('reserved', 'committed', 'released')),
  at timestamptz not null default now(),
  settled_at timestamptz,
  http_status int,
  requested_by varchar(120) not null,
  note varchar(400),
  check_ref varchar(80),
  known_refs varchar(80)[],
  source_at timestamptz
);
create index on ops.billable_call (budget, day) where state <> 'released';
create index on ops.billable_call (natural_key, at);
create index on ops.billable_call (rooftop_id, call_id) where state = 'reserved';
comment on table ops.billable_call is 'One row per requested billable call. reserved: sent or about to be sent, outcome unknown (it counts against the budget); committed: answered; released: not sent, or refused with a documented error.';
comment on column ops.billable_call.budget is 'Name of the setting under budget: in the config that limits the calls of a day';
comment on column ops.billable_call.rooftop_id is 'core.rooftop; null for a call of the vehicle-data APIs that names none';
comment on column ops.billable_call.natural_key is 'Subject of the call: the EvalID as text, else the VIN or code';
comment on column ops.billable_call.day is 'UTC day of the reservation, by the clock of the database';
comment on column ops.billable_call.requested_by is 'user@host that requested it';
comment on column ops.billable_call.note is 'Why it was released, or what is unknown; never the body of an answer';
-- What shows, after a crash or a lost connection, whether a call took effect.
comment on column ops.billable_call.check_ref is 'check_ref of the check that the call made, from its answer or from the past checks';
comment on column ops.billable_call.known_refs is 'Past checks that existed just before the call was sent; null: not read, or the operation makes none';
comment on column ops.billable_call.source_at is 'Source time when known_refs was read';

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

-- The request rate of each API key over all processes: the limits that they observed, and the processes that share the key.
create table ops.rate_budget (
  key_name text primary key,
  rate double precision check (rate > 0),
  learnt_from double precision,
  generation int not null default 0,
  strikes int not null default 0,
  next_at timestamptz,
  blocked_until timestamptz,
  throttled_at timestamptz
) with (fillfactor = 50);
comment on table ops.rate_budget is 'One row per API key, by its name in the config, never its value. Times are by the clock of the database. The table may be emptied at any time: the limits are then observed again.';
comment on column ops.rate_budget.key_name is 'appraisal/<name under keys:>, or vehicleData';
comment on column ops.rate_budget.rate is 'Requests a second right after the last cut; the allowed rate grows from there by the time since. Null: no cut yet';
comment on column ops.rate_budget.learnt_from is 'Requests a second that the source answered before the last cut: there the curve flattens before it grows further';
comment on column ops.rate_budget.generation is 'Number of cuts. A throttled call that was sent before the last cut does not cut again, so that a burst cuts once';
comment on column ops.rate_budget.strikes is 'Cuts with less than a minute between them. Blocks for which the source gave no length get longer with it';
comment on column ops.rate_budget.throttled_at is 'When the rate was last cut';
comment on column ops.rate_budget.next_at is 'The next send time that no process has reserved';
comment on column ops.rate_budget.blocked_until is 'No process sends before this time; set by Retry-After, at most a day ahead. To try sooner, set it to null and restart the processes';

-- Unlogged: lost in a crash, and written again within a second.
create unlogged table ops.rate_member (
  key_name text not null,
  member_id uuid not null,
  host varchar(120) not null,
  process_id int not null,
  demand int not null,
  in_flight int not null,
  seen_at timestamptz not null,
  clean_per_second int not null default 0,
  primary key (key_name, member_id)
) with (fillfactor = 50);
comment on table ops.rate_member is 'Processes that use a key now, and how much of its http.concurrency each needs. A process that is silent for 5 seconds no longer counts.';
comment on column ops.rate_member.demand is 'Calls in flight or waiting, at most http.concurrency';
comment on column ops.rate_member.clean_per_second is 'Answers to this process in the last second that were not throttled';

-- Webhooks: the inbox of deliveries, and the subscriptions that "webhooks apply" made at the service.
create table ops.webhook_delivery (
  delivery_id bigint generated always as identity primary key,
  event varchar(20) not null check (event in ('ON_COMPLETE', 'ON_EXPORT', 'ON_DRIVE_COMPLETED', 'ON_SHARE_OFFER', 'ON_EXTERNAL_PRICE', 'not told')),
  rooftop_id int references core.rooftop,
  eval_id bigint,
  body_hash bytea not null check (length(body_hash) = 32),
  body json,
  state varchar(10) not null check (state in ('waiting', 'processed', 'kept', 'unusable', 'failed')),
  issue varchar(400),
  source_event_at timestamptz,
  source_updated_at timestamptz,
  source_received_at timestamptz not null,
  received_at timestamptz not null default now(),
  duplicates int not null default 0,
  attempts int not null default 0,
  due_at timestamptz not null default now(),
  run_id bigint,
  outcome varchar(11) check (outcome in ('inserted', 'updated', 'unchanged', 'vanished', 'quarantined')),
  processed_at timestamptz,
  unique nulls not distinct (event, eval_id, body_hash),
  check (state <> 'waiting' or (rooftop_id is not null and eval_id is not null)),
  check ((state = 'processed') = (processed_at is not null and outcome is not null))
);
create index on ops.webhook_delivery (rooftop_id, due_at) where state = 'waiting';
create index on ops.webhook_delivery (rooftop_id, received_at);
create index on ops.webhook_delivery (eval_id, rooftop_id);
create index on ops.webhook_delivery (received_at);
create index webhook_delivery_body on ops.webhook_delivery (received_at) where body is not null;
comment on table ops.webhook_delivery is 'Inbox: one row per event that the service delivered. A row is only a hint: the evaluation is always read again by /geteval.';
comment on column ops.webhook_delivery.event is 'trigger_event of the subscription, from the address; not told: the address names none';
comment on column ops.webhook_delivery.rooftop_id is 'From the DealerID of the body, else from the address; null: no rooftop of the config';
comment on column ops.webhook_delivery.body_hash is 'HMAC-SHA256 of the body with the secret of the receiver: without the secret it reveals nothing';
comment on column ops.webhook_delivery.body is 'As received, for drives and for deliveries that name no known evaluation; null: an evaluation, which is read again';
comment on column ops.webhook_delivery.state is 'kept: stored only, nothing is loaded for it (a drive); unusable: see issue; failed: every attempt failed';
comment on column ops.webhook_delivery.issue is 'Why the delivery is unusable, or why the last attempt failed';
comment on column ops.webhook_delivery.source_event_at is 'CompletedAt of the body for ON_COMPLETE, else its UpdatedAt; null: not there';
comment on column ops.webhook_delivery.source_updated_at is 'UpdatedAt of the body. If the evaluation read is older, it is read again';
comment on column ops.webhook_delivery.source_received_at is 'received_at by the clock of the service';
comment on column ops.webhook_delivery.duplicates is 'Further deliveries with the same body';
comment on column ops.webhook_delivery.due_at is 'Not processed before this time: shortly after the arrival, so that a burst becomes one run';
comment on column ops.webhook_delivery.run_id is 'The run that read the evaluation, in ops.run';
comment on column ops.webhook_delivery.outcome is 'What changed in the warehouse when it was read again';

create table ops.webhook_subscription (
  rooftop_id int not null references core.rooftop,
  event varchar(20) not null check (event in ('ON_COMPLETE', 'ON_EXPORT', 'ON_DRIVE_COMPLETED')),
  subscription_id bigint not null,
  url varchar(2000) not null,
  header_hash bytea not null check (length(header_hash) = 32),
  applied_at timestamptz not null default now(),
  since timestamptz not null,
  primary key (rooftop_id, event)
);
comment on table ops.webhook_subscription is 'Subscriptions that "webhooks apply" made at the service, with the facts that the service does not report.';
comment on column ops.webhook_subscription.subscription_id is 'Its id at the service';
comment on column ops.webhook_subscription.header_hash is 'HMAC-SHA256 of the auth header that was set, with the key of the rooftop: the service never shows the header';
comment on column ops.webhook_subscription.since is 'Since when the subscription exists without a break, by the clock of the service: completions after it should have been delivered';
