-- status, the metrics and the page of links count all links in scope. Whether one is in scope follows from three tables: looked up link by
-- link, the page took more than three seconds at 300,000. So each link says it, and an index counts them.
alter table pii.signed_link add column is_in_scope boolean not null default true;
comment on column pii.signed_link.is_in_scope is 'Its check is listed, and its vehicle has an evaluation that is not gone, so it can be signed again. ops.link_scope defines it; core.refresh_vehicles_trg keeps it.';

create view ops.link_scope as
select link.rooftop_id, link.eval_id, link.link_kind, link.link_ref, checked.group_id, checked.vin, link.is_in_scope as is_stored,
  checked.gone_at is null and exists (
    select from core.evaluation as any_of_vehicle
    where any_of_vehicle.group_id = checked.group_id and any_of_vehicle.vehicle_vin = checked.vin and any_of_vehicle.gone_at is null
  ) as is_in_scope
from core.vehicle_check as checked
join pii.signed_link as link on link.rooftop_id = checked.rooftop_id and link.eval_id = checked.eval_id
  and link.link_kind = checked.check_kind || '_pdf' and link.link_ref = checked.check_ref;
comment on view ops.link_scope is 'Of each link whether it is in scope, calculated from the facts (is_in_scope), and what the link says (is_stored).';

-- The settings: by index, also while a table is new and has no statistics.
create function core.refresh_link_scopes(groups int[], vins varchar[]) returns void
language sql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  update pii.signed_link as link set is_in_scope = fact.is_in_scope
  from ops.link_scope as fact
  where fact.group_id = any(groups) and (vins is null or fact.vin = any(vins)) and fact.is_in_scope <> fact.is_stored
    and (link.rooftop_id, link.eval_id, link.link_kind, link.link_ref) = (fact.rooftop_id, fact.eval_id, fact.link_kind, fact.link_ref)
$$;
comment on function core.refresh_link_scopes(int[], varchar[]) is 'Calculates pii.signed_link.is_in_scope again for the links of some vehicles, or of all of the dealer groups.';

-- Links are calculated again with their vehicles: under the same lock, before the transaction commits.
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
  -- Two transactions that each add the first evaluation of a vehicle share no row to wait at, so they wait at a lock of the vehicle
  -- (7382, src/warehouse/db/locks.ts); a few hundred locks for all vehicles, because the lock table of Postgres is small. What
  -- the one before has committed is seen by the next statement only.
  perform pg_advisory_xact_lock(7382, place) from (
    select distinct group_id * 256 + (hashtext(vin) & 255) as place from unnest(of_groups) as group_id cross join unnest(of_vins) as vin order by 1
  ) as ordered;
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
comment on function core.refresh_vehicles_trg() is 'Calculates core.vehicle, core.agg_repeat_vehicle and pii.signed_link.is_in_scope again for the vehicles of core.vehicle_touched.';

-- The VIN of a check may be one that no evaluation can have.
alter table core.vehicle_touched alter column vins type varchar(40)[];

create function core.touch_checks_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_table_name = 'signed_link' then
    insert into core.vehicle_touched (groups, vins)
    select array_agg(distinct checked.group_id), array_agg(distinct checked.vin)
    from changed join core.vehicle_check as checked on checked.rooftop_id = changed.rooftop_id and checked.eval_id = changed.eval_id
      and checked.check_kind || '_pdf' = changed.link_kind and checked.check_ref = changed.link_ref
    having count(*) > 0;
  elsif tg_op = 'INSERT' then
    insert into core.vehicle_touched (groups, vins)
    select array_agg(distinct changed.group_id), array_agg(distinct changed.vin)
    from changed join pii.signed_link as link on link.rooftop_id = changed.rooftop_id and link.eval_id = changed.eval_id
      and link.link_kind = changed.check_kind || '_pdf' and link.link_ref = changed.check_ref
    having count(*) > 0;
  elsif tg_op = 'DELETE' then
    update pii.signed_link as link set is_in_scope = false from changed
    where link.rooftop_id = changed.rooftop_id and link.eval_id = changed.eval_id
      and link.link_kind = changed.check_kind || '_pdf' and link.link_ref = changed.check_ref;
  else
    -- A row that is there twice is the same before and after in what decides the scope of its link.
    insert into core.vehicle_touched (groups, vins)
    select array_agg(distinct group_id), array_agg(distinct vin)
    from (
      select group_id, vin
      from (
        select rooftop_id, eval_id, check_kind, check_ref, group_id, vin, gone_at is null as is_listed from before
        union all
        select rooftop_id, eval_id, check_kind, check_ref, group_id, vin, gone_at is null from changed
      ) as version
      group by rooftop_id, eval_id, check_kind, check_ref, group_id, vin, is_listed having count(*) = 1
    ) as touched
    having count(*) > 0;
  end if;
  return null;
end
$$;
comment on function core.touch_checks_trg() is 'Notes the vehicles of new links, and of checks whose links may leave or enter the scope, in core.vehicle_touched. A link without a check is out of scope.';

create trigger touch_checks_insert after insert on core.vehicle_check referencing new table as changed for each statement execute function core.touch_checks_trg();
create trigger touch_checks_update after update on core.vehicle_check referencing old table as before new table as changed for each statement execute function core.touch_checks_trg();
create trigger touch_checks_delete after delete on core.vehicle_check referencing old table as changed for each statement execute function core.touch_checks_trg();
create trigger touch_links_insert after insert on pii.signed_link referencing new table as changed for each statement execute function core.touch_checks_trg();

select core.refresh_link_scopes(array(select group_id from core.rooftop_group), null);
drop index pii.signed_link_expiry;
create index signed_link_in_scope on pii.signed_link (rooftop_id, expires_at) where is_in_scope;
create index signed_link_out_of_scope on pii.signed_link (expires_at) where not is_in_scope;
