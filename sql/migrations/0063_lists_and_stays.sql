-- A list that comes again with the same content is not imported again. That it came, and that the stock was still the same, was recorded nowhere: what was
-- bought since the import counted as not known, and the list as old.
alter table core.stock_import add column confirmed_at timestamptz;
create index stock_import_confirmed on core.stock_import (rooftop_id, confirmed_at) where confirmed_at is not null;
comment on column core.stock_import.confirmed_at is 'When the same content last came again; null: it did not';

-- Changes of prices, and corrections of rejected rows, do not say what is in stock: a rooftop is listed by lists of its whole stock alone.
create or replace view core.stock_listed as
select
  r.rooftop_id, r.group_id, l.listed_from, l.listed_to,
  min(l.listed_from) over (partition by r.group_id) as group_listed_from, max(l.listed_to) over (partition by r.group_id) as group_listed_to,
  l.first_list_at, l.newest_list_at
from core.rooftop as r
cross join lateral (
  select
    date_trunc('month', first_list_at at time zone r.time_zone)::date as listed_from,
    date_trunc('month', newest_list_at at time zone r.time_zone)::date as listed_to,
    first_list_at, newest_list_at
  from (
    select min(i.imported_at) as first_list_at, greatest(max(i.imported_at), max(i.confirmed_at)) as newest_list_at
    from core.stock_import as i
    where i.rooftop_id = r.rooftop_id and i.mode = 'snapshot' and not i.dialect ? 'corrects'
  ) as list
) as l;
comment on view core.stock_listed is 'The first and the newest list of the whole stock of each rooftop, and of its dealer group. What was bought before or after them is not known: a car may have come and gone without a list.';
comment on column core.stock_listed.listed_from is 'First day of the month of the first list of the whole stock, in the time zone of the rooftop; null: none was imported';

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
      -- The first whole list of a rooftop says from when on it is known what was bought, and the newest one until when.
      insert into ops.lake_change (source, months)
      select changed_source, case when bool_and(earlier.imported_at is not null) then
        coalesce(array_agg(distinct ops.month_of(month::date)) filter (where month is not null), '{}') end
      from changed as c
      join core.rooftop as r using (rooftop_id)
      cross join lateral (
        select max(i.imported_at) as imported_at from core.stock_import as i
        where i.rooftop_id = c.rooftop_id and i.imported_at < c.imported_at and i.mode = 'snapshot' and not i.dialect ? 'corrects'
      ) as earlier
      left join lateral generate_series(
        date_trunc('month', earlier.imported_at at time zone r.time_zone),
        greatest(c.imported_at, c.confirmed_at) at time zone r.time_zone, interval '1 month'
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

-- A vehicle that was off stock and comes in again begins a new stay: its first price and its drift were those of the stay before.
comment on column core.stock_unit.first_seen_at is 'Time of the first import that listed it, or that listed it again after it was off stock';
comment on column core.stock_unit_change.changes is '{ column: [old, new] }; empty for removed, and for added unless the stock number belonged to another vehicle before. first_seen_at: a new stay begins';
create or replace view core.stock_asking_price as
with since as not materialized (
  select rooftop_id, stock_no, max(import_id) as import_id from core.stock_unit_change
  where change = 'added' or changes ?| array['currency_code', 'first_seen_at'] group by 1, 2
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
