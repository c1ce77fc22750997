-- Completed evaluations and their child tables. Child tables have no foreign keys, which would more than halve the loading speed:
-- they are written in the transaction of their evaluation, and `verify` checks them.
create table core.evaluation (
  rooftop_id int not null,
  eval_id bigint not null,
  group_id int not null,
  vin varchar(32),
  make varchar(120),
  model varchar(200),
  variant varchar(255),
  model_year int,
  registration_state varchar(10),
  colour varchar(120),
  user_id bigint,
  entry_at timestamptz not null,
  created_at timestamptz not null,
  created_at_source varchar(10) not null check (created_at_source in ('CreatedAt', 'EntryDate')),
  completed_at timestamptz,
  source_updated_at timestamptz not null,
  created_date_local date not null,
  completed_date_local date,
  odometer int,
  odometer_unit char(2) not null,
  odometer_km int generated always as (
    case odometer_unit when 'mi' then round(odometer * 1.609344)::int else odometer end
  ) stored,
  condition_score smallint,
  final_price numeric(15,3),
  recon_total numeric(15,3),
  recon_line_total numeric(15,3),
  currency_code char(3) not null,
  photo_count int not null,
  hero_source varchar(20),
  user_price_count int not null,
  customer_state varchar(20),
  customer_postcode varchar(20),
  version_no int not null,
  content_hash bytea not null,
  first_loaded_at timestamptz not null,
  last_changed_at timestamptz not null,
  gone_at timestamptz,
  run_id bigint not null,
  primary key (rooftop_id, eval_id)
);
create unique index evaluation_once_in_group on core.evaluation (group_id, eval_id);
create index evaluation_entry on core.evaluation (rooftop_id, entry_at);
create index evaluation_completed on core.evaluation (rooftop_id, completed_date_local);
create index evaluation_vin on core.evaluation (vin) where vin is not null;
comment on table core.evaluation is 'One row per completed evaluation, with its current content.';
comment on column core.evaluation.entry_at is 'EntryDate in UTC, by which the list filters; where EntryDate lies outside of the window that listed it, a time within that window';
comment on column core.evaluation.source_updated_at is 'UpdatedAt; an older one never replaces a newer one';
comment on column core.evaluation.odometer is 'In odometer_unit, the unit of the rooftop: the document states none';
comment on column core.evaluation.final_price is 'FinalPrice; a price sent as 0 is 0, one left out or null is null';
comment on column core.evaluation.recon_line_total is 'Sum of the reconditioning lines'' cost; recon_total is the source''s own total';
comment on column core.evaluation.gone_at is 'Source time when /geteval first answered 400 or the list no longer had it. The row is marked, never deleted';

create table core.evaluation_version (
  rooftop_id int not null,
  eval_id bigint not null,
  version_no int not null,
  valid_from timestamptz not null,
  valid_to timestamptz,
  observed_at timestamptz not null,
  changed_fields text[] not null,
  final_price numeric(15,3),
  recon_total numeric(15,3),
  user_id bigint,
  odometer int,
  condition_score smallint,
  content_hash bytea not null,
  run_id bigint not null,
  primary key (rooftop_id, eval_id, version_no)
);
comment on table core.evaluation_version is 'One row per observed content of an evaluation. Several edits between two reads appear as one change.';
comment on column core.evaluation_version.valid_from is 'UpdatedAt of the content; valid_to of the current one is null';

create table core.reconditioning_item (
  rooftop_id int not null,
  eval_id bigint not null,
  first_version int not null,
  line_no int not null,
  last_version int,
  recon_type varchar(120),
  source varchar(120),
  cost numeric(15,3),
  value_text varchar(1000),
  battery_soh_pct numeric(5,2),
  primary key (rooftop_id, eval_id, first_version, line_no)
);
comment on column core.reconditioning_item.last_version is 'null: part of the current content. Lines have no id, so a changed list replaces all lines';
comment on column core.reconditioning_item.battery_soh_pct is 'State of health of the battery, 0 to 100, from a line of type info whose value is a percentage';

create table core.photo (
  rooftop_id int not null,
  eval_id bigint not null,
  photo_id bigint not null,
  display_position int not null,
  supplied_order int,
  is_hero boolean not null,
  hero_source varchar(20),
  angle varchar(120),
  first_seen_at timestamptz not null,
  removed_at timestamptz,
  primary key (rooftop_id, eval_id, photo_id)
);
comment on table core.photo is 'Identity and order of photos. Their URLs are signed and expire: never stored.';
comment on column core.photo.display_position is 'Position in Photos, from 1; supplied_order is the order that the source states, which is not unique';

create table core.custom_field_value (
  rooftop_id int not null,
  eval_id bigint not null,
  field_name varchar(200) not null,
  field_type varchar(120),
  value_text text,
  primary key (rooftop_id, eval_id, field_name)
);

create table core.user_price (
  rooftop_id int not null,
  eval_id bigint not null,
  position int not null,
  amount numeric(15,3),
  currency_code char(3),
  body jsonb not null,
  primary key (rooftop_id, eval_id, position)
);
comment on column core.user_price.body is 'The item as received; the document does not show its shape';

create table pii.evaluation_customer (
  rooftop_id int not null,
  eval_id bigint not null,
  customer_name varchar(300),
  phone varchar(60),
  email varchar(320),
  address varchar(500),
  suburb varchar(200),
  registration_plate varchar(30),
  notes text,
  erased_at timestamptz,
  primary key (rooftop_id, eval_id)
);
comment on table pii.evaluation_customer is 'The customer of an evaluation, and free text that may name one. Only forecourt_writer and the views of mart_pii read it.';

create schema mart;
