-- The request rate of each API key over all processes: the limits that they observed, and the processes that share the key.
create table ops.rate_budget (
  key_name text primary key,
  rate double precision check (rate > 0),
  learnt_from double precision,
  generation int not null default 0,
  strikes int not null default 0,
  next_at timestamptz,
  blocked_until timestamptz,
  throttled_at timestamptz,
  raised_at timestamptz
) with (fillfactor = 50);
comment on table ops.rate_budget is 'One row per API key, by its name in the config, never its value. Times are by the clock of the database. The table may be emptied at any time: the limits are then observed again.';
comment on column ops.rate_budget.key_name is 'appraisal/<name under keys:>, or vehicleData';
comment on column ops.rate_budget.rate is 'Requests a second after the source throttled the key; null: never throttled, only http.requestsPerSecond limits it';
comment on column ops.rate_budget.learnt_from is 'Requests a second that were sent, or allowed, when rate was cut';
comment on column ops.rate_budget.generation is 'Number of cuts. A throttled call that was sent before the last cut does not cut again, so that a burst cuts once';
comment on column ops.rate_budget.strikes is 'Cuts without a clean minute between them. Blocks for which the source gave no length get longer with it';
comment on column ops.rate_budget.next_at is 'The next send time that no process has reserved';
comment on column ops.rate_budget.blocked_until is 'No process sends before this time; set by Retry-After, at most a day ahead. To try sooner, set it to null and restart the processes';
comment on column ops.rate_budget.raised_at is 'Start of the next minute that must be clean';

-- Unlogged: lost in a crash, and written again within a second.
create unlogged table ops.rate_member (
  key_name text not null,
  member_id uuid not null,
  host varchar(120) not null,
  process_id int not null,
  demand int not null,
  in_flight int not null,
  peak int not null,
  seen_at timestamptz not null,
  primary key (key_name, member_id)
) with (fillfactor = 50);
comment on table ops.rate_member is 'Processes that use a key now, and how much of its http.concurrency each needs. A process that is silent for 5 seconds no longer counts.';
comment on column ops.rate_member.demand is 'Calls in flight or waiting, at most http.concurrency';
comment on column ops.rate_member.peak is 'Requests in the busiest of the last ten seconds';
