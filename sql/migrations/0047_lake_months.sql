-- After a night with loads, an export to a lake read every row of the reports by month and of the vehicles, only to find that most months were
-- the same. Now it knows their months too: those in which an edit counts, and those in which a vehicle was first seen.
create or replace function ops.log_lake_change_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
    when 'version' then
      insert into ops.lake_change (source, rooftop_id, eval_ids, months)
      select changed_source, rooftop_id, array_agg(distinct eval_id),
        array_agg(distinct ops.month_of((valid_from at time zone time_zone)::date)) filter (where version_no > 1)
      from changed left join core.rooftop using (rooftop_id) group by rooftop_id;
    when 'vehicle' then
      insert into ops.lake_change (source, months)
      select changed_source, array_agg(distinct ops.month_of((first_seen_at at time zone 'UTC')::date)) from changed having count(*) > 0;
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
comment on column ops.lake_change.months is 'Months (YYYY-MM) of the rows before and after: of completion, of an edit (core.evaluation_version), or in which a vehicle was first seen (core.vehicle); empty text: none';

do $$
declare
  one record;
begin
  for one in select * from (values ('core.evaluation_version', 'version'), ('core.vehicle', 'vehicle')) as listed (name, keys)
  loop
    execute format('drop trigger log_lake_delete on %s', one.name);
    execute format('drop trigger log_lake_insert on %s', one.name);
    execute format('drop trigger log_lake_before on %s', one.name);
    execute format('drop trigger log_lake_after on %s', one.name);
    execute format('create trigger log_lake_delete after delete on %s referencing old table as changed for each statement execute function ops.log_lake_change_trg(%L)', one.name, one.keys);
    execute format('create trigger log_lake_insert after insert on %s referencing new table as changed for each statement execute function ops.log_lake_change_trg(%L)', one.name, one.keys);
    execute format('create trigger log_lake_before after update on %s referencing old table as changed for each statement execute function ops.log_lake_change_trg(%L)', one.name, one.keys);
    execute format('create trigger log_lake_after after update on %s referencing new table as changed for each statement execute function ops.log_lake_change_trg(%L)', one.name, one.keys);
  end loop;
end
$$;

drop function ops.lake_changes_since(pg_snapshot);
create function ops.lake_changes_since(seen pg_snapshot) returns table (source varchar(130), kind varchar(10), month varchar(10)) language sql stable as $$
  with change as materialized (
    select * from ops.lake_change where not pg_visible_in_snapshot(changed_by, seen)
  ), part as (
    select distinct source, rooftop_id, eval_id from change cross join unnest(eval_ids) as eval_id
  ), vehicle as (
    select distinct source, vin from change cross join unnest(vins) as vin
  )
  select source, case source when 'core.evaluation_version' then 'edit' when 'core.vehicle' then 'first seen' else 'row' end, unnest(months) from change
  -- Parts of an evaluation that is gone have no month.
  union select source, 'row', ops.month_of(e.completed_date_local) from part left join core.evaluation as e using (rooftop_id, eval_id)
  -- An edit counts only while its evaluation is shown, and is compared with the version before it.
  union select source, 'edit', ops.month_of((v.valid_from at time zone r.time_zone)::date)
  from part
  join core.evaluation_version as v using (rooftop_id, eval_id)
  join core.rooftop as r using (rooftop_id)
  where source in ('core.evaluation', 'core.evaluation_version') and v.version_no > 1
  union select source, 'vehicle', ops.month_of(e.completed_date_local)
  from vehicle join core.evaluation as e on e.vehicle_vin = vehicle.vin
  -- Evaluations of a vehicle have something to do with each other where it is a unit.
  where source <> 'core.evaluation' or exists (select from core.stock_unit as unit where unit.vin = vehicle.vin)
  union select source, 'table', '' from change
  union select source, 'row', null from change where eval_ids is null and months is null and vins is null
$$;
comment on function ops.lake_changes_since(pg_snapshot) is 'Months with a change that the snapshot does not see. kind: row: of completion of the evaluations themselves; vehicle: of completion of others with the same vehicle; edit: of edits of the evaluations; first seen: of vehicles; table: the table has changed, of whatever month. month: empty: without a month; null: any month.';

-- As reports by month name it: an export reads the months that have changed.
create index agg_evaluation_day_month on core.agg_evaluation_day ((date_trunc('month', completed_date_local::timestamp)::date));
create index agg_recon_day_month on core.agg_recon_day ((date_trunc('month', completed_date_local::timestamp)::date));
create index vehicle_first_seen on core.vehicle ((first_seen_at at time zone 'UTC'));
