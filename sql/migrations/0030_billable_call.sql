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
  note varchar(400)
);
create index on ops.billable_call (budget, day) where state <> 'released';
create index on ops.billable_call (natural_key, at);
comment on table ops.billable_call is 'One row per requested billable call. reserved: sent or about to be sent, outcome unknown (it counts against the budget); committed: answered; released: not sent, or refused with a documented error.';
comment on column ops.billable_call.budget is 'Name of the setting under budget: in the config that limits the calls of a day';
comment on column ops.billable_call.rooftop_id is 'core.rooftop; null for a call of the vehicle-data APIs that names none';
comment on column ops.billable_call.natural_key is 'Subject of the call: the EvalID as text, else the VIN or code';
comment on column ops.billable_call.day is 'UTC day of the reservation, by the clock of the database';
comment on column ops.billable_call.requested_by is 'user@host that requested it';
comment on column ops.billable_call.note is 'Why it was released, or what is unknown; never the body of an answer';
