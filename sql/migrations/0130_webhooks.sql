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
