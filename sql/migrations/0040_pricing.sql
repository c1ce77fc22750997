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
  primary key (rooftop_id, stream, eval_id)
);
create index enrichment_due on ops.enrichment_state (rooftop_id, stream, next_due_at);
create index enrichment_polled on ops.enrichment_state (rooftop_id, stream) where polling_since is not null;
comment on table ops.enrichment_state is 'State of an enrichment of an evaluation: one row per evaluation and request. It is not in core.evaluation, so that a request changes no fact. Times are by the clock of the source.';
comment on column ops.enrichment_state.next_due_at is 'null: never again, unless the evaluation changes';
comment on column ops.enrichment_state.polling_since is 'Since when the answer is polled, every few seconds; null: it is not polled';
comment on column ops.enrichment_state.failures is 'Requests in a row that got no answer';
comment on column ops.enrichment_state.outcome is 'Outcome of the last request. skipped: the source does not know or does not price the evaluation; rejected: in quarantine; failed: no answer';
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
