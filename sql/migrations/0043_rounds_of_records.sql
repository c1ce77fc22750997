-- The nightly job "verify" compares child rows without their record, evaluations of two rooftops, and vehicles in rounds too, by the
-- same tables as windows, sums and values. What finds the next of them, or one of them, has an index.
alter table ops.value_check alter column kind type varchar(12), drop constraint value_check_kind_check,
  add check (kind in ('values', 'ids', 'sums', 'records', 'vehicles'));
comment on table ops.value_check is 'How far a rooftop and stream were verified, in the order of their keys: the values of the rows with the stored payloads, record by record; the stored records and counts with the certificates, window by window; the sums of the reports with the rows, month by month; the rows of each record with the record; the vehicles of a dealer group with evaluations and stock.';
comment on column ops.value_check.rooftop_id is 'Of vehicles: the first rooftop of the dealer group';
comment on column ops.value_check.kind is 'values: rows and payloads, by record; ids: records and certificates, by the start of the window; sums: by the month of completion; records: child rows and their record, and the same record at another rooftop, by record; vehicles: by VIN';
comment on column ops.value_check.round_records is 'About how many records with payloads, windows, months, records or vehicles there were when the round began';
comment on column ops.value_check.listed_through is 'Windows that were listed until then (source time), months that had not ended long before, or records that were entered not long before, have been compared, beside the round; null: none';

alter table ops.value_difference alter column kind type varchar(12), drop constraint value_difference_kind_check,
  add check (kind in ('values', 'ids', 'counts', 'sums', 'orphans', 'duplicates', 'vehicles'));
comment on table ops.value_difference is 'Records whose rows are not what their payloads make, or that are missing or twice, windows whose records or counts are not what was listed, months whose sums are not those of the rows, and vehicles that are not those of the evaluations and units, until a later comparison finds them equal.';
comment on column ops.value_difference.rooftop_id is 'Of vehicles: the first rooftop of the dealer group';
comment on column ops.value_difference.kind is 'values: of a record; ids: stored records of a window differ from its list; counts: those of its certificate from its ids; sums: of a month from the rows; orphans: child rows whose record is missing; duplicates: an evaluation that is stored under another rooftop too; vehicles: a row of core.vehicle or core.agg_repeat_vehicle';
comment on column ops.value_difference.difference is 'The first row and its columns, without values; or the ids, the tables, or the other rooftops';

create index evaluation_id on core.evaluation (eval_id);
create index vehicle_group on core.vehicle (group_id, vin);
create index enrichment_state_evaluation on ops.enrichment_state (rooftop_id, eval_id);

-- It read every evaluation of a rooftop for a few months. Each month is found from the one before, by index.
create or replace function core.agg_months(only_rooftop int) returns table (rooftop_id int, month_start date)
language sql stable as $$
  with recursive month as (
    select r.rooftop_id, '-infinity'::date as month_start
    from (
      select only_rooftop as rooftop_id where only_rooftop is not null
      union
      select rooftop_id
      from (
        select rooftop_id from core.evaluation
        union select rooftop_id from core.agg_appraisal
        union select rooftop_id from core.agg_evaluation_day
        union select rooftop_id from core.agg_recon_day
        union select rooftop_id from core.agg_pricing_day
      ) as every_rooftop
      where only_rooftop is null
    ) as r
    union all
    select m.rooftop_id, least(
      (select min(date_trunc('month', e.completed_date_local::timestamp)::date) from core.evaluation as e
        where e.rooftop_id = m.rooftop_id and date_trunc('month', e.completed_date_local::timestamp)::date > m.month_start),
      (select min(a.month_start) from core.agg_appraisal as a where a.rooftop_id = m.rooftop_id and a.month_start > m.month_start),
      date_trunc('month', least(
        (select min(d.completed_date_local) from core.agg_evaluation_day as d
          where d.rooftop_id = m.rooftop_id and d.completed_date_local >= m.month_start + interval '1 month'),
        (select min(d.completed_date_local) from core.agg_recon_day as d
          where d.rooftop_id = m.rooftop_id and d.completed_date_local >= m.month_start + interval '1 month'),
        (select min(d.completed_date_local) from core.agg_pricing_day as d
          where d.rooftop_id = m.rooftop_id and d.completed_date_local >= m.month_start + interval '1 month')
      )::timestamp)::date)
    from month as m where m.month_start is not null
  )
  select m.rooftop_id, m.month_start from month as m where m.month_start > '-infinity'
$$;

drop function core.vehicle_differences(int);
drop function core.vehicles_of(int);
drop function core.repeats_of(int);

create function core.vehicles_of(only_group int default null, only_vins varchar[] default null) returns setof core.vehicle
language sql stable as $$
  select * from core.vehicles(
    case when only_group is null then array(select group_id from core.evaluation union select group_id from core.rooftop) else array[only_group] end,
    coalesce(only_vins, array(
      select vehicle_vin from core.evaluation where vehicle_vin is not null and (only_group is null or group_id = only_group)
      union
      select vin from core.stock_unit join core.rooftop using (rooftop_id)
      where length(vin) = 17 and (only_group is null or group_id = only_group))))
$$;
comment on function core.vehicles_of(int, varchar[]) is 'All rows of core.vehicle of one dealer group or of all, of some vehicles or of all, calculated from the facts.';

create function core.repeats_of(only_group int default null, only_vins varchar[] default null) returns setof core.agg_repeat_vehicle
language sql stable as $$
  select repeated.* from core.repeat_vehicles(
    case when only_group is null then array(select distinct group_id from core.evaluation) else array[only_group] end,
    coalesce(only_vins, array(
      select vehicle_vin from core.evaluation
      where vehicle_vin is not null and (only_group is null or group_id = only_group)
      group by group_id, vehicle_vin having count(*) > 1))) as repeated
$$;
comment on function core.repeats_of(int, varchar[]) is 'All rows of core.agg_repeat_vehicle of one dealer group or of all, of some vehicles or of all, calculated from the facts.';

create function core.vehicle_differences(only_group int default null, only_vins varchar[] default null)
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
  full join core.vehicles_of(only_group, only_vins) as fact using (group_id, vin)
  where stored is distinct from fact
$$;
comment on function core.vehicle_differences(int, varchar[]) is 'Vehicles whose row in core.vehicle or core.agg_repeat_vehicle differs from the facts, of one dealer group or of all, of some vehicles or of all. Any row is a defect; core.vehicle_rebuild repairs it.';
