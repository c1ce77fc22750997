-- Which rows of the marts a transaction may have changed, so that an export to a lake need not compare every month. Triggers write it, in the
-- transaction of the change, whoever makes it: then an export sees both or neither. Keys are stored, not months, where the row of a mart can move
-- while the change is not committed: the export finds the months in its own snapshot.
create table ops.lake (
  lake varchar(1000) primary key,
  warehouse varchar(100) not null,
  tracked_from xid8,
  exported_at timestamptz not null default now(),
  token uuid,
  basis varchar(200),
  snapshot pg_snapshot
);
comment on table ops.lake is 'Lakes that this warehouse writes. Without a row no changes are recorded in ops.lake_change.';
comment on column ops.lake.lake is 'Folder, or s3://bucket/prefix';
comment on column ops.lake.warehouse is 'The warehouse as the lake names it: a copy of a database is another one';
comment on column ops.lake.tracked_from is 'Every transaction from this one on has recorded its changes; null: not known yet';
comment on column ops.lake.exported_at is 'End of the last complete export. A lake without one for 30 days is forgotten';
comment on column ops.lake.token is 'Of the last complete export, which the lake names too. They differ when the lake or the warehouse was restored';
comment on column ops.lake.basis is 'Migrations and marts of that export: with other ones everything is compared';
comment on column ops.lake.snapshot is 'What that export has seen; null: changes before the next one may not be recorded';

create table ops.lake_change (
  changed_by xid8 not null default pg_current_xact_id(),
  source varchar(130) not null,
  rooftop_id int,
  eval_ids bigint[],
  months varchar(10)[],
  vins varchar(40)[]
);
comment on table ops.lake_change is 'What a statement has changed since the oldest export of ops.lake: one row per table and rooftop. Without eval_ids, months and vins: any row of the table. An export deletes what every lake has.';
comment on column ops.lake_change.changed_by is 'The transaction: an export reads those that the snapshot of the last one does not see';
comment on column ops.lake_change.months is 'Months of completion (YYYY-MM) of the rows before and after; empty text: none';
comment on column ops.lake_change.vins is 'Vehicles of the rows before and after, whose other evaluations have columns about them';

create function ops.month_of(day date) returns varchar(10) language sql immutable parallel safe as $$
  select case when day between '0001-01-01' and '9999-12-31' then to_char(day::timestamp, 'YYYY-MM') else '' end
$$;
comment on function ops.month_of(date) is 'Month of a day as partitions of the lake name it; empty: none, or out of the calendar.';

create function ops.log_lake_change_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  -- No table has a column with this name.
  changed_source text := tg_table_schema || '.' || tg_table_name;
begin
  if not exists (select from ops.lake) then
    return null;
  end if;
  case tg_argv[0]
    when 'evaluation' then
      insert into ops.lake_change (source, rooftop_id, eval_ids, months, vins)
      select changed_source, rooftop_id, array_agg(eval_id), array_agg(distinct ops.month_of(completed_date_local)),
        array_agg(distinct vehicle_vin) filter (where vehicle_vin is not null)
      from changed group by rooftop_id;
    when 'month' then
      insert into ops.lake_change (source, months) select changed_source, array_agg(distinct ops.month_of(completed_date_local)) from changed having count(*) > 0;
    when 'part' then
      insert into ops.lake_change (source, rooftop_id, eval_ids) select changed_source, rooftop_id, array_agg(distinct eval_id) from changed group by rooftop_id;
    when 'check' then
      insert into ops.lake_change (source, rooftop_id, eval_ids, vins)
      select changed_source, rooftop_id, array_agg(distinct eval_id), array_agg(distinct vin) from changed group by rooftop_id;
    when 'unit' then
      insert into ops.lake_change (source, vins)
      select changed_source, coalesce(array_agg(distinct vin) filter (where vin is not null), '{}') from changed having count(*) > 0;
    else
      insert into ops.lake_change (source) select changed_source where exists (select from changed);
  end case;
  return null;
end
$$;
comment on function ops.log_lake_change_trg() is 'Records in ops.lake_change what a statement has changed. Its argument says which keys the rows have.';

create function ops.log_lake_truncate_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into ops.lake_change (source) select tg_table_schema || '.' || tg_table_name where exists (select from ops.lake);
  return null;
end
$$;
comment on function ops.log_lake_truncate_trg() is 'Records in ops.lake_change that a table was emptied.';

-- What lists of users change most are columns that only dim_user shows, which every export compares.
create function ops.log_lake_user_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select user_id, display_name, is_generated_link_account from before except select user_id, display_name, is_generated_link_account from changed) then
    insert into ops.lake_change (source) select 'core.app_user' where exists (select from ops.lake);
  end if;
  return null;
end
$$;
comment on function ops.log_lake_user_trg() is 'Records in ops.lake_change that a user has another name or kind.';

-- A number that was used before may have evaluations; a new one has none before its user is there.
create function ops.log_lake_new_user_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from core.app_user where user_id > (select min(user_id) from changed) and user_id not in (select user_id from changed)) then
    insert into ops.lake_change (source) select 'core.app_user' where exists (select from ops.lake);
  end if;
  return null;
end
$$;
comment on function ops.log_lake_new_user_trg() is 'Records in ops.lake_change that a user was added with an old number.';

do $$
declare
  one record;
begin
  for one in
    select * from (values
      ('core.evaluation', 'evaluation'), ('core.evaluation_version', 'part'), ('core.reconditioning_item', 'part'), ('core.photo', 'part'),
      ('core.price_observation', 'part'), ('core.vehicle_check', 'check'), ('core.watch_status_change', 'part'),
      ('core.agg_appraisal', 'month'), ('core.agg_evaluation_day', 'month'), ('core.agg_recon_day', 'month'), ('core.agg_repeat_vehicle', 'any'),
      ('core.stock_unit', 'unit'), ('core.stock_unit_change', 'any'), ('core.stock_import', 'any'), ('core.stock_price_observation', 'any'),
      ('core.rooftop', 'any'), ('core.rooftop_group', 'any'), ('core.app_user', 'any'), ('core.ref_watch_status', 'any')
    ) as listed (name, keys)
  loop
    execute format('create trigger log_lake_truncate after truncate on %s execute function ops.log_lake_truncate_trg()', one.name);
    execute format('create trigger log_lake_delete after delete on %s referencing old table as changed for each statement execute function ops.log_lake_change_trg(%L)', one.name, one.keys);
    continue when one.name = 'core.app_user';
    execute format('create trigger log_lake_insert after insert on %s referencing new table as changed for each statement execute function ops.log_lake_change_trg(%L)', one.name, one.keys);
    execute format('create trigger log_lake_before after update on %s referencing old table as changed for each statement execute function ops.log_lake_change_trg(%L)', one.name, one.keys);
    execute format('create trigger log_lake_after after update on %s referencing new table as changed for each statement execute function ops.log_lake_change_trg(%L)', one.name, one.keys);
  end loop;
end
$$;
create trigger log_lake_update after update on core.app_user referencing old table as before new table as changed
  for each statement execute function ops.log_lake_user_trg();
create trigger log_lake_insert after insert on core.app_user referencing new table as changed
  for each statement execute function ops.log_lake_new_user_trg();

create view ops.mart_table as
with recursive step as (
  select distinct view.oid as reader, used.refobjid as source
  from pg_class as view
  join pg_rewrite as rule on rule.ev_class = view.oid
  join pg_depend as used on used.classid = 'pg_rewrite'::regclass and used.objid = rule.oid and used.refclassid = 'pg_class'::regclass and used.refobjid <> view.oid
  where view.relkind = 'v'
), reached as (
  select step.reader as mart, step.source from step where step.reader in (select oid from pg_class where relnamespace = 'mart'::regnamespace)
  union
  select reached.mart, step.source from reached join step on step.reader = reached.source
)
select view.relname as mart, (space.nspname || '.' || source.relname)::varchar(130) as source,
  exists (select from pg_trigger where tgrelid = source.oid and tgname = 'log_lake_delete' and tgenabled = 'O') as is_recorded
from reached
join pg_class as view on view.oid = reached.mart
join pg_class as source on source.oid = reached.source and source.relkind <> 'v'
join pg_namespace as space on space.oid = source.relnamespace;
comment on view ops.mart_table is 'Tables that each mart reads, directly or through other views. is_recorded: their changes are in ops.lake_change.';

create function ops.lake_changes_since(seen pg_snapshot) returns table (source varchar(130), is_of_row boolean, month varchar(10)) language sql stable as $$
  with change as materialized (
    select * from ops.lake_change where not pg_visible_in_snapshot(changed_by, seen)
  ), part as (
    select distinct source, rooftop_id, eval_id from change cross join unnest(eval_ids) as eval_id
  ), vehicle as (
    select distinct source, vin from change cross join unnest(vins) as vin
  )
  select source, true, unnest(months) from change
  -- Parts of an evaluation that is gone have no month.
  union select source, true, ops.month_of(e.completed_date_local) from part left join core.evaluation as e using (rooftop_id, eval_id)
  union select source, false, ops.month_of(e.completed_date_local)
  from vehicle join core.evaluation as e on e.vehicle_vin = vehicle.vin
  -- Evaluations of a vehicle have something to do with each other where it is a unit.
  where source <> 'core.evaluation' or exists (select from core.stock_unit as unit where unit.vin = vehicle.vin)
  union select source, null, '' from change
  union select source, true, null from change where eval_ids is null and months is null and vins is null
$$;
comment on function ops.lake_changes_since(pg_snapshot) is 'Months of evaluations with a change that the snapshot does not see. is_of_row: of the evaluations themselves; false: of others with the same vehicle; null: the table has changed, of whatever month. month: empty: without a month; null: any month.';

create function ops.forget_lake_changes() returns void language sql as $$
  delete from ops.lake where exported_at < now() - interval '30 days';
  -- A number above those of all transactions is of a database that this one was copied from.
  delete from ops.lake_change where changed_by >= pg_snapshot_xmax(pg_current_snapshot()) or not exists (
    select from ops.lake where coalesce(pg_snapshot_xmin(snapshot), tracked_from, '0') <= changed_by);
$$;
comment on function ops.forget_lake_changes() is 'Deletes lakes without an export for 30 days, and changes that every lake has.';
