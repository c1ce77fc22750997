-- Further requests for each evaluation (enrichments), when the next one is due, and the prices that they returned.
create table ops.enrichment_state (
  rooftop_id int not null,
  stream varchar(40) not null,
  eval_id bigint not null,
  next_due_at timestamptz,
  last_asked_at timestamptz not null,
  polling_since timestamptz,
  failures int not null default 0,
  outcome varchar(12) not null
    check (outcome in ('answered', 'processing', 'skipped', 'rejected', 'failed')),
  detail varchar(400),
  ask varchar(40) not null,
  primary key (rooftop_id, stream, eval_id, ask)
);
create index enrichment_due on ops.enrichment_state (rooftop_id, stream, next_due_at);
create index enrichment_polled on ops.enrichment_state (rooftop_id, stream) where polling_since is not null;
-- Requests whose answer could not be read or never came are sent again in every run, however old the evaluation is. They are few
-- among all requests.
create index enrichment_failed on ops.enrichment_state (rooftop_id, stream, eval_id) where failures > 0;
comment on table ops.enrichment_state is 'State of an enrichment of an evaluation: one row per evaluation and request. It is not in core.evaluation, so that a request changes no fact. Times are by the clock of the source.';
comment on column ops.enrichment_state.ask is 'The operation that is called, e.g. getpastppsrsearch. A stream may call several operations for one evaluation, each on its own schedule';
comment on column ops.enrichment_state.next_due_at is 'null: never again, unless the evaluation changes';
comment on column ops.enrichment_state.polling_since is 'Since when the answer is polled, every few seconds; null: it is not polled';
comment on column ops.enrichment_state.failures is 'Requests in a row that got no readable answer';
comment on column ops.enrichment_state.outcome is 'Outcome of the last request. skipped: the source does not know or does not price the evaluation; rejected: the answer could not be read, is in quarantine and is requested again in the next run; failed: no answer';
comment on column ops.enrichment_state.detail is 'Why it was skipped or failed';

create table ops.parked (
  key_name varchar(120) not null,
  stream varchar(40) not null,
  until timestamptz not null,
  reason varchar(400) not null,
  primary key (key_name, stream)
);
comment on table ops.parked is 'Keys whose daily quota is used up: the stream sends nothing with the key before until, the start of the source''s next day (UTC). Other streams go on.';

create table core.price_observation (
  rooftop_id int not null,
  eval_id bigint not null,
  price_source varchar(24) not null,
  observed_at timestamptz not null,
  last_confirmed_at timestamptz not null,
  is_current boolean not null,
  as_of_date date not null,
  retail numeric(15,3),
  wholesale numeric(15,3),
  wholesale_low numeric(15,3),
  wholesale_high numeric(15,3),
  buy_to_retail numeric(15,3),
  quick_sale numeric(15,3),
  sweet_spot numeric(15,3),
  currency_code char(3) not null,
  confidence varchar(40) not null,
  reasoning_status varchar(12) check (reasoning_status in ('processing', 'completed', 'unavailable')),
  value_hash bytea not null,
  run_id bigint not null,
  primary key (rooftop_id, eval_id, price_source, observed_at),
  check (last_confirmed_at >= observed_at)
);
create unique index price_observation_current on core.price_observation (rooftop_id, eval_id, price_source) where is_current;
create index price_observation_superseded on core.price_observation (rooftop_id, eval_id, observed_at) where not is_current;
comment on table core.price_observation is 'Prices of an evaluation from a price source. A new row is added only when the answer changed; rows are never overwritten. The first row is what was known at the appraisal, the current one is what is known now.';
comment on column core.price_observation.price_source is 'pricing_ai: /pricingAi/payload';
comment on column core.price_observation.observed_at is 'Source time of the first answer with these values';
comment on column core.price_observation.last_confirmed_at is 'Source time of the last answer with the same values';
comment on column core.price_observation.as_of_date is 'prediction_date of the first answer: the day for which the prices are';
comment on column core.price_observation.retail is 'In currency_code; a price sent as 0 is 0, one left out or null is null';
comment on column core.price_observation.currency_code is 'Currency of the rooftop. The payload has only a symbol, which is checked against it (ops.data_quality)';
comment on column core.price_observation.reasoning_status is 'null: reasoning was not requested; processing: it was not finished when polling ended';
comment on column core.price_observation.value_hash is 'sha256 of prices, currency and confidence: a new observation is stored when it differs';

create table core.price_insight (
  rooftop_id int not null,
  eval_id bigint not null,
  price_source varchar(24) not null,
  observed_at timestamptz not null,
  audience varchar(12) not null check (audience in ('dealer', 'customer')),
  position int not null,
  insight text not null,
  primary key (rooftop_id, eval_id, price_source, observed_at, audience, position)
);
comment on table core.price_insight is 'Bullet points of the reasoning of an observation, in the order received. When the same prices are explained again, the latest points.';
comment on column core.price_insight.audience is 'The readers of the bullet point';

create function core.price_as_of(rooftop_id int, eval_id bigint, at timestamptz, price_source varchar default 'pricing_ai')
returns setof core.price_observation
language sql stable parallel safe rows 1
as $$
  select * from core.price_observation as price
  where price.rooftop_id = $1 and price.eval_id = $2 and price.price_source = $4 and price.observed_at <= $3
  order by price.observed_at desc limit 1
$$;
comment on function core.price_as_of(int, bigint, timestamptz, varchar) is 'The observation that was known at that instant; no row before the first observation.';

-- PPSR and Car History checks of vehicles, the status of their watches, and the signed links to their PDFs.
create table core.ref_watch_status (
  watch_status varchar(40) primary key,
  noteworthiness smallint not null,
  is_terminal boolean not null,
  is_known boolean not null
);
comment on table core.ref_watch_status is 'Statuses of a PPSR watch [A §3]. A status that the document does not name is added when it is first received, with is_known = false.';
comment on column core.ref_watch_status.noteworthiness is '1 is the most noteworthy; 0: a status that the document does not name, which comes before all others';
comment on column core.ref_watch_status.is_terminal is 'Never changes again, and is never polled again';
insert into core.ref_watch_status (watch_status, noteworthiness, is_terminal, is_known) values
  ('changed', 1, true, true),
  ('expired', 2, true, true),
  ('watching', 3, false, true),
  ('unchanged', 4, false, true),
  ('disabled', 5, false, true),
  ('not_watched', 6, false, true);

create table core.vehicle_check (
  rooftop_id int not null,
  eval_id bigint not null,
  check_kind varchar(12) not null check (check_kind in ('ppsr', 'car_history')),
  check_ref varchar(80) not null,
  group_id int not null references core.rooftop_group,
  vin varchar(40) not null,
  searched_at timestamptz,
  search_number varchar(80),
  certificate_number varchar(80),
  security_interest_count int,
  written_off_count int,
  stolen_count int,
  watch_status varchar(40) references core.ref_watch_status,
  watch_status_since timestamptz,
  watch_ends_at timestamptz,
  first_seen_at timestamptz not null,
  gone_at timestamptz,
  run_id bigint,
  primary key (rooftop_id, eval_id, check_kind, check_ref),
  constraint vehicle_check_once_in_group unique (group_id, check_kind, check_ref)
);
create index vehicle_check_vin on core.vehicle_check (group_id, vin);
comment on table core.vehicle_check is 'One row per real PPSR search or Car History report, even where several evaluations of the dealer group list it. Times are by the clock of the source.';
comment on column core.vehicle_check.eval_id is 'The latest evaluation of the vehicle in the dealer group that existed when the check was made';
comment on column core.vehicle_check.check_ref is 'The id that the source gives (wire.appraisal.pastCheck.id), else another value that identifies the check';
comment on column core.vehicle_check.security_interest_count is 'Known only for searches made by "forecourt api ppsrsearch"; null: unknown';
comment on column core.vehicle_check.watch_status is 'Status last reported; null: never reported. For a Car History report: the status of the certificate that came with it';
comment on column core.vehicle_check.watch_status_since is 'Source time of the first answer with this status';
comment on column core.vehicle_check.watch_ends_at is '14 days after the search [A §8]; null for a Car History report';
comment on column core.vehicle_check.gone_at is 'Source time of the first answer that no longer listed the check; null: it is listed';
comment on column core.vehicle_check.run_id is 'The run or the paid call that loaded it; null: loaded by a permalink, or by a call whose answer was lost';

create table core.watch_status_change (
  rooftop_id int not null,
  eval_id bigint not null,
  check_kind varchar(12) not null,
  check_ref varchar(80) not null,
  observed_at timestamptz not null,
  from_status varchar(40),
  to_status varchar(40) not null references core.ref_watch_status,
  primary key (rooftop_id, eval_id, check_kind, check_ref, observed_at),
  foreign key (rooftop_id, eval_id, check_kind, check_ref) references core.vehicle_check
    on update cascade on delete cascade,
  check (from_status is distinct from to_status)
);
comment on table core.watch_status_change is 'Every status that was observed of a watch, including the first.';
comment on column core.watch_status_change.observed_at is 'Source time of the first answer with this status';
comment on column core.watch_status_change.from_status is 'null: this is the first status observed';

create table pii.signed_link (
  rooftop_id int not null,
  eval_id bigint not null,
  link_kind varchar(20) not null check (link_kind in ('ppsr_pdf', 'car_history_pdf')),
  link_ref varchar(80) not null,
  url text not null,
  signed_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (rooftop_id, eval_id, link_kind, link_ref),
  check (expires_at > signed_at)
);
create index signed_link_expiry on pii.signed_link (expires_at);
create index signed_link_ref on pii.signed_link (link_kind, link_ref);
comment on table pii.signed_link is 'The newest signed link to the PDF of each check. Whoever has the link can open the PDF, so dashboards use the permalink instead: GET /links/<link_kind>/<link_ref> of "forecourt serve".';
comment on column pii.signed_link.link_ref is 'check_ref of the check';
comment on column pii.signed_link.expires_at is 'Source time: a week after signed_at [A §8]';

create table pii.archived_pdf (
  rooftop_id int not null,
  eval_id bigint not null,
  link_kind varchar(20) not null check (link_kind in ('ppsr_pdf', 'car_history_pdf')),
  link_ref varchar(80) not null,
  sha256 bytea not null check (length(sha256) = 32),
  byte_count int not null,
  archived_at timestamptz not null default now(),
  primary key (rooftop_id, eval_id, link_kind, link_ref)
);
create index archived_pdf_ref on pii.archived_pdf (link_kind, link_ref);
comment on table pii.archived_pdf is 'The PDF in the archive (links.archive) of each check; the file name is its digest.';
