-- Sums by rooftop and local day, on which the reports stand. Triggers keep them exact whatever writes the facts: a load, a
-- replay, a move to another rooftop, a gone mark, an erasure, or a statement by hand.
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
comment on table core.agg_evaluation_day is 'Evaluations that the source still shows, counted by rooftop, local day of completion, salesperson and currency: what core.evaluation_days counts, kept by triggers. A row that would count none is not there.';
comment on column core.agg_evaluation_day.user_id is '0: the evaluation names no salesperson';
comment on column core.agg_evaluation_day.with_price is 'With a final_price, 0 included; value_sum is their sum in currency_code';
comment on column core.agg_evaluation_day.photos is 'Sum of photo_count';
comment on column core.agg_evaluation_day.under_eight is '1 to 7 photos';
comment on column core.agg_evaluation_day.hero_default is 'Photos, and a hero that nobody chose (hero_source = default)';
comment on column core.agg_evaluation_day.hero_missing is 'Photos without a hero, which the document rules out [A §5]';
comment on column core.agg_evaluation_day.complete is '8 photos or more, and a hero that somebody chose';
comment on column core.agg_evaluation_day.timed is 'With an exact creation (CreatedAt) that is not after the completion';
comment on column core.agg_evaluation_day.ttc_bucket_0 is 'Timed ones by minutes from creation to completion: up to 5. The next up to 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 10080 (each bound included), the last all others';

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
comment on table core.agg_recon_day is 'Reconditioning of evaluations that the source still shows, by rooftop, local day of completion, type and currency: what core.recon_days counts, kept by triggers. Lines of type info are no cost and left out.';
comment on column core.agg_recon_day.recon_type is 'As sent; empty: the line has none';
comment on column core.agg_recon_day.first_cost is 'Lines of the first content that was seen, in currency_code';
comment on column core.agg_recon_day.last_cost is 'Lines of the present content, in currency_code';
comment on column core.agg_recon_day.evaluations is 'With such a line in the first or the present content';

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
comment on table core.agg_pricing_day is 'How far the evaluations that the source still shows are priced by the pricing AI, by rooftop and local day of completion: what core.pricing_days counts, kept by triggers. A day of which nothing was asked or priced is not there.';
comment on column core.agg_pricing_day.known is 'Asked about or priced; the other evaluations of the day were never asked about';
comment on column core.agg_pricing_day.priced is 'With a current observation';
comment on column core.agg_pricing_day.cannot_be_priced is 'Without one; the last asking was skipped or rejected';
comment on column core.agg_pricing_day.failed is 'Without one; the last asking failed';
comment on column core.agg_pricing_day.confirmed_days is 'Sum over the priced ones: days from 2000-01-01 to the local day of last_confirmed_at';
comment on column core.agg_pricing_day.oldest_confirmed_at is 'Least last_confirmed_at of the priced ones';

-- Whatever is counted is found by index, from the days to their evaluations to their lines: a first load has no statistics to
-- plan by, and a session keeps the plans that it made when the tables were empty. offset 0 fixes that order, and the settings of
-- the functions the way of each step.
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
comment on function core.evaluation_days(int[], date[]) is 'core.agg_evaluation_day of the given days, counted from the facts: the one definition of its columns.';

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
comment on function core.recon_days(int[], date[]) is 'core.agg_recon_day of the given days, counted from the facts: the one definition of its columns.';

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
comment on function core.pricing_days(int[], date[]) is 'core.agg_pricing_day of the given days, counted from the facts: the one definition of its columns.';

create function core.refresh_evaluation_days(rooftops int[], days date[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with fresh as materialized (
    select * from core.evaluation_days(rooftops, days)
  ), emptied as (
    delete from core.agg_evaluation_day as kept using (select distinct * from unnest(rooftops, days)) as asked (rooftop_id, completed_date_local)
    where kept.rooftop_id = asked.rooftop_id and kept.completed_date_local = asked.completed_date_local
      and (kept.rooftop_id, kept.completed_date_local, kept.user_id, kept.currency_code)
        not in (select fresh.rooftop_id, fresh.completed_date_local, fresh.user_id, fresh.currency_code from fresh)
  ), changed as (
    update core.agg_evaluation_day as kept set
      appraisals = fresh.appraisals, with_price = fresh.with_price, value_sum = fresh.value_sum, photos = fresh.photos,
      no_photo = fresh.no_photo, under_eight = fresh.under_eight, hero_default = fresh.hero_default,
      hero_missing = fresh.hero_missing, complete = fresh.complete, timed = fresh.timed,
      ttc_bucket_0 = fresh.ttc_bucket_0, ttc_bucket_1 = fresh.ttc_bucket_1, ttc_bucket_2 = fresh.ttc_bucket_2,
      ttc_bucket_3 = fresh.ttc_bucket_3, ttc_bucket_4 = fresh.ttc_bucket_4, ttc_bucket_5 = fresh.ttc_bucket_5,
      ttc_bucket_6 = fresh.ttc_bucket_6, ttc_bucket_7 = fresh.ttc_bucket_7, ttc_bucket_8 = fresh.ttc_bucket_8,
      ttc_bucket_9 = fresh.ttc_bucket_9, ttc_bucket_10 = fresh.ttc_bucket_10, ttc_bucket_11 = fresh.ttc_bucket_11
    from fresh
    where kept.rooftop_id = fresh.rooftop_id and kept.completed_date_local = fresh.completed_date_local
      and kept.user_id = fresh.user_id and kept.currency_code = fresh.currency_code and kept is distinct from fresh
  )
  insert into core.agg_evaluation_day
  select fresh.* from fresh
  where not exists (
    select from core.agg_evaluation_day as kept
    where kept.rooftop_id = fresh.rooftop_id and kept.completed_date_local = fresh.completed_date_local
      and kept.user_id = fresh.user_id and kept.currency_code = fresh.currency_code
  );
end
$$;
comment on function core.refresh_evaluation_days(int[], date[]) is 'Brings core.agg_evaluation_day of the given days to what the facts say; writes only rows that differ. The caller holds the lock of core.lock_days.';

create function core.refresh_recon_days(rooftops int[], days date[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with fresh as materialized (
    select * from core.recon_days(rooftops, days)
  ), emptied as (
    delete from core.agg_recon_day as kept using (select distinct * from unnest(rooftops, days)) as asked (rooftop_id, completed_date_local)
    where kept.rooftop_id = asked.rooftop_id and kept.completed_date_local = asked.completed_date_local
      and (kept.rooftop_id, kept.completed_date_local, kept.recon_type, kept.currency_code)
        not in (select fresh.rooftop_id, fresh.completed_date_local, fresh.recon_type, fresh.currency_code from fresh)
  ), changed as (
    update core.agg_recon_day as kept set
      first_cost = fresh.first_cost, last_cost = fresh.last_cost, evaluations = fresh.evaluations
    from fresh
    where kept.rooftop_id = fresh.rooftop_id and kept.completed_date_local = fresh.completed_date_local
      and kept.recon_type = fresh.recon_type and kept.currency_code = fresh.currency_code and kept is distinct from fresh
  )
  insert into core.agg_recon_day
  select fresh.* from fresh
  where not exists (
    select from core.agg_recon_day as kept
    where kept.rooftop_id = fresh.rooftop_id and kept.completed_date_local = fresh.completed_date_local
      and kept.recon_type = fresh.recon_type and kept.currency_code = fresh.currency_code
  );
end
$$;
comment on function core.refresh_recon_days(int[], date[]) is 'Brings core.agg_recon_day of the given days to what the facts say; writes only rows that differ. The caller holds the lock of core.lock_days.';

create function core.refresh_pricing_days(rooftops int[], days date[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with fresh as materialized (
    select * from core.pricing_days(rooftops, days)
  ), emptied as (
    delete from core.agg_pricing_day as kept using (select distinct * from unnest(rooftops, days)) as asked (rooftop_id, completed_date_local)
    where kept.rooftop_id = asked.rooftop_id and kept.completed_date_local = asked.completed_date_local
      and (kept.rooftop_id, kept.completed_date_local) not in (select fresh.rooftop_id, fresh.completed_date_local from fresh)
  ), changed as (
    update core.agg_pricing_day as kept set
      known = fresh.known, priced = fresh.priced, cannot_be_priced = fresh.cannot_be_priced, failed = fresh.failed,
      confirmed_days = fresh.confirmed_days, oldest_confirmed_at = fresh.oldest_confirmed_at
    from fresh
    where kept.rooftop_id = fresh.rooftop_id and kept.completed_date_local = fresh.completed_date_local and kept is distinct from fresh
  )
  insert into core.agg_pricing_day
  select fresh.* from fresh
  where not exists (
    select from core.agg_pricing_day as kept
    where kept.rooftop_id = fresh.rooftop_id and kept.completed_date_local = fresh.completed_date_local
  );
end
$$;
comment on function core.refresh_pricing_days(int[], date[]) is 'Brings core.agg_pricing_day of the given days to what the facts say; writes only rows that differ. The caller holds the lock of core.lock_days.';

create function core.lock_days(rooftops int[]) returns void language plpgsql as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'Evaluations, reconditioning and prices are written under read committed alone, this transaction is %',
        current_setting('transaction_isolation')
      using errcode = 'active_sql_transaction', hint = 'Their sums by day could miss what others have committed since it began: begin isolation level read committed.';
  end if;
  perform pg_advisory_xact_lock(7381, rooftop_id) from (select distinct unnest(rooftops) as rooftop_id order by 1) as ordered;
end
$$;
comment on function core.lock_days(int[]) is 'Until the end of the transaction nobody else changes the counted facts of these rooftops. Whoever waited computes in a later statement, which sees what the other has committed; a transaction that would not is refused.';

create function core.keep_evaluation_days() returns trigger
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
comment on function core.keep_evaluation_days() is 'After evaluations were written: counts again the days of those whose counted columns changed, under their old and their new key.';

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
comment on function core.days_of(int[], bigint[]) is 'The days of those evaluations that are counted, to be asked under the lock of core.lock_days: another transaction may be about to bring one of them.';

create function core.keep_recon_days() returns trigger language plpgsql as $$
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
comment on function core.keep_recon_days() is 'After reconditioning lines were written: counts again the days of their evaluations. Lines whose evaluation is not there are counted when it comes.';

create function core.keep_priced_days() returns trigger language plpgsql as $$
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
comment on function core.keep_priced_days() is 'After price observations were written: counts again the days of their evaluations where a current price came, went or was confirmed.';

create function core.keep_asked_days() returns trigger language plpgsql as $$
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
comment on function core.keep_asked_days() is 'After the notes of what was asked were written: counts again the days of the evaluations whose outcome for prices changed.';

create function core.keep_zone() returns trigger language plpgsql as $$
begin
  perform core.lock_days(array[new.rooftop_id]);
  perform core.refresh_pricing_days(array_agg(day.rooftop_id), array_agg(day.completed_date_local))
  from core.agg_pricing_day as day where day.rooftop_id = new.rooftop_id;
  return null;
end
$$;
comment on function core.keep_zone() is 'After a rooftop moved to another time zone: the local days on which its prices were confirmed are others.';

create function core.empty_days() returns trigger language plpgsql as $$
begin
  if tg_table_name in ('evaluation', 'reconditioning_item') then delete from core.agg_recon_day; end if;
  if tg_table_name = 'evaluation' then delete from core.agg_evaluation_day; end if;
  perform core.refresh_pricing_days(array_agg(rooftop_id), array_agg(completed_date_local)) from core.agg_pricing_day;
  return null;
end
$$;
comment on function core.empty_days() is 'After a truncate.';

create trigger agg_inserted after insert on core.evaluation
  referencing new table as new_rows for each statement execute function core.keep_evaluation_days();
create trigger agg_updated after update on core.evaluation
  referencing old table as old_rows new table as new_rows for each statement execute function core.keep_evaluation_days();
create trigger agg_deleted after delete on core.evaluation
  referencing old table as old_rows for each statement execute function core.keep_evaluation_days();
create trigger agg_truncated after truncate on core.evaluation for each statement execute function core.empty_days();
create trigger agg_inserted after insert on core.reconditioning_item
  referencing new table as new_rows for each statement execute function core.keep_recon_days();
create trigger agg_updated after update on core.reconditioning_item
  referencing old table as old_rows new table as new_rows for each statement execute function core.keep_recon_days();
create trigger agg_deleted after delete on core.reconditioning_item
  referencing old table as old_rows for each statement execute function core.keep_recon_days();
create trigger agg_truncated after truncate on core.reconditioning_item for each statement execute function core.empty_days();
create trigger agg_inserted after insert on core.price_observation
  referencing new table as new_rows for each statement execute function core.keep_priced_days();
create trigger agg_updated after update on core.price_observation
  referencing old table as old_rows new table as new_rows for each statement execute function core.keep_priced_days();
create trigger agg_deleted after delete on core.price_observation
  referencing old table as old_rows for each statement execute function core.keep_priced_days();
create trigger agg_truncated after truncate on core.price_observation for each statement execute function core.empty_days();
create trigger agg_inserted after insert on ops.enrichment_state
  referencing new table as new_rows for each statement execute function core.keep_asked_days();
create trigger agg_updated after update on ops.enrichment_state
  referencing old table as old_rows new table as new_rows for each statement execute function core.keep_asked_days();
create trigger agg_deleted after delete on ops.enrichment_state
  referencing old table as old_rows for each statement execute function core.keep_asked_days();
create trigger agg_truncated after truncate on ops.enrichment_state for each statement execute function core.empty_days();
create trigger agg_zone after update on core.rooftop
  for each row when (old.time_zone is distinct from new.time_zone) execute function core.keep_zone();

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
$$;
comment on function core.agg_differences(int) is 'Days whose kept sums are not what the facts say, of one rooftop or of all: no row, or a defect. Mended by core.refresh_evaluation_days, core.refresh_recon_days and core.refresh_pricing_days.';

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
comment on function core.bucket_percentile(numeric[], numeric) is 'Minutes below which the given share of the evaluations lies, from the counts of ttc_bucket_0 to 11: linear inside the bucket that holds the rank share * count; the last bucket is taken to end at 43,200 minutes. null: none is counted.';

-- Without it the planner takes hardly any VIN to have 17 characters, and reads all evaluations for every vehicle.
create statistics core.evaluation_vin_length on (length(vin::text)) from core.evaluation;
-- Nor does it know how many rows a month has. (It knows of core.evaluation by the index below.)
create statistics core.agg_evaluation_month on (date_trunc('month', completed_date_local::timestamp)::date) from core.agg_evaluation_day;
create statistics core.agg_recon_month on (date_trunc('month', completed_date_local::timestamp)::date) from core.agg_recon_day;
create statistics core.agg_pricing_month on (date_trunc('month', completed_date_local::timestamp)::date) from core.agg_pricing_day;

-- What a report of single evaluations is asked for: a rooftop and a month, prices before the present one, lines of type info, edits.
create index evaluation_month on core.evaluation (rooftop_id, (date_trunc('month', completed_date_local::timestamp)::date));
create index price_observation_superseded on core.price_observation (rooftop_id, eval_id, observed_at) where not is_current;
create index reconditioning_item_info on core.reconditioning_item (rooftop_id, eval_id) where last_version is null and lower(recon_type) = 'info';
create index evaluation_version_edits on core.evaluation_version (rooftop_id, eval_id, version_no) where version_no > 1;
create index window_certificate_unsettled on ops.window_certificate (rooftop_id, stream) where not settled;
