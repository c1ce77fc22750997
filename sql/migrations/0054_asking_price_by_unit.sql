-- The prices of one unit or rooftop were found among the changes of all units: "since" is read twice, so Postgres stored it as a whole.
create or replace view core.stock_asking_price as
with since as not materialized (
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
