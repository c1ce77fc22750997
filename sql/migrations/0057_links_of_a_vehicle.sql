-- Before version 18, Postgres plans the statement of a function without its arguments. "vins is null or" then made each commit of a slice read all
-- checks of its dealer group, each compared with each vehicle of the slice: 26 s for 60,000 vehicles, on Postgres 15. Now checks are looked up by
-- vehicle, whatever the version and the statistics are.
create or replace function core.refresh_link_scopes(groups int[], vins varchar[]) returns void
language sql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  update pii.signed_link as link set is_in_scope = fact.is_in_scope
  from unnest(groups) as touched_group (group_id)
  cross join unnest(coalesce(vins, array(select distinct any_of_group.vin from core.vehicle_check as any_of_group where any_of_group.group_id = any(groups)))) as touched (vin)
  cross join lateral (
    select * from ops.link_scope as any_of_vehicle
    where any_of_vehicle.group_id = touched_group.group_id and any_of_vehicle.vin = touched.vin and any_of_vehicle.is_in_scope <> any_of_vehicle.is_stored offset 0
  ) as fact
  where (link.rooftop_id, link.eval_id, link.link_kind, link.link_ref) = (fact.rooftop_id, fact.eval_id, fact.link_kind, fact.link_ref)
$$;
