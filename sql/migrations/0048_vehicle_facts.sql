-- To compare all vehicles of a dealer group, each was looked up by its VIN, in an array of all of them. A view gives them in one pass.
create view core.vehicle_facts as
select
  group_id, vin, (group_id::text || '-' || vin)::varchar(60) as vehicle_key,
  (array_agg(make order by seen_at desc nulls last, is_unit, rooftop_id, record_no) filter (where make is not null))[1] as make,
  (array_agg(model order by seen_at desc nulls last, is_unit, rooftop_id, record_no) filter (where model is not null))[1] as model,
  (array_agg(variant order by seen_at desc nulls last, is_unit, rooftop_id, record_no) filter (where variant is not null))[1] as variant,
  (array_agg(model_year order by seen_at desc nulls last, is_unit, rooftop_id, record_no) filter (where model_year is not null))[1] as model_year,
  (array_agg(colour order by seen_at desc nulls last, is_unit, rooftop_id, record_no) filter (where colour is not null))[1] as colour,
  (count(*) filter (where not is_unit))::int as evaluations, bool_or(is_on_hand) as is_in_stock,
  min(seen_at) as first_seen_at, max(seen_at) as last_seen_at
from (
  select group_id, vehicle_vin as vin, make, model, variant, model_year, colour, created_at as seen_at,
    false as is_unit, rooftop_id, eval_id::text as record_no, false as is_on_hand
  from core.evaluation
  where vehicle_vin is not null
  union all
  select r.group_id, s.vin, s.make, s.model, s.variant, s.model_year, null, s.first_seen_at,
    true, s.rooftop_id, s.stock_no, s.off_stock_at is null
  from core.stock_unit as s
  join core.rooftop as r using (rooftop_id)
  where length(s.vin) = 17
) as seen
group by group_id, vin;
comment on view core.vehicle_facts is 'The rows of core.vehicle, calculated from the facts: the only definition of its columns.';

create or replace function core.vehicles(groups int[], vins varchar[]) returns setof core.vehicle
language sql stable as $$
  select * from core.vehicle_facts where group_id = any(groups) and vin = any(vins)
$$;
comment on function core.vehicles(int[], varchar[]) is 'Rows of core.vehicle_facts for the given vehicles.';

create or replace function core.vehicle_differences(only_group int default null, only_vins varchar[] default null)
returns table (aggregate varchar(40), group_id int, vin varchar(17))
language sql stable as $$
  select 'agg_repeat_vehicle', group_id, vin
  from (
    select * from core.agg_repeat_vehicle as a
    where (only_group is null or a.group_id = only_group) and (only_vins is null or a.vin = any(only_vins))
  ) as stored
  full join core.repeats_of(only_group, only_vins) as fact using (group_id, vin, currency_code)
  where stored is distinct from fact
  union
  select 'vehicle', group_id, vin
  from (
    select * from core.vehicle as v
    where (only_group is null or v.group_id = only_group) and (only_vins is null or v.vin = any(only_vins))
  ) as stored
  full join (
    select * from core.vehicle_facts as f
    where (only_group is null or f.group_id = only_group) and (only_vins is null or f.vin = any(only_vins))
  ) as fact using (group_id, vin)
  where stored is distinct from fact
  union
  select 'signed_link', scope.group_id, scope.vin from ops.link_scope as scope
  where (only_group is null or scope.group_id = only_group) and (only_vins is null or scope.vin = any(only_vins)) and is_in_scope <> is_stored
$$;

comment on function core.vehicle_differences(int, varchar[]) is 'Vehicles whose row in core.vehicle or core.agg_repeat_vehicle, or the scope of whose links differs from the facts, of one dealer group or of all, of some vehicles or of all. Any row is a defect; core.vehicle_rebuild repairs it.';

create or replace function core.vehicle_rebuild(only_group int) returns void language plpgsql as $$
begin
  lock table core.vehicle, core.agg_repeat_vehicle in share row exclusive mode;
  delete from core.vehicle where group_id = only_group;
  insert into core.vehicle select * from core.vehicle_facts where group_id = only_group;
  delete from core.agg_repeat_vehicle where group_id = only_group;
  insert into core.agg_repeat_vehicle select * from core.repeats_of(only_group);
  perform core.refresh_link_scopes(array[only_group], null);
end
$$;
drop function core.vehicles_of(int, varchar[]);
