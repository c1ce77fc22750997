-- Pricing asks about the evaluations of a large day in many slices: its sums add differences too (see 0190).
create table core.agg_pricing_evaluation (
  rooftop_id int not null,
  eval_id bigint not null,
  completed_date_local date not null,
  priced int not null,
  cannot_be_priced int not null,
  failed int not null,
  confirmed_days int not null,
  confirmed_at timestamptz,
  primary key (rooftop_id, eval_id)
);
comment on table core.agg_pricing_evaluation is 'What each evaluation adds to core.agg_pricing_day: what core.pricing_evaluations counts, kept by triggers.';
comment on column core.agg_pricing_evaluation.confirmed_days is 'Days from 2000-01-01 to the local day of confirmed_at; 0: not priced';
comment on column core.agg_pricing_evaluation.confirmed_at is 'last_confirmed_at of the current observation';
create index agg_pricing_evaluation_oldest on core.agg_pricing_evaluation (rooftop_id, completed_date_local, confirmed_at);

create function core.pricing_evaluations(rooftops int[], evals bigint[]) returns setof core.agg_pricing_evaluation
language sql stable as $$
  select
    e.rooftop_id, e.eval_id, e.completed_date_local,
    (p.eval_id is not null)::int,
    (p.eval_id is null and coalesce(s.outcome in ('skipped', 'rejected'), false))::int,
    (p.eval_id is null and coalesce(s.outcome = 'failed', false))::int,
    coalesce((p.last_confirmed_at at time zone coalesce(r.time_zone, 'UTC'))::date - date '2000-01-01', 0),
    p.last_confirmed_at
  from (select distinct * from unnest(rooftops, evals)) as asked (rooftop_id, eval_id)
  left join lateral (select time_zone from core.rooftop as own where own.rooftop_id = asked.rooftop_id offset 0) as r on true
  cross join lateral (
    select * from core.evaluation as one where one.rooftop_id = asked.rooftop_id and one.eval_id = asked.eval_id
    offset 0
  ) as e
  left join lateral (
    select price.eval_id, price.last_confirmed_at from core.price_observation as price
    where price.rooftop_id = e.rooftop_id and price.eval_id = e.eval_id and price.price_source = 'pricing_ai' and price.is_current
    offset 0
  ) as p on true
  left join lateral (
    select state.eval_id, state.outcome from ops.enrichment_state as state
    where state.rooftop_id = e.rooftop_id and state.stream = 'pricing' and state.eval_id = e.eval_id and state.ask = 'pricingAi'
    offset 0
  ) as s on true
  where e.gone_at is null and e.completed_date_local is not null and (p.eval_id is not null or s.eval_id is not null)
$$;
comment on function core.pricing_evaluations(int[], bigint[]) is 'core.agg_pricing_evaluation of the given evaluations, counted from the facts: the one definition of its columns.';

create function core.update_pricing_days(rooftops int[], evals bigint[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  touched_rooftops int[];
  touched_days date[];
begin
  with before as materialized (
    select one.* from (select distinct * from unnest(rooftops, evals)) as asked (rooftop_id, eval_id)
    cross join lateral (
      select * from core.agg_pricing_evaluation as kept where kept.rooftop_id = asked.rooftop_id and kept.eval_id = asked.eval_id
      offset 0
    ) as one
  ), fresh as materialized (
    select * from core.pricing_evaluations(rooftops, evals)
  ), removed as (
    delete from core.agg_pricing_evaluation as kept using before
    where kept.rooftop_id = before.rooftop_id and kept.eval_id = before.eval_id
      and (before.rooftop_id, before.eval_id) not in (select rooftop_id, eval_id from fresh)
  ), written as (
    insert into core.agg_pricing_evaluation as kept
    select * from fresh
    on conflict (rooftop_id, eval_id) do update set
      completed_date_local = excluded.completed_date_local, priced = excluded.priced, cannot_be_priced = excluded.cannot_be_priced,
      failed = excluded.failed, confirmed_days = excluded.confirmed_days, confirmed_at = excluded.confirmed_at
    where kept is distinct from excluded
  ), difference as materialized (
    select rooftop_id, completed_date_local, sum(sign)::int as known, sum(sign * priced)::int as priced,
      sum(sign * cannot_be_priced)::int as cannot_be_priced, sum(sign * failed)::int as failed,
      sum(sign * confirmed_days)::bigint as confirmed_days
    from (select -1 as sign, * from before union all select 1, * from fresh) as term
    group by rooftop_id, completed_date_local
  ), emptied as (
    delete from core.agg_pricing_day as kept using difference
    where kept.rooftop_id = difference.rooftop_id and kept.completed_date_local = difference.completed_date_local
      and kept.known + difference.known = 0
    returning kept.rooftop_id, kept.completed_date_local
  ), added as (
    insert into core.agg_pricing_day as kept
      (rooftop_id, completed_date_local, known, priced, cannot_be_priced, failed, confirmed_days)
    select * from difference
    where (rooftop_id, completed_date_local) not in (table emptied)
      and (known, priced, cannot_be_priced, failed, confirmed_days) <> (0, 0, 0, 0, 0)
    on conflict (rooftop_id, completed_date_local) do update set
      known = kept.known + excluded.known, priced = kept.priced + excluded.priced,
      cannot_be_priced = kept.cannot_be_priced + excluded.cannot_be_priced, failed = kept.failed + excluded.failed,
      confirmed_days = kept.confirmed_days + excluded.confirmed_days
  )
  select array_agg(rooftop_id), array_agg(completed_date_local) into touched_rooftops, touched_days from difference;
  -- The least of what is there now: a later statement sees it.
  update core.agg_pricing_day as kept set oldest_confirmed_at = now_least.confirmed_at
  from unnest(touched_rooftops, touched_days) as touched (rooftop_id, completed_date_local)
  left join lateral (
    select one.confirmed_at from core.agg_pricing_evaluation as one
    where one.rooftop_id = touched.rooftop_id and one.completed_date_local = touched.completed_date_local and one.confirmed_at is not null
    order by one.confirmed_at
    limit 1
  ) as now_least on true
  where kept.rooftop_id = touched.rooftop_id and kept.completed_date_local = touched.completed_date_local
    and kept.oldest_confirmed_at is distinct from now_least.confirmed_at;
end
$$;
comment on function core.update_pricing_days(int[], bigint[]) is 'Brings core.agg_pricing_evaluation of the given evaluations to what the facts say, and core.agg_pricing_day by the difference. The caller holds the lock of core.lock_days.';

create or replace function core.keep_evaluation_days() returns trigger
language plpgsql set enable_seqscan = off as $$
declare
  rooftops int[];
  evals bigint[];
  removed core.counted_evaluation[];
  added core.counted_evaluation[];
begin
  if tg_op = 'INSERT' then
    select array_agg(rooftop_id), array_agg(eval_id),
      array_agg(row(rooftop_id, completed_date_local, user_id, currency_code, final_price, photo_count, hero_source,
        created_at, created_at_source, completed_at)::core.counted_evaluation)
    into rooftops, evals, added
    from new_rows where gone_at is null and completed_date_local is not null;
  elsif tg_op = 'DELETE' then
    select array_agg(rooftop_id), array_agg(eval_id),
      array_agg(row(rooftop_id, completed_date_local, user_id, currency_code, final_price, photo_count, hero_source,
        created_at, created_at_source, completed_at)::core.counted_evaluation)
    into rooftops, evals, removed
    from old_rows where gone_at is null and completed_date_local is not null;
  else
    with counted_before as materialized (
      select rooftop_id, eval_id, completed_date_local, user_id, currency_code, final_price, photo_count, hero_source,
        created_at, created_at_source, completed_at
      from old_rows where gone_at is null and completed_date_local is not null
    ), counted_now as materialized (
      select rooftop_id, eval_id, completed_date_local, user_id, currency_code, final_price, photo_count, hero_source,
        created_at, created_at_source, completed_at
      from new_rows where gone_at is null and completed_date_local is not null
    ), changed as (
      select true as is_old, gone.* from (table counted_before except table counted_now) as gone
      union all
      select false, come.* from (table counted_now except table counted_before) as come
    ), fact as (
      select is_old, rooftop_id, eval_id, completed_date_local,
        row(rooftop_id, completed_date_local, user_id, currency_code, final_price, photo_count, hero_source,
          created_at, created_at_source, completed_at)::core.counted_evaluation as counted
      from changed
    )
    select array_agg(rooftop_id), array_agg(eval_id),
      array_agg(counted) filter (where is_old), array_agg(counted) filter (where not is_old)
    into rooftops, evals, removed, added
    from fact;
  end if;
  if rooftops is null then return null; end if;
  perform core.lock_days(rooftops);
  perform core.add_evaluation_days(removed, added);
  perform core.update_recon_days(array_agg(rooftop_id), array_agg(eval_id))
  from unnest(rooftops, evals) as touched (rooftop_id, eval_id)
  where exists (
    select from core.reconditioning_item as item where item.rooftop_id = touched.rooftop_id and item.eval_id = touched.eval_id offset 0
  ) or exists (
    select from core.agg_recon_evaluation as kept where kept.rooftop_id = touched.rooftop_id and kept.eval_id = touched.eval_id offset 0
  )
  having count(*) > 0;
  perform core.update_pricing_days(array_agg(rooftop_id), array_agg(eval_id))
  from unnest(rooftops, evals) as touched (rooftop_id, eval_id)
  where exists (
    select from ops.enrichment_state as state
    where state.rooftop_id = touched.rooftop_id and state.stream = 'pricing' and state.eval_id = touched.eval_id offset 0
  ) or exists (
    select from core.price_observation as price where price.rooftop_id = touched.rooftop_id and price.eval_id = touched.eval_id offset 0
  ) or exists (
    select from core.agg_pricing_evaluation as kept where kept.rooftop_id = touched.rooftop_id and kept.eval_id = touched.eval_id offset 0
  )
  having count(*) > 0;
  return null;
end
$$;
comment on function core.keep_evaluation_days() is 'After evaluations were written: adds the difference of those whose counted columns changed to their days.';

create or replace function core.keep_priced_days() returns trigger language plpgsql as $$
declare
  rooftops int[];
  evals bigint[];
begin
  if tg_op = 'INSERT' then
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals from new_rows;
  elsif tg_op = 'DELETE' then
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals from old_rows;
  else
    with counted_before as materialized (
      select rooftop_id, eval_id, price_source, last_confirmed_at from old_rows where is_current
    ), counted_now as materialized (
      select rooftop_id, eval_id, price_source, last_confirmed_at from new_rows where is_current
    )
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals
    from (
      (table counted_before except table counted_now) union all (table counted_now except table counted_before)
    ) as changed;
  end if;
  if rooftops is null then return null; end if;
  perform core.lock_days(rooftops);
  perform core.update_pricing_days(rooftops, evals);
  return null;
end
$$;
comment on function core.keep_priced_days() is 'After price observations were written: adds the difference of their evaluations where a current price came, went or was confirmed.';

create or replace function core.keep_asked_days() returns trigger language plpgsql as $$
declare
  rooftops int[];
  evals bigint[];
begin
  if tg_op = 'INSERT' then
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals from new_rows where stream = 'pricing';
  elsif tg_op = 'DELETE' then
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals from old_rows where stream = 'pricing';
  else
    with counted_before as materialized (
      select rooftop_id, eval_id, ask, outcome from old_rows where stream = 'pricing'
    ), counted_now as materialized (
      select rooftop_id, eval_id, ask, outcome from new_rows where stream = 'pricing'
    )
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals
    from (
      (table counted_before except table counted_now) union all (table counted_now except table counted_before)
    ) as changed;
  end if;
  if rooftops is null then return null; end if;
  perform core.lock_days(rooftops);
  perform core.update_pricing_days(rooftops, evals);
  return null;
end
$$;
comment on function core.keep_asked_days() is 'After the notes of what was asked were written: adds the difference of the evaluations whose outcome for prices changed.';

create or replace function core.keep_zone() returns trigger language plpgsql as $$
begin
  perform core.lock_days(array[new.rooftop_id]);
  perform core.update_pricing_days(array_agg(rooftop_id), array_agg(eval_id))
  from core.agg_pricing_evaluation where rooftop_id = new.rooftop_id;
  return null;
end
$$;

create or replace function core.empty_days() returns trigger language plpgsql as $$
begin
  if tg_table_name in ('evaluation', 'reconditioning_item') then
    delete from core.agg_recon_day;
    delete from core.agg_recon_evaluation;
  end if;
  if tg_table_name = 'evaluation' then delete from core.agg_evaluation_day; end if;
  perform core.update_pricing_days(array_agg(rooftop_id), array_agg(eval_id)) from core.agg_pricing_evaluation;
  return null;
end
$$;

-- Nothing asks for the days of evaluations any more.
drop function core.days_of(int[], bigint[]);

insert into core.agg_pricing_evaluation
select counted.* from (select array_agg(rooftop_id) as rooftops, array_agg(eval_id) as evals from core.evaluation group by rooftop_id) as one
cross join lateral core.pricing_evaluations(one.rooftops, one.evals) as counted;
analyze core.agg_pricing_evaluation;

create or replace function core.agg_rebuild(only_rooftop int) returns void language plpgsql as $$
begin
  perform core.lock_days(array[only_rooftop]);
  -- Before the days are counted: these add their differences to them.
  perform core.update_recon_days(array_agg(only_rooftop), array_agg(eval_id))
  from (
    select eval_id from core.evaluation where rooftop_id = only_rooftop
    union select eval_id from core.agg_recon_evaluation where rooftop_id = only_rooftop
  ) as every
  having count(*) > 0;
  perform core.update_pricing_days(array_agg(only_rooftop), array_agg(eval_id))
  from (
    select eval_id from core.evaluation where rooftop_id = only_rooftop
    union select eval_id from core.agg_pricing_evaluation where rooftop_id = only_rooftop
  ) as every
  having count(*) > 0;
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
  from (select * from core.agg_evaluation_day as a where only_rooftop is null or a.rooftop_id = only_rooftop) as kept
  full join (select fresh.* from day cross join lateral core.evaluation_days(day.rooftops, day.days) as fresh) as fresh
    using (rooftop_id, completed_date_local, user_id, currency_code)
  where kept is distinct from fresh
  union all
  select distinct 'agg_recon_day'::varchar(40), rooftop_id, completed_date_local
  from (select * from core.agg_recon_day as a where only_rooftop is null or a.rooftop_id = only_rooftop) as kept
  full join (select fresh.* from day cross join lateral core.recon_days(day.rooftops, day.days) as fresh) as fresh
    using (rooftop_id, completed_date_local, recon_type, currency_code)
  where kept is distinct from fresh
  union all
  select 'agg_pricing_day'::varchar(40), rooftop_id, completed_date_local
  from (select * from core.agg_pricing_day as a where only_rooftop is null or a.rooftop_id = only_rooftop) as kept
  full join (select fresh.* from day cross join lateral core.pricing_days(day.rooftops, day.days) as fresh) as fresh
    using (rooftop_id, completed_date_local)
  where kept is distinct from fresh
  union all
  select distinct 'agg_appraisal'::varchar(40), rooftop_id, coalesce(kept.completed_date_local, fresh.completed_date_local)
  from (select * from core.agg_appraisal as a where only_rooftop is null or a.rooftop_id = only_rooftop) as kept
  full join (
    select reckoned.*
    from (
      select array_agg(e.rooftop_id) as rooftops, array_agg(e.eval_id) as evals
      from core.evaluation as e where only_rooftop is null or e.rooftop_id = only_rooftop
    ) as one
    cross join lateral core.appraisals(one.rooftops, one.evals) as reckoned
  ) as fresh using (rooftop_id, eval_id)
  where kept is distinct from fresh
  union all
  select distinct 'agg_recon_evaluation'::varchar(40), rooftop_id, coalesce(kept.completed_date_local, fresh.completed_date_local)
  from (select * from core.agg_recon_evaluation as a where only_rooftop is null or a.rooftop_id = only_rooftop) as kept
  full join (
    select counted.*
    from (
      select array_agg(e.rooftop_id) as rooftops, array_agg(e.eval_id) as evals
      from core.evaluation as e where only_rooftop is null or e.rooftop_id = only_rooftop
    ) as one
    cross join lateral core.recon_evaluations(one.rooftops, one.evals) as counted
  ) as fresh using (rooftop_id, eval_id, recon_type)
  where kept is distinct from fresh
  union all
  select distinct 'agg_pricing_evaluation'::varchar(40), rooftop_id, coalesce(kept.completed_date_local, fresh.completed_date_local)
  from (select * from core.agg_pricing_evaluation as a where only_rooftop is null or a.rooftop_id = only_rooftop) as kept
  full join (
    select counted.*
    from (
      select array_agg(e.rooftop_id) as rooftops, array_agg(e.eval_id) as evals
      from core.evaluation as e where only_rooftop is null or e.rooftop_id = only_rooftop
    ) as one
    cross join lateral core.pricing_evaluations(one.rooftops, one.evals) as counted
  ) as fresh using (rooftop_id, eval_id)
  where kept is distinct from fresh
$$;
