-- The rooftops of the config and their dealer groups.
create schema core;
create schema pii;

create table core.rooftop_group (
  group_id int generated always as identity primary key,
  group_code varchar(130) not null unique
);
comment on table core.rooftop_group is 'A dealer group: one evaluation list covers all its rooftops [A §4 /getevallist].';

create table core.rooftop (
  rooftop_id int generated always as identity primary key,
  rooftop_uid varchar(64) not null unique,
  dealer_id bigint,
  group_id int not null references core.rooftop_group,
  rooftop_name varchar(200) not null,
  region varchar(3) not null check (region in ('AU', 'US', 'GCC')),
  time_zone varchar(64) not null,
  currency_code char(3) not null,
  odometer_unit char(2) not null check (odometer_unit in ('km', 'mi')),
  previous_time_zone varchar(64),
  time_zone_changed_at timestamptz
);
comment on column core.rooftop.rooftop_uid is 'Value of X-Dealer-Id';
comment on column core.rooftop.dealer_id is 'Numeric dealership id, used to filter the list; null: the list is not filtered';
comment on column core.rooftop.previous_time_zone is 'Before time_zone_changed_at, when the local days of its rows and their sums were calculated again; null: the zone never changed';

-- Salespeople of a dealer group. The API gives no user id: the natural key is group + e-mail.
create table core.app_user (
  user_id bigint generated always as identity primary key,
  group_id int not null references core.rooftop_group,
  display_name varchar(200),
  is_generated_link_account boolean not null,
  is_active boolean,
  in_user_list boolean not null,
  first_seen_at timestamptz not null default now(),
  last_changed_at timestamptz not null default now()
);
comment on column core.app_user.is_generated_link_account is 'Decided by the suffix of the e-mail only (wire.appraisal.generatedUser.emailSuffix)';
comment on column core.app_user.is_active is 'true: listed without includeInactive; null: never listed, known from evaluations only';

create table core.app_user_rooftop (
  rooftop_id int not null references core.rooftop,
  user_id bigint not null references core.app_user,
  is_active boolean not null,
  primary key (rooftop_id, user_id)
);
comment on table core.app_user_rooftop is 'The users that the list of a rooftop shows. The list covers the whole dealer group of that rooftop; a key may cover several groups.';

create table pii.app_user_email (
  user_id bigint primary key references core.app_user,
  group_id int not null,
  email varchar(320) not null
);
create unique index app_user_email_natural on pii.app_user_email (group_id, lower(email));

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
  vehicle_vin varchar(17) generated always as (case when length(vin) = 17 then upper(vin) end) stored,
  primary key (rooftop_id, eval_id)
);
create unique index evaluation_once_in_group on core.evaluation (group_id, eval_id);
create index evaluation_entry on core.evaluation (rooftop_id, entry_at);
create index evaluation_completed on core.evaluation (rooftop_id, completed_date_local);
create index evaluation_month on core.evaluation (rooftop_id, (date_trunc('month', completed_date_local::timestamp)::date));
-- Under row-level security an index is used only for leak-proof conditions. upper() is not leak-proof; a comparison of a column is.
create index evaluation_vehicle_vin on core.evaluation (group_id, vehicle_vin) where vehicle_vin is not null;
-- Without these statistics the planner expects few VINs of 17 characters and reads all evaluations for every vehicle.
create statistics core.evaluation_vin_length on (length(vin::text)) from core.evaluation;
comment on table core.evaluation is 'One row per completed evaluation, with its current content.';
comment on column core.evaluation.entry_at is 'EntryDate in UTC, by which the list filters; where EntryDate lies outside of the window that listed it, a time within that window';
comment on column core.evaluation.source_updated_at is 'UpdatedAt; an older one never replaces a newer one';
comment on column core.evaluation.odometer is 'In odometer_unit, the unit of the rooftop: the document states none';
comment on column core.evaluation.final_price is 'FinalPrice; a price sent as 0 is 0, one left out or null is null';
comment on column core.evaluation.recon_line_total is 'Sum of the reconditioning lines'' cost; recon_total is the source''s own total';
comment on column core.evaluation.vehicle_vin is 'VIN in capitals; null unless it has 17 characters';
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
create index evaluation_version_edits on core.evaluation_version (rooftop_id, eval_id, version_no) where version_no > 1;
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
create index reconditioning_item_info on core.reconditioning_item (rooftop_id, eval_id) where last_version is null and lower(recon_type) = 'info';
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
-- The permalink of a photo holds only the photo id.
create index photo_id on core.photo (photo_id);
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

-- When a rooftop moves to another dealer group, its salespeople move too. A salesperson of rooftops in both groups is in both.
create function core.move_people(moving int, to_group int) returns void language plpgsql as $$
declare
  used bigint[];
  listed bigint[];
  shared bigint[];
  person record;
  same bigint;
  from_ids bigint[] := '{}';
  to_ids bigint[] := '{}';
begin
  -- The same lock as every other writer of the users of a group, in the order of the groups.
  perform pg_advisory_xact_lock(7305, g.group_id)
  from (select group_id from core.rooftop_group where group_id = to_group
      or group_id in (select u.group_id from core.app_user_rooftop as m join core.app_user as u using (user_id) where m.rooftop_id = moving)
      or group_id = (select group_id from core.rooftop where rooftop_id = moving)
    order by group_id) as g;
  select coalesce(array_agg(distinct e.user_id), '{}') into used
  from (
    select user_id from core.evaluation where rooftop_id = moving
    union all select user_id from core.evaluation_version where rooftop_id = moving
  ) as e join core.app_user as u using (user_id)
  where u.group_id <> to_group;
  select coalesce(array_agg(m.user_id), '{}') into listed
  from core.app_user_rooftop as m join core.app_user as u using (user_id)
  where m.rooftop_id = moving and u.group_id <> to_group;
  select coalesce(array_agg(distinct other_rooftop.user_id), '{}') into shared
  from (
    select user_id from core.evaluation where rooftop_id <> moving and user_id = any (used || listed)
    union all select user_id from core.evaluation_version where rooftop_id <> moving and user_id = any (used || listed)
    union all select user_id from core.app_user_rooftop where rooftop_id <> moving and user_id = any (used || listed)
  ) as other_rooftop;

  for person in
    select u.*, e.email from core.app_user as u left join pii.app_user_email as e using (user_id)
    where u.user_id = any (used || listed) order by u.user_id
  loop
    -- Only the list of the old group names this user: the list of the new group decides.
    continue when person.user_id = any (shared) and person.user_id <> all (used);
    select e.user_id into same from pii.app_user_email as e
    where e.group_id = to_group and lower(e.email) = lower(person.email);
    if same is null and person.user_id <> all (shared) then
      update core.app_user set group_id = to_group, last_changed_at = now() where user_id = person.user_id;
      update pii.app_user_email set group_id = to_group where user_id = person.user_id;
      continue;
    end if;
    if same is null then
      insert into core.app_user (group_id, display_name, is_generated_link_account, is_active, in_user_list, first_seen_at)
      values (to_group, person.display_name, person.is_generated_link_account, person.is_active, person.in_user_list, person.first_seen_at)
      returning user_id into same;
      insert into pii.app_user_email (user_id, group_id, email) select same, to_group, person.email where person.email is not null;
    end if;
    from_ids := from_ids || person.user_id;
    to_ids := to_ids || same;
  end loop;

  update core.evaluation as e set user_id = map.new_id
  from unnest(from_ids, to_ids) as map (old_id, new_id) where e.rooftop_id = moving and e.user_id = map.old_id;
  update core.evaluation_version as v set user_id = map.new_id
  from unnest(from_ids, to_ids) as map (old_id, new_id) where v.rooftop_id = moving and v.user_id = map.old_id;
  insert into core.app_user_rooftop (rooftop_id, user_id, is_active)
  select m.rooftop_id, map.new_id, m.is_active
  from core.app_user_rooftop as m join unnest(from_ids, to_ids) as map (old_id, new_id) on map.old_id = m.user_id
  where m.rooftop_id = moving
  on conflict do nothing;
  delete from core.app_user_rooftop as m using core.app_user as u
  where m.rooftop_id = moving and u.user_id = m.user_id and u.group_id <> to_group;
  delete from pii.app_user_email where user_id = any (from_ids) and user_id <> all (shared);
  delete from core.app_user where user_id = any (from_ids) and user_id <> all (shared);

  update core.app_user as u
  set in_user_list = status.listed, is_active = status.active, last_changed_at = now()
  from (
    select id as user_id, count(m.user_id) > 0 as listed, coalesce(bool_or(m.is_active), false) as active
    from unnest(listed || to_ids) as id left join core.app_user_rooftop as m on m.user_id = id group by id
  ) as status
  where status.user_id = u.user_id and (status.listed or u.in_user_list)
    and (u.in_user_list, u.is_active) is distinct from (status.listed, status.active);
end
$$;
comment on function core.move_people(int, int) is 'Moves the salespeople of a rooftop to its new dealer group, so that its evaluations and versions name only users of that group. A user of no other rooftop is moved; for the others a row is made in the new group, or the user with the same e-mail is taken. Calling it again changes nothing.';
