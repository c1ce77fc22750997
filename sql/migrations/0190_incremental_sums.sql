-- The triggers recalculated a whole day at each load, which is quadratic where a day is loaded in many slices: at 30,000 evaluations
-- in two days it took a fifth of the loading time. Now they add the difference.

-- What one evaluation adds to its day: the only definition, used for whole days and for differences.
create function core.evaluation_terms(
  final_price numeric, photo_count int, hero_source varchar, created_at timestamptz, created_at_source varchar, completed_at timestamptz,
  out with_price int, out value numeric, out no_photo int, out under_eight int, out hero_default int, out hero_missing int,
  out complete int, out timed int, out bucket int
) returns setof record
language sql stable as $$
  select
    (final_price is not null)::int,
    coalesce(final_price, 0),
    (photo_count = 0)::int,
    (photo_count between 1 and 7)::int,
    (photo_count > 0 and coalesce(hero_source = 'default', false))::int,
    (photo_count > 0 and hero_source is null)::int,
    (photo_count >= 8 and coalesce(hero_source <> 'default', false))::int,
    (time.taken is not null)::int,
    case
      when time.taken <= interval '5 min' then 0
      when time.taken <= interval '10 min' then 1
      when time.taken <= interval '15 min' then 2
      when time.taken <= interval '30 min' then 3
      when time.taken <= interval '60 min' then 4
      when time.taken <= interval '120 min' then 5
      when time.taken <= interval '240 min' then 6
      when time.taken <= interval '480 min' then 7
      when time.taken <= interval '1440 min' then 8
      when time.taken <= interval '2880 min' then 9
      when time.taken <= interval '10080 min' then 10
      when time.taken is not null then 11
    end
  from (select case when created_at_source = 'CreatedAt' and completed_at >= created_at then completed_at - created_at end as taken) as time
$$;
comment on function core.evaluation_terms(numeric, int, varchar, timestamptz, varchar, timestamptz) is 'What one evaluation adds to core.agg_evaluation_day: the only definition of its columns. bucket: the number of its ttc_bucket; null when it is not timed.';

create or replace function core.evaluation_days(rooftops int[], days date[]) returns setof core.agg_evaluation_day
language sql stable as $$
  select
    e.rooftop_id, e.completed_date_local, coalesce(e.user_id, 0) as user_id, e.currency_code,
    count(*)::int, sum(t.with_price)::int, sum(t.value)::numeric(24,3), sum(e.photo_count)::int, sum(t.no_photo)::int, sum(t.under_eight)::int,
    sum(t.hero_default)::int, sum(t.hero_missing)::int, sum(t.complete)::int, sum(t.timed)::int,
    (count(*) filter (where t.bucket = 0))::int, (count(*) filter (where t.bucket = 1))::int, (count(*) filter (where t.bucket = 2))::int,
    (count(*) filter (where t.bucket = 3))::int, (count(*) filter (where t.bucket = 4))::int, (count(*) filter (where t.bucket = 5))::int,
    (count(*) filter (where t.bucket = 6))::int, (count(*) filter (where t.bucket = 7))::int, (count(*) filter (where t.bucket = 8))::int,
    (count(*) filter (where t.bucket = 9))::int, (count(*) filter (where t.bucket = 10))::int, (count(*) filter (where t.bucket = 11))::int
  from (select distinct * from unnest(rooftops, days)) as asked (rooftop_id, completed_date_local)
  cross join lateral (
    select * from core.evaluation as day
    where day.rooftop_id = asked.rooftop_id and day.completed_date_local = asked.completed_date_local and day.gone_at is null
    offset 0
  ) as e
  cross join lateral core.evaluation_terms(e.final_price, e.photo_count, e.hero_source, e.created_at, e.created_at_source, e.completed_at) as t
  group by e.rooftop_id, e.completed_date_local, coalesce(e.user_id, 0), e.currency_code
$$;
comment on function core.evaluation_days(int[], date[]) is 'Rows of core.agg_evaluation_day for the given days, calculated from the facts.';

create type core.counted_evaluation as (
  rooftop_id int, completed_date_local date, user_id bigint, currency_code char(3), final_price numeric(15,3), photo_count int,
  hero_source varchar(40), created_at timestamptz, created_at_source varchar(40), completed_at timestamptz
);
comment on type core.counted_evaluation is 'The columns of core.evaluation that core.agg_evaluation_day counts.';

create function core.add_evaluation_days(removed core.counted_evaluation[], added core.counted_evaluation[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with difference as materialized (
    select
      e.rooftop_id, e.completed_date_local, coalesce(e.user_id, 0) as user_id, e.currency_code,
      sum(sign)::int as appraisals, sum(sign * t.with_price)::int as with_price, sum(sign * t.value)::numeric(24,3) as value_sum,
      sum(sign * e.photo_count)::int as photos, sum(sign * t.no_photo)::int as no_photo, sum(sign * t.under_eight)::int as under_eight,
      sum(sign * t.hero_default)::int as hero_default, sum(sign * t.hero_missing)::int as hero_missing, sum(sign * t.complete)::int as complete,
      sum(sign * t.timed)::int as timed,
      coalesce(sum(sign) filter (where t.bucket = 0), 0)::int as ttc_bucket_0, coalesce(sum(sign) filter (where t.bucket = 1), 0)::int as ttc_bucket_1,
      coalesce(sum(sign) filter (where t.bucket = 2), 0)::int as ttc_bucket_2, coalesce(sum(sign) filter (where t.bucket = 3), 0)::int as ttc_bucket_3,
      coalesce(sum(sign) filter (where t.bucket = 4), 0)::int as ttc_bucket_4, coalesce(sum(sign) filter (where t.bucket = 5), 0)::int as ttc_bucket_5,
      coalesce(sum(sign) filter (where t.bucket = 6), 0)::int as ttc_bucket_6, coalesce(sum(sign) filter (where t.bucket = 7), 0)::int as ttc_bucket_7,
      coalesce(sum(sign) filter (where t.bucket = 8), 0)::int as ttc_bucket_8, coalesce(sum(sign) filter (where t.bucket = 9), 0)::int as ttc_bucket_9,
      coalesce(sum(sign) filter (where t.bucket = 10), 0)::int as ttc_bucket_10, coalesce(sum(sign) filter (where t.bucket = 11), 0)::int as ttc_bucket_11
    from (select -1 as sign, * from unnest(removed) union all select 1, * from unnest(added)) as e
    cross join lateral core.evaluation_terms(e.final_price, e.photo_count, e.hero_source, e.created_at, e.created_at_source, e.completed_at) as t
    group by e.rooftop_id, e.completed_date_local, coalesce(e.user_id, 0), e.currency_code
  ), emptied as (
    delete from core.agg_evaluation_day as stored using difference
    where stored.rooftop_id = difference.rooftop_id and stored.completed_date_local = difference.completed_date_local
      and stored.user_id = difference.user_id and stored.currency_code = difference.currency_code
      and stored.appraisals + difference.appraisals = 0
    returning stored.rooftop_id, stored.completed_date_local, stored.user_id, stored.currency_code
  )
  insert into core.agg_evaluation_day as stored
  select * from difference
  where (rooftop_id, completed_date_local, user_id, currency_code) not in (table emptied)
    and (appraisals, with_price, value_sum, photos, no_photo, under_eight, hero_default, hero_missing, complete, timed,
      ttc_bucket_0, ttc_bucket_1, ttc_bucket_2, ttc_bucket_3, ttc_bucket_4, ttc_bucket_5, ttc_bucket_6, ttc_bucket_7, ttc_bucket_8,
      ttc_bucket_9, ttc_bucket_10, ttc_bucket_11) <> (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
  on conflict (rooftop_id, completed_date_local, user_id, currency_code) do update set
    appraisals = stored.appraisals + excluded.appraisals, with_price = stored.with_price + excluded.with_price,
    value_sum = stored.value_sum + excluded.value_sum, photos = stored.photos + excluded.photos, no_photo = stored.no_photo + excluded.no_photo,
    under_eight = stored.under_eight + excluded.under_eight, hero_default = stored.hero_default + excluded.hero_default,
    hero_missing = stored.hero_missing + excluded.hero_missing, complete = stored.complete + excluded.complete, timed = stored.timed + excluded.timed,
    ttc_bucket_0 = stored.ttc_bucket_0 + excluded.ttc_bucket_0, ttc_bucket_1 = stored.ttc_bucket_1 + excluded.ttc_bucket_1,
    ttc_bucket_2 = stored.ttc_bucket_2 + excluded.ttc_bucket_2, ttc_bucket_3 = stored.ttc_bucket_3 + excluded.ttc_bucket_3,
    ttc_bucket_4 = stored.ttc_bucket_4 + excluded.ttc_bucket_4, ttc_bucket_5 = stored.ttc_bucket_5 + excluded.ttc_bucket_5,
    ttc_bucket_6 = stored.ttc_bucket_6 + excluded.ttc_bucket_6, ttc_bucket_7 = stored.ttc_bucket_7 + excluded.ttc_bucket_7,
    ttc_bucket_8 = stored.ttc_bucket_8 + excluded.ttc_bucket_8, ttc_bucket_9 = stored.ttc_bucket_9 + excluded.ttc_bucket_9,
    ttc_bucket_10 = stored.ttc_bucket_10 + excluded.ttc_bucket_10, ttc_bucket_11 = stored.ttc_bucket_11 + excluded.ttc_bucket_11;
end
$$;
comment on function core.add_evaluation_days(core.counted_evaluation[], core.counted_evaluation[]) is 'Adds to core.agg_evaluation_day what was added to the facts, and subtracts what was removed. The caller holds the lock of core.lock_days.';

-- The number of evaluations with a type of reconditioning is not a sum over lines. This table stores what each evaluation added,
-- so the difference is right in whatever order the evaluation and its lines are written.
create table core.agg_recon_evaluation (
  rooftop_id int not null,
  eval_id bigint not null,
  recon_type varchar(120) not null,
  completed_date_local date not null,
  currency_code char(3) not null,
  first_cost numeric(24,3) not null,
  last_cost numeric(24,3) not null,
  primary key (rooftop_id, eval_id, recon_type)
);
comment on table core.agg_recon_evaluation is 'What each evaluation adds to core.agg_recon_day. core.recon_evaluations defines it, triggers keep it current.';
comment on column core.agg_recon_evaluation.recon_type is 'As received; empty: the line has no type';
comment on column core.agg_recon_evaluation.first_cost is 'Cost of the lines in the first observed content, in currency_code';
comment on column core.agg_recon_evaluation.last_cost is 'Cost of the lines in the current content, in currency_code';

create function core.recon_evaluations(rooftops int[], evals bigint[]) returns setof core.agg_recon_evaluation
language sql stable as $$
  select
    e.rooftop_id, e.eval_id, coalesce(i.recon_type, '')::varchar(120), e.completed_date_local, e.currency_code,
    coalesce(sum(i.cost) filter (where i.first_version = 1), 0)::numeric(24,3),
    coalesce(sum(i.cost) filter (where i.last_version is null), 0)::numeric(24,3)
  from (select distinct * from unnest(rooftops, evals)) as asked (rooftop_id, eval_id)
  cross join lateral (
    select * from core.evaluation as one where one.rooftop_id = asked.rooftop_id and one.eval_id = asked.eval_id
    offset 0
  ) as e
  cross join lateral (
    select * from core.reconditioning_item as line
    where line.rooftop_id = e.rooftop_id and line.eval_id = e.eval_id
      and lower(line.recon_type) is distinct from 'info' and (line.first_version = 1 or line.last_version is null)
    offset 0
  ) as i
  where e.gone_at is null and e.completed_date_local is not null
  group by e.rooftop_id, e.eval_id, coalesce(i.recon_type, ''), e.completed_date_local, e.currency_code
$$;
comment on function core.recon_evaluations(int[], bigint[]) is 'Rows of core.agg_recon_evaluation for the given evaluations, calculated from the facts: the only definition of its columns.';

create function core.update_recon_days(rooftops int[], evals bigint[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with before as materialized (
    select one.* from (select distinct * from unnest(rooftops, evals)) as asked (rooftop_id, eval_id)
    cross join lateral (
      select * from core.agg_recon_evaluation as stored where stored.rooftop_id = asked.rooftop_id and stored.eval_id = asked.eval_id
      offset 0
    ) as one
  ), fresh as materialized (
    select * from core.recon_evaluations(rooftops, evals)
  ), removed as (
    delete from core.agg_recon_evaluation as stored using before
    where stored.rooftop_id = before.rooftop_id and stored.eval_id = before.eval_id and stored.recon_type = before.recon_type
      and (before.rooftop_id, before.eval_id, before.recon_type) not in (select rooftop_id, eval_id, recon_type from fresh)
  ), written as (
    insert into core.agg_recon_evaluation as stored
    select * from fresh
    on conflict (rooftop_id, eval_id, recon_type) do update set
      completed_date_local = excluded.completed_date_local, currency_code = excluded.currency_code,
      first_cost = excluded.first_cost, last_cost = excluded.last_cost
    where stored is distinct from excluded
  ), difference as materialized (
    select rooftop_id, completed_date_local, recon_type, currency_code,
      sum(sign * first_cost)::numeric(24,3) as first_cost, sum(sign * last_cost)::numeric(24,3) as last_cost, sum(sign)::int as evaluations
    from (select -1 as sign, * from before union all select 1, * from fresh) as term
    group by rooftop_id, completed_date_local, recon_type, currency_code
  ), emptied as (
    delete from core.agg_recon_day as stored using difference
    where stored.rooftop_id = difference.rooftop_id and stored.completed_date_local = difference.completed_date_local
      and stored.recon_type = difference.recon_type and stored.currency_code = difference.currency_code
      and stored.evaluations + difference.evaluations = 0
    returning stored.rooftop_id, stored.completed_date_local, stored.recon_type, stored.currency_code
  )
  insert into core.agg_recon_day as stored
  select * from difference
  where (rooftop_id, completed_date_local, recon_type, currency_code) not in (table emptied)
    and (first_cost, last_cost, evaluations) <> (0, 0, 0)
  on conflict (rooftop_id, completed_date_local, recon_type, currency_code) do update set
    first_cost = stored.first_cost + excluded.first_cost, last_cost = stored.last_cost + excluded.last_cost,
    evaluations = stored.evaluations + excluded.evaluations;
end
$$;
comment on function core.update_recon_days(int[], bigint[]) is 'Updates core.agg_recon_evaluation for the given evaluations from the facts, and adds the difference to core.agg_recon_day. The caller holds the lock of core.lock_days.';

create or replace function core.refresh_recon_days_trg() returns trigger language plpgsql as $$
declare
  rooftops int[];
  evals bigint[];
begin
  if tg_op = 'INSERT' then
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals
    from (select distinct rooftop_id, eval_id from new_rows) as changed;
  elsif tg_op = 'DELETE' then
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals
    from (select distinct rooftop_id, eval_id from old_rows) as changed;
  else
    select array_agg(rooftop_id), array_agg(eval_id) into rooftops, evals
    from (
      select distinct rooftop_id, eval_id
      from ((table old_rows except table new_rows) union all (table new_rows except table old_rows)) as line
    ) as changed;
  end if;
  if rooftops is null then return null; end if;
  perform core.lock_days(rooftops);
  perform core.update_recon_days(rooftops, evals);
  return null;
end
$$;
comment on function core.refresh_recon_days_trg() is 'After reconditioning lines were written: adds the difference of their evaluations to the days. Lines without an evaluation are counted when the evaluation is loaded.';

insert into core.agg_recon_evaluation
select counted.* from (select array_agg(rooftop_id) as rooftops, array_agg(eval_id) as evals from core.evaluation group by rooftop_id) as one
cross join lateral core.recon_evaluations(one.rooftops, one.evals) as counted;
analyze core.agg_recon_evaluation;

-- Pricing requests the evaluations of a large day in many slices: its sums add differences too.
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
comment on table core.agg_pricing_evaluation is 'What each evaluation adds to core.agg_pricing_day. core.pricing_evaluations defines it, triggers keep it current.';
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
comment on function core.pricing_evaluations(int[], bigint[]) is 'Rows of core.agg_pricing_evaluation for the given evaluations, calculated from the facts: the only definition of its columns.';

create function core.update_pricing_days(rooftops int[], evals bigint[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  touched_rooftops int[];
  touched_days date[];
begin
  with before as materialized (
    select one.* from (select distinct * from unnest(rooftops, evals)) as asked (rooftop_id, eval_id)
    cross join lateral (
      select * from core.agg_pricing_evaluation as stored where stored.rooftop_id = asked.rooftop_id and stored.eval_id = asked.eval_id
      offset 0
    ) as one
  ), fresh as materialized (
    select * from core.pricing_evaluations(rooftops, evals)
  ), removed as (
    delete from core.agg_pricing_evaluation as stored using before
    where stored.rooftop_id = before.rooftop_id and stored.eval_id = before.eval_id
      and (before.rooftop_id, before.eval_id) not in (select rooftop_id, eval_id from fresh)
  ), written as (
    insert into core.agg_pricing_evaluation as stored
    select * from fresh
    on conflict (rooftop_id, eval_id) do update set
      completed_date_local = excluded.completed_date_local, priced = excluded.priced, cannot_be_priced = excluded.cannot_be_priced,
      failed = excluded.failed, confirmed_days = excluded.confirmed_days, confirmed_at = excluded.confirmed_at
    where stored is distinct from excluded
  ), difference as materialized (
    select rooftop_id, completed_date_local, sum(sign)::int as known, sum(sign * priced)::int as priced,
      sum(sign * cannot_be_priced)::int as cannot_be_priced, sum(sign * failed)::int as failed,
      sum(sign * confirmed_days)::bigint as confirmed_days
    from (select -1 as sign, * from before union all select 1, * from fresh) as term
    group by rooftop_id, completed_date_local
  ), emptied as (
    delete from core.agg_pricing_day as stored using difference
    where stored.rooftop_id = difference.rooftop_id and stored.completed_date_local = difference.completed_date_local
      and stored.known + difference.known = 0
    returning stored.rooftop_id, stored.completed_date_local
  ), added as (
    insert into core.agg_pricing_day as stored
      (rooftop_id, completed_date_local, known, priced, cannot_be_priced, failed, confirmed_days)
    select * from difference
    where (rooftop_id, completed_date_local) not in (table emptied)
      and (known, priced, cannot_be_priced, failed, confirmed_days) <> (0, 0, 0, 0, 0)
    on conflict (rooftop_id, completed_date_local) do update set
      known = stored.known + excluded.known, priced = stored.priced + excluded.priced,
      cannot_be_priced = stored.cannot_be_priced + excluded.cannot_be_priced, failed = stored.failed + excluded.failed,
      confirmed_days = stored.confirmed_days + excluded.confirmed_days
  )
  select array_agg(rooftop_id), array_agg(completed_date_local) into touched_rooftops, touched_days from difference;
  -- The earliest of the current rows: only a later statement sees them.
  update core.agg_pricing_day as stored set oldest_confirmed_at = now_least.confirmed_at
  from unnest(touched_rooftops, touched_days) as touched (rooftop_id, completed_date_local)
  left join lateral (
    select one.confirmed_at from core.agg_pricing_evaluation as one
    where one.rooftop_id = touched.rooftop_id and one.completed_date_local = touched.completed_date_local and one.confirmed_at is not null
    order by one.confirmed_at
    limit 1
  ) as now_least on true
  where stored.rooftop_id = touched.rooftop_id and stored.completed_date_local = touched.completed_date_local
    and stored.oldest_confirmed_at is distinct from now_least.confirmed_at;
end
$$;
comment on function core.update_pricing_days(int[], bigint[]) is 'Updates core.agg_pricing_evaluation for the given evaluations from the facts, and adds the difference to core.agg_pricing_day. The caller holds the lock of core.lock_days.';

create or replace function core.refresh_evaluation_days_trg() returns trigger
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
    select from core.agg_recon_evaluation as stored where stored.rooftop_id = touched.rooftop_id and stored.eval_id = touched.eval_id offset 0
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
    select from core.agg_pricing_evaluation as stored where stored.rooftop_id = touched.rooftop_id and stored.eval_id = touched.eval_id offset 0
  )
  having count(*) > 0;
  return null;
end
$$;
comment on function core.refresh_evaluation_days_trg() is 'After evaluations were written: adds the difference of the evaluations whose counted columns changed to their days.';

create or replace function core.refresh_priced_days_trg() returns trigger language plpgsql as $$
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
comment on function core.refresh_priced_days_trg() is 'After price observations were written: adds the difference of the evaluations whose current price was added, removed or confirmed.';

create or replace function core.refresh_asked_days_trg() returns trigger language plpgsql as $$
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
comment on function core.refresh_asked_days_trg() is 'After enrichment states were written: adds the difference of the evaluations whose pricing outcome changed.';

create or replace function core.truncate_days_trg() returns trigger language plpgsql as $$
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

-- No longer used.
drop function core.days_of(int[], bigint[]);

insert into core.agg_pricing_evaluation
select counted.* from (select array_agg(rooftop_id) as rooftops, array_agg(eval_id) as evals from core.evaluation group by rooftop_id) as one
cross join lateral core.pricing_evaluations(one.rooftops, one.evals) as counted;
analyze core.agg_pricing_evaluation;

create or replace function core.agg_rebuild(only_rooftop int) returns void language plpgsql as $$
begin
  perform core.lock_days(array[only_rooftop]);
  -- Before the days are recalculated, because these add their differences to the days.
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
  union all
  select distinct 'agg_recon_evaluation'::varchar(40), rooftop_id, coalesce(stored.completed_date_local, fresh.completed_date_local)
  from (select * from core.agg_recon_evaluation as a where only_rooftop is null or a.rooftop_id = only_rooftop) as stored
  full join (
    select counted.*
    from (
      select array_agg(e.rooftop_id) as rooftops, array_agg(e.eval_id) as evals
      from core.evaluation as e where only_rooftop is null or e.rooftop_id = only_rooftop
    ) as one
    cross join lateral core.recon_evaluations(one.rooftops, one.evals) as counted
  ) as fresh using (rooftop_id, eval_id, recon_type)
  where stored is distinct from fresh
  union all
  select distinct 'agg_pricing_evaluation'::varchar(40), rooftop_id, coalesce(stored.completed_date_local, fresh.completed_date_local)
  from (select * from core.agg_pricing_evaluation as a where only_rooftop is null or a.rooftop_id = only_rooftop) as stored
  full join (
    select counted.*
    from (
      select array_agg(e.rooftop_id) as rooftops, array_agg(e.eval_id) as evals
      from core.evaluation as e where only_rooftop is null or e.rooftop_id = only_rooftop
    ) as one
    cross join lateral core.pricing_evaluations(one.rooftops, one.evals) as counted
  ) as fresh using (rooftop_id, eval_id)
  where stored is distinct from fresh
$$;
