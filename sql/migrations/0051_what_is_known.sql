-- Reports gave 0 for what no one knows: bought cars of a rooftop without stock lists, price cuts of a car that only one list has, and "never
-- searched" of a car that the service was never asked about. These views say what is known.
create index stock_import_rooftop on core.stock_import (rooftop_id, imported_at);

create view core.stock_listed as
select
  r.rooftop_id, r.group_id, l.listed_from, l.listed_to,
  min(l.listed_from) over (partition by r.group_id) as group_listed_from, max(l.listed_to) over (partition by r.group_id) as group_listed_to
from core.rooftop as r
cross join lateral (
  select
    date_trunc('month', min(i.imported_at) at time zone r.time_zone)::date as listed_from,
    date_trunc('month', max(i.imported_at) at time zone r.time_zone)::date as listed_to
  from core.stock_import as i where i.rooftop_id = r.rooftop_id
) as l;
comment on view core.stock_listed is 'The months of the first and of the newest stock list of each rooftop, and of its dealer group. What was bought in other months is not known: a car may have come and gone without a list.';
comment on column core.stock_listed.listed_from is 'First day of the month of the first list, in the time zone of the rooftop; null: no list was imported';
comment on column core.stock_listed.listed_to is 'First day of the month of the newest list, as listed_from';
comment on column core.stock_listed.group_listed_from is 'The earliest listed_from of the rooftops of the dealer group';
comment on column core.stock_listed.group_listed_to is 'The latest listed_to of the rooftops of the dealer group';

-- A car that one list alone has named has no change of price, and one whose first list had no price neither: that is not a cut of 0.
create or replace view core.stock_asking_price as
with since as (
  select rooftop_id, stock_no, max(import_id) as import_id from core.stock_unit_change
  where change = 'added' or changes ? 'currency_code' group by 1, 2
), step as (
  select change.rooftop_id, change.stock_no, change.import_id, (change.changes -> 'asking_price' ->> 0)::numeric(15,3) as was
  from core.stock_unit_change as change
  left join since using (rooftop_id, stock_no)
  where change.changes ? 'asking_price' and change.import_id > coalesce(since.import_id, 0)
), history as (
  select rooftop_id, stock_no, (array_agg(was order by import_id) filter (where was is not null))[1] as first_was, count(*)::int as price_changes,
    max(import_id) as import_id
  from step group by 1, 2
)
select unit.rooftop_id, unit.stock_no, coalesce(history.first_was, unit.asking_price)::numeric(15,3) as asking_price_first,
  unit.asking_price as asking_price_now, coalesce(history.price_changes, 0) as price_changes,
  history.first_was is not null or coalesce((
    select list.import_id from core.stock_import as list
    where list.rooftop_id = unit.rooftop_id and list.mode = 'snapshot' and not list.dialect ? 'corrects'
      and list.imported_at < coalesce(unit.missing_since, 'infinity')
    order by list.imported_at desc limit 1
  ) > coalesce(history.import_id, since.import_id, unit.import_id), false) as is_comparable
from core.stock_unit as unit
left join since using (rooftop_id, stock_no)
left join history using (rooftop_id, stock_no);
comment on column core.stock_asking_price.is_comparable is 'true: a price is known before the newest one, or a later list of the whole stock has named the unit with the same price';

create view core.stock_unit_known as
select
  s.rooftop_id,
  s.stock_no,
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
comment on view core.stock_unit_known is 'Whether the service was asked about the searches of each unit. To read for a few units, by key.';
comment on column core.stock_unit_known.ppsr_outcome is 'answered: when it was last asked, the service has listed the PPSR searches of the VIN to the dealer group; no answer: it did not; null: it was never asked';

-- The reports by month read now when the first and the newest stock list came. Whoever recorded every list as a change of all months would compare all of them
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
      -- The first stock list of a rooftop says from which month it is known what was bought, and the newest one up to which.
      insert into ops.lake_change (source, months)
      select changed_source, case when bool_and(earlier.imported_at is not null) then
        coalesce(array_agg(distinct ops.month_of(month::date)) filter (where month is not null), '{}') end
      from changed as c
      join core.rooftop as r using (rooftop_id)
      cross join lateral (
        select max(i.imported_at) as imported_at from core.stock_import as i where i.rooftop_id = c.rooftop_id and i.imported_at < c.imported_at
      ) as earlier
      left join lateral generate_series(
        date_trunc('month', earlier.imported_at at time zone r.time_zone) + interval '1 month', c.imported_at at time zone r.time_zone, interval '1 month'
      ) as month on true
      having count(*) > 0;
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
