-- A unit that left stock while its rooftop moved to another dealer group was noted for the old group alone, and stayed in stock in the vehicles
-- of the new one. So whoever writes units waits for a rooftop that moves, and a move waits for them.
create or replace function core.touch_units_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'UPDATE' then
    -- A row that is there twice is the same before and after in what vehicles show: an import confirms every unit of a list.
    insert into core.vehicle_touched (groups, vins)
    with own as materialized (
      select rooftop_id, group_id from core.rooftop
      where rooftop_id in (select rooftop_id from before union select rooftop_id from changed) order by rooftop_id for share
    )
    select array_agg(distinct group_id), array_agg(distinct vin)
    from (
      select group_id, vin
      from (
        select rooftop_id, stock_no, group_id, vin, row(make, model, variant, model_year, first_seen_at, off_stock_at is null)::text as content from before join own using (rooftop_id) where length(vin) = 17
        union all
        select rooftop_id, stock_no, group_id, vin, row(make, model, variant, model_year, first_seen_at, off_stock_at is null)::text as content from changed join own using (rooftop_id) where length(vin) = 17
      ) as version
      group by rooftop_id, stock_no, group_id, vin, content having count(*) = 1
    ) as touched
    having count(*) > 0;
  else
    insert into core.vehicle_touched (groups, vins)
    with own as materialized (
      select rooftop_id, group_id from core.rooftop where rooftop_id in (select rooftop_id from changed) order by rooftop_id for share
    )
    select array_agg(distinct group_id), array_agg(distinct vin) from changed join own using (rooftop_id) where length(vin) = 17 having count(*) > 0;
  end if;
  return null;
end
$$;
