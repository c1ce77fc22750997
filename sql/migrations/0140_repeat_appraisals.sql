-- Tables for rpt_13 and rpt_01, updated by triggers like the sums by day (0081). First the vehicles that a dealer group
-- appraised more than once.
create table core.agg_repeat_vehicle (
  group_id int not null,
  vin varchar(17) not null,
  currency_code char(3) not null,
  evaluations int not null,
  rooftops int not null,
  first_on date not null,
  last_on date not null,
  lowest_price numeric(15,3),
  highest_price numeric(15,3),
  primary key (group_id, vin, currency_code)
);
comment on table core.agg_repeat_vehicle is 'Vehicles with more than one evaluation that the source still shows, by dealer group, VIN and currency. core.repeat_vehicles defines it, triggers keep it current. It has no vehicle that was appraised only once.';
comment on column core.agg_repeat_vehicle.vin is 'core.evaluation.vehicle_vin: in capitals, of 17 characters';
comment on column core.agg_repeat_vehicle.rooftops is 'Number of rooftops that made the evaluations';
comment on column core.agg_repeat_vehicle.first_on is 'First local day of completion; last_on is the last';
comment on column core.agg_repeat_vehicle.lowest_price is 'Lowest final_price in currency_code; highest_price is the highest. null: no evaluation has a price';

-- Reads by index from the vehicles to their evaluations, as core.evaluation_days does from the days: `offset 0` fixes that order.
create function core.repeat_vehicles(groups int[], vins varchar[]) returns setof core.agg_repeat_vehicle
language sql stable as $$
  select
    e.group_id, e.vehicle_vin as vin, e.currency_code,
    count(*)::int as evaluations,
    count(distinct e.rooftop_id)::int as rooftops,
    min(e.completed_date_local) as first_on,
    max(e.completed_date_local) as last_on,
    min(e.final_price)::numeric(15,3) as lowest_price,
    max(e.final_price)::numeric(15,3) as highest_price
  from (select distinct * from unnest(groups, vins)) as asked (group_id, vin)
  cross join lateral (
    select * from core.evaluation as one
    where one.group_id = asked.group_id and one.vehicle_vin = asked.vin and one.gone_at is null and one.completed_date_local is not null
    offset 0
  ) as e
  group by e.group_id, e.vehicle_vin, e.currency_code
  having count(*) > 1
$$;
comment on function core.repeat_vehicles(int[], varchar[]) is 'Rows of core.agg_repeat_vehicle for the given vehicles, calculated from the facts: the only definition of its columns.';

create function core.refresh_repeat_vehicles(groups int[], vins varchar[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with fresh as materialized (
    select * from core.repeat_vehicles(groups, vins)
  ), emptied as (
    delete from core.agg_repeat_vehicle where ctid = any (array(
      select stored.ctid from (select distinct * from unnest(groups, vins)) as asked (group_id, vin)
      cross join lateral (
        select one.ctid, one.group_id, one.vin, one.currency_code from core.agg_repeat_vehicle as one
        where one.group_id = asked.group_id and one.vin = asked.vin
        offset 0
      ) as stored
      where (stored.group_id, stored.vin, stored.currency_code) not in (select fresh.group_id, fresh.vin, fresh.currency_code from fresh)
    ))
  )
  insert into core.agg_repeat_vehicle as stored
  select fresh.* from fresh
  on conflict (group_id, vin, currency_code) do update set
    evaluations = excluded.evaluations, rooftops = excluded.rooftops, first_on = excluded.first_on, last_on = excluded.last_on,
    lowest_price = excluded.lowest_price, highest_price = excluded.highest_price
  where stored is distinct from excluded;
end
$$;
comment on function core.refresh_repeat_vehicles(int[], varchar[]) is 'Updates core.agg_repeat_vehicle for the given vehicles from the facts; writes only rows that differ. The caller holds the lock of core.lock_vehicles.';

-- One lock per group, not per vehicle: a load touches hundreds of vehicles, and the lock table is small.
create function core.lock_vehicles(groups int[]) returns void language plpgsql as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'Evaluations, reconditioning and prices must be written under read committed, but this transaction is %',
        current_setting('transaction_isolation')
      using errcode = 'active_sql_transaction', hint = 'The repeats by vehicle could miss rows that other transactions have committed since this one began: begin isolation level read committed.';
  end if;
  perform pg_advisory_xact_lock(7382, group_id) from (select distinct unnest(groups) as group_id order by 1) as ordered;
end
$$;
comment on function core.lock_vehicles(int[]) is 'Locks the appraised vehicles of these groups until the end of the transaction. Taken before core.lock_days, so that two loads of a group wait for each other here and cannot deadlock over their rooftops.';

create function core.refresh_repeat_vehicles_trg() returns trigger
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  groups int[];
  vins varchar[];
begin
  if tg_op = 'INSERT' then
    select array_agg(group_id), array_agg(vehicle_vin) into groups, vins
    from new_rows where gone_at is null and completed_date_local is not null and vehicle_vin is not null;
  elsif tg_op = 'DELETE' then
    select array_agg(group_id), array_agg(vehicle_vin) into groups, vins
    from old_rows where gone_at is null and completed_date_local is not null and vehicle_vin is not null;
  else
    with counted_before as materialized (
      select group_id, vehicle_vin, currency_code, rooftop_id, eval_id, completed_date_local, final_price
      from old_rows where gone_at is null and completed_date_local is not null and vehicle_vin is not null
    ), counted_now as materialized (
      select group_id, vehicle_vin, currency_code, rooftop_id, eval_id, completed_date_local, final_price
      from new_rows where gone_at is null and completed_date_local is not null and vehicle_vin is not null
    )
    select array_agg(group_id), array_agg(vehicle_vin) into groups, vins
    from (
      (table counted_before except table counted_now) union all (table counted_now except table counted_before)
    ) as changed;
  end if;
  if groups is null then return null; end if;
  perform core.lock_vehicles(groups);
  perform core.refresh_repeat_vehicles(groups, vins);
  return null;
end
$$;
comment on function core.refresh_repeat_vehicles_trg() is 'After evaluations were written: recalculates the vehicles of the evaluations whose counted columns changed, under their old and their new group and VIN.';

create function core.truncate_repeat_vehicles_trg() returns trigger language plpgsql as $$
begin
  delete from core.agg_repeat_vehicle;
  return null;
end
$$;
comment on function core.truncate_repeat_vehicles_trg() is 'After a truncate: deletes the sums of the emptied table.';

-- Postgres runs triggers in the order of their names: a10 takes its locks before a20 and a30.
create trigger a10_repeat_vehicle_ins after insert on core.evaluation
  referencing new table as new_rows for each statement execute function core.refresh_repeat_vehicles_trg();
create trigger a10_repeat_vehicle_upd after update on core.evaluation
  referencing old table as old_rows new table as new_rows for each statement execute function core.refresh_repeat_vehicles_trg();
create trigger a10_repeat_vehicle_del after delete on core.evaluation
  referencing old table as old_rows for each statement execute function core.refresh_repeat_vehicles_trg();
create trigger a10_repeat_vehicle_trunc after truncate on core.evaluation for each statement execute function core.truncate_repeat_vehicles_trg();

select core.refresh_repeat_vehicles(array_agg(group_id), array_agg(vehicle_vin))
from (select group_id, vehicle_vin from core.evaluation where vehicle_vin is not null group by group_id, vehicle_vin having count(*) > 1) as again
having count(*) > 0;

-- The rows of rpt_01, calculated when an evaluation is written: over a year of all rooftops the joins and divisions take longer
-- than a dashboard waits. The fill factor leaves space in each page for the price, which arrives after the evaluation.
create table core.agg_appraisal (
  rooftop_id int not null,
  eval_id bigint not null,
  completed_date_local date not null,
  month_start date not null,
  evaluation_key varchar(32) not null,
  user_id bigint,
  make varchar(120),
  model varchar(200),
  model_year int,
  currency_code char(3) not null,
  appraised_price numeric(15,3) not null,
  recon_total numeric(15,3),
  wholesale_first numeric(15,3),
  retail_first numeric(15,3),
  wholesale_now numeric(15,3),
  retail_now numeric(15,3),
  gap_to_wholesale_first numeric(18,3),
  gap_share numeric(7,4),
  gross_room_first numeric(18,3),
  gross_room_now numeric(18,3),
  primary key (rooftop_id, eval_id)
) with (fillfactor = 80);
comment on table core.agg_appraisal is 'Evaluations with a final price that the source still shows, with the first and the current price of the pricing AI in their currency. core.appraisals defines it, triggers keep it current.';
comment on column core.agg_appraisal.recon_total is 'core.evaluation.recon_total, else recon_line_total';
create index agg_appraisal_month on core.agg_appraisal (rooftop_id, month_start);

create function core.appraisals(rooftops int[], evals bigint[]) returns setof core.agg_appraisal
language sql stable as $$
  select
    e.rooftop_id, e.eval_id, e.completed_date_local,
    date_trunc('month', e.completed_date_local::timestamp)::date as month_start,
    (e.rooftop_id || '-' || e.eval_id)::varchar(32) as evaluation_key,
    e.user_id, e.make, e.model, e.model_year, e.currency_code,
    e.final_price as appraised_price,
    coalesce(e.recon_total, e.recon_line_total)::numeric(15,3) as recon_total,
    first.wholesale as wholesale_first,
    first.retail as retail_first,
    n.wholesale as wholesale_now,
    n.retail as retail_now,
    (e.final_price - first.wholesale)::numeric(18,3) as gap_to_wholesale_first,
    (case when first.wholesale <> 0 then least(greatest((e.final_price - first.wholesale) / first.wholesale, -999.9999), 999.9999) end)::numeric(7,4) as gap_share,
    (first.retail - e.final_price - coalesce(e.recon_total, e.recon_line_total, 0))::numeric(18,3) as gross_room_first,
    (n.retail - e.final_price - coalesce(e.recon_total, e.recon_line_total, 0))::numeric(18,3) as gross_room_now
  from (select distinct * from unnest(rooftops, evals)) as asked (rooftop_id, eval_id)
  cross join lateral (
    -- The primary key only: without statistics the planner could choose any partial index of the rooftop.
    select * from core.evaluation as one where one.rooftop_id = asked.rooftop_id and one.eval_id = asked.eval_id
    offset 0
  ) as e
  left join lateral (
    select price.wholesale, price.retail from core.price_observation as price
    where price.rooftop_id = e.rooftop_id and price.eval_id = e.eval_id and price.price_source = 'pricing_ai' and price.is_current
      and price.currency_code = e.currency_code
    offset 0
  ) as n on true
  left join lateral (
    select price.eval_id, price.wholesale, price.retail from core.price_observation as price
    where price.rooftop_id = e.rooftop_id and price.eval_id = e.eval_id and price.price_source = 'pricing_ai' and not price.is_current
      and price.currency_code = e.currency_code
    order by price.observed_at
    limit 1
  ) as f on true
  -- The current price is the newest. Where no price came before it, it is also the first.
  cross join lateral (
    select case when f.eval_id is null then n.wholesale else f.wholesale end as wholesale, case when f.eval_id is null then n.retail else f.retail end as retail
  ) as first
  where e.final_price is not null and e.completed_date_local is not null and e.gone_at is null
$$;
comment on function core.appraisals(int[], bigint[]) is 'Rows of core.agg_appraisal for the given evaluations, calculated from the facts: the only definition of its columns.';

create function core.refresh_appraisals(rooftops int[], evals bigint[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with fresh as materialized (
    select * from core.appraisals(rooftops, evals)
  ), emptied as (
    delete from core.agg_appraisal where ctid = any (array(
      select stored.ctid from (select distinct * from unnest(rooftops, evals)) as asked (rooftop_id, eval_id)
      cross join lateral (
        select one.ctid, one.rooftop_id, one.eval_id from core.agg_appraisal as one
        where one.rooftop_id = asked.rooftop_id and one.eval_id = asked.eval_id
        offset 0
      ) as stored
      where (stored.rooftop_id, stored.eval_id) not in (select fresh.rooftop_id, fresh.eval_id from fresh)
    ))
  )
  insert into core.agg_appraisal as stored
  select fresh.* from fresh
  on conflict (rooftop_id, eval_id) do update set
    completed_date_local = excluded.completed_date_local, month_start = excluded.month_start, evaluation_key = excluded.evaluation_key,
    user_id = excluded.user_id, make = excluded.make, model = excluded.model, model_year = excluded.model_year,
    currency_code = excluded.currency_code, appraised_price = excluded.appraised_price, recon_total = excluded.recon_total,
    wholesale_first = excluded.wholesale_first, retail_first = excluded.retail_first,
    wholesale_now = excluded.wholesale_now, retail_now = excluded.retail_now,
    gap_to_wholesale_first = excluded.gap_to_wholesale_first, gap_share = excluded.gap_share,
    gross_room_first = excluded.gross_room_first, gross_room_now = excluded.gross_room_now
  where stored is distinct from excluded;
end
$$;
comment on function core.refresh_appraisals(int[], bigint[]) is 'Updates core.agg_appraisal for the given evaluations from the facts; writes only rows that differ. The caller holds the lock of core.lock_days.';

create function core.refresh_appraisals_trg() returns trigger
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  rooftops int[];
  evals bigint[];
begin
  if tg_op = 'INSERT' then
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals
    from new_rows where final_price is not null and gone_at is null and completed_date_local is not null;
    if rooftops is null then return null; end if;
    perform core.lock_days(rooftops);
    -- A new evaluation has no row here yet: the row is deleted together with its evaluation.
    insert into core.agg_appraisal select * from core.appraisals(rooftops, evals);
    return null;
  elsif tg_op = 'DELETE' then
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals
    from old_rows where final_price is not null and gone_at is null and completed_date_local is not null;
  else
    with counted_before as materialized (
      select rooftop_id, eval_id, completed_date_local, user_id, make, model, model_year, currency_code, final_price,
        coalesce(recon_total, recon_line_total)
      from old_rows where final_price is not null and gone_at is null and completed_date_local is not null
    ), counted_now as materialized (
      select rooftop_id, eval_id, completed_date_local, user_id, make, model, model_year, currency_code, final_price,
        coalesce(recon_total, recon_line_total)
      from new_rows where final_price is not null and gone_at is null and completed_date_local is not null
    )
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals
    from ((table counted_before except table counted_now) union all (table counted_now except table counted_before)) as changed;
  end if;
  if rooftops is null then return null; end if;
  perform core.lock_days(rooftops);
  perform core.refresh_appraisals(rooftops, evals);
  return null;
end
$$;
comment on function core.refresh_appraisals_trg() is 'After evaluations were written: recalculates the evaluations whose columns of rpt_01 changed, under their old and their new key.';

create function core.refresh_appraisal_prices_trg() returns trigger
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  rooftops int[];
  evals bigint[];
begin
  if tg_op = 'INSERT' then
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals from new_rows where price_source = 'pricing_ai';
  elsif tg_op = 'DELETE' then
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals from old_rows where price_source = 'pricing_ai';
  else
    with prices_before as materialized (
      select rooftop_id, eval_id, observed_at, is_current, currency_code, wholesale, retail from old_rows where price_source = 'pricing_ai'
    ), prices_now as materialized (
      select rooftop_id, eval_id, observed_at, is_current, currency_code, wholesale, retail from new_rows where price_source = 'pricing_ai'
    )
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals
    from ((table prices_before except table prices_now) union all (table prices_now except table prices_before)) as changed;
  end if;
  if rooftops is null then return null; end if;
  perform core.lock_days(rooftops);
  perform core.refresh_appraisals(rooftops, evals);
  return null;
end
$$;
comment on function core.refresh_appraisal_prices_trg() is 'After price observations were written: recalculates their evaluations. A missing evaluation is calculated when it is loaded. A price that was only confirmed changes nothing.';

create function core.truncate_appraisals_trg() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'evaluation' then
    delete from core.agg_appraisal;
  else
    perform core.refresh_appraisals(array_agg(rooftop_id), array_agg(eval_id)) from core.agg_appraisal having count(*) > 0;
  end if;
  return null;
end
$$;
comment on function core.truncate_appraisals_trg() is 'After a truncate: deletes the sums of the emptied table.';

create trigger a20_appraisal_ins after insert on core.evaluation
  referencing new table as new_rows for each statement execute function core.refresh_appraisals_trg();
create trigger a20_appraisal_upd after update on core.evaluation
  referencing old table as old_rows new table as new_rows for each statement execute function core.refresh_appraisals_trg();
create trigger a20_appraisal_del after delete on core.evaluation
  referencing old table as old_rows for each statement execute function core.refresh_appraisals_trg();
create trigger a20_appraisal_trunc after truncate on core.evaluation for each statement execute function core.truncate_appraisals_trg();
create trigger a20_appraisal_ins after insert on core.price_observation
  referencing new table as new_rows for each statement execute function core.refresh_appraisal_prices_trg();
create trigger a20_appraisal_upd after update on core.price_observation
  referencing old table as old_rows new table as new_rows for each statement execute function core.refresh_appraisal_prices_trg();
create trigger a20_appraisal_del after delete on core.price_observation
  referencing old table as old_rows for each statement execute function core.refresh_appraisal_prices_trg();
create trigger a20_appraisal_trunc after truncate on core.price_observation for each statement execute function core.truncate_appraisals_trg();

select core.refresh_appraisals(array_agg(rooftop_id), array_agg(eval_id)) from core.evaluation group by rooftop_id;
analyze core.agg_appraisal;

create function core.repeat_differences(only_group int default null)
returns table (group_id int, vin varchar(17), currency_code char(3))
language sql stable as $$
  with again as (
    select array_agg(pair.group_id) as groups, array_agg(pair.vehicle_vin) as vins
    from (
      select e.group_id, e.vehicle_vin from core.evaluation as e
      where e.vehicle_vin is not null and (only_group is null or e.group_id = only_group)
      group by e.group_id, e.vehicle_vin having count(*) > 1
    ) as pair
  )
  select group_id, vin, currency_code
  from (select * from core.agg_repeat_vehicle as a where only_group is null or a.group_id = only_group) as stored
  full join (select fresh.* from again cross join lateral core.repeat_vehicles(again.groups, again.vins) as fresh) as fresh
    using (group_id, vin, currency_code)
  where stored is distinct from fresh
$$;
comment on function core.repeat_differences(int) is 'Vehicles whose stored repeats differ from the facts, of one dealer group or of all. Any row is a defect; core.repeat_rebuild repairs it.';

create function core.agg_rebuild(only_rooftop int) returns void language plpgsql as $$
begin
  perform core.lock_days(array[only_rooftop]);
  perform core.refresh_evaluation_days(rooftops, days), core.refresh_recon_days(rooftops, days), core.refresh_pricing_days(rooftops, days)
  from (
    select array_agg(only_rooftop) as rooftops, array_agg(completed_date_local) as days
    from (
      select completed_date_local from core.evaluation where rooftop_id = only_rooftop and completed_date_local is not null
      union select completed_date_local from core.agg_evaluation_day where rooftop_id = only_rooftop
      union select completed_date_local from core.agg_recon_day where rooftop_id = only_rooftop
      union select completed_date_local from core.agg_pricing_day where rooftop_id = only_rooftop
    ) as day
  ) as every
  where days is not null;
  perform core.refresh_appraisals(array_agg(only_rooftop), array_agg(eval_id))
  from (
    select eval_id from core.evaluation where rooftop_id = only_rooftop union select eval_id from core.agg_appraisal where rooftop_id = only_rooftop
  ) as every
  having count(*) > 0;
end
$$;
comment on function core.agg_rebuild(int) is 'Recalculates all days and appraisals of a rooftop: repairs what core.agg_differences reports.';

create function core.repeat_rebuild(only_group int) returns void language plpgsql as $$
begin
  perform core.lock_vehicles(array[only_group]);
  perform core.refresh_repeat_vehicles(groups, vins)
  from (
    select array_agg(only_group) as groups, array_agg(vin) as vins
    from (
      select vehicle_vin as vin from core.evaluation where group_id = only_group and vehicle_vin is not null
      group by vehicle_vin having count(*) > 1
      union select vin from core.agg_repeat_vehicle where group_id = only_group
    ) as vehicle
  ) as every
  where vins is not null;
end
$$;
comment on function core.repeat_rebuild(int) is 'Recalculates all vehicles of a dealer group: repairs what core.repeat_differences reports.';

create or replace function core.agg_differences(only_rooftop int default null)
returns table (aggregate varchar(40), rooftop_id int, completed_date_local date)
language sql stable as $$
  with day as (
    select array_agg(pair.rooftop_id) as rooftops, array_agg(pair.completed_date_local) as days
    from (
      select distinct e.rooftop_id, e.completed_date_local from core.evaluation as e
      where e.completed_date_local is not null and (only_rooftop is null or e.rooftop_id = only_rooftop)
    ) as pair
  )
  select distinct 'agg_evaluation_day'::varchar(40), rooftop_id, completed_date_local
  from (select * from core.agg_evaluation_day as a where only_rooftop is null or a.rooftop_id = only_rooftop) as stored
  full join (select fresh.* from day cross join lateral core.evaluation_days(day.rooftops, day.days) as fresh) as fresh
    using (rooftop_id, completed_date_local, user_id, currency_code)
  where stored is distinct from fresh
  union all
  select distinct 'agg_recon_day'::varchar(40), rooftop_id, completed_date_local
  from (select * from core.agg_recon_day as a where only_rooftop is null or a.rooftop_id = only_rooftop) as stored
  full join (select fresh.* from day cross join lateral core.recon_days(day.rooftops, day.days) as fresh) as fresh
    using (rooftop_id, completed_date_local, recon_type, currency_code)
  where stored is distinct from fresh
  union all
  select 'agg_pricing_day'::varchar(40), rooftop_id, completed_date_local
  from (select * from core.agg_pricing_day as a where only_rooftop is null or a.rooftop_id = only_rooftop) as stored
  full join (select fresh.* from day cross join lateral core.pricing_days(day.rooftops, day.days) as fresh) as fresh
    using (rooftop_id, completed_date_local)
  where stored is distinct from fresh
  union all
  select distinct 'agg_appraisal'::varchar(40), rooftop_id, coalesce(stored.completed_date_local, fresh.completed_date_local)
  from (select * from core.agg_appraisal as a where only_rooftop is null or a.rooftop_id = only_rooftop) as stored
  full join (
    select counted.*
    from (
      select array_agg(e.rooftop_id) as rooftops, array_agg(e.eval_id) as evals
      from core.evaluation as e where only_rooftop is null or e.rooftop_id = only_rooftop
    ) as one
    cross join lateral core.appraisals(one.rooftops, one.evals) as counted
  ) as fresh using (rooftop_id, eval_id)
  where stored is distinct from fresh
$$;
comment on function core.agg_differences(int) is 'Days with a stored aggregate that differs from the facts, of one rooftop or of all. Any row is a defect; core.agg_rebuild repairs it.';

-- The index of core.evaluation.vehicle_vin replaces it.
drop index core.evaluation_vehicle;

create view core.stream_status as
select
  r.rooftop_id,
  s.stream::varchar(40) as stream,
  l.status as last_status,
  l.error as last_error,
  l.finished_at as last_attempt_at,
  l.clock_offset,
  g.finished_at as last_good_run_at,
  c.range as covered,
  c.open_gaps,
  c.unprovable,
  q.quarantined,
  v.vanished
from core.rooftop as r
cross join (values ('users', false), ('evaluations', true), ('pricing', false), ('vehicle-checks', false), ('stock-prices', false)) as s (stream, is_windowed)
left join lateral (
  select part.status, part.error, part.finished_at, run.source_started_at - run.started_at as clock_offset
  from ops.run_stream as part
  join ops.run as run using (run_id)
  where part.rooftop_id = r.rooftop_id and part.stream = s.stream and part.finished_at is not null
    and run.arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
  order by part.run_id desc
  limit 1
) as l on true
left join lateral (
  select part.finished_at
  from ops.run_stream as part
  join ops.run as run using (run_id)
  where part.rooftop_id = r.rooftop_id and part.stream = s.stream and part.status in ('ok', 'partial') and part.finished_at is not null
    and run.arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
  order by part.run_id desc
  limit 1
) as g on true
left join lateral (
  select k.unprovable, (select count(*)::int from unnest(k.wanted - k.listed)) as open_gaps, (select range from unnest(k.listed) as range where range @> k.start) as range
  from (
    select o.wanted, o.covered + coalesce(w.fresh, '{}') as listed, w.unprovable, coalesce(b.start, lower(o.wanted)) as start
    from ops.coverage as o
    cross join (
      select range_agg(tstzrange(window_from, window_until)) as fresh, count(*) filter (where proof = 'unprovable') as unprovable
      from ops.window_certificate
      where rooftop_id = r.rooftop_id and stream = s.stream and not settled
    ) as w
    left join lateral (
      select to_timestamp((run.arguments ->> 'from')::bigint) as start
      from ops.run_stream as part
      join ops.run as run using (run_id)
      where part.rooftop_id = r.rooftop_id and part.stream = s.stream and run.arguments ->> 'mode' = 'sync'
      order by part.run_id desc
      limit 1
    ) as b on true
    where o.rooftop_id = r.rooftop_id and o.stream = s.stream
  ) as k
) as c on s.is_windowed
cross join lateral (
  select count(*)::int as quarantined from ops.quarantine where rooftop_id = r.rooftop_id and stream = s.stream and resolved_at is null
) as q
cross join lateral (
  select count(*)::int as vanished from ops.vanished where rooftop_id = r.rooftop_id and stream = s.stream
) as v;
comment on view core.stream_status is 'Status of each stream of each rooftop: its last attempt, its last good run (all records are loaded or in quarantine) and, for evaluations, the span listed without a gap from the start of the newest sync. Read by data_freshness and rpt_15.';
