-- mart.dim_vehicle had to read every evaluation for a join on its key. Now each vehicle has a row, which follows evaluations and stock
-- whoever writes them: a statement notes the vehicles that it has touched, and their rows are calculated again when its transaction commits.
create table core.vehicle (
  group_id int not null,
  vin varchar(17) not null,
  vehicle_key varchar(60) not null,
  make varchar(120),
  model varchar(200),
  variant varchar(255),
  model_year int,
  colour varchar(120),
  evaluations int not null,
  is_in_stock boolean not null,
  first_seen_at timestamptz,
  last_seen_at timestamptz,
  primary key (vin, group_id)
);
create unique index vehicle_key on core.vehicle (vehicle_key);
comment on table core.vehicle is 'Vehicles that were appraised or are in a stock list, by VIN of 17 characters and dealer group. core.vehicles defines it.';
comment on column core.vehicle.vin is 'core.evaluation.vehicle_vin, core.stock_unit.vin';
comment on column core.vehicle.vehicle_key is 'group_id and vin in one column, for joins';
comment on column core.vehicle.make is 'Of the newest evaluation or unit that has one; the same for model, variant, model_year and colour';
comment on column core.vehicle.evaluations is 'Number of evaluations, including those that the source no longer shows';
comment on column core.vehicle.is_in_stock is 'On hand at a rooftop of the group';
comment on column core.vehicle.first_seen_at is 'Earliest core.evaluation.created_at or core.stock_unit.first_seen_at; last_seen_at is the latest';

create function core.vehicles(groups int[], vins varchar[]) returns setof core.vehicle
language sql stable as $$
  select
    group_id, vin, (group_id::text || '-' || vin)::varchar(60),
    (array_agg(make order by seen_at desc nulls last, is_unit, rooftop_id, record_no) filter (where make is not null))[1],
    (array_agg(model order by seen_at desc nulls last, is_unit, rooftop_id, record_no) filter (where model is not null))[1],
    (array_agg(variant order by seen_at desc nulls last, is_unit, rooftop_id, record_no) filter (where variant is not null))[1],
    (array_agg(model_year order by seen_at desc nulls last, is_unit, rooftop_id, record_no) filter (where model_year is not null))[1],
    (array_agg(colour order by seen_at desc nulls last, is_unit, rooftop_id, record_no) filter (where colour is not null))[1],
    (count(*) filter (where not is_unit))::int, bool_or(is_on_hand), min(seen_at), max(seen_at)
  from (
    select group_id, vehicle_vin as vin, make, model, variant, model_year, colour, created_at as seen_at,
      false as is_unit, rooftop_id, eval_id::text as record_no, false as is_on_hand
    from core.evaluation
    where group_id = any(groups) and vehicle_vin = any(vins)
    union all
    select r.group_id, s.vin, s.make, s.model, s.variant, s.model_year, null, s.first_seen_at,
      true, s.rooftop_id, s.stock_no, s.off_stock_at is null
    from core.stock_unit as s
    join core.rooftop as r using (rooftop_id)
    where r.group_id = any(groups) and s.vin = any(vins)
  ) as seen
  group by group_id, vin
$$;
comment on function core.vehicles(int[], varchar[]) is 'Rows of core.vehicle for the given vehicles, calculated from the facts: the only definition of its columns.';

create function core.vehicles_of(only_group int default null) returns setof core.vehicle
language sql stable as $$
  select * from core.vehicles(
    case when only_group is null then array(select group_id from core.evaluation union select group_id from core.rooftop) else array[only_group] end,
    array(
      select vehicle_vin from core.evaluation where vehicle_vin is not null and (only_group is null or group_id = only_group)
      union
      select vin from core.stock_unit join core.rooftop using (rooftop_id)
      where length(vin) = 17 and (only_group is null or group_id = only_group)))
$$;
comment on function core.vehicles_of(int) is 'All rows of core.vehicle of one dealer group or of all, calculated from the facts.';

create table core.vehicle_touched (groups int[] not null, vins varchar(17)[] not null);
comment on table core.vehicle_touched is 'Vehicles that the statements of a transaction have touched. Empty again before it commits.';

create function core.touch_vehicles_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'UPDATE' then
    -- A row that is there twice is the same before and after in what vehicles show: an import confirms every unit of a list.
    insert into core.vehicle_touched (groups, vins)
    select array_agg(distinct group_id), array_agg(distinct vin)
    from (
      select group_id, vin
      from (
        select rooftop_id, eval_id, group_id, vehicle_vin as vin, row(make, model, variant, model_year, colour, created_at, completed_date_local, final_price, currency_code, gone_at)::text as content from before where vehicle_vin is not null
        union all
        select rooftop_id, eval_id, group_id, vehicle_vin as vin, row(make, model, variant, model_year, colour, created_at, completed_date_local, final_price, currency_code, gone_at)::text as content from changed where vehicle_vin is not null
      ) as version
      group by rooftop_id, eval_id, group_id, vin, content having count(*) = 1
    ) as touched
    having count(*) > 0;
  else
    insert into core.vehicle_touched (groups, vins)
    select array_agg(distinct group_id), array_agg(distinct vehicle_vin) from changed where vehicle_vin is not null having count(*) > 0;
  end if;
  return null;
end
$$;
comment on function core.touch_vehicles_trg() is 'Notes the vehicles of evaluations in core.vehicle_touched.';

create function core.touch_units_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'UPDATE' then
    -- A row that is there twice is the same before and after in what vehicles show: an import confirms every unit of a list.
    insert into core.vehicle_touched (groups, vins)
    select array_agg(distinct group_id), array_agg(distinct vin)
    from (
      select group_id, vin
      from (
        select rooftop_id, stock_no, group_id, vin, row(make, model, variant, model_year, first_seen_at, off_stock_at is null)::text as content from before join core.rooftop using (rooftop_id) where length(vin) = 17
        union all
        select rooftop_id, stock_no, group_id, vin, row(make, model, variant, model_year, first_seen_at, off_stock_at is null)::text as content from changed join core.rooftop using (rooftop_id) where length(vin) = 17
      ) as version
      group by rooftop_id, stock_no, group_id, vin, content having count(*) = 1
    ) as touched
    having count(*) > 0;
  else
    insert into core.vehicle_touched (groups, vins)
    select array_agg(distinct group_id), array_agg(distinct vin) from changed join core.rooftop using (rooftop_id) where length(vin) = 17 having count(*) > 0;
  end if;
  return null;
end
$$;
comment on function core.touch_units_trg() is 'Notes the vehicles of stock units in core.vehicle_touched.';

create function core.touch_all_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into core.vehicle_touched (groups, vins) select array_agg(distinct group_id), array_agg(distinct vin) from core.vehicle having count(*) > 0;
  return null;
end
$$;
comment on function core.touch_all_trg() is 'Notes every vehicle in core.vehicle_touched: a table was emptied.';

create function core.touch_moved_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into core.vehicle_touched (groups, vins)
  select array[old.group_id, new.group_id], array_agg(distinct vin) from core.stock_unit
  where rooftop_id = new.rooftop_id and length(vin) = 17 having count(*) > 0;
  return null;
end
$$;
comment on function core.touch_moved_trg() is 'Notes the stock of a rooftop that moves to another dealer group in core.vehicle_touched.';

create function core.refresh_vehicles_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  of_groups int[];
  of_vins varchar[];
begin
  -- The first call of a transaction finds all its rows; no transaction sees those of another.
  with touched as (delete from core.vehicle_touched returning *)
  select array(select distinct unnest(groups) from touched), array(select distinct unnest(vins) from touched) into of_groups, of_vins;
  if of_vins = '{}' then
    return null;
  end if;
  -- Two transactions that each add the first evaluation of a vehicle share no row to wait at, so they wait at a lock of the vehicle
  -- (7382, src/warehouse/db/locks.ts); a few hundred locks for all vehicles, because the lock table of Postgres is small. What
  -- the one before has committed is seen by the next statement only.
  perform pg_advisory_xact_lock(7382, place) from (
    select distinct group_id * 256 + (hashtext(vin) & 255) as place from unnest(of_groups) as group_id cross join unnest(of_vins) as vin order by 1
  ) as ordered;
  with fact as materialized (select * from core.vehicles(of_groups, of_vins)), emptied as (
    delete from core.vehicle where group_id = any(of_groups) and vin = any(of_vins) and (group_id, vin) not in (select group_id, vin from fact)
  ), written as (
    insert into core.vehicle as stored select * from fact order by vin, group_id
    on conflict (vin, group_id) do update set
      make = excluded.make, model = excluded.model, variant = excluded.variant, model_year = excluded.model_year, colour = excluded.colour,
      evaluations = excluded.evaluations, is_in_stock = excluded.is_in_stock,
      first_seen_at = excluded.first_seen_at, last_seen_at = excluded.last_seen_at
    where stored is distinct from excluded
  )
  select array(
    select vin from fact where evaluations > 1
    union select vin from core.agg_repeat_vehicle where group_id = any(of_groups) and vin = any(of_vins)) into of_vins;
  with fact as materialized (select * from core.repeat_vehicles(of_groups, of_vins)), emptied as (
    delete from core.agg_repeat_vehicle where group_id = any(of_groups) and vin = any(of_vins)
      and (group_id, vin, currency_code) not in (select group_id, vin, currency_code from fact)
  )
  insert into core.agg_repeat_vehicle as stored select * from fact order by group_id, vin, currency_code
  on conflict (group_id, vin, currency_code) do update set
    evaluations = excluded.evaluations, rooftops = excluded.rooftops, first_on = excluded.first_on,
    last_on = excluded.last_on, lowest_price = excluded.lowest_price, highest_price = excluded.highest_price
  where stored is distinct from excluded;
  return null;
end
$$;
comment on function core.refresh_vehicles_trg() is 'Calculates core.vehicle and core.agg_repeat_vehicle again for the vehicles of core.vehicle_touched.';

create trigger touch_vehicles_insert after insert on core.evaluation referencing new table as changed for each statement execute function core.touch_vehicles_trg();
create trigger touch_vehicles_update after update on core.evaluation referencing old table as before new table as changed for each statement execute function core.touch_vehicles_trg();
create trigger touch_vehicles_delete after delete on core.evaluation referencing old table as changed for each statement execute function core.touch_vehicles_trg();
create trigger touch_vehicles_truncate after truncate on core.evaluation execute function core.touch_all_trg();
create trigger touch_units_insert after insert on core.stock_unit referencing new table as changed for each statement execute function core.touch_units_trg();
create trigger touch_units_update after update on core.stock_unit referencing old table as before new table as changed for each statement execute function core.touch_units_trg();
create trigger touch_units_delete after delete on core.stock_unit referencing old table as changed for each statement execute function core.touch_units_trg();
create trigger touch_units_truncate after truncate on core.stock_unit execute function core.touch_all_trg();
create trigger touch_moved after update on core.rooftop for each row when (old.group_id <> new.group_id) execute function core.touch_moved_trg();
create constraint trigger refresh_vehicles after insert on core.vehicle_touched deferrable initially deferred
  for each row execute function core.refresh_vehicles_trg();

drop function core.repeat_rebuild(int);
drop function core.repeat_differences(int);

create function core.vehicle_differences(only_group int default null)
returns table (aggregate varchar(40), group_id int, vin varchar(17))
language sql stable as $$
  select 'agg_repeat_vehicle', group_id, vin
  from (select * from core.agg_repeat_vehicle as a where only_group is null or a.group_id = only_group) as stored
  full join core.repeats_of(only_group) as fact using (group_id, vin, currency_code)
  where stored is distinct from fact
  union
  select 'vehicle', group_id, vin
  from (select * from core.vehicle as v where only_group is null or v.group_id = only_group) as stored
  full join core.vehicles_of(only_group) as fact using (group_id, vin)
  where stored is distinct from fact
$$;
comment on function core.vehicle_differences(int) is 'Vehicles whose row in core.vehicle or core.agg_repeat_vehicle differs from the facts, of one dealer group or of all. Any row is a defect; core.vehicle_rebuild repairs it.';

create function core.vehicle_rebuild(only_group int) returns void language plpgsql as $$
begin
  lock table core.vehicle, core.agg_repeat_vehicle in share row exclusive mode;
  delete from core.vehicle where group_id = only_group;
  insert into core.vehicle select * from core.vehicles_of(only_group);
  delete from core.agg_repeat_vehicle where group_id = only_group;
  insert into core.agg_repeat_vehicle select * from core.repeats_of(only_group);
end
$$;
comment on function core.vehicle_rebuild(int) is 'Calculates all vehicles of a dealer group again: repairs what core.vehicle_differences reports. Loads wait meanwhile.';

create trigger log_lake_truncate after truncate on core.vehicle execute function ops.log_lake_truncate_trg();
create trigger log_lake_delete after delete on core.vehicle referencing old table as changed for each statement execute function ops.log_lake_change_trg('any');
create trigger log_lake_insert after insert on core.vehicle referencing new table as changed for each statement execute function ops.log_lake_change_trg('any');
create trigger log_lake_before after update on core.vehicle referencing old table as changed for each statement execute function ops.log_lake_change_trg('any');
create trigger log_lake_after after update on core.vehicle referencing new table as changed for each statement execute function ops.log_lake_change_trg('any');

insert into core.vehicle select * from core.vehicles_of();
