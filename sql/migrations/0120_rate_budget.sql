-- How fast an API key may be used, over all processes: what they learnt together, and how many share it.
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
comment on table ops.rate_budget is 'One row per API key by its name in the config, never its value. Times are those of the database. It may be emptied at any time: what it says is learnt anew.';
comment on column ops.rate_budget.key_name is 'appraisal/<name under keys:>, or vehicleData';
comment on column ops.rate_budget.rate is 'Requests a second that were learnt from a throttle; null: none known, http.requestsPerSecond alone holds';
comment on column ops.rate_budget.learnt_from is 'Requests a second that were under way, or allowed, when rate was cut';
comment on column ops.rate_budget.generation is 'Counts the cuts: calls that were sent before one tell nothing new, so that a burst of throttles cuts once';
comment on column ops.rate_budget.strikes is 'Cuts without a clean minute between them; the blocks that nobody gave a length grow with it';
comment on column ops.rate_budget.next_at is 'The first send time that no process has reserved';
comment on column ops.rate_budget.blocked_until is 'No process sends before it; set by Retry-After, at most a day ahead. Null it, and start the processes anew, to try sooner';
comment on column ops.rate_budget.raised_at is 'From here on the next clean minute is counted';

-- Lost in a crash, and written anew within a second.
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
comment on table ops.rate_member is 'Processes that use a key now, and how much of its http.concurrency each wants; one that is silent for 5 seconds has left.';
comment on column ops.rate_member.demand is 'Calls in flight or waiting, at most http.concurrency';
comment on column ops.rate_member.peak is 'Requests in its busiest second of the last ten';
