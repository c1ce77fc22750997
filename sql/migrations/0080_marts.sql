-- Objects that the marts (sql/marts) read: the calendar, the outcome of an evaluation, and the list of mart builds.
create schema mart_scoped;
create schema mart_pii;
comment on schema mart is 'The contract with BI tools: views with stable names, types that every driver supports, and a comment on every column. Built from sql/marts.';
comment on schema mart_scoped is 'The views of mart; each reader sees only the rows of its own dealer groups.';
comment on schema mart_pii is 'Views that name customers.';

create table ops.mart_version (
  version varchar(20) not null,
  checksum varchar(64) not null,
  built_at timestamptz not null default now(),
  primary key (built_at)
);
comment on table ops.mart_version is 'One row per build of the marts; the newest row is current. version: semver of sql/marts/VERSION; removing, renaming or retyping a column raises the major number.';
comment on column ops.mart_version.checksum is 'sha256 of all files of sql/marts. When it differs, the next migrate builds the marts again';

-- Without cascade: where users have built objects on the marts, the error names them and nothing is dropped.
create function ops.drop_marts() returns void language plpgsql as $$
declare
  view record;
begin
  for view in
    select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('mart', 'mart_scoped', 'mart_pii') and c.relkind = 'v' order by c.oid desc
  loop
    execute format('drop view %I.%I', view.schema, view.name);
  end loop;
end
$$;
comment on function ops.drop_marts() is 'Drops the views of all mart schemas, newest first. A migration that changes a column of theirs calls it first; migrate builds them again at its end.';

create table core.dim_date (
  date_day date primary key,
  year smallint not null,
  quarter smallint not null,
  month smallint not null,
  month_start date not null,
  month_label varchar(8) not null,
  iso_year smallint not null,
  iso_week smallint not null,
  iso_dow smallint not null,
  day_name varchar(9) not null,
  is_weekend boolean not null,
  au_fiscal_year smallint not null
);
comment on table core.dim_date is 'The calendar, 2000 to 2049.';
comment on column core.dim_date.au_fiscal_year is 'The year in which the Australian fiscal year (1 July to 30 June) ends';
insert into core.dim_date
select day, extract(year from day), extract(quarter from day), extract(month from day), date_trunc('month', day)::date,
  to_char(day, 'YYYY-MM'), extract(isoyear from day), extract(week from day), extract(isodow from day),
  (array['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'])[extract(isodow from day)::int],
  extract(isodow from day) >= 6, extract(year from day + interval '6 months')
from (select day::date as day from generate_series('2000-01-01'::timestamp, '2049-12-31', '1 day') as day) as days;

create index stock_unit_change_unit on core.stock_unit_change (rooftop_id, stock_no);

create view core.stock_outcome as
select distinct on (unit.rooftop_id, unit.stock_no)
  unit.rooftop_id, unit.stock_no, seen.rooftop_id as eval_rooftop_id, seen.eval_id,
  coalesce(unit.acquired_on, (unit.first_seen_at at time zone rooftop.time_zone)::date) as acquired_on,
  (case when seen.rooftop_id = unit.rooftop_id then 'vin_same_rooftop' else 'vin_same_group' end)::varchar(20) as match_rule
from core.stock_unit as unit
join core.rooftop as rooftop using (rooftop_id)
join core.evaluation as seen on seen.group_id = rooftop.group_id and upper(seen.vin::text) = unit.vin::text and length(seen.vin::text) = 17
where seen.gone_at is null
  and seen.completed_date_local <= coalesce(unit.acquired_on, (unit.first_seen_at at time zone rooftop.time_zone)::date)
order by unit.rooftop_id, unit.stock_no, seen.rooftop_id = unit.rooftop_id desc, seen.completed_at desc, seen.eval_id desc;
comment on view core.stock_outcome is 'The evaluation on which a unit of the stock list was bought: of the same VIN in the dealer group, the last one completed on or before the day that the unit came in (acquired_on, else the day of its first list). An evaluation of the same rooftop is preferred.';

create view core.stock_asking_price as
with since as (
  select rooftop_id, stock_no, max(import_id) as import_id from core.stock_unit_change
  where change = 'added' or changes ? 'currency_code' group by 1, 2
), step as (
  select change.rooftop_id, change.stock_no, change.import_id, (change.changes -> 'asking_price' ->> 0)::numeric(15,3) as was
  from core.stock_unit_change as change
  left join since using (rooftop_id, stock_no)
  where change.changes ? 'asking_price' and change.import_id > coalesce(since.import_id, 0)
), history as (
  select rooftop_id, stock_no, (array_agg(was order by import_id) filter (where was is not null))[1] as first_was, count(*)::int as price_changes
  from step group by 1, 2
)
select unit.rooftop_id, unit.stock_no, coalesce(history.first_was, unit.asking_price)::numeric(15,3) as asking_price_first,
  unit.asking_price as asking_price_now, coalesce(history.price_changes, 0) as price_changes
from core.stock_unit as unit
left join history using (rooftop_id, stock_no);
comment on view core.stock_asking_price is 'First and current asking price of each unit, from its changes in all imports since it came in. When a stock number is reused or the currency changes, the history starts again.';
