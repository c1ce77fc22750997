-- A transaction locks each vehicle that it touches, by dealer group and 256 parts. One of many groups (a script, a restored table) needed more locks than
-- a server of default settings has: 250 groups ended with "out of shared memory". Such a transaction locks whole groups now; the others share them.
create function core.lock_vehicles(groups int[], vins varchar[]) returns void language plpgsql as $$
begin
  -- 7382 and 7384: src/warehouse/db/locks.ts. In one order, so that two transactions do not wait for each other.
  if cardinality(groups) > 4 then
    perform pg_advisory_xact_lock(7384, group_id) from (select group_id from unnest(groups) as group_id order by 1) as ordered;
  else
    perform pg_advisory_xact_lock_shared(7384, group_id) from (select group_id from unnest(groups) as group_id order by 1) as ordered;
    perform pg_advisory_xact_lock(7382, place) from (
      select distinct group_id * 256 + (hashtext(vin) & 255) as place from unnest(groups) as group_id cross join unnest(vins) as vin order by 1
    ) as ordered;
  end if;
end
$$;
comment on function core.lock_vehicles(int[], varchar[]) is 'Waits for other transactions that touch one of these vehicles, until the end of the transaction; of more than four dealer groups, for those that touch any of their vehicles.';

create or replace function core.refresh_vehicles_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
  -- Two transactions that each add the first evaluation of a vehicle share no row to wait at. What the one before has committed is seen by
  -- the next statement only.
  perform core.lock_vehicles(of_groups, of_vins);
  perform core.refresh_link_scopes(of_groups, of_vins);
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
