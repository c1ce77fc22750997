-- Sums by rooftop and local day, which the reports read. Triggers keep them exact whatever changes the facts: a load, a replay, a
-- move to another rooftop, a gone mark, an erasure, or a manual statement.
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
comment on table core.agg_evaluation_day is 'Number of evaluations that the source still shows, by rooftop, local day of completion, salesperson and currency. core.evaluation_days defines it, triggers keep it current. There is no row with a count of 0.';
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
  first_cost numeric(24,3) not null,
  last_cost numeric(24,3) not null,
  evaluations int not null,
  primary key (rooftop_id, completed_date_local, recon_type, currency_code)
);
comment on table core.agg_recon_day is 'Reconditioning of evaluations that the source still shows, by rooftop, local day of completion, type and currency. core.recon_days defines it, triggers keep it current. Lines of type info are no cost and are not counted.';
comment on column core.agg_recon_day.recon_type is 'As received; empty: the line has no type';
comment on column core.agg_recon_day.first_cost is 'Cost of the lines in the first observed content, in currency_code';
comment on column core.agg_recon_day.last_cost is 'Cost of the lines in the current content, in currency_code';
comment on column core.agg_recon_day.evaluations is 'Evaluations with such a line in the first or the current content';

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
comment on table core.agg_pricing_day is 'Pricing AI results for the evaluations that the source still shows, by rooftop and local day of completion. core.pricing_days defines it, triggers keep it current. There is no row for a day on which no evaluation was requested or priced.';
comment on column core.agg_pricing_day.known is 'Evaluations whose price was requested or is known; for the others of the day no price was ever requested';
comment on column core.agg_pricing_day.priced is 'Evaluations with a current price observation';
comment on column core.agg_pricing_day.cannot_be_priced is 'Evaluations without a current observation whose last request was skipped or rejected';
comment on column core.agg_pricing_day.failed is 'Evaluations without a current observation whose last request failed';
comment on column core.agg_pricing_day.confirmed_days is 'Sum over the priced evaluations of the days from 2000-01-01 to the local day of last_confirmed_at';
comment on column core.agg_pricing_day.oldest_confirmed_at is 'Earliest last_confirmed_at of the priced evaluations';

-- The functions read by index, from the days to their evaluations to their lines. In a first load the planner has no statistics,
-- and a session reuses the plans that it made when the tables were empty. So `offset 0` fixes the join order, and the settings of
-- the functions fix the join methods.
create function core.evaluation_days(rooftops int[], days date[]) returns setof core.agg_evaluation_day
language sql stable as $$
  select
    e.rooftop_id, e.completed_date_local, coalesce(e.user_id, 0) as user_id, e.currency_code,
    count(*)::int as appraisals,
    count(e.final_price)::int as with_price,
    coalesce(sum(e.final_price), 0)::numeric(24,3) as value_sum,
    sum(e.photo_count)::int as photos,
    count(*) filter (where e.photo_count = 0)::int as no_photo,
    count(*) filter (where e.photo_count between 1 and 7)::int as under_eight,
    count(*) filter (where e.photo_count > 0 and e.hero_source = 'default')::int as hero_default,
    count(*) filter (where e.photo_count > 0 and e.hero_source is null)::int as hero_missing,
    count(*) filter (where e.photo_count >= 8 and e.hero_source <> 'default')::int as complete,
    count(time.taken)::int as timed,
    count(*) filter (where time.taken <= interval '5 min')::int as ttc_bucket_0,
    (count(*) filter (where time.taken <= interval '10 min') - count(*) filter (where time.taken <= interval '5 min'))::int as ttc_bucket_1,
    (count(*) filter (where time.taken <= interval '15 min') - count(*) filter (where time.taken <= interval '10 min'))::int as ttc_bucket_2,
    (count(*) filter (where time.taken <= interval '30 min') - count(*) filter (where time.taken <= interval '15 min'))::int as ttc_bucket_3,
    (count(*) filter (where time.taken <= interval '60 min') - count(*) filter (where time.taken <= interval '30 min'))::int as ttc_bucket_4,
    (count(*) filter (where time.taken <= interval '120 min') - count(*) filter (where time.taken <= interval '60 min'))::int as ttc_bucket_5,
    (count(*) filter (where time.taken <= interval '240 min') - count(*) filter (where time.taken <= interval '120 min'))::int as ttc_bucket_6,
    (count(*) filter (where time.taken <= interval '480 min') - count(*) filter (where time.taken <= interval '240 min'))::int as ttc_bucket_7,
    (count(*) filter (where time.taken <= interval '1440 min') - count(*) filter (where time.taken <= interval '480 min'))::int as ttc_bucket_8,
    (count(*) filter (where time.taken <= interval '2880 min') - count(*) filter (where time.taken <= interval '1440 min'))::int as ttc_bucket_9,
    (count(*) filter (where time.taken <= interval '10080 min') - count(*) filter (where time.taken <= interval '2880 min'))::int as ttc_bucket_10,
    (count(time.taken) - count(*) filter (where time.taken <= interval '10080 min'))::int as ttc_bucket_11
  from (select distinct * from unnest(rooftops, days)) as asked (rooftop_id, completed_date_local)
  cross join lateral (
    select * from core.evaluation as day
    where day.rooftop_id = asked.rooftop_id and day.completed_date_local = asked.completed_date_local and day.gone_at is null
    offset 0
  ) as e
  cross join lateral (
    select case when e.created_at_source = 'CreatedAt' and e.completed_at >= e.created_at then e.completed_at - e.created_at end as taken
  ) as time
  group by e.rooftop_id, e.completed_date_local, coalesce(e.user_id, 0), e.currency_code
$$;
comment on function core.evaluation_days(int[], date[]) is 'Rows of core.agg_evaluation_day for the given days, calculated from the facts: the only definition of its columns.';

create function core.recon_days(rooftops int[], days date[]) returns setof core.agg_recon_day
language sql stable as $$
  select
    e.rooftop_id, e.completed_date_local, coalesce(i.recon_type, '')::varchar(120) as recon_type, e.currency_code,
    coalesce(sum(i.cost) filter (where i.first_version = 1), 0)::numeric(24,3) as first_cost,
    coalesce(sum(i.cost) filter (where i.last_version is null), 0)::numeric(24,3) as last_cost,
    count(distinct i.eval_id)::int as evaluations
  from (select distinct * from unnest(rooftops, days)) as asked (rooftop_id, completed_date_local)
  cross join lateral (
    select * from core.evaluation as day
    where day.rooftop_id = asked.rooftop_id and day.completed_date_local = asked.completed_date_local and day.gone_at is null
    offset 0
  ) as e
  cross join lateral (
    select * from core.reconditioning_item as line
    where line.rooftop_id = e.rooftop_id and line.eval_id = e.eval_id
      and lower(line.recon_type) is distinct from 'info' and (line.first_version = 1 or line.last_version is null)
    offset 0
  ) as i
  group by e.rooftop_id, e.completed_date_local, coalesce(i.recon_type, ''), e.currency_code
$$;
comment on function core.recon_days(int[], date[]) is 'Rows of core.agg_recon_day for the given days, calculated from the facts: the only definition of its columns.';

create function core.pricing_days(rooftops int[], days date[]) returns setof core.agg_pricing_day
language sql stable as $$
  select
    e.rooftop_id, e.completed_date_local,
    count(*)::int as known,
    count(p.eval_id)::int as priced,
    count(*) filter (where p.eval_id is null and s.outcome in ('skipped', 'rejected'))::int as cannot_be_priced,
    count(*) filter (where p.eval_id is null and s.outcome = 'failed')::int as failed,
    coalesce(sum((p.last_confirmed_at at time zone coalesce(r.time_zone, 'UTC'))::date - date '2000-01-01'), 0)::bigint as confirmed_days,
    min(p.last_confirmed_at) as oldest_confirmed_at
  from (select distinct * from unnest(rooftops, days)) as asked (rooftop_id, completed_date_local)
  left join lateral (select time_zone from core.rooftop as own where own.rooftop_id = asked.rooftop_id offset 0) as r on true
  cross join lateral (
    select * from core.evaluation as day
    where day.rooftop_id = asked.rooftop_id and day.completed_date_local = asked.completed_date_local and day.gone_at is null
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
  where p.eval_id is not null or s.eval_id is not null
  group by e.rooftop_id, e.completed_date_local
$$;
comment on function core.pricing_days(int[], date[]) is 'Rows of core.agg_pricing_day for the given days, calculated from the facts: the only definition of its columns.';

create function core.refresh_evaluation_days(rooftops int[], days date[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with fresh as materialized (
    select * from core.evaluation_days(rooftops, days)
  ), emptied as (
    delete from core.agg_evaluation_day as stored using (select distinct * from unnest(rooftops, days)) as asked (rooftop_id, completed_date_local)
    where stored.rooftop_id = asked.rooftop_id and stored.completed_date_local = asked.completed_date_local
      and (stored.rooftop_id, stored.completed_date_local, stored.user_id, stored.currency_code)
        not in (select fresh.rooftop_id, fresh.completed_date_local, fresh.user_id, fresh.currency_code from fresh)
  ), changed as (
    update core.agg_evaluation_day as stored set
      appraisals = fresh.appraisals, with_price = fresh.with_price, value_sum = fresh.value_sum, photos = fresh.photos,
      no_photo = fresh.no_photo, under_eight = fresh.under_eight, hero_default = fresh.hero_default,
      hero_missing = fresh.hero_missing, complete = fresh.complete, timed = fresh.timed,
      ttc_bucket_0 = fresh.ttc_bucket_0, ttc_bucket_1 = fresh.ttc_bucket_1, ttc_bucket_2 = fresh.ttc_bucket_2,
      ttc_bucket_3 = fresh.ttc_bucket_3, ttc_bucket_4 = fresh.ttc_bucket_4, ttc_bucket_5 = fresh.ttc_bucket_5,
      ttc_bucket_6 = fresh.ttc_bucket_6, ttc_bucket_7 = fresh.ttc_bucket_7, ttc_bucket_8 = fresh.ttc_bucket_8,
      ttc_bucket_9 = fresh.ttc_bucket_9, ttc_bucket_10 = fresh.ttc_bucket_10, ttc_bucket_11 = fresh.ttc_bucket_11
    from fresh
    where stored.rooftop_id = fresh.rooftop_id and stored.completed_date_local = fresh.completed_date_local
      and stored.user_id = fresh.user_id and stored.currency_code = fresh.currency_code and stored is distinct from fresh
  )
  insert into core.agg_evaluation_day
  select fresh.* from fresh
  where not exists (
    select from core.agg_evaluation_day as stored
    where stored.rooftop_id = fresh.rooftop_id and stored.completed_date_local = fresh.completed_date_local
      and stored.user_id = fresh.user_id and stored.currency_code = fresh.currency_code
  );
end
$$;
comment on function core.refresh_evaluation_days(int[], date[]) is 'Updates core.agg_evaluation_day for the given days from the facts; writes only rows that differ. The caller holds the lock of core.lock_days.';

create function core.refresh_recon_days(rooftops int[], days date[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with fresh as materialized (
    select * from core.recon_days(rooftops, days)
  ), emptied as (
    delete from core.agg_recon_day as stored using (select distinct * from unnest(rooftops, days)) as asked (rooftop_id, completed_date_local)
    where stored.rooftop_id = asked.rooftop_id and stored.completed_date_local = asked.completed_date_local
      and (stored.rooftop_id, stored.completed_date_local, stored.recon_type, stored.currency_code)
        not in (select fresh.rooftop_id, fresh.completed_date_local, fresh.recon_type, fresh.currency_code from fresh)
  ), changed as (
    update core.agg_recon_day as stored set
      first_cost = fresh.first_cost, last_cost = fresh.last_cost, evaluations = fresh.evaluations
    from fresh
    where stored.rooftop_id = fresh.rooftop_id and stored.completed_date_local = fresh.completed_date_local
      and stored.recon_type = fresh.recon_type and stored.currency_code = fresh.currency_code and stored is distinct from fresh
  )
  insert into core.agg_recon_day
  select fresh.* from fresh
  where not exists (
    select from core.agg_recon_day as stored
    where stored.rooftop_id = fresh.rooftop_id and stored.completed_date_local = fresh.completed_date_local
      and stored.recon_type = fresh.recon_type and stored.currency_code = fresh.currency_code
  );
end
$$;
comment on function core.refresh_recon_days(int[], date[]) is 'Updates core.agg_recon_day for the given days from the facts; writes only rows that differ. The caller holds the lock of core.lock_days.';

create function core.refresh_pricing_days(rooftops int[], days date[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with fresh as materialized (
    select * from core.pricing_days(rooftops, days)
  ), emptied as (
    delete from core.agg_pricing_day as stored using (select distinct * from unnest(rooftops, days)) as asked (rooftop_id, completed_date_local)
    where stored.rooftop_id = asked.rooftop_id and stored.completed_date_local = asked.completed_date_local
      and (stored.rooftop_id, stored.completed_date_local) not in (select fresh.rooftop_id, fresh.completed_date_local from fresh)
  ), changed as (
    update core.agg_pricing_day as stored set
      known = fresh.known, priced = fresh.priced, cannot_be_priced = fresh.cannot_be_priced, failed = fresh.failed,
      confirmed_days = fresh.confirmed_days, oldest_confirmed_at = fresh.oldest_confirmed_at
    from fresh
    where stored.rooftop_id = fresh.rooftop_id and stored.completed_date_local = fresh.completed_date_local and stored is distinct from fresh
  )
  insert into core.agg_pricing_day
  select fresh.* from fresh
  where not exists (
    select from core.agg_pricing_day as stored
    where stored.rooftop_id = fresh.rooftop_id and stored.completed_date_local = fresh.completed_date_local
  );
end
$$;
comment on function core.refresh_pricing_days(int[], date[]) is 'Updates core.agg_pricing_day for the given days from the facts; writes only rows that differ. The caller holds the lock of core.lock_days.';

create function core.lock_days(rooftops int[]) returns void language plpgsql as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'Evaluations, reconditioning and prices must be written under read committed, but this transaction is %',
        current_setting('transaction_isolation')
      using errcode = 'active_sql_transaction', hint = 'The sums by day could miss rows that other transactions have committed since this one began: begin isolation level read committed.';
  end if;
  perform pg_advisory_xact_lock(7381, rooftop_id) from (select distinct unnest(rooftops) as rooftop_id order by 1) as ordered;
end
$$;
comment on function core.lock_days(int[]) is 'Locks the counted facts of these rooftops until the end of the transaction. A transaction that waited calculates in a later statement, which sees the rows committed meanwhile; an isolation level that would not see them is refused.';

create function core.refresh_evaluation_days_trg() returns trigger
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  rooftops int[];
  evals bigint[];
  days date[];
begin
  if tg_op = 'INSERT' then
    select array_agg(rooftop_id), array_agg(eval_id), array_agg(completed_date_local) into rooftops, evals, days
    from new_rows where gone_at is null and completed_date_local is not null;
  elsif tg_op = 'DELETE' then
    select array_agg(rooftop_id), array_agg(eval_id), array_agg(completed_date_local) into rooftops, evals, days
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
    )
    select array_agg(rooftop_id), array_agg(eval_id), array_agg(completed_date_local) into rooftops, evals, days
    from (
      (table counted_before except table counted_now) union all (table counted_now except table counted_before)
    ) as changed;
  end if;
  if rooftops is null then return null; end if;
  perform core.lock_days(rooftops);
  perform core.refresh_evaluation_days(rooftops, days);
  perform core.refresh_recon_days(array_agg(rooftop_id), array_agg(completed_date_local))
  from unnest(rooftops, evals, days) as touched (rooftop_id, eval_id, completed_date_local)
  where exists (
    select from core.reconditioning_item as item where item.rooftop_id = touched.rooftop_id and item.eval_id = touched.eval_id offset 0
  )
  having count(*) > 0;
  perform core.refresh_pricing_days(array_agg(rooftop_id), array_agg(completed_date_local))
  from unnest(rooftops, evals, days) as touched (rooftop_id, eval_id, completed_date_local)
  where exists (
    select from ops.enrichment_state as state
    where state.rooftop_id = touched.rooftop_id and state.stream = 'pricing' and state.eval_id = touched.eval_id offset 0
  ) or exists (
    select from core.price_observation as price where price.rooftop_id = touched.rooftop_id and price.eval_id = touched.eval_id offset 0
  )
  having count(*) > 0;
  return null;
end
$$;
comment on function core.refresh_evaluation_days_trg() is 'After evaluations were written: recalculates the days of the evaluations whose counted columns changed, under their old and their new key.';

create function core.days_of(rooftops int[], evals bigint[], out days_rooftops int[], out days date[])
language plpgsql set enable_seqscan = off as $$
begin
  select array_agg(e.rooftop_id), array_agg(e.completed_date_local) into days_rooftops, days
  from (
    select rooftop_id, array_agg(eval_id) as evals from unnest(rooftops, evals) as one (rooftop_id, eval_id) group by rooftop_id
  ) as touched
  cross join lateral (
    select * from core.evaluation as one
    where one.rooftop_id = touched.rooftop_id and one.eval_id = any(touched.evals)
    offset 0
  ) as e
  where e.gone_at is null and e.completed_date_local is not null;
end
$$;
comment on function core.days_of(int[], bigint[]) is 'The days of the given evaluations that are counted. Call it under the lock of core.lock_days: another transaction may be about to add one of them.';

create function core.refresh_recon_days_trg() returns trigger language plpgsql as $$
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
  perform core.refresh_recon_days(days_rooftops, days) from core.days_of(rooftops, evals) where days is not null;
  return null;
end
$$;
comment on function core.refresh_recon_days_trg() is 'After reconditioning lines were written: recalculates the days of their evaluations. Lines without an evaluation are counted when the evaluation is loaded.';

create function core.refresh_priced_days_trg() returns trigger language plpgsql as $$
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
  perform core.refresh_pricing_days(days_rooftops, days) from core.days_of(rooftops, evals) where days is not null;
  return null;
end
$$;
comment on function core.refresh_priced_days_trg() is 'After price observations were written: recalculates the days of the evaluations whose current price was added, removed or confirmed.';

create function core.refresh_asked_days_trg() returns trigger language plpgsql as $$
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
  perform core.refresh_pricing_days(days_rooftops, days) from core.days_of(rooftops, evals) where days is not null;
  return null;
end
$$;
comment on function core.refresh_asked_days_trg() is 'After enrichment states were written: recalculates the days of the evaluations whose pricing outcome changed.';

create function core.refresh_local_days_trg() returns trigger language plpgsql as $$
begin
  perform core.lock_days(array[new.rooftop_id]);
  perform core.refresh_pricing_days(array_agg(day.rooftop_id), array_agg(day.completed_date_local))
  from core.agg_pricing_day as day where day.rooftop_id = new.rooftop_id;
  return null;
end
$$;
comment on function core.refresh_local_days_trg() is 'After the time zone of a rooftop changed: the local days on which its prices were confirmed change too.';

create function core.truncate_days_trg() returns trigger language plpgsql as $$
begin
  if tg_table_name in ('evaluation', 'reconditioning_item') then delete from core.agg_recon_day; end if;
  if tg_table_name = 'evaluation' then delete from core.agg_evaluation_day; end if;
  perform core.refresh_pricing_days(array_agg(rooftop_id), array_agg(completed_date_local)) from core.agg_pricing_day;
  return null;
end
$$;
comment on function core.truncate_days_trg() is 'After a truncate: deletes the sums of the emptied table.';

create trigger a30_day_ins after insert on core.evaluation
  referencing new table as new_rows for each statement execute function core.refresh_evaluation_days_trg();
create trigger a30_day_upd after update on core.evaluation
  referencing old table as old_rows new table as new_rows for each statement execute function core.refresh_evaluation_days_trg();
create trigger a30_day_del after delete on core.evaluation
  referencing old table as old_rows for each statement execute function core.refresh_evaluation_days_trg();
create trigger a30_day_trunc after truncate on core.evaluation for each statement execute function core.truncate_days_trg();
create trigger a30_day_ins after insert on core.reconditioning_item
  referencing new table as new_rows for each statement execute function core.refresh_recon_days_trg();
create trigger a30_day_upd after update on core.reconditioning_item
  referencing old table as old_rows new table as new_rows for each statement execute function core.refresh_recon_days_trg();
create trigger a30_day_del after delete on core.reconditioning_item
  referencing old table as old_rows for each statement execute function core.refresh_recon_days_trg();
create trigger a30_day_trunc after truncate on core.reconditioning_item for each statement execute function core.truncate_days_trg();
create trigger a30_day_ins after insert on core.price_observation
  referencing new table as new_rows for each statement execute function core.refresh_priced_days_trg();
create trigger a30_day_upd after update on core.price_observation
  referencing old table as old_rows new table as new_rows for each statement execute function core.refresh_priced_days_trg();
create trigger a30_day_del after delete on core.price_observation
  referencing old table as old_rows for each statement execute function core.refresh_priced_days_trg();
create trigger a30_day_trunc after truncate on core.price_observation for each statement execute function core.truncate_days_trg();
create trigger a30_day_ins after insert on ops.enrichment_state
  referencing new table as new_rows for each statement execute function core.refresh_asked_days_trg();
create trigger a30_day_upd after update on ops.enrichment_state
  referencing old table as old_rows new table as new_rows for each statement execute function core.refresh_asked_days_trg();
create trigger a30_day_del after delete on ops.enrichment_state
  referencing old table as old_rows for each statement execute function core.refresh_asked_days_trg();
create trigger a30_day_trunc after truncate on ops.enrichment_state for each statement execute function core.truncate_days_trg();
create trigger a30_local_days_upd after update on core.rooftop
  for each row when (old.time_zone is distinct from new.time_zone) execute function core.refresh_local_days_trg();

select core.refresh_evaluation_days(rooftops, days), core.refresh_recon_days(rooftops, days), core.refresh_pricing_days(rooftops, days)
from (
  select array_agg(rooftop_id) as rooftops, array_agg(completed_date_local) as days
  from (select distinct rooftop_id, completed_date_local from core.evaluation where completed_date_local is not null) as day
) as every;

create function core.agg_differences(only_rooftop int default null)
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
$$;
comment on function core.agg_differences(int) is 'Days whose stored sums differ from the facts, of one rooftop or of all. Any row is a defect; core.refresh_evaluation_days, core.refresh_recon_days and core.refresh_pricing_days repair it.';

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

-- Without these statistics the planner expects few VINs of 17 characters and reads all evaluations for every vehicle.
create statistics core.evaluation_vin_length on (length(vin::text)) from core.evaluation;
-- The same for the number of rows of a month. (For core.evaluation the index below has it.)
create statistics core.agg_evaluation_month on (date_trunc('month', completed_date_local::timestamp)::date) from core.agg_evaluation_day;
create statistics core.agg_recon_month on (date_trunc('month', completed_date_local::timestamp)::date) from core.agg_recon_day;
create statistics core.agg_pricing_month on (date_trunc('month', completed_date_local::timestamp)::date) from core.agg_pricing_day;

-- Filters of the reports on single evaluations: a rooftop and a month, earlier prices, lines of type info, edits.
create index evaluation_month on core.evaluation (rooftop_id, (date_trunc('month', completed_date_local::timestamp)::date));
create index price_observation_superseded on core.price_observation (rooftop_id, eval_id, observed_at) where not is_current;
create index reconditioning_item_info on core.reconditioning_item (rooftop_id, eval_id) where last_version is null and lower(recon_type) = 'info';
create index evaluation_version_edits on core.evaluation_version (rooftop_id, eval_id, version_no) where version_no > 1;
create index window_certificate_unsettled on ops.window_certificate (rooftop_id, stream) where not settled;
