-- Written by `npm run schema` from the migrated database; do not edit.

core schema

core.app_user table
  user_id bigint not null generated always as identity
  group_id integer not null
  display_name character varying(200)
  is_generated_link_account boolean not null -- By the suffix of the e-mail alone (wire.appraisal.generatedUser.emailSuffix)
  is_active boolean -- Listed without includeInactive; null: never listed, known from evaluations only
  in_user_list boolean not null
  first_seen_at timestamp with time zone not null default now()
  last_changed_at timestamp with time zone not null default now()
  constraint app_user_group_id_fkey FOREIGN KEY (group_id) REFERENCES core.rooftop_group(group_id)
  constraint app_user_pkey PRIMARY KEY (user_id)

core.app_user_rooftop table
  rooftop_id integer not null
  user_id bigint not null
  is_active boolean not null
  constraint app_user_rooftop_pkey PRIMARY KEY (rooftop_id, user_id)
  constraint app_user_rooftop_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id)
  constraint app_user_rooftop_user_id_fkey FOREIGN KEY (user_id) REFERENCES core.app_user(user_id)
  -- Whose list shows whom. A list answers for the whole dealer group of the rooftop that asked; a key may cover several groups.

core.core.price_as_of(integer,bigint,timestamp with time zone,character varying) routine
CREATE OR REPLACE FUNCTION core.price_as_of(rooftop_id integer, eval_id bigint, at timestamp with time zone, price_source character varying DEFAULT 'pricing_ai'::character varying)
 RETURNS SETOF core.price_observation
 LANGUAGE sql
 STABLE PARALLEL SAFE ROWS 1
AS $function$
  select * from core.price_observation as price
  where price.rooftop_id = $1 and price.eval_id = $2 and price.price_source = $4 and price.observed_at <= $3
  order by price.observed_at desc limit 1
$function$

core.custom_field_value table
  rooftop_id integer not null
  eval_id bigint not null
  field_name character varying(200) not null
  field_type character varying(120)
  value_text text
  constraint custom_field_value_pkey PRIMARY KEY (rooftop_id, eval_id, field_name)

core.evaluation table
  rooftop_id integer not null
  eval_id bigint not null
  group_id integer not null
  vin character varying(32)
  make character varying(120)
  model character varying(200)
  variant character varying(255)
  model_year integer
  registration_state character varying(10)
  colour character varying(120)
  user_id bigint
  entry_at timestamp with time zone not null -- EntryDate as UTC, the instant that the list filters on; where the list and EntryDate disagree, the window that listed it
  created_at timestamp with time zone not null
  created_at_source character varying(10) not null
  completed_at timestamp with time zone
  source_updated_at timestamp with time zone not null -- UpdatedAt; an older one never replaces a newer one
  created_date_local date not null
  completed_date_local date
  odometer integer -- In odometer_unit, which is the rooftop's: the document states none
  odometer_unit character(2) not null
  odometer_km integer generated always as (
  CASE odometer_unit
      WHEN 'mi'::bpchar THEN (round(((odometer)::numeric * 1.609344)))::integer
      ELSE odometer
  END) stored
  condition_score smallint
  final_price numeric(15,3) -- FinalPrice; a price sent as 0 is 0, one left out or null is null
  recon_total numeric(15,3)
  recon_line_total numeric(15,3) -- Sum of the reconditioning lines' cost; recon_total is the source's own total
  currency_code character(3) not null
  photo_count integer not null
  hero_source character varying(20)
  user_price_count integer not null
  customer_state character varying(20)
  customer_postcode character varying(20)
  version_no integer not null
  content_hash bytea not null
  first_loaded_at timestamp with time zone not null
  last_changed_at timestamp with time zone not null
  gone_at timestamp with time zone -- Source time at which it was found to answer 400 or to be listed no more; a mark, never a delete
  run_id bigint not null
  constraint evaluation_created_at_source_check CHECK (((created_at_source)::text = ANY ((ARRAY['CreatedAt'::character varying, 'EntryDate'::character varying])::text[])))
  constraint evaluation_pkey PRIMARY KEY (rooftop_id, eval_id)
  CREATE INDEX evaluation_completed ON core.evaluation USING btree (rooftop_id, completed_date_local)
  CREATE INDEX evaluation_entry ON core.evaluation USING btree (rooftop_id, entry_at)
  CREATE UNIQUE INDEX evaluation_once_in_group ON core.evaluation USING btree (group_id, eval_id)
  CREATE INDEX evaluation_vehicle ON core.evaluation USING btree (group_id, upper((vin)::text)) WHERE (length((vin)::text) = 17)
  -- One row per completed evaluation, its current content.

core.evaluation_version table
  rooftop_id integer not null
  eval_id bigint not null
  version_no integer not null
  valid_from timestamp with time zone not null -- UpdatedAt of the content; valid_to of the current one is null
  valid_to timestamp with time zone
  observed_at timestamp with time zone not null
  changed_fields text[] not null
  final_price numeric(15,3)
  recon_total numeric(15,3)
  user_id bigint
  odometer integer
  condition_score smallint
  content_hash bytea not null
  run_id bigint not null
  constraint evaluation_version_pkey PRIMARY KEY (rooftop_id, eval_id, version_no)
  -- One row per content that was seen. Sampled: edits between two reads are one change.

core.photo table
  rooftop_id integer not null
  eval_id bigint not null
  photo_id bigint not null
  display_position integer not null -- 1-based place in Photos; supplied_order is the source's own order, which is not unique
  supplied_order integer
  is_hero boolean not null
  hero_source character varying(20)
  angle character varying(120)
  first_seen_at timestamp with time zone not null
  removed_at timestamp with time zone
  constraint photo_pkey PRIMARY KEY (rooftop_id, eval_id, photo_id)
  CREATE INDEX photo_id ON core.photo USING btree (photo_id)
  -- Identity and order of photos. Their URLs are signed and expire: never stored.

core.price_insight table
  rooftop_id integer not null
  eval_id bigint not null
  price_source character varying(24) not null
  observed_at timestamp with time zone not null
  audience character varying(12) not null -- Whom the bullet is written for
  position integer not null
  insight text not null
  constraint price_insight_audience_check CHECK (((audience)::text = ANY ((ARRAY['dealer'::character varying, 'customer'::character varying])::text[])))
  constraint price_insight_pkey PRIMARY KEY (rooftop_id, eval_id, price_source, observed_at, audience, "position")
  -- Bullets of the reasoning of an observation, in the order received; the latest where the same prices were reasoned about again.

core.price_observation table
  rooftop_id integer not null
  eval_id bigint not null
  price_source character varying(24) not null -- pricing_ai: /pricingAi/payload
  observed_at timestamp with time zone not null -- Source time of the answer that said so first
  last_confirmed_at timestamp with time zone not null -- Source time of the last answer that said the same
  is_current boolean not null
  as_of_date date not null -- prediction_date of the first answer: the day that the prices are for
  retail numeric(15,3) -- In currency_code; a price sent as 0 is 0, one left out or null is null
  wholesale numeric(15,3)
  wholesale_low numeric(15,3)
  wholesale_high numeric(15,3)
  buy_to_retail numeric(15,3)
  quick_sale numeric(15,3)
  sweet_spot numeric(15,3)
  currency_code character(3) not null -- The rooftop's: the payload has a symbol only, which is checked against it (ops.data_quality)
  confidence character varying(40) not null
  reasoning_status character varying(12) -- null: reasoning was not asked for; processing: it was still at work when asking ended
  value_hash bytea not null -- sha256 of prices, currency and confidence: what makes an observation another one
  run_id bigint not null
  constraint price_observation_check CHECK ((last_confirmed_at >= observed_at))
  constraint price_observation_pkey PRIMARY KEY (rooftop_id, eval_id, price_source, observed_at)
  constraint price_observation_reasoning_status_check CHECK (((reasoning_status)::text = ANY ((ARRAY['processing'::character varying, 'completed'::character varying, 'unavailable'::character varying])::text[])))
  CREATE UNIQUE INDEX price_observation_current ON core.price_observation USING btree (rooftop_id, eval_id, price_source) WHERE is_current
  -- What a price source said of an evaluation, a row only when it said something else than before: never overwritten. The first row is what was known at the appraisal, the current one what is known now.

core.reconditioning_item table
  rooftop_id integer not null
  eval_id bigint not null
  first_version integer not null
  line_no integer not null
  last_version integer -- null: part of the current content. Lines have no id, so the set is replaced as a whole
  recon_type character varying(120)
  source character varying(120)
  cost numeric(15,3)
  value_text character varying(1000)
  battery_soh_pct numeric(5,2) -- State of health of the battery, 0 to 100, from a line of type info with a percentage as value
  constraint reconditioning_item_pkey PRIMARY KEY (rooftop_id, eval_id, first_version, line_no)

core.ref_watch_status table
  watch_status character varying(40) not null
  noteworthiness smallint not null -- 1 is the most noteworthy; statuses that the document does not name come first of all: 0
  is_terminal boolean not null -- Never changes again, and is never polled again
  is_known boolean not null
  constraint ref_watch_status_pkey PRIMARY KEY (watch_status)
  -- Statuses of a PPSR watch [A §3]. One that the document does not name is added when it is met, with is_known = false.

core.rooftop table
  rooftop_id integer not null generated always as identity
  rooftop_uid character varying(64) not null -- Value of X-Dealer-Id
  dealer_id bigint -- Numeric dealership id, the list filter; null: the list is not filtered
  group_id integer not null
  rooftop_name character varying(200) not null
  region character varying(3) not null
  time_zone character varying(64) not null
  currency_code character(3) not null
  odometer_unit character(2) not null
  constraint rooftop_group_id_fkey FOREIGN KEY (group_id) REFERENCES core.rooftop_group(group_id)
  constraint rooftop_odometer_unit_check CHECK ((odometer_unit = ANY (ARRAY['km'::bpchar, 'mi'::bpchar])))
  constraint rooftop_pkey PRIMARY KEY (rooftop_id)
  constraint rooftop_region_check CHECK (((region)::text = ANY ((ARRAY['AU'::character varying, 'US'::character varying, 'GCC'::character varying])::text[])))
  constraint rooftop_rooftop_uid_key UNIQUE (rooftop_uid)

core.rooftop_group table
  group_id integer not null generated always as identity
  group_code character varying(130) not null
  constraint rooftop_group_group_code_key UNIQUE (group_code)
  constraint rooftop_group_pkey PRIMARY KEY (group_id)
  -- A dealer group: the rooftops whose evaluations one list answers for [A §4 /getevallist].

core.stock_evaluation view
  rooftop_id integer
  stock_no character varying(80)
  eval_rooftop_id integer
  eval_id bigint
  completed_at timestamp with time zone
  match_rule character varying(20)
  as
   SELECT rooftop_id,
      stock_no,
      rooftop_id AS eval_rooftop_id,
      eval_id,
      completed_at,
          CASE
              WHEN rooftop_id = rooftop_id THEN 'vin_same_rooftop'::text
              ELSE 'vin_same_group'::text
          END::character varying(20) AS match_rule
     FROM core.stock_unit unit
       JOIN core.rooftop USING (rooftop_id)
       JOIN core.evaluation seen ON group_id = group_id AND upper(vin::text) = vin::text AND length(vin::text) = 17
    WHERE gone_at IS NULL;
  -- The evaluations of a unit's vehicle in its dealer group, by VIN.

core.stock_import table
  import_id bigint not null generated always as identity
  rooftop_id integer not null
  file_name character varying(255) not null
  sha256 bytea not null
  byte_count bigint not null
  mode character varying(10) not null
  encoding character varying(40) not null
  delimiter character varying(4) not null
  dialect jsonb not null -- Quote, escape, line end, byte order mark, sep= line, width, and the text above the records
  preamble jsonb not null -- Lines above the header, as text
  header jsonb -- { line, rows, names, rowNames, ragged }; null: the file has none
  mapping jsonb not null -- Of each column: field, confidence and evidence
  warnings jsonb not null
  records integer not null
  accepted integer not null
  rejected integer not null
  collapsed integer not null -- Rows that say again what another row of the file says
  skipped integer not null -- Blank rows, totals, the header once more
  added integer not null
  updated integer not null
  unchanged integer not null
  removed integer not null -- Units that a snapshot no longer lists
  reappeared integer not null
  imported_by character varying(120) not null
  imported_at timestamp with time zone not null default now()
  constraint stock_import_check CHECK ((records = (((accepted + rejected) + collapsed) + skipped)))
  constraint stock_import_mode_check CHECK (((mode)::text = ANY ((ARRAY['snapshot'::character varying, 'delta'::character varying])::text[])))
  constraint stock_import_pkey PRIMARY KEY (import_id)
  constraint stock_import_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id)
  constraint stock_import_sha256_check CHECK ((length(sha256) = 32))
  CREATE INDEX stock_import_file ON core.stock_import USING btree (rooftop_id, sha256)
  -- One row per stock list that was imported. The same bytes for the same rooftop are imported once, until another list has changed the stock.

core.stock_import_row table
  import_id bigint not null
  line_no integer not null -- Physical line of its first character, from 1
  stock_no character varying(80)
  status character varying(12) not null
  issues jsonb not null -- [{ code, severity, line, column, text, hint }]
  cells jsonb not null
  constraint stock_import_row_pkey PRIMARY KEY (import_id, line_no)
  constraint stock_import_row_status_check CHECK (((status)::text = ANY ((ARRAY['accepted'::character varying, 'rejected'::character varying, 'collapsed'::character varying, 'skipped'::character varying])::text[])))
  -- Every row of every import with every cell as text, for ever.

core.stock_price_observation table
  rooftop_id integer not null
  stock_no character varying(80) not null
  price_source character varying(24) not null
  observed_at timestamp with time zone not null
  last_confirmed_at timestamp with time zone not null
  is_current boolean not null
  vin character varying(40) -- Of the unit when it was priced: stock numbers are used again
  retail numeric(15,3)
  retail_low numeric(15,3)
  retail_high numeric(15,3)
  wholesale numeric(15,3)
  wholesale_low numeric(15,3)
  wholesale_high numeric(15,3)
  currency_code character(3) not null
  error character varying(200) -- Why it could not be priced; the prices are null then
  value_hash bytea not null
  run_id bigint not null
  constraint stock_price_observation_check CHECK ((last_confirmed_at >= observed_at))
  constraint stock_price_observation_pkey PRIMARY KEY (rooftop_id, stock_no, price_source, observed_at)
  CREATE UNIQUE INDEX stock_price_current ON core.stock_price_observation USING btree (rooftop_id, stock_no, price_source) WHERE is_current
  -- What price-batch said of a unit, a row only when it said something else than before: never overwritten.

core.stock_unit table
  rooftop_id integer not null
  stock_no character varying(80) not null -- The VIN where the list names no stock number
  vin character varying(40)
  adcode character varying(40)
  plate character varying(40)
  make character varying(120)
  model character varying(200)
  variant character varying(255)
  model_year integer
  odometer_km integer
  asking_price numeric(15,3)
  cost numeric(15,3)
  currency_code character(3) not null
  price_on_application boolean not null
  acquired_on date
  extras jsonb not null -- Mapped columns that have none here, by field: text as in the file
  content_hash bytea not null
  first_seen_at timestamp with time zone not null
  last_seen_at timestamp with time zone not null -- Import that named it last; moves with a change, and when it had gone missing
  missing_since timestamp with time zone -- First snapshot that did not list it; null: the newest one does
  off_stock_at timestamp with time zone -- When the days of grace had passed; a mark, never a delete. null: in stock
  import_id bigint not null
  constraint stock_unit_odometer_km_check CHECK ((odometer_km >= 0))
  constraint stock_unit_pkey PRIMARY KEY (rooftop_id, stock_no)
  CREATE INDEX stock_unit_vin ON core.stock_unit USING btree (vin) WHERE (vin IS NOT NULL)
  -- One row per vehicle in stock, or once in stock: its current content by the newest list that names it.

core.stock_unit_change table
  import_id bigint not null
  rooftop_id integer not null
  stock_no character varying(80) not null
  change character varying(12) not null
  changes jsonb not null -- { column: [old, new] }; empty for removed, and for added unless the stock number was another vehicle's
  constraint stock_unit_change_change_check CHECK (((change)::text = ANY ((ARRAY['added'::character varying, 'updated'::character varying, 'removed'::character varying, 'reappeared'::character varying])::text[])))
  constraint stock_unit_change_pkey PRIMARY KEY (import_id, stock_no)
  -- What each import did to which unit: the change report, kept.

core.user_price table
  rooftop_id integer not null
  eval_id bigint not null
  position integer not null
  amount numeric(15,3)
  currency_code character(3)
  body jsonb not null -- The item as sent; its shape is not shown
  constraint user_price_pkey PRIMARY KEY (rooftop_id, eval_id, "position")

core.vehicle_check table
  rooftop_id integer not null
  eval_id bigint not null -- Of the evaluations of the vehicle in the dealer group: the latest that was there when the check was made
  check_kind character varying(12) not null
  check_ref character varying(80) not null -- The id that the source gives (wire.appraisal.pastCheck.id), else what else tells the check from others
  group_id integer not null
  vin character varying(40) not null
  searched_at timestamp with time zone
  search_number character varying(80)
  certificate_number character varying(80)
  security_interest_count integer -- Known of searches that were run through "forecourt api ppsrsearch" alone; null: not known
  written_off_count integer
  stolen_count integer
  watch_status character varying(40) -- As last told; null: never told. Of a Car History report: of the certificate that came with it
  watch_status_since timestamp with time zone -- Source time of the first answer that said so
  watch_ends_at timestamp with time zone -- 14 days after the search [A §8]; null for a Car History report
  first_seen_at timestamp with time zone not null
  gone_at timestamp with time zone -- Source time of the first answer that no longer listed the check; null: it is listed
  run_id bigint -- The run, or the paid call, that brought it; null: a permalink did, or a call whose answer was lost
  constraint vehicle_check_check_kind_check CHECK (((check_kind)::text = ANY ((ARRAY['ppsr'::character varying, 'car_history'::character varying])::text[])))
  constraint vehicle_check_group_id_fkey FOREIGN KEY (group_id) REFERENCES core.rooftop_group(group_id)
  constraint vehicle_check_once_in_group UNIQUE (group_id, check_kind, check_ref)
  constraint vehicle_check_pkey PRIMARY KEY (rooftop_id, eval_id, check_kind, check_ref)
  constraint vehicle_check_watch_status_fkey FOREIGN KEY (watch_status) REFERENCES core.ref_watch_status(watch_status)
  CREATE INDEX vehicle_check_vin ON core.vehicle_check USING btree (group_id, vin)
  -- One row per real PPSR search or Car History report, however many evaluations of the dealer group it answers under. Times are the source's.

core.vehicle_decode table
  vin character(17) not null
  operation character varying(40) not null
  adcode character varying(40)
  outcome character varying(12) not null
  decoded_at timestamp with time zone not null
  constraint vehicle_decode_outcome_check CHECK (((outcome)::text = ANY ((ARRAY['decoded'::character varying, 'unknown'::character varying])::text[])))
  constraint vehicle_decode_pkey PRIMARY KEY (vin, operation)
  -- Factory builds that were looked up, once a VIN; unknown: the service does not know it.

core.watch_status_change table
  rooftop_id integer not null
  eval_id bigint not null
  check_kind character varying(12) not null
  check_ref character varying(80) not null
  observed_at timestamp with time zone not null -- Source time of the first answer that said so
  from_status character varying(40) -- null: the first status that was seen
  to_status character varying(40) not null
  constraint watch_status_change_check CHECK (((from_status)::text IS DISTINCT FROM (to_status)::text))
  constraint watch_status_change_pkey PRIMARY KEY (rooftop_id, eval_id, check_kind, check_ref, observed_at)
  constraint watch_status_change_rooftop_id_eval_id_check_kind_check_re_fkey FOREIGN KEY (rooftop_id, eval_id, check_kind, check_ref) REFERENCES core.vehicle_check(rooftop_id, eval_id, check_kind, check_ref) ON UPDATE CASCADE ON DELETE CASCADE
  constraint watch_status_change_to_status_fkey FOREIGN KEY (to_status) REFERENCES core.ref_watch_status(watch_status)
  -- Every status that a watch was seen to take, the first one included.

mart schema

ops schema

ops.billable_call table
  call_id bigint not null generated always as identity
  operation character varying(40) not null
  budget character varying(40) not null -- Setting under budget: in the config that allows so many a day
  rooftop_id integer -- core.rooftop; null for a call of the vehicle-data APIs that names none
  natural_key character varying(64) -- What the call is about: the EvalID as text, else the VIN or code
  day date not null -- UTC day of the reservation, by the clock of the database
  state character varying(12) not null
  at timestamp with time zone not null default now()
  settled_at timestamp with time zone
  http_status integer
  requested_by character varying(120) not null -- user@host that asked for it
  note character varying(400) -- Why it was released, or what is not known; never an answer body
  check_ref character varying(80) -- check_ref of the check that the call made, as its answer or the past checks name it
  known_refs character varying(80)[] -- Past checks that were there just before it was sent; null: not read, or the operation leaves none
  source_at timestamp with time zone -- The source's time when they were read
  constraint billable_call_pkey PRIMARY KEY (call_id)
  constraint billable_call_state_check CHECK (((state)::text = ANY ((ARRAY['reserved'::character varying, 'committed'::character varying, 'released'::character varying])::text[])))
  CREATE INDEX billable_call_budget_day_idx ON ops.billable_call USING btree (budget, day) WHERE ((state)::text <> 'released'::text)
  CREATE INDEX billable_call_natural_key_at_idx ON ops.billable_call USING btree (natural_key, at)
  CREATE INDEX billable_call_rooftop_id_call_id_idx ON ops.billable_call USING btree (rooftop_id, call_id) WHERE ((state)::text = 'reserved'::text)
  -- One row per billable call that was asked for. reserved: sent or about to be, outcome not known (it counts against the budget); committed: answered; released: not sent, or refused with a documented error.

ops.coverage table
  rooftop_id integer not null
  stream character varying(40) not null
  covered tstzmultirange not null default '{}'::tstzmultirange
  wanted tstzmultirange not null default '{}'::tstzmultirange
  constraint coverage_pkey PRIMARY KEY (rooftop_id, stream)
  -- covered: the union of the settled windows. wanted: what sync and backfills were asked for. What is to do is wanted - covered.

ops.data_quality table
  rooftop_id integer not null
  stream character varying(40) not null
  natural_key character varying(80) not null
  check_name character varying(40) not null
  detail character varying(300) not null
  run_id bigint not null
  seen_at timestamp with time zone not null default now()
  constraint data_quality_pkey PRIMARY KEY (rooftop_id, stream, natural_key, check_name)
  -- Warnings: records that landed, but contradict themselves or the document. Gone when a later read of the record no longer shows them.

ops.enrichment_state table
  rooftop_id integer not null
  stream character varying(40) not null
  eval_id bigint not null
  next_due_at timestamp with time zone -- null: never again, unless the evaluation changes
  last_asked_at timestamp with time zone not null
  polling_since timestamp with time zone -- An answer is being waited for since then, and asked for again every few seconds; null: none is
  failures integer not null default 0 -- Askings without an answer, in a row
  outcome character varying(12) not null -- Of the last asking. skipped: the source does not know or not price it; rejected: in quarantine; failed: no answer
  detail character varying(400) -- Why it was skipped or failed
  ask character varying(40) not null -- The operation that is asked, e.g. getpastppsrsearch: a stream may ask several of one evaluation, each on a schedule of its own
  constraint enrichment_state_outcome_check CHECK (((outcome)::text = ANY ((ARRAY['answered'::character varying, 'processing'::character varying, 'skipped'::character varying, 'rejected'::character varying, 'failed'::character varying])::text[])))
  constraint enrichment_state_pkey PRIMARY KEY (rooftop_id, stream, eval_id, ask)
  CREATE INDEX enrichment_due ON ops.enrichment_state USING btree (rooftop_id, stream, next_due_at)
  CREATE INDEX enrichment_polled ON ops.enrichment_state USING btree (rooftop_id, stream) WHERE (polling_since IS NOT NULL)
  -- Where an enrichment of an evaluation stands: one row per evaluation that was asked about, apart from core.evaluation, so that asking changes no fact. Times are the source's.

ops.field_drift table
  stream character varying(40) not null
  json_path character varying(300) not null
  json_type character varying(10) not null
  classification character varying(12) not null
  first_seen_at timestamp with time zone not null default now()
  last_seen_at timestamp with time zone not null default now()
  seen bigint not null default 0
  constraint field_drift_classification_check CHECK (((classification)::text = ANY ((ARRAY['documented'::character varying, 'undocumented'::character varying, 'missing'::character varying])::text[])))
  constraint field_drift_pkey PRIMARY KEY (stream, json_path, json_type)
  -- Every JSON path and type that was received, counted over new and changed records.

ops.parked table
  key_name character varying(120) not null
  stream character varying(40) not null
  until timestamp with time zone not null
  reason character varying(400) not null
  constraint parked_pkey PRIMARY KEY (key_name, stream)
  -- Keys whose quota of the day is used up: the stream asks nothing with the key before until, which is a time of the source.

ops.price_batch table
  batch_no bigint not null generated always as identity
  rooftop_id integer not null
  run_id bigint not null -- The run that it belongs to; one that a run left open goes over to the next
  state character varying(12) not null
  batch_id character varying(200)
  units integer not null
  percent numeric(6,2)
  submitted_at timestamp with time zone not null
  progressed_at timestamp with time zone not null
  finished_at timestamp with time zone
  detail character varying(400) -- Why it is lost, stuck or refused; null with refused: too large, its units go again in smaller ones
  constraint price_batch_pkey PRIMARY KEY (batch_no)
  constraint price_batch_state_check CHECK (((state)::text = ANY ((ARRAY['submitting'::character varying, 'submitted'::character varying, 'complete'::character varying, 'refused'::character varying, 'lost'::character varying, 'stuck'::character varying])::text[])))
  CREATE INDEX price_batch_open ON ops.price_batch USING btree (rooftop_id) WHERE (finished_at IS NULL)
  CREATE INDEX price_batch_run ON ops.price_batch USING btree (rooftop_id, run_id)
  -- Every batch, recorded before it is sent. submitting: sent or about to be, its answer is not known; lost: its answer never came, and it cannot be asked for; stuck: it made no progress. Times are ours.

ops.price_batch_size table
  rooftop_id integer not null
  size integer not null
  learned_at timestamp with time zone not null default now()
  constraint price_batch_size_pkey PRIMARY KEY (rooftop_id)
  constraint price_batch_size_size_check CHECK ((size > 0))
  -- The largest batch that the service has taken after refusing a larger one (413).

ops.price_batch_unit table
  batch_no bigint not null
  stock_no character varying(80) not null
  vin character varying(40)
  adcode character varying(40)
  odometer_km integer
  outcome character varying(12)
  constraint price_batch_unit_batch_no_fkey FOREIGN KEY (batch_no) REFERENCES ops.price_batch(batch_no)
  constraint price_batch_unit_outcome_check CHECK (((outcome)::text = ANY ((ARRAY['priced'::character varying, 'failed'::character varying, 'missing'::character varying, 'duplicate'::character varying])::text[])))
  constraint price_batch_unit_pkey PRIMARY KEY (batch_no, stock_no)
  -- What was asked for each unit, and what came of it; null: the batch is open or was lost.

ops.quarantine table
  quarantine_id bigint not null generated always as identity
  stream character varying(40) not null
  rooftop_id integer not null
  natural_key character varying(80) not null
  issues jsonb not null
  payload text
  attempts integer not null default 1
  window_from timestamp with time zone
  window_until timestamp with time zone
  run_id bigint not null
  first_seen_at timestamp with time zone not null default now()
  last_seen_at timestamp with time zone not null default now()
  resolved_at timestamp with time zone
  constraint quarantine_pkey PRIMARY KEY (quarantine_id)
  CREATE UNIQUE INDEX quarantine_open ON ops.quarantine USING btree (rooftop_id, stream, natural_key) WHERE (resolved_at IS NULL)
  -- Records that did not fit, as received, with the JSON path of every issue.

ops.run table
  run_id bigint not null generated always as identity
  command character varying(40) not null
  arguments jsonb not null default '{}'::jsonb
  status character varying(12) not null default 'running'::character varying -- abandoned: the process died and another run took its work over
  started_at timestamp with time zone not null default now()
  finished_at timestamp with time zone
  source_started_at timestamp with time zone not null
  fence bigint not null default 0 -- Slices committed by the run. A commit of a run that no longer holds its work is refused, so that this number only grows while the run is alive
  host character varying(120)
  process_id integer
  constraint run_pkey PRIMARY KEY (run_id)
  constraint run_status_check CHECK (((status)::text = ANY ((ARRAY['running'::character varying, 'ok'::character varying, 'partial'::character varying, 'failed'::character varying, 'stopped'::character varying, 'abandoned'::character varying])::text[])))
  -- One execution of a command. Times are those of the database, source_started_at is the clock of the source (HTTP Date).

ops.run_stream table
  run_id bigint not null
  rooftop_id integer not null
  stream character varying(40) not null
  status character varying(12) not null default 'waiting'::character varying
  error text
  listed integer not null default 0
  hydrated integer not null default 0
  inserted integer not null default 0
  updated integer not null default 0
  unchanged integer not null default 0
  quarantined integer not null default 0
  vanished integer not null default 0
  windows integer not null default 0
  requests integer not null default 0
  retries integer not null default 0
  finished_at timestamp with time zone
  saved integer not null default 0 -- Calls that were not needed: what asking about everything every time would have taken beyond requests
  constraint run_stream_pkey PRIMARY KEY (run_id, rooftop_id, stream)
  constraint run_stream_run_id_fkey FOREIGN KEY (run_id) REFERENCES ops.run(run_id)
  constraint run_stream_status_check CHECK (((status)::text = ANY ((ARRAY['waiting'::character varying, 'running'::character varying, 'ok'::character varying, 'partial'::character varying, 'failed'::character varying, 'parked'::character varying])::text[])))
  CREATE INDEX run_stream_rooftop_id_stream_run_id_idx ON ops.run_stream USING btree (rooftop_id, stream, run_id DESC)
  -- What a run did for one rooftop and stream: the unit of failure. Counts move in the transaction that loads the rows.

ops.schema_migration table
  version integer not null
  name text not null
  checksum text not null
  applied_at timestamp with time zone not null default now()
  constraint schema_migration_pkey PRIMARY KEY (version)
  -- One row per applied file of sql/migrations; written by the migration runner alone.

ops.stock_mapping table
  rooftop_id integer not null
  fingerprint character varying(64) not null
  columns jsonb not null
  confirmed_at timestamp with time zone not null default now()
  constraint stock_mapping_pkey PRIMARY KEY (rooftop_id, fingerprint)
  constraint stock_mapping_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id)
  -- Mappings of headers to fields that were sure, or confirmed with --map: the next file with the same header is read the same way.

ops.stream_state table
  rooftop_id integer not null
  stream character varying(40) not null
  largest_answer integer not null default 0
  list_cap integer
  state jsonb not null default '{}'::jsonb
  constraint stream_state_pkey PRIMARY KEY (rooftop_id, stream)
  -- What was learned of a source: the largest list that it gave, the silent cap that halving exposed (null: none).

ops.vanished table
  rooftop_id integer not null
  stream character varying(40) not null
  natural_key character varying(80) not null
  reason character varying(12) not null
  vanished_at timestamp with time zone not null
  run_id bigint not null
  constraint vanished_pkey PRIMARY KEY (rooftop_id, stream, natural_key)
  constraint vanished_reason_check CHECK (((reason)::text = ANY ((ARRAY['not found'::character varying, 'not listed'::character varying])::text[])))
  -- Records that the source no longer answers for or no longer lists in a certified window.

ops.window_certificate table
  rooftop_id integer not null
  stream character varying(40) not null
  window_from timestamp with time zone not null
  window_until timestamp with time zone not null
  listed_at timestamp with time zone not null
  reread_at timestamp with time zone not null -- Known evaluations of the window that fell due before this instant have been read again
  listed integer not null
  loaded integer not null
  quarantined integer not null
  vanished integer not null
  least_entry_at timestamp with time zone
  greatest_entry_at timestamp with time zone
  ids_digest bytea not null
  settled boolean not null -- Older than the settle margin when it was listed: counts as covered
  proof character varying(12) not null -- plain: fewer items than the source has been seen to give; halved: ids(whole) = ids(left) + ids(right); unprovable: a single second that does not fit under the learned cap
  run_id bigint not null
  constraint window_certificate_check CHECK ((window_until > window_from))
  constraint window_certificate_check1 CHECK ((listed = ((loaded + quarantined) + vanished)))
  constraint window_certificate_pkey PRIMARY KEY (rooftop_id, stream, window_from)
  constraint window_certificate_proof_check CHECK (((proof)::text = ANY ((ARRAY['plain'::character varying, 'halved'::character varying, 'unprovable'::character varying])::text[])))
  CREATE INDEX window_certificate_rooftop_id_stream_listed_at_idx ON ops.window_certificate USING btree (rooftop_id, stream, listed_at)
  -- What one listing of a half-open window [window_from, window_until) proved. Times are the source's.

pii schema

pii.app_user_email table
  user_id bigint not null
  group_id integer not null
  email character varying(320) not null
  constraint app_user_email_pkey PRIMARY KEY (user_id)
  constraint app_user_email_user_id_fkey FOREIGN KEY (user_id) REFERENCES core.app_user(user_id)
  CREATE UNIQUE INDEX app_user_email_natural ON pii.app_user_email USING btree (group_id, lower((email)::text))

pii.archived_pdf table
  rooftop_id integer not null
  eval_id bigint not null
  link_kind character varying(20) not null
  link_ref character varying(80) not null
  sha256 bytea not null
  byte_count integer not null
  archived_at timestamp with time zone not null default now()
  constraint archived_pdf_link_kind_check CHECK (((link_kind)::text = ANY ((ARRAY['ppsr_pdf'::character varying, 'car_history_pdf'::character varying])::text[])))
  constraint archived_pdf_pkey PRIMARY KEY (rooftop_id, eval_id, link_kind, link_ref)
  constraint archived_pdf_sha256_check CHECK ((length(sha256) = 32))
  CREATE INDEX archived_pdf_ref ON pii.archived_pdf USING btree (link_kind, link_ref)
  -- Which PDF of the archive (links.archive) belongs to which check; the file is named by its digest.

pii.evaluation_customer table
  rooftop_id integer not null
  eval_id bigint not null
  customer_name character varying(300)
  phone character varying(60)
  email character varying(320)
  address character varying(500)
  suburb character varying(200)
  registration_plate character varying(30)
  notes text
  erased_at timestamp with time zone
  constraint evaluation_customer_pkey PRIMARY KEY (rooftop_id, eval_id)
  -- The customer of an evaluation and free text that may name one. Its own role reads it.

pii.signed_link table
  rooftop_id integer not null
  eval_id bigint not null
  link_kind character varying(20) not null
  link_ref character varying(80) not null -- check_ref of the check
  url text not null
  signed_at timestamp with time zone not null
  expires_at timestamp with time zone not null -- Source time: signed_at and a week [A §8]
  constraint signed_link_check CHECK ((expires_at > signed_at))
  constraint signed_link_link_kind_check CHECK (((link_kind)::text = ANY ((ARRAY['ppsr_pdf'::character varying, 'car_history_pdf'::character varying])::text[])))
  constraint signed_link_pkey PRIMARY KEY (rooftop_id, eval_id, link_kind, link_ref)
  CREATE INDEX signed_link_expiry ON pii.signed_link USING btree (expires_at)
  CREATE INDEX signed_link_ref ON pii.signed_link USING btree (link_kind, link_ref)
  -- The newest signed link of each check's PDF: a bearer secret. Dashboards hold the permalink instead: GET /links/<link_kind>/<link_ref> of "forecourt serve".

raw schema

raw.payload table
  rooftop_id integer not null
  endpoint character varying(40) not null
  natural_key character varying(80) not null
  fetched_at timestamp with time zone not null
  content_hash bytea not null -- sha256 of the body without the query strings of its links, which are signed anew at every read
  body json not null
  run_id bigint not null
  constraint payload_pkey PRIMARY KEY (rooftop_id, endpoint, natural_key, fetched_at)
  -- Answers of the source, a row only when the content changed. Readable by the writer alone.

raw.payload_json view
  rooftop_id integer
  endpoint character varying(40)
  natural_key character varying(80)
  fetched_at timestamp with time zone
  content_hash bytea
  body json
  run_id bigint
  as
   SELECT rooftop_id,
      endpoint,
      natural_key,
      fetched_at,
      content_hash,
      raw.readable(body) AS body,
      run_id
     FROM raw.payload;
  -- raw.payload with the body as json that every operator can read; raw.payload has it verbatim.

raw.raw.readable(json) routine
CREATE OR REPLACE FUNCTION raw.readable(body json)
 RETURNS json
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when body::text ~ '\\u(0000|[dD][89a-fA-F])' then
    regexp_replace(
      regexp_replace(
        regexp_replace(body::text, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g'),
        '(?<!\\)((?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g'),
      '(?<!\\u[dD][89abAB][0-9a-fA-F]{2})(?<!\\)((?:\\\\)*)\\u[dD][c-fC-F][0-9a-fA-F]{2}', '\1\\ufffd', 'g')::json
  else body end
$function$
