-- Reports gave 0 for what no one knows: bought cars of a rooftop without stock lists, price cuts of a car that only one list has, and "never
-- searched" of a car that the service was never asked about. These views say what is known.
create index stock_import_rooftop on core.stock_import (rooftop_id, imported_at);

create view core.first_stock_list as
select r.rooftop_id, date_trunc('month', (select min(i.imported_at) from core.stock_import as i where i.rooftop_id = r.rooftop_id) at time zone r.time_zone)::date as listed_from
from core.rooftop as r;
comment on view core.first_stock_list is 'The month of the first stock list of each rooftop. What was bought in the months before it is not known: a car may have come and gone without a list.';
comment on column core.first_stock_list.listed_from is 'First day of the month, in the time zone of the rooftop; null: no list was imported';

create view core.stock_unit_known as
select
  s.rooftop_id,
  s.stock_no,
  exists (
    select from core.stock_import as i
    where i.rooftop_id = s.rooftop_id and i.imported_at > s.first_seen_at and i.imported_at < coalesce(s.missing_since, 'infinity')
  ) as is_listed_again,
  -- "offset 0": by key, else the planner may read every state of a rooftop.
  (
    select case when bool_or(state.outcome = 'answered') then 'answered' else 'no answer' end
    from core.evaluation as e
    cross join lateral (
      select asked.outcome from ops.enrichment_state as asked
      where asked.rooftop_id = e.rooftop_id and asked.stream = 'vehicle-checks' and asked.eval_id = e.eval_id and asked.ask = 'getpastppsrsearch'
        and asked.last_asked_at > '-infinity'
      offset 0
    ) as state
    where e.group_id = r.group_id and e.vehicle_vin = upper(s.vin)
    having count(*) > 0
  )::varchar(20) as ppsr_outcome
from core.stock_unit as s
join core.rooftop as r using (rooftop_id);
comment on view core.stock_unit_known is 'What is known of each unit: whether its prices can be compared, and whether the service was asked about its searches. To read for a few units, by key.';
comment on column core.stock_unit_known.is_listed_again is 'true: another list came while the unit was listed, so that a change of its price would be known';
comment on column core.stock_unit_known.ppsr_outcome is 'answered: the service has listed the PPSR searches of the VIN to the dealer group; no answer: it was asked, and did not; null: it was never asked';

-- The reports by month read now when the first stock list came. Whoever recorded every list as a change of all months would compare all of them
-- every night.
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
    when 'list' then
      -- The first stock list of a rooftop says from which month on its reports know what was bought. Another one changes no evaluation.
      insert into ops.lake_change (source, vins)
      select changed_source, case when not exists (
        select from changed as c where not exists (
          select from core.stock_import as earlier where earlier.rooftop_id = c.rooftop_id and earlier.imported_at < c.imported_at)) then '{}'::varchar[] end
      where exists (select from changed);
    when 'unit' then
      insert into ops.lake_change (source, vins)
      select changed_source, coalesce(array_agg(distinct vin) filter (where vin is not null), '{}') from changed having count(*) > 0;
    else
      insert into ops.lake_change (source) select changed_source where exists (select from changed);
  end case;
  return null;
end
$$;

drop trigger log_lake_insert on core.stock_import;
drop trigger log_lake_before on core.stock_import;
drop trigger log_lake_after on core.stock_import;
create trigger log_lake_insert after insert on core.stock_import referencing new table as changed for each statement execute function ops.log_lake_change_trg('list');
create trigger log_lake_before after update on core.stock_import referencing old table as changed for each statement execute function ops.log_lake_change_trg('list');
create trigger log_lake_after after update on core.stock_import referencing new table as changed for each statement execute function ops.log_lake_change_trg('list');
