-- What the reports read instead of every evaluation: one row of each evaluation, the sums of a rooftop's local day, and the
-- vehicles that a dealer group appraised more than once. Whoever writes evaluations, their reconditioning or their prices refreshes
-- them in the same transaction (src/db/sums.ts); forecourt verify proves them from the facts.

create type core.recon_cost as (recon_type varchar(120), first_cost numeric(24,3), last_cost numeric(24,3));
comment on type core.recon_cost is 'Reconditioning of one type of an evaluation, see core.agg_recon_day.';

-- The fill factor leaves space in each page for the price, which arrives after the evaluation.
create table core.agg_appraisal (
  group_id int not null,
  rooftop_id int not null,
  eval_id bigint not null,
  completed_date_local date not null,
  month_start date not null,
  user_id bigint,
  vehicle_vin varchar(17),
  make varchar(120),
  model varchar(200),
  model_year int,
  currency_code char(3) not null,
  photo_count int not null,
  hero_source varchar(20),
  ttc_bucket int,
  appraised_price numeric(15,3),
  recon_total numeric(15,3),
  recon core.recon_cost[] not null,
  price_outcome varchar(20),
  confirmed_at timestamptz,
  confirmed_days int,
  wholesale_first numeric(15,3),
  retail_first numeric(15,3),
  wholesale_now numeric(15,3),
  retail_now numeric(15,3),
  gap_to_wholesale_first numeric(18,3),
  gap_share numeric(7,4),
  gross_room_first numeric(18,3),
  gross_room_now numeric(18,3),
  primary key (group_id, eval_id)
) with (fillfactor = 80);
comment on table core.agg_appraisal is 'One row per completed evaluation that the source still shows: what it adds to the sums, and its money with the first and the current price of the pricing AI in its currency, which is calculated when it is written because over a year of all rooftops the joins and divisions take longer than a dashboard waits. core.appraisals defines it.';
comment on column core.agg_appraisal.ttc_bucket is 'Number of the ttc_bucket of core.agg_evaluation_day; null: not timed';
comment on column core.agg_appraisal.appraised_price is 'core.evaluation.final_price';
comment on column core.agg_appraisal.recon_total is 'core.evaluation.recon_total, else recon_line_total';
comment on column core.agg_appraisal.recon is 'By type, without lines of type info, which are no cost';
comment on column core.agg_appraisal.price_outcome is 'priced: it has a current price observation; else the outcome of the last request; null: its price was never requested';
comment on column core.agg_appraisal.confirmed_at is 'last_confirmed_at of the current price observation';
comment on column core.agg_appraisal.confirmed_days is 'Days from 2000-01-01 to the local day of confirmed_at';
create index agg_appraisal_month on core.agg_appraisal (rooftop_id, month_start);

create table core.agg_evaluation_day (
  rooftop_id int not null,
  completed_date_local date not null,
  user_id bigint not null,
  currency_code char(3) not null,
  appraisals int not null,
  with_price int not null,
  value_sum numeric(24,3) not null,
  photos int not null,
  no_photo int not null,
  under_eight int not null,
  hero_default int not null,
  hero_missing int not null,
  complete int not null,
  timed int not null,
  ttc_bucket_0 int not null,
  ttc_bucket_1 int not null,
  ttc_bucket_2 int not null,
  ttc_bucket_3 int not null,
  ttc_bucket_4 int not null,
  ttc_bucket_5 int not null,
  ttc_bucket_6 int not null,
  ttc_bucket_7 int not null,
  ttc_bucket_8 int not null,
  ttc_bucket_9 int not null,
  ttc_bucket_10 int not null,
  ttc_bucket_11 int not null,
  primary key (rooftop_id, completed_date_local, user_id, currency_code)
);
comment on table core.agg_evaluation_day is 'Number of evaluations that the source still shows, by rooftop, local day of completion, salesperson and currency. core.evaluation_days defines it. There is no row with a count of 0.';
comment on column core.agg_evaluation_day.user_id is '0: the evaluation names no salesperson';
comment on column core.agg_evaluation_day.with_price is 'Evaluations with a final_price, including 0; value_sum is their sum in currency_code';
comment on column core.agg_evaluation_day.photos is 'Sum of photo_count';
comment on column core.agg_evaluation_day.under_eight is 'Evaluations with 1 to 7 photos';
comment on column core.agg_evaluation_day.hero_default is 'Evaluations with photos whose hero was not chosen by a person (hero_source = default)';
comment on column core.agg_evaluation_day.hero_missing is 'Evaluations with photos but without a hero, which the document excludes [A §5]';
comment on column core.agg_evaluation_day.complete is 'Evaluations with 8 photos or more and a hero that a person chose';
comment on column core.agg_evaluation_day.timed is 'Evaluations with an exact creation time (CreatedAt) that is not after the completion';
comment on column core.agg_evaluation_day.ttc_bucket_0 is 'Timed evaluations completed within 5 minutes of creation. The next buckets: up to 10, 15, 30, 60, 120, 240, 480, 1440, 2880 and 10080 minutes (each bound included); the last: all others';

create table core.agg_recon_day (
  rooftop_id int not null,
  completed_date_local date not null,
  recon_type varchar(120) not null,
  currency_code char(3) not null,
  evaluations int not null,
  first_cost numeric(24,3) not null,
  last_cost numeric(24,3) not null,
  primary key (rooftop_id, completed_date_local, recon_type, currency_code)
);
comment on table core.agg_recon_day is 'Reconditioning of evaluations that the source still shows, by rooftop, local day of completion, type and currency. core.recon_days defines it. Lines of type info are no cost and are not counted.';
comment on column core.agg_recon_day.recon_type is 'As received; empty: the line has no type';
comment on column core.agg_recon_day.evaluations is 'Evaluations with such a line in the first or the current content';
comment on column core.agg_recon_day.first_cost is 'Cost of the lines in the first observed content, in currency_code';
comment on column core.agg_recon_day.last_cost is 'Cost of the lines in the current content, in currency_code';

create table core.agg_pricing_day (
  rooftop_id int not null,
  completed_date_local date not null,
  known int not null,
  priced int not null,
  cannot_be_priced int not null,
  failed int not null,
  confirmed_days bigint not null,
  oldest_confirmed_at timestamptz,
  primary key (rooftop_id, completed_date_local)
);
comment on table core.agg_pricing_day is 'Pricing AI results for the evaluations that the source still shows, by rooftop and local day of completion. core.pricing_days defines it. There is no row for a day on which no evaluation was requested or priced.';
comment on column core.agg_pricing_day.known is 'Evaluations whose price was requested or is known; for the others of the day no price was ever requested';
comment on column core.agg_pricing_day.priced is 'Evaluations with a current price observation';
comment on column core.agg_pricing_day.cannot_be_priced is 'Evaluations without a current observation whose last request was skipped or rejected';
comment on column core.agg_pricing_day.failed is 'Evaluations without a current observation whose last request failed';
comment on column core.agg_pricing_day.confirmed_days is 'Sum over the priced evaluations of the days from 2000-01-01 to the local day of last_confirmed_at';
comment on column core.agg_pricing_day.oldest_confirmed_at is 'Earliest last_confirmed_at of the priced evaluations';

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
comment on table core.agg_repeat_vehicle is 'Vehicles with more than one evaluation that the source still shows, by dealer group, VIN and currency. core.repeat_vehicles defines it. It has no vehicle that was appraised only once.';
comment on column core.agg_repeat_vehicle.vin is 'core.evaluation.vehicle_vin: in capitals, of 17 characters';
comment on column core.agg_repeat_vehicle.rooftops is 'Number of rooftops that made the evaluations';
comment on column core.agg_repeat_vehicle.first_on is 'First local day of completion; last_on is the last';
comment on column core.agg_repeat_vehicle.lowest_price is 'Lowest final_price in currency_code; highest_price is the highest. null: no evaluation has a price';

create function core.appraisals(groups int[], evals bigint[]) returns setof core.agg_appraisal
language sql stable as $$
  select
    e.group_id, e.rooftop_id, e.eval_id, e.completed_date_local,
    date_trunc('month', e.completed_date_local::timestamp)::date,
    e.user_id, e.vehicle_vin, e.make, e.model, e.model_year, e.currency_code, e.photo_count, e.hero_source,
    -- The bounds belong to the lower bucket.
    case when e.created_at_source = 'CreatedAt' and e.completed_at >= e.created_at then
      width_bucket(extract(epoch from e.completed_at - e.created_at) - 0.000001,
        array[300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800])
    end,
    e.final_price,
    coalesce(e.recon_total, e.recon_line_total)::numeric(15,3),
    array(
      select row(coalesce(line.recon_type, ''), coalesce(sum(line.cost) filter (where line.first_version = 1), 0),
        coalesce(sum(line.cost) filter (where line.last_version is null), 0))::core.recon_cost
      from core.reconditioning_item as line
      where line.rooftop_id = e.rooftop_id and line.eval_id = e.eval_id
        and lower(line.recon_type) is distinct from 'info' and (line.first_version = 1 or line.last_version is null)
      group by coalesce(line.recon_type, '')
      order by coalesce(line.recon_type, '')
    ),
    case when price.eval_id is null then asked.outcome else 'priced' end,
    price.last_confirmed_at,
    (price.last_confirmed_at at time zone coalesce(place.time_zone, 'UTC'))::date - date '2000-01-01',
    first.wholesale, first.retail, latest.wholesale, latest.retail,
    (e.final_price - first.wholesale)::numeric(18,3),
    (case when first.wholesale <> 0 then least(greatest((e.final_price - first.wholesale) / first.wholesale, -999.9999), 999.9999) end)::numeric(7,4),
    (first.retail - e.final_price - coalesce(e.recon_total, e.recon_line_total, 0))::numeric(18,3),
    (latest.retail - e.final_price - coalesce(e.recon_total, e.recon_line_total, 0))::numeric(18,3)
  from core.evaluation as e
  left join core.rooftop as place using (rooftop_id)
  left join core.price_observation as price
    on price.rooftop_id = e.rooftop_id and price.eval_id = e.eval_id and price.price_source = 'pricing_ai' and price.is_current
  left join ops.enrichment_state as asked
    on asked.rooftop_id = e.rooftop_id and asked.stream = 'pricing' and asked.eval_id = e.eval_id and asked.ask = 'pricingAi'
  left join lateral (
    select earlier.eval_id, earlier.wholesale, earlier.retail from core.price_observation as earlier
    where earlier.rooftop_id = e.rooftop_id and earlier.eval_id = e.eval_id and earlier.price_source = 'pricing_ai'
      and not earlier.is_current and earlier.currency_code = e.currency_code
    order by earlier.observed_at
    limit 1
  ) as superseded on true
  cross join lateral (
    select case when price.currency_code = e.currency_code then price.wholesale end as wholesale,
      case when price.currency_code = e.currency_code then price.retail end as retail
  ) as latest
  -- The current price is the newest. Where no price came before it, it is also the first.
  cross join lateral (
    select case when superseded.eval_id is null then latest.wholesale else superseded.wholesale end as wholesale,
      case when superseded.eval_id is null then latest.retail else superseded.retail end as retail
  ) as first
  where e.group_id = any(groups) and e.eval_id = any(evals) and e.gone_at is null and e.completed_date_local is not null
$$;
comment on function core.appraisals(int[], bigint[]) is 'Rows of core.agg_appraisal for the given evaluations of the dealer groups, calculated from the facts: the only definition of its columns.';

create function core.evaluation_days(counted core.agg_appraisal[]) returns setof core.agg_evaluation_day
language sql stable as $$
  select
    rooftop_id, completed_date_local, coalesce(user_id, 0), currency_code,
    count(*)::int, count(appraised_price)::int, coalesce(sum(appraised_price), 0)::numeric(24,3), sum(photo_count)::int,
    (count(*) filter (where photo_count = 0))::int,
    (count(*) filter (where photo_count between 1 and 7))::int,
    (count(*) filter (where photo_count > 0 and hero_source = 'default'))::int,
    (count(*) filter (where photo_count > 0 and hero_source is null))::int,
    (count(*) filter (where photo_count >= 8 and hero_source <> 'default'))::int,
    count(ttc_bucket)::int,
    (count(*) filter (where ttc_bucket = 0))::int, (count(*) filter (where ttc_bucket = 1))::int,
    (count(*) filter (where ttc_bucket = 2))::int, (count(*) filter (where ttc_bucket = 3))::int,
    (count(*) filter (where ttc_bucket = 4))::int, (count(*) filter (where ttc_bucket = 5))::int,
    (count(*) filter (where ttc_bucket = 6))::int, (count(*) filter (where ttc_bucket = 7))::int,
    (count(*) filter (where ttc_bucket = 8))::int, (count(*) filter (where ttc_bucket = 9))::int,
    (count(*) filter (where ttc_bucket = 10))::int, (count(*) filter (where ttc_bucket = 11))::int
  from unnest(counted)
  group by 1, 2, 3, 4
$$;
comment on function core.evaluation_days(core.agg_appraisal[]) is 'What the given evaluations add to core.agg_evaluation_day: the only definition of its columns.';

create function core.recon_days(counted core.agg_appraisal[]) returns setof core.agg_recon_day
language sql stable as $$
  select rooftop_id, completed_date_local, recon_type, currency_code, count(*)::int, sum(first_cost)::numeric(24,3), sum(last_cost)::numeric(24,3)
  from unnest(counted) as one cross join unnest(one.recon)
  group by 1, 2, 3, 4
$$;
comment on function core.recon_days(core.agg_appraisal[]) is 'What the given evaluations add to core.agg_recon_day: the only definition of its columns.';

create function core.pricing_days(counted core.agg_appraisal[]) returns setof core.agg_pricing_day
language sql stable as $$
  select
    rooftop_id, completed_date_local, count(*)::int,
    (count(*) filter (where price_outcome = 'priced'))::int,
    (count(*) filter (where price_outcome in ('skipped', 'rejected')))::int,
    (count(*) filter (where price_outcome = 'failed'))::int,
    coalesce(sum(confirmed_days), 0)::bigint, min(confirmed_at)
  from unnest(counted)
  where price_outcome is not null
  group by 1, 2
$$;
comment on function core.pricing_days(core.agg_appraisal[]) is 'What the given evaluations add to core.agg_pricing_day: the only definition of its columns.';

create function core.repeat_vehicles(groups int[], vins varchar[]) returns setof core.agg_repeat_vehicle
language sql stable as $$
  select group_id, vehicle_vin, currency_code, count(*)::int, count(distinct rooftop_id)::int,
    min(completed_date_local), max(completed_date_local), min(final_price)::numeric(15,3), max(final_price)::numeric(15,3)
  from core.evaluation
  where group_id = any(groups) and vehicle_vin = any(vins) and gone_at is null and completed_date_local is not null
  group by 1, 2, 3
  having count(*) > 1
$$;
comment on function core.repeat_vehicles(int[], varchar[]) is 'Rows of core.agg_repeat_vehicle for the given vehicles, calculated from the facts: the only definition of its columns.';

create function core.agg_differences(only_rooftop int default null)
returns table (aggregate varchar(40), rooftop_id int, completed_date_local date)
language plpgsql stable as $$
#variable_conflict use_column
declare
  facts core.agg_appraisal[] := array(
    select fact from core.appraisals(
      array(select distinct group_id from core.evaluation where only_rooftop is null or rooftop_id = only_rooftop),
      array(select eval_id from core.evaluation where only_rooftop is null or rooftop_id = only_rooftop)) as fact
    where only_rooftop is null or fact.rooftop_id = only_rooftop);
begin
  return query
  select 'agg_appraisal'::varchar(40), coalesce(fact.rooftop_id, stored.rooftop_id), coalesce(fact.completed_date_local, stored.completed_date_local)
  from (select * from core.agg_appraisal where only_rooftop is null or rooftop_id = only_rooftop) as stored
  full join unnest(facts) as fact using (group_id, eval_id)
  where stored is distinct from fact
  union
  select 'agg_evaluation_day', rooftop_id, completed_date_local
  from (select * from core.agg_evaluation_day where only_rooftop is null or rooftop_id = only_rooftop) as stored
  full join core.evaluation_days(facts) as fact using (rooftop_id, completed_date_local, user_id, currency_code)
  where stored is distinct from fact
  union
  select 'agg_recon_day', rooftop_id, completed_date_local
  from (select * from core.agg_recon_day where only_rooftop is null or rooftop_id = only_rooftop) as stored
  full join core.recon_days(facts) as fact using (rooftop_id, completed_date_local, recon_type, currency_code)
  where stored is distinct from fact
  union
  select 'agg_pricing_day', rooftop_id, completed_date_local
  from (select * from core.agg_pricing_day where only_rooftop is null or rooftop_id = only_rooftop) as stored
  full join core.pricing_days(facts) as fact using (rooftop_id, completed_date_local)
  where stored is distinct from fact;
end
$$;
comment on function core.agg_differences(int) is 'Days with a stored row or sum that differs from the facts, of one rooftop or of all. Any row is a defect; core.agg_rebuild repairs it.';

create function core.agg_rebuild(only_rooftop int) returns void language plpgsql as $$
declare
  facts core.agg_appraisal[];
begin
  -- No load may add its difference between the calculation and the commit.
  lock table core.agg_appraisal, core.agg_evaluation_day, core.agg_recon_day, core.agg_pricing_day in exclusive mode;
  facts := array(
    select fact from core.appraisals(
      array(select distinct group_id from core.evaluation where rooftop_id = only_rooftop),
      array(select eval_id from core.evaluation where rooftop_id = only_rooftop)) as fact
    where fact.rooftop_id = only_rooftop);
  delete from core.agg_appraisal
  where rooftop_id = only_rooftop or (group_id, eval_id) in (select fact.group_id, fact.eval_id from unnest(facts) as fact);
  delete from core.agg_evaluation_day where rooftop_id = only_rooftop;
  delete from core.agg_recon_day where rooftop_id = only_rooftop;
  delete from core.agg_pricing_day where rooftop_id = only_rooftop;
  insert into core.agg_appraisal select * from unnest(facts);
  insert into core.agg_evaluation_day select * from core.evaluation_days(facts);
  insert into core.agg_recon_day select * from core.recon_days(facts);
  insert into core.agg_pricing_day select * from core.pricing_days(facts);
end
$$;
comment on function core.agg_rebuild(int) is 'Calculates all appraisals and sums of a rooftop again: repairs what core.agg_differences reports. Loads wait meanwhile.';

create function core.repeats_of(only_group int default null) returns setof core.agg_repeat_vehicle
language sql stable as $$
  select repeated.* from core.repeat_vehicles(
    array(select distinct group_id from core.evaluation where only_group is null or group_id = only_group),
    array(
      select vehicle_vin from core.evaluation
      where vehicle_vin is not null and (only_group is null or group_id = only_group)
      group by group_id, vehicle_vin having count(*) > 1)) as repeated
$$;
comment on function core.repeats_of(int) is 'All rows of core.agg_repeat_vehicle of one dealer group or of all, calculated from the facts.';

create function core.repeat_differences(only_group int default null)
returns table (group_id int, vin varchar(17), currency_code char(3))
language sql stable as $$
  select group_id, vin, currency_code
  from (select * from core.agg_repeat_vehicle as a where only_group is null or a.group_id = only_group) as stored
  full join core.repeats_of(only_group) as fact using (group_id, vin, currency_code)
  where stored is distinct from fact
$$;
comment on function core.repeat_differences(int) is 'Vehicles whose stored repeats differ from the facts, of one dealer group or of all. Any row is a defect; core.repeat_rebuild repairs it.';

create function core.repeat_rebuild(only_group int) returns void language plpgsql as $$
begin
  lock table core.agg_repeat_vehicle in share row exclusive mode;
  delete from core.agg_repeat_vehicle where group_id = only_group;
  insert into core.agg_repeat_vehicle select * from core.repeats_of(only_group);
end
$$;
comment on function core.repeat_rebuild(int) is 'Calculates all vehicles of a dealer group again: repairs what core.repeat_differences reports. Loads wait meanwhile.';

create function core.bucket_percentile(counts numeric[], share numeric) returns numeric
language sql immutable parallel safe as $$
  select round(low + (high - low) * (rank - before) / size, 2)
  from (
    select bucket, size, low, high, sum(size) over (order by bucket) - size as before, sum(size) over () * share as rank
    from unnest(counts, array[0, 5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 10080], array[5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 10080, 43200])
      with ordinality as bucket (size, low, high, bucket)
  ) as ranked
  where size > 0 and before + size >= rank
  order by bucket
  limit 1
$$;
comment on function core.bucket_percentile(numeric[], numeric) is 'Percentile in minutes, from the counts of ttc_bucket_0 to 11: the time within which the given share of the evaluations was completed. Linear inside the bucket that holds the rank share * count; the last bucket is assumed to end at 43,200 minutes. null: no evaluation is counted.';

-- The number of rows of a month, for the planner.
create statistics core.agg_evaluation_month on (date_trunc('month', completed_date_local::timestamp)::date) from core.agg_evaluation_day;
create statistics core.agg_recon_month on (date_trunc('month', completed_date_local::timestamp)::date) from core.agg_recon_day;
create statistics core.agg_pricing_month on (date_trunc('month', completed_date_local::timestamp)::date) from core.agg_pricing_day;
