-- The job "verify" compares ops.new_to_pricing with its definition too, by record: rows written while triggers were off are found.
alter table ops.value_difference drop constraint value_difference_kind_check,
  add check (kind in ('values', 'ids', 'counts', 'sums', 'orphans', 'duplicates', 'vehicles', 'due'));
comment on table ops.value_difference is 'Records whose rows are not what their payloads make, or that are missing or twice, windows whose records or counts are not what was listed, months whose sums are not those of the rows, vehicles that are not those of the evaluations and units, and evaluations that are wrongly due, until a later comparison finds them equal.';
comment on column ops.value_difference.kind is 'values: of a record; ids: stored records of a window differ from its list; counts: those of its certificate from its ids; sums: of a month from the rows; orphans: child rows whose record is missing; duplicates: an evaluation that is stored under another rooftop too; vehicles: a row of core.vehicle or core.agg_repeat_vehicle; due: a row of ops.new_to_pricing';

create function ops.new_to_pricing_differences(only_rooftops int[] default null, only_evals bigint[] default null)
returns table (rooftop_id int, eval_id bigint, is_missing boolean)
language sql stable as $$
  select rooftop_id, eval_id, stored.is_stored is null
  from (
    select rooftop_id, eval_id, true as is_stored from ops.new_to_pricing as n
    where (only_rooftops is null or n.rooftop_id = any(only_rooftops)) and (only_evals is null or n.eval_id = any(only_evals))
  ) as stored
  full join (
    select rooftop_id, eval_id, true as is_due from ops.new_to_pricing_facts as f
    where (only_rooftops is null or f.rooftop_id = any(only_rooftops)) and (only_evals is null or f.eval_id = any(only_evals))
  ) as fact using (rooftop_id, eval_id)
  where is_stored is null or is_due is null
$$;
comment on function ops.new_to_pricing_differences(int[], bigint[]) is 'Evaluations with a row too many or too few in ops.new_to_pricing, of some rooftops or of all, of some evaluations or of all. Any row is a defect; ops.new_to_pricing_rebuild repairs it.';

create function ops.new_to_pricing_rebuild(only_rooftop int) returns void language plpgsql as $$
begin
  -- Whoever writes a state holds its evaluation. What the one before has committed is seen by the next statement only.
  perform from core.evaluation where (rooftop_id, eval_id) in (select rooftop_id, eval_id from ops.new_to_pricing_differences(array[only_rooftop]))
    order by rooftop_id, eval_id for update;
  perform ops.refresh_new_to_pricing(array_agg(rooftop_id), array_agg(eval_id)) from ops.new_to_pricing_differences(array[only_rooftop]) having count(*) > 0;
end
$$;
comment on function ops.new_to_pricing_rebuild(int) is 'Calculates the wrong rows of ops.new_to_pricing of a rooftop again: repairs what ops.new_to_pricing_differences reports.';

-- One time of the night is shared by all that the job compares. What has changed is compared in slices too, so it also has a position.
alter table ops.value_check add column changed_key text not null default '', add column changed_through timestamptz;
comment on column ops.value_check.changed_key is 'The last key that was compared of what has changed and of what differed, where the night ended before all of them were; empty otherwise';
comment on column ops.value_check.changed_through is 'What listed_through becomes once all of those are compared; null: none are under way';

-- A night finds the windows that it lists again by index: until now it read every certificate of the rooftop in each slice.
alter table ops.window_certificate add column relist_nights int not null default 28;
comment on column ops.window_certificate.relist_nights is 'sync.deepRelistNights when it was listed';
create function ops.relist_day(window_from timestamptz, listed_at timestamptz, nights int) returns bigint
language sql immutable as $$
  select case when isfinite(listed_at) then listed + 1 + mod(nights + mod(start - listed - 1, nights), nights) else 0 end
  from (select floor(extract(epoch from window_from) / 86400)::bigint as start,
    floor(extract(epoch from case when isfinite(listed_at) then listed_at else window_from end) / 86400)::bigint as listed) as days
$$;
comment on function ops.relist_day(timestamptz, timestamptz, int) is 'The first day (UTC, since 1970) after a listing on which a window has its turn of some nights: each day has the windows whose first day is as many nights away as a multiple of these.';
create index window_certificate_relist on ops.window_certificate (rooftop_id, stream, relist_nights, ops.relist_day(window_from, listed_at, relist_nights)) where settled;
create index window_certificate_quarantined on ops.window_certificate (rooftop_id, stream) where quarantined > 0;
alter table ops.coverage add column uncertified tstzmultirange not null default '{}';
comment on column ops.coverage.uncertified is 'Covered, but by no settled certificate when it was last verified, and not listed since: a sync lists it again';

-- To compare all sums, each month's facts were looked up evaluation by evaluation. A view gives those of all rooftops in one pass.
create view core.recon_costs as
select rooftop_id, eval_id, array_agg(row(recon_type, first_cost, last_cost)::core.recon_cost order by recon_type) as recon
from (
  select line.rooftop_id, line.eval_id, coalesce(line.recon_type, '') as recon_type,
    coalesce(sum(line.cost) filter (where line.first_version = 1), 0) as first_cost,
    coalesce(sum(line.cost) filter (where line.last_version is null), 0) as last_cost
  from core.reconditioning_item as line
  where lower(line.recon_type) is distinct from 'info' and (line.first_version = 1 or line.last_version is null)
  group by 1, 2, 3
) as cost
group by 1, 2;
comment on view core.recon_costs is 'Reconditioning of each evaluation by type, without lines of type info, which are no cost.';

create view core.appraisal_facts (
  group_id, rooftop_id, eval_id, completed_date_local, month_start, user_id, vehicle_vin, make, model, model_year, currency_code, photo_count,
  hero_source, ttc_bucket, appraised_price, recon_total, recon, price_outcome, wholesale_first, retail_first, wholesale_now, retail_now,
  gap_to_wholesale_first, gap_share, gross_room_first, gross_room_now
) as
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
  coalesce((select cost.recon from core.recon_costs as cost where cost.rooftop_id = e.rooftop_id and cost.eval_id = e.eval_id), '{}'),
  case when price.eval_id is null then asked.outcome else 'priced' end,
  first.wholesale, first.retail, latest.wholesale, latest.retail,
  (e.final_price - first.wholesale)::numeric(18,3),
  (case when first.wholesale <> 0 then least(greatest((e.final_price - first.wholesale) / first.wholesale, -999.9999), 999.9999) end)::numeric(7,4),
  (first.retail - e.final_price - coalesce(e.recon_total, e.recon_line_total, 0))::numeric(18,3),
  (latest.retail - e.final_price - coalesce(e.recon_total, e.recon_line_total, 0))::numeric(18,3)
from core.evaluation as e
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
where e.gone_at is null and e.completed_date_local is not null;
comment on view core.appraisal_facts is 'The rows of core.agg_appraisal, calculated from the facts: the only definition of its columns.';

create or replace function core.appraisals(groups int[], evals bigint[]) returns setof core.agg_appraisal
language sql stable as $$
  select * from core.appraisal_facts where group_id = any(groups) and eval_id = any(evals)
$$;

alter function core.evaluation_days(core.agg_appraisal[]) parallel safe;
alter function core.recon_days(core.agg_appraisal[]) parallel safe;
alter function core.pricing_days(core.agg_appraisal[]) parallel safe;

create function core.agg_suspects(only_rooftops int[]) returns table (rooftop_id int, month_start date)
language sql stable parallel safe as $$
  with counted as (
    select a.rooftop_id, a.month_start, count(*) as rows from core.agg_appraisal as a where a.rooftop_id = any(only_rooftops) group by 1, 2
  ), of_month as materialized (
    select array(select a from core.agg_appraisal as a where a.rooftop_id = c.rooftop_id and a.month_start = c.month_start) as rows from counted as c
  )
  select rooftop_id, month_start
  from (
    select fact.rooftop_id, fact.month_start, count(*) as facts, count(*) filter (where
        (stored.rooftop_id, stored.completed_date_local, stored.month_start, stored.user_id, stored.vehicle_vin, stored.make, stored.model, stored.model_year, stored.currency_code, stored.photo_count, stored.hero_source, stored.ttc_bucket, stored.appraised_price, stored.recon_total, stored.price_outcome, stored.wholesale_first, stored.retail_first, stored.wholesale_now, stored.retail_now, stored.gap_to_wholesale_first, stored.gap_share, stored.gross_room_first, stored.gross_room_now)
        is distinct from
        (fact.rooftop_id, fact.completed_date_local, fact.month_start, fact.user_id, fact.vehicle_vin, fact.make, fact.model, fact.model_year, fact.currency_code, fact.photo_count, fact.hero_source, fact.ttc_bucket, fact.appraised_price, fact.recon_total, fact.price_outcome, fact.wholesale_first, fact.retail_first, fact.wholesale_now, fact.retail_now, fact.gap_to_wholesale_first, fact.gap_share, fact.gross_room_first, fact.gross_room_now)) as differences
    from core.appraisal_facts as fact left join core.agg_appraisal as stored using (group_id, eval_id)
    where fact.rooftop_id = any(only_rooftops) group by 1, 2
  ) as completed
  full join counted using (rooftop_id, month_start)
  where differences is distinct from 0 or facts is distinct from rows
  union
  select stored.rooftop_id, month
  from core.agg_appraisal as stored
  left join (select * from core.recon_costs as c where c.rooftop_id = any(only_rooftops)) as cost using (rooftop_id, eval_id)
  cross join lateral (select date_trunc('month', completed_date_local::timestamp)::date as of_day) as completed
  cross join lateral unnest(array[month_start, of_day]) as month
  where stored.rooftop_id = any(only_rooftops) and (stored.recon is distinct from coalesce(cost.recon, '{}') or month_start <> of_day)
  union
  -- Where the rows are those of the facts, their sums are too.
  select rooftop_id, date_trunc('month', completed_date_local::timestamp)::date
  from (select * from core.agg_evaluation_day as d where d.rooftop_id = any(only_rooftops)) as stored
  full join (select day.* from of_month cross join lateral core.evaluation_days(of_month.rows) as day) as fact
    using (rooftop_id, completed_date_local, user_id, currency_code)
  where stored is distinct from fact
  union
  select rooftop_id, date_trunc('month', completed_date_local::timestamp)::date
  from (select * from core.agg_recon_day as d where d.rooftop_id = any(only_rooftops)) as stored
  full join (select day.* from of_month cross join lateral core.recon_days(of_month.rows) as day) as fact
    using (rooftop_id, completed_date_local, recon_type, currency_code)
  where stored is distinct from fact
  union
  select rooftop_id, date_trunc('month', completed_date_local::timestamp)::date
  from (select * from core.agg_pricing_day as d where d.rooftop_id = any(only_rooftops)) as stored
  full join (select day.* from of_month cross join lateral core.pricing_days(of_month.rows) as day) as fact
    using (rooftop_id, completed_date_local)
  where stored is distinct from fact
$$;
comment on function core.agg_suspects(int[]) is 'Months of some rooftops in which core.agg_differences finds a difference: the same comparison, of all their months in one pass.';

create function ops.windows_to_relist(of_rooftop int, of_stream text, of_run bigint, began_at timestamptz, recheck_since timestamptz, nights int)
returns table (window_from timestamptz, window_until timestamptz, recent boolean)
language sql stable as $$
  select c.window_from, c.window_until, c.window_until > recheck_since
  from (select floor(extract(epoch from began_at) / 86400)::bigint as number) as today
  cross join lateral (
    select * from ops.certificates_over(of_rooftop, of_stream, recheck_since, 'infinity')
    union select * from (
      select * from ops.window_certificate as w where w.rooftop_id = of_rooftop and w.stream = of_stream and settled and quarantined > 0 offset 0) as held
    union select * from (
      select * from ops.window_certificate as w where w.rooftop_id = of_rooftop and w.stream = of_stream and settled
        and relist_nights = nights and ops.relist_day(w.window_from, listed_at, relist_nights) <= today.number offset 0) as turn
    -- A certificate keeps the number of nights with which it was listed until it is listed again.
    union select * from (
      select * from ops.window_certificate as w where w.rooftop_id = of_rooftop and w.stream = of_stream and settled
        and relist_nights < nights and ops.relist_day(w.window_from, listed_at, nights) <= today.number offset 0) as of_fewer
    union select * from (
      select * from ops.window_certificate as w where w.rooftop_id = of_rooftop and w.stream = of_stream and settled
        and relist_nights > nights and ops.relist_day(w.window_from, listed_at, nights) <= today.number offset 0) as of_more
  ) as c
  where settled and run_id <> of_run and c.window_until <= began_at and exists (
    select from ops.coverage where coverage.rooftop_id = of_rooftop and coverage.stream = of_stream
    and covered @> tstzrange(c.window_from, c.window_until))
$$;
comment on function ops.windows_to_relist(int, text, bigint, timestamptz, timestamptz, int) is 'The windows of a rooftop that a run lists again, each kind by an index: settled, not yet listed by it, and either recent, or with a quarantined record to retry, or due by the rotation since their last listing.';
