-- Dealer stock lists: every imported file, the stock that results from the files, and its prices. Rows have no foreign key to
-- their import, which would more than halve the loading speed: they are written in the transaction of the import.
create table core.stock_import (
  import_id bigint generated always as identity primary key,
  rooftop_id int not null references core.rooftop,
  file_name varchar(255) not null,
  sha256 bytea not null check (length(sha256) = 32),
  byte_count bigint not null,
  mode varchar(10) not null check (mode in ('snapshot', 'delta')),
  encoding varchar(40) not null,
  delimiter varchar(4) not null,
  dialect jsonb not null,
  preamble jsonb not null,
  header jsonb,
  mapping jsonb not null,
  warnings jsonb not null,
  records int not null,
  accepted int not null,
  rejected int not null,
  collapsed int not null,
  skipped int not null,
  added int not null,
  updated int not null,
  unchanged int not null,
  removed int not null,
  reappeared int not null,
  imported_by varchar(120) not null,
  imported_at timestamptz not null default now(),
  check (records = accepted + rejected + collapsed + skipped)
);
create index stock_import_file on core.stock_import (rooftop_id, sha256);
comment on table core.stock_import is 'One row per imported stock list. The same file is not imported again for a rooftop until another list has changed the stock.';
comment on column core.stock_import.dialect is 'Quote, escape, line end, byte order mark, sep= line, number of columns, and the text above the records';
comment on column core.stock_import.preamble is 'Lines above the header, as text';
comment on column core.stock_import.header is '{ line, rows, names, rowNames, ragged }; null: the file has none';
comment on column core.stock_import.mapping is 'For each column: field, confidence and evidence';
comment on column core.stock_import.collapsed is 'Rows that repeat another row of the file';
comment on column core.stock_import.skipped is 'Rows that are no vehicle on hand: blank rows, totals, titles, footers, repeated headers, and vehicles with a status of sold';
comment on column core.stock_import.removed is 'Units that a snapshot no longer lists';

create table core.stock_import_row (
  import_id bigint not null,
  line_no int not null,
  stock_no varchar(80),
  status varchar(12) not null check (status in ('accepted', 'rejected', 'collapsed', 'skipped')),
  issues jsonb not null,
  cells jsonb not null,
  primary key (import_id, line_no)
);
comment on table core.stock_import_row is 'Every row of every import with every cell as text; never deleted.';
comment on column core.stock_import_row.line_no is 'Line of the file where the row begins, from 1';
comment on column core.stock_import_row.issues is '[{ code, severity, line, column, text, hint }]';

create table core.stock_unit (
  rooftop_id int not null,
  stock_no varchar(80) not null,
  vin varchar(40),
  adcode varchar(40),
  plate varchar(40),
  make varchar(120),
  model varchar(200),
  variant varchar(255),
  model_year int,
  odometer_km int check (odometer_km >= 0),
  asking_price numeric(15,3),
  cost numeric(15,3),
  currency_code char(3) not null,
  price_on_application boolean not null,
  acquired_on date,
  extras jsonb not null,
  content_hash bytea not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  missing_since timestamptz,
  off_stock_at timestamptz,
  import_id bigint not null,
  primary key (rooftop_id, stock_no)
);
create index stock_unit_vin on core.stock_unit (vin) where vin is not null;
-- Few units are missing: with this index an import finds those whose days of grace are over without reading the whole stock.
create index stock_unit_missing on core.stock_unit (rooftop_id, missing_since)
  where missing_since is not null and off_stock_at is null;
comment on table core.stock_unit is 'One row per vehicle that is or was in stock, with the content of the newest list that names it.';
comment on column core.stock_unit.stock_no is 'The VIN where the list has no stock number';
comment on column core.stock_unit.extras is 'Mapped fields that have no column in this table: the text of the file, by field';
comment on column core.stock_unit.last_seen_at is 'Time of the last import that changed it, or that listed it again after it was missing';
comment on column core.stock_unit.missing_since is 'First snapshot that did not list it; null: the newest snapshot lists it';
comment on column core.stock_unit.off_stock_at is 'When its status became sold, or when the days of grace after the last list with it had passed. The row is marked, never deleted; null: in stock';

create table core.stock_unit_change (
  import_id bigint not null,
  rooftop_id int not null,
  stock_no varchar(80) not null,
  change varchar(12) not null check (change in ('added', 'updated', 'removed', 'reappeared')),
  changes jsonb not null,
  primary key (rooftop_id, stock_no, import_id)
);
-- The changes of an import are stored together, so a BRIN index finds them.
create index stock_unit_change_import on core.stock_unit_change using brin (import_id);
comment on table core.stock_unit_change is 'What each import changed in which unit: the stored change report.';
comment on column core.stock_unit_change.changes is '{ column: [old, new] }; empty for removed, and for added unless the stock number belonged to another vehicle before';

create table ops.stock_mapping (
  rooftop_id int not null references core.rooftop,
  fingerprint varchar(64) not null,
  columns jsonb not null,
  confirmed_at timestamptz not null default now(),
  absent jsonb,
  primary key (rooftop_id, fingerprint)
);
comment on table ops.stock_mapping is 'Mappings of headers to fields that were certain, or confirmed with --map. The next file with the same header is read with the same mapping.';
comment on column ops.stock_mapping.absent is 'Fields that a person marked as absent from the list; null: the mapping is older than this column, and its unmapped columns are examined again.';
comment on column ops.stock_mapping.columns is 'Field by position of the column; null: unknown in this list, which does not decide about the next list.';

create table core.vehicle_decode (
  vin char(17) not null,
  operation varchar(40) not null,
  adcode varchar(40),
  outcome varchar(12) not null check (outcome in ('decoded', 'unknown')),
  decoded_at timestamptz not null,
  make varchar(120),
  model varchar(120),
  primary key (vin, operation)
);
comment on table core.vehicle_decode is 'Factory builds that were looked up, once per VIN; unknown: the service does not know the VIN.';
comment on column core.vehicle_decode.make is 'As the service decodes the VIN, like model. null: the service gives none, or it was decoded before this column existed';

create table core.stock_price_observation (
  rooftop_id int not null,
  stock_no varchar(80) not null,
  price_source varchar(24) not null,
  observed_at timestamptz not null,
  last_confirmed_at timestamptz not null,
  is_current boolean not null,
  vin varchar(40),
  retail numeric(15,3),
  retail_low numeric(15,3),
  retail_high numeric(15,3),
  wholesale numeric(15,3),
  wholesale_low numeric(15,3),
  wholesale_high numeric(15,3),
  currency_code char(3) not null,
  error varchar(200),
  value_hash bytea not null,
  run_id bigint not null,
  primary key (rooftop_id, stock_no, price_source, observed_at),
  check (last_confirmed_at >= observed_at)
);
create unique index stock_price_current on core.stock_price_observation (rooftop_id, stock_no, price_source) where is_current;
comment on table core.stock_price_observation is 'Prices of a unit from price-batch. A new row is added only when the answer changed; rows are never overwritten.';
comment on column core.stock_price_observation.vin is 'VIN of the unit when it was priced, because stock numbers are reused';
comment on column core.stock_price_observation.error is 'Why the unit could not be priced; then the prices are null';

create table ops.price_batch (
  batch_no bigint generated always as identity primary key,
  rooftop_id int not null,
  run_id bigint not null,
  state varchar(12) not null check (state in ('submitting', 'submitted', 'complete', 'refused', 'lost', 'stuck')),
  batch_id varchar(200),
  units int not null,
  percent numeric(6,2),
  submitted_at timestamptz not null,
  progressed_at timestamptz not null,
  finished_at timestamptz,
  detail varchar(400)
);
create index price_batch_open on ops.price_batch (rooftop_id) where finished_at is null;
create index price_batch_run on ops.price_batch (rooftop_id, run_id);
comment on column ops.price_batch.run_id is 'The run that the batch belongs to; a batch that a run left open is taken over by the next run';
comment on column ops.price_batch.detail is 'Why it is lost, stuck or refused. null with refused: the batch was too large, its units are sent again in smaller batches';
comment on table ops.price_batch is 'Every batch, recorded before it is sent. submitting: sent or about to be sent, answer unknown; lost: its answer never came, and it cannot be requested again; stuck: it made no progress. Times are by our clock.';

create table ops.price_batch_unit (
  batch_no bigint not null references ops.price_batch,
  stock_no varchar(80) not null,
  vin varchar(40),
  adcode varchar(40),
  odometer_km int,
  outcome varchar(12) check (outcome in ('priced', 'failed', 'missing', 'duplicate')),
  primary key (batch_no, stock_no)
);
comment on table ops.price_batch_unit is 'What was requested for each unit, and the outcome; null: the batch is open or was lost.';

create table ops.price_batch_size (
  rooftop_id int primary key,
  size int not null check (size > 0),
  learned_at timestamptz not null default now()
);
comment on table ops.price_batch_size is 'The largest batch that the service accepted after it refused a larger one (413).';

create view core.stock_evaluation as
select unit.rooftop_id, unit.stock_no, seen.rooftop_id as eval_rooftop_id, seen.eval_id, seen.completed_at,
  case when seen.rooftop_id = unit.rooftop_id then 'vin_same_rooftop' else 'vin_same_group' end::varchar(20) as match_rule
from core.stock_unit as unit
join core.rooftop using (rooftop_id)
join core.evaluation as seen on seen.group_id = rooftop.group_id and upper(seen.vin) = unit.vin and length(seen.vin) = 17
where seen.gone_at is null;
comment on view core.stock_evaluation is 'The evaluations of the vehicle of a unit in its dealer group, by VIN.';

create view core.stock_outcome as
select
  unit.rooftop_id, unit.stock_no, seen.rooftop_id as eval_rooftop_id, seen.eval_id,
  coalesce(unit.acquired_on, (unit.first_seen_at at time zone rooftop.time_zone)::date) as acquired_on,
  (case when seen.rooftop_id = unit.rooftop_id then 'vin_same_rooftop' else 'vin_same_group' end)::varchar(20) as match_rule
from core.stock_unit as unit
join core.rooftop as rooftop using (rooftop_id)
cross join lateral (
  select e.rooftop_id, e.eval_id
  from core.evaluation as e
  where e.group_id = rooftop.group_id and e.vehicle_vin = unit.vin and e.gone_at is null
    and e.completed_date_local <= coalesce(unit.acquired_on, (unit.first_seen_at at time zone rooftop.time_zone)::date)
  order by e.rooftop_id = unit.rooftop_id desc, e.completed_at desc, e.eval_id desc
  limit 1
) as seen;
comment on view core.stock_outcome is 'The evaluation on which a unit of the stock list was bought: of the same VIN in the dealer group, the last one completed on or before the day that the unit came in (acquired_on, else the day of its first list). An evaluation of the same rooftop is preferred.';

create view core.stock_asking_price as
with since as (
  select rooftop_id, stock_no, max(import_id) as import_id from core.stock_unit_change
  where change = 'added' or changes ? 'currency_code' group by 1, 2
), step as (
  select change.rooftop_id, change.stock_no, change.import_id, (change.changes -> 'asking_price' ->> 0)::numeric(15,3) as was
  from core.stock_unit_change as change
  left join since using (rooftop_id, stock_no)
  where change.changes ? 'asking_price' and change.import_id > coalesce(since.import_id, 0)
), history as (
  select rooftop_id, stock_no, (array_agg(was order by import_id) filter (where was is not null))[1] as first_was, count(*)::int as price_changes
  from step group by 1, 2
)
select unit.rooftop_id, unit.stock_no, coalesce(history.first_was, unit.asking_price)::numeric(15,3) as asking_price_first,
  unit.asking_price as asking_price_now, coalesce(history.price_changes, 0) as price_changes
from core.stock_unit as unit
left join history using (rooftop_id, stock_no);
comment on view core.stock_asking_price is 'First and current asking price of each unit, from its changes in all imports since it came in. When a stock number is reused or the currency changes, the history starts again.';
