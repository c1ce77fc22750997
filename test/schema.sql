-- Written by `npm run schema` from the migrated database; do not edit.

core schema

core.agg_appraisal table with (fillfactor=80)
  group_id integer not null
  rooftop_id integer not null
  eval_id bigint not null
  completed_date_local date not null
  month_start date not null
  user_id bigint
  vehicle_vin character varying(17)
  make character varying(120)
  model character varying(200)
  model_year integer
  currency_code character(3) not null
  photo_count integer not null
  hero_source character varying(20)
  ttc_bucket integer -- Number of the ttc_bucket of core.agg_evaluation_day; null: not timed
  appraised_price numeric(15,3) -- core.evaluation.final_price
  recon_total numeric(15,3) -- core.evaluation.recon_total, else recon_line_total
  recon core.recon_cost[] not null -- By type, without lines of type info, which are no cost
  price_outcome character varying(20) -- priced: it has a current price observation; else the outcome of the last request; null: its price was never requested
  wholesale_first numeric(15,3)
  retail_first numeric(15,3)
  wholesale_now numeric(15,3)
  retail_now numeric(15,3)
  gap_to_wholesale_first numeric(18,3)
  gap_share numeric(7,4)
  gross_room_first numeric(18,3)
  gross_room_now numeric(18,3)
  constraint agg_appraisal_pkey PRIMARY KEY (group_id, eval_id)
  CREATE INDEX agg_appraisal_month ON core.agg_appraisal USING btree (rooftop_id, month_start)
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.agg_appraisal REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('month')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.agg_appraisal REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('month')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.agg_appraisal REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('month')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.agg_appraisal REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('month')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.agg_appraisal FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  -- One row per completed evaluation that the source still shows: what it adds to the sums, and its money with the first and the current price of the pricing AI in its currency, which is calculated when it is written because over a year of all rooftops the joins and divisions take longer than a dashboard waits. core.appraisals defines it.

core.agg_evaluation_day table
  rooftop_id integer not null
  completed_date_local date not null
  user_id bigint not null -- 0: the evaluation names no salesperson
  currency_code character(3) not null
  appraisals integer not null
  with_price integer not null -- Evaluations with a final_price, including 0; value_sum is their sum in currency_code
  value_sum numeric(24,3) not null
  photos integer not null -- Sum of photo_count
  no_photo integer not null
  under_eight integer not null -- Evaluations with 1 to 7 photos
  hero_default integer not null -- Evaluations with photos whose hero was not chosen by a person (hero_source = default)
  hero_missing integer not null -- Evaluations with photos but without a hero, which the document excludes [A §5]
  complete integer not null -- Evaluations with 8 photos or more and a hero that a person chose
  timed integer not null -- Evaluations with an exact creation time (CreatedAt) that is not after the completion
  ttc_bucket_0 integer not null -- Timed evaluations completed within 5 minutes of creation. The next buckets: up to 10, 15, 30, 60, 120, 240, 480, 1440, 2880 and 10080 minutes (each bound included); the last: all others
  ttc_bucket_1 integer not null
  ttc_bucket_2 integer not null
  ttc_bucket_3 integer not null
  ttc_bucket_4 integer not null
  ttc_bucket_5 integer not null
  ttc_bucket_6 integer not null
  ttc_bucket_7 integer not null
  ttc_bucket_8 integer not null
  ttc_bucket_9 integer not null
  ttc_bucket_10 integer not null
  ttc_bucket_11 integer not null
  constraint agg_evaluation_day_pkey PRIMARY KEY (rooftop_id, completed_date_local, user_id, currency_code)
  CREATE INDEX agg_evaluation_day_month ON core.agg_evaluation_day USING btree (((date_trunc('month'::text, (completed_date_local)::timestamp without time zone))::date))
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.agg_evaluation_day REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('month')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.agg_evaluation_day REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('month')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.agg_evaluation_day REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('month')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.agg_evaluation_day REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('month')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.agg_evaluation_day FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  -- Number of evaluations that the source still shows, by rooftop, local day of completion, salesperson and currency. core.evaluation_days defines it. There is no row with a count of 0.

core.agg_pricing_day table
  rooftop_id integer not null
  completed_date_local date not null
  known integer not null -- Evaluations whose price was requested or is known; for the others of the day no price was ever requested
  priced integer not null -- Evaluations with a current price observation
  cannot_be_priced integer not null -- Evaluations without a current observation whose last request was skipped or rejected
  failed integer not null -- Evaluations without a current observation whose last request failed
  constraint agg_pricing_day_pkey PRIMARY KEY (rooftop_id, completed_date_local)
  -- Pricing AI results for the evaluations that the source still shows, by rooftop and local day of completion. core.pricing_days defines it. There is no row for a day on which no evaluation was requested or priced.

core.agg_recon_day table
  rooftop_id integer not null
  completed_date_local date not null
  recon_type character varying(120) not null -- As received; empty: the line has no type
  currency_code character(3) not null
  evaluations integer not null -- Evaluations with such a line in the first or the current content
  first_cost numeric(24,3) not null -- Cost of the lines in the first observed content, in currency_code
  last_cost numeric(24,3) not null -- Cost of the lines in the current content, in currency_code
  costed integer not null default 0 -- Evaluations whose lines of the type all have a cost, in both contents: first_cost and last_cost are of these
  constraint agg_recon_day_pkey PRIMARY KEY (rooftop_id, completed_date_local, recon_type, currency_code)
  CREATE INDEX agg_recon_day_month ON core.agg_recon_day USING btree (((date_trunc('month'::text, (completed_date_local)::timestamp without time zone))::date))
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.agg_recon_day REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('month')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.agg_recon_day REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('month')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.agg_recon_day REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('month')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.agg_recon_day REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('month')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.agg_recon_day FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  -- Reconditioning of evaluations that the source still shows, by rooftop, local day of completion, type and currency. core.recon_days defines it. Lines of type info are no cost and are not counted.

core.agg_repeat_vehicle table
  group_id integer not null
  vin character varying(17) not null -- core.evaluation.vehicle_vin: in capitals, of 17 characters
  currency_code character(3) not null
  evaluations integer not null
  rooftops integer not null -- Number of rooftops that made the evaluations
  first_on date not null -- First local day of completion; last_on is the last
  last_on date not null
  lowest_price numeric(15,3) -- Lowest final_price in currency_code; highest_price is the highest. null: no evaluation has a price
  highest_price numeric(15,3)
  constraint agg_repeat_vehicle_pkey PRIMARY KEY (group_id, vin, currency_code)
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.agg_repeat_vehicle REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.agg_repeat_vehicle REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.agg_repeat_vehicle REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.agg_repeat_vehicle REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.agg_repeat_vehicle FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  -- Vehicles with more than one evaluation that the source still shows, by dealer group, VIN and currency. core.repeat_vehicles defines it. It has no vehicle that was appraised only once.

core.app_user table
  user_id bigint not null generated always as identity
  group_id integer not null
  display_name character varying(200)
  is_generated_link_account boolean not null -- Decided by the suffix of the e-mail only (wire.appraisal.generatedUser.emailSuffix)
  is_active boolean -- true: listed without includeInactive; null: never listed, known from evaluations only
  in_user_list boolean not null
  first_seen_at timestamp with time zone not null default now()
  last_changed_at timestamp with time zone not null default now()
  constraint app_user_group_id_fkey FOREIGN KEY (group_id) REFERENCES core.rooftop_group(group_id)
  constraint app_user_pkey PRIMARY KEY (user_id)
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.app_user REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.app_user REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_new_user_trg()
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.app_user FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  CREATE TRIGGER log_lake_update AFTER UPDATE ON core.app_user REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_user_trg()

core.app_user_rooftop table
  rooftop_id integer not null
  user_id bigint not null
  is_active boolean not null
  constraint app_user_rooftop_pkey PRIMARY KEY (rooftop_id, user_id)
  constraint app_user_rooftop_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id)
  constraint app_user_rooftop_user_id_fkey FOREIGN KEY (user_id) REFERENCES core.app_user(user_id)
  -- The users that the list of a rooftop shows. The list covers the whole dealer group of that rooftop; a key may cover several groups.

core.appraisal_facts view
  group_id integer
  rooftop_id integer
  eval_id bigint
  completed_date_local date
  month_start date
  user_id bigint
  vehicle_vin character varying(17)
  make character varying(120)
  model character varying(200)
  model_year integer
  currency_code character(3)
  photo_count integer
  hero_source character varying(20)
  ttc_bucket integer
  appraised_price numeric(15,3)
  recon_total numeric(15,3)
  recon core.recon_cost[]
  price_outcome character varying
  wholesale_first numeric
  retail_first numeric
  wholesale_now numeric
  retail_now numeric
  gap_to_wholesale_first numeric(18,3)
  gap_share numeric(7,4)
  gross_room_first numeric(18,3)
  gross_room_now numeric(18,3)
  as
   SELECT group_id,
      rooftop_id,
      eval_id,
      completed_date_local,
      date_trunc('month'::text, completed_date_local::timestamp without time zone)::date AS month_start,
      user_id,
      vehicle_vin,
      make,
      model,
      model_year,
      currency_code,
      photo_count,
      hero_source,
          CASE
              WHEN created_at_source::text = 'CreatedAt'::text AND completed_at >= created_at THEN width_bucket(EXTRACT(epoch FROM completed_at - created_at) - 0.000001, ARRAY[300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800]::numeric[])
              ELSE NULL::integer
          END AS ttc_bucket,
      final_price AS appraised_price,
      COALESCE(recon_total, recon_line_total) AS recon_total,
      COALESCE(( SELECT recon
             FROM core.recon_costs cost
            WHERE rooftop_id = rooftop_id AND eval_id = eval_id), '{}'::core.recon_cost[]) AS recon,
          CASE
              WHEN eval_id IS NULL THEN outcome
              ELSE 'priced'::character varying
          END AS price_outcome,
      wholesale AS wholesale_first,
      retail AS retail_first,
      wholesale AS wholesale_now,
      retail AS retail_now,
      (final_price - wholesale)::numeric(18,3) AS gap_to_wholesale_first,
          CASE
              WHEN wholesale <> 0::numeric THEN LEAST(GREATEST((final_price - wholesale) / wholesale, '-999.9999'::numeric), 999.9999)
              ELSE NULL::numeric
          END::numeric(7,4) AS gap_share,
      (retail - final_price - COALESCE(recon_total, recon_line_total, 0::numeric))::numeric(18,3) AS gross_room_first,
      (retail - final_price - COALESCE(recon_total, recon_line_total, 0::numeric))::numeric(18,3) AS gross_room_now
     FROM core.evaluation e
       LEFT JOIN core.price_observation price ON rooftop_id = rooftop_id AND eval_id = eval_id AND price_source::text = 'pricing_ai'::text AND is_current
       LEFT JOIN ops.enrichment_state asked ON rooftop_id = rooftop_id AND stream::text = 'pricing'::text AND eval_id = eval_id AND ask::text = 'pricingAi'::text
       LEFT JOIN LATERAL ( SELECT eval_id,
              wholesale,
              retail
             FROM core.price_observation earlier
            WHERE rooftop_id = rooftop_id AND eval_id = eval_id AND price_source::text = 'pricing_ai'::text AND NOT is_current AND currency_code = currency_code
            ORDER BY observed_at
           LIMIT 1) superseded ON true
       CROSS JOIN LATERAL ( SELECT
                  CASE
                      WHEN currency_code = currency_code THEN wholesale
                      ELSE NULL::numeric
                  END AS wholesale,
                  CASE
                      WHEN currency_code = currency_code THEN retail
                      ELSE NULL::numeric
                  END AS retail) latest
       CROSS JOIN LATERAL ( SELECT
                  CASE
                      WHEN eval_id IS NULL THEN wholesale
                      ELSE wholesale
                  END AS wholesale,
                  CASE
                      WHEN eval_id IS NULL THEN retail
                      ELSE retail
                  END AS retail) first
    WHERE gone_at IS NULL AND completed_date_local IS NOT NULL;
  -- The rows of core.agg_appraisal, calculated from the facts: the only definition of its columns.

core.core.agg_differences(integer,date[]) routine
CREATE OR REPLACE FUNCTION core.agg_differences(only_rooftop integer DEFAULT NULL::integer, only_months date[] DEFAULT NULL::date[])
 RETURNS TABLE(aggregate character varying, rooftop_id integer, completed_date_local date)
 LANGUAGE plpgsql
 STABLE
AS $function$
#variable_conflict use_column
declare
  part record;
  until date;
  facts core.agg_appraisal[];
begin
  for part in
    select * from core.agg_months(only_rooftop) as m where only_months is null or m.month_start = any(only_months)
  loop
    until := part.month_start + interval '1 month';
    facts := array(select fact from core.appraisals_of_month(part.rooftop_id, part.month_start) as fact);
    return query
    select 'agg_appraisal'::varchar(40), fact.rooftop_id, fact.completed_date_local
    from unnest(facts) as fact left join core.agg_appraisal as stored using (group_id, eval_id)
    where stored is distinct from fact
    union
    -- A stored row that another rooftop or month should have is reported there.
    select 'agg_appraisal', stored.rooftop_id, stored.completed_date_local
    from (
      select * from core.agg_appraisal as listed
      where listed.rooftop_id = part.rooftop_id and listed.month_start = part.month_start
        and (listed.group_id, listed.eval_id) not in (select fact.group_id, fact.eval_id from unnest(facts) as fact)
    ) as stored
    where not exists (
      select from core.appraisals(array[stored.group_id], array[stored.eval_id]) as fact
      where only_rooftop is null or fact.rooftop_id = only_rooftop)
    union
    select 'agg_evaluation_day', rooftop_id, completed_date_local
    from (select * from core.agg_evaluation_day as a
      where a.rooftop_id = part.rooftop_id and a.completed_date_local >= part.month_start and a.completed_date_local < until) as stored
    full join core.evaluation_days(facts) as fact using (rooftop_id, completed_date_local, user_id, currency_code)
    where stored is distinct from fact
    union
    select 'agg_recon_day', rooftop_id, completed_date_local
    from (select * from core.agg_recon_day as a
      where a.rooftop_id = part.rooftop_id and a.completed_date_local >= part.month_start and a.completed_date_local < until) as stored
    full join core.recon_days(facts) as fact using (rooftop_id, completed_date_local, recon_type, currency_code)
    where stored is distinct from fact
    union
    select 'agg_pricing_day', rooftop_id, completed_date_local
    from (select * from core.agg_pricing_day as a
      where a.rooftop_id = part.rooftop_id and a.completed_date_local >= part.month_start and a.completed_date_local < until) as stored
    full join core.pricing_days(facts) as fact using (rooftop_id, completed_date_local)
    where stored is distinct from fact;
  end loop;
end
$function$

core.core.agg_months(integer) routine
CREATE OR REPLACE FUNCTION core.agg_months(only_rooftop integer)
 RETURNS TABLE(rooftop_id integer, month_start date)
 LANGUAGE sql
 STABLE
AS $function$
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
$function$

core.core.agg_rebuild(integer) routine
CREATE OR REPLACE FUNCTION core.agg_rebuild(only_rooftop integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  part record;
  facts core.agg_appraisal[];
begin
  -- No load may add its difference between the calculation and the commit.
  lock table core.agg_appraisal, core.agg_evaluation_day, core.agg_recon_day, core.agg_pricing_day in exclusive mode;
  delete from core.agg_appraisal where rooftop_id = only_rooftop;
  delete from core.agg_evaluation_day where rooftop_id = only_rooftop;
  delete from core.agg_recon_day where rooftop_id = only_rooftop;
  delete from core.agg_pricing_day where rooftop_id = only_rooftop;
  for part in select * from core.agg_months(only_rooftop) loop
    facts := array(select fact from core.appraisals_of_month(only_rooftop, part.month_start) as fact);
    -- Rows that are stored under another rooftop.
    delete from core.agg_appraisal as stored using unnest(facts) as fact
    where stored.group_id = fact.group_id and stored.eval_id = fact.eval_id;
    insert into core.agg_appraisal select * from unnest(facts);
    insert into core.agg_evaluation_day select * from core.evaluation_days(facts);
    insert into core.agg_recon_day select * from core.recon_days(facts);
    insert into core.agg_pricing_day select * from core.pricing_days(facts);
  end loop;
end
$function$

core.core.agg_suspects(integer[]) routine
CREATE OR REPLACE FUNCTION core.agg_suspects(only_rooftops integer[])
 RETURNS TABLE(rooftop_id integer, month_start date)
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
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
$function$

core.core.appraisals(integer[],bigint[]) routine
CREATE OR REPLACE FUNCTION core.appraisals(groups integer[], evals bigint[])
 RETURNS SETOF core.agg_appraisal
 LANGUAGE sql
 STABLE
AS $function$
  select * from core.appraisal_facts where group_id = any(groups) and eval_id = any(evals)
$function$

core.core.appraisals_of_month(integer,date) routine
CREATE OR REPLACE FUNCTION core.appraisals_of_month(of_rooftop integer, of_month date)
 RETURNS SETOF core.agg_appraisal
 LANGUAGE sql
 STABLE
AS $function$
  select fact.*
  from (
    select array_agg(distinct group_id) as groups, array_agg(eval_id) as evals from core.evaluation
    where rooftop_id = of_rooftop and completed_date_local >= of_month and completed_date_local < of_month + interval '1 month'
  ) as completed
  cross join core.appraisals(completed.groups, completed.evals) as fact
  where fact.rooftop_id = of_rooftop
$function$

core.core.bucket_percentile(numeric[],numeric) routine
CREATE OR REPLACE FUNCTION core.bucket_percentile(counts numeric[], share numeric)
 RETURNS numeric
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select round(low + (high - low) * (rank - before) / size, 2)
  from (
    select bucket, size, low, high, sum(size) over (order by bucket) - size as before, sum(size) over () * share as rank
    from unnest(counts, array[0, 5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 10080], array[5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 10080, 43200])
      with ordinality as bucket (size, low, high, bucket)
  ) as ranked
  where size > 0 and before + size >= rank
  order by bucket
  limit 1
$function$

core.core.evaluation_days(core.agg_appraisal[]) routine
CREATE OR REPLACE FUNCTION core.evaluation_days(counted core.agg_appraisal[])
 RETURNS SETOF core.agg_evaluation_day
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
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
$function$

core.core.is_late(timestamp with time zone,boolean) routine
CREATE OR REPLACE FUNCTION core.is_late(last_good_run_at timestamp with time zone, is_at_work boolean)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN ((NOT is_at_work) AND COALESCE((last_good_run_at < (now() - '26:00:00'::interval)), true))

core.core.late_completions(integer,tstzrange) routine
CREATE OR REPLACE FUNCTION core.late_completions(of_rooftop integer, covered tstzrange)
 RETURNS numeric
 LANGUAGE sql
 STABLE
AS $function$
  select (coalesce(sum(least(extract(epoch from e.completed_at - e.created_at), 5184000)) filter (where e.eval_id is not null), 0) / extract(epoch from k.until - k.since))::numeric(12,1)
  from (select upper(covered) - interval '1440 hours' as until, greatest(lower(covered), upper(covered) - interval '5760 hours') as since) as k
  left join core.evaluation as e on e.rooftop_id = of_rooftop and e.entry_at >= k.since and e.entry_at < k.until and e.completed_at >= e.created_at and e.gone_at is null
  where k.until - k.since >= interval '720 hours'
  group by k.since, k.until
$function$

core.core.lock_vehicles(integer[],character varying[]) routine
CREATE OR REPLACE FUNCTION core.lock_vehicles(groups integer[], vins character varying[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  -- 7382 and 7384: src/warehouse/db/locks.ts. In one order, so that two transactions do not wait for each other.
  if cardinality(groups) > 4 then
    perform pg_advisory_xact_lock(7384, group_id) from (select group_id from unnest(groups) as group_id order by 1) as ordered;
  else
    perform pg_advisory_xact_lock_shared(7384, group_id) from (select group_id from unnest(groups) as group_id order by 1) as ordered;
    perform pg_advisory_xact_lock(7382, place) from (
      select distinct group_id * 256 + (hashtext(vin) & 255) as place from unnest(groups) as group_id cross join unnest(vins) as vin order by 1
    ) as ordered;
  end if;
end
$function$

core.core.move_people(integer,integer) routine
CREATE OR REPLACE FUNCTION core.move_people(moving integer, to_group integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  used bigint[];
  listed bigint[];
  shared bigint[];
  person record;
  same bigint;
  from_ids bigint[] := '{}';
  to_ids bigint[] := '{}';
begin
  -- The same lock as every other writer of the users of a group, in the order of the groups.
  perform pg_advisory_xact_lock(7305, g.group_id)
  from (select group_id from core.rooftop_group where group_id = to_group
      or group_id in (select u.group_id from core.app_user_rooftop as m join core.app_user as u using (user_id) where m.rooftop_id = moving)
      or group_id = (select group_id from core.rooftop where rooftop_id = moving)
    order by group_id) as g;
  select coalesce(array_agg(distinct e.user_id), '{}') into used
  from (
    select user_id from core.evaluation where rooftop_id = moving
    union all select user_id from core.evaluation_version where rooftop_id = moving
  ) as e join core.app_user as u using (user_id)
  where u.group_id <> to_group;
  select coalesce(array_agg(m.user_id), '{}') into listed
  from core.app_user_rooftop as m join core.app_user as u using (user_id)
  where m.rooftop_id = moving and u.group_id <> to_group;
  select coalesce(array_agg(distinct other_rooftop.user_id), '{}') into shared
  from (
    select user_id from core.evaluation where rooftop_id <> moving and user_id = any (used || listed)
    union all select user_id from core.evaluation_version where rooftop_id <> moving and user_id = any (used || listed)
    union all select user_id from core.app_user_rooftop where rooftop_id <> moving and user_id = any (used || listed)
  ) as other_rooftop;

  for person in
    select u.*, e.email from core.app_user as u left join pii.app_user_email as e using (user_id)
    where u.user_id = any (used || listed) order by u.user_id
  loop
    -- Only the list of the old group names this user: the list of the new group decides.
    continue when person.user_id = any (shared) and person.user_id <> all (used);
    select e.user_id into same from pii.app_user_email as e
    where e.group_id = to_group and lower(e.email) = lower(person.email);
    if same is null and person.user_id <> all (shared) then
      update core.app_user set group_id = to_group, last_changed_at = now() where user_id = person.user_id;
      update pii.app_user_email set group_id = to_group where user_id = person.user_id;
      continue;
    end if;
    if same is null then
      insert into core.app_user (group_id, display_name, is_generated_link_account, is_active, in_user_list, first_seen_at)
      values (to_group, person.display_name, person.is_generated_link_account, person.is_active, person.in_user_list, person.first_seen_at)
      returning user_id into same;
      insert into pii.app_user_email (user_id, group_id, email) select same, to_group, person.email where person.email is not null;
    end if;
    from_ids := from_ids || person.user_id;
    to_ids := to_ids || same;
  end loop;

  update core.evaluation as e set user_id = map.new_id
  from unnest(from_ids, to_ids) as map (old_id, new_id) where e.rooftop_id = moving and e.user_id = map.old_id;
  update core.evaluation_version as v set user_id = map.new_id
  from unnest(from_ids, to_ids) as map (old_id, new_id) where v.rooftop_id = moving and v.user_id = map.old_id;
  insert into core.app_user_rooftop (rooftop_id, user_id, is_active)
  select m.rooftop_id, map.new_id, m.is_active
  from core.app_user_rooftop as m join unnest(from_ids, to_ids) as map (old_id, new_id) on map.old_id = m.user_id
  where m.rooftop_id = moving
  on conflict do nothing;
  delete from core.app_user_rooftop as m using core.app_user as u
  where m.rooftop_id = moving and u.user_id = m.user_id and u.group_id <> to_group;
  delete from pii.app_user_email where user_id = any (from_ids) and user_id <> all (shared);
  delete from core.app_user where user_id = any (from_ids) and user_id <> all (shared);

  update core.app_user as u
  set in_user_list = status.listed, is_active = status.active, last_changed_at = now()
  from (
    select id as user_id, count(m.user_id) > 0 as listed, coalesce(bool_or(m.is_active), false) as active
    from unnest(listed || to_ids) as id left join core.app_user_rooftop as m on m.user_id = id group by id
  ) as status
  where status.user_id = u.user_id and (status.listed or u.in_user_list)
    and (u.in_user_list, u.is_active) is distinct from (status.listed, status.active);
end
$function$

core.core.price_as_of(integer,bigint,timestamp with time zone,character varying) routine
CREATE OR REPLACE FUNCTION core.price_as_of(rooftop_id integer, eval_id bigint, at timestamp with time zone, price_source character varying DEFAULT 'pricing_ai'::character varying)
 RETURNS SETOF core.price_observation
 LANGUAGE sql
 STABLE PARALLEL SAFE ROWS 1
AS $function$
  select * from core.price_observation as price
  where price.rooftop_id = $1 and price.eval_id = $2 and price.price_source = $4 and price.observed_at <= $3
  order by price.observed_at desc limit 1
$function$

core.core.pricing_days(core.agg_appraisal[]) routine
CREATE OR REPLACE FUNCTION core.pricing_days(counted core.agg_appraisal[])
 RETURNS SETOF core.agg_pricing_day
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select
    rooftop_id, completed_date_local, count(*)::int,
    (count(*) filter (where price_outcome = 'priced'))::int,
    (count(*) filter (where price_outcome in ('skipped', 'rejected')))::int,
    (count(*) filter (where price_outcome = 'failed'))::int
  from unnest(counted)
  where price_outcome is not null
  group by 1, 2
$function$

core.core.recon_days(core.agg_appraisal[]) routine
CREATE OR REPLACE FUNCTION core.recon_days(counted core.agg_appraisal[])
 RETURNS SETOF core.agg_recon_day
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select rooftop_id, completed_date_local, recon_type, currency_code, count(*)::int,
    coalesce(sum(first_cost), 0)::numeric(24,3), coalesce(sum(last_cost), 0)::numeric(24,3), count(first_cost)::int
  from unnest(counted) as one cross join unnest(one.recon)
  group by 1, 2, 3, 4
$function$

core.core.refresh_link_scopes(integer[],character varying[]) routine
CREATE OR REPLACE FUNCTION core.refresh_link_scopes(groups integer[], vins character varying[])
 RETURNS void
 LANGUAGE sql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  update pii.signed_link as link set is_in_scope = fact.is_in_scope
  from unnest(groups) as touched_group (group_id)
  cross join unnest(coalesce(vins, array(select distinct any_of_group.vin from core.vehicle_check as any_of_group where any_of_group.group_id = any(groups)))) as touched (vin)
  cross join lateral (
    select * from ops.link_scope as any_of_vehicle
    where any_of_vehicle.group_id = touched_group.group_id and any_of_vehicle.vin = touched.vin and any_of_vehicle.is_in_scope <> any_of_vehicle.is_stored offset 0
  ) as fact
  where (link.rooftop_id, link.eval_id, link.link_kind, link.link_ref) = (fact.rooftop_id, fact.eval_id, fact.link_kind, fact.link_ref)
$function$

core.core.refresh_vehicles_trg() routine
CREATE OR REPLACE FUNCTION core.refresh_vehicles_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  of_groups int[];
  of_vins varchar[];
begin
  -- The first call of a transaction finds all its rows; no transaction sees those of another.
  with touched as (delete from core.vehicle_touched returning *)
  select array(select distinct unnest(groups) from touched), array(select distinct unnest(vins) from touched) into of_groups, of_vins;
  if of_vins = '{}' then
    return null;
  end if;
  -- Two transactions that each add the first evaluation of a vehicle share no row to wait at. What the one before has committed is seen by
  -- the next statement only.
  perform core.lock_vehicles(of_groups, of_vins);
  perform core.refresh_link_scopes(of_groups, of_vins);
  with fact as materialized (select * from core.vehicles(of_groups, of_vins)), emptied as (
    delete from core.vehicle where group_id = any(of_groups) and vin = any(of_vins) and (group_id, vin) not in (select group_id, vin from fact)
  ), written as (
    insert into core.vehicle as stored select * from fact order by vin, group_id
    on conflict (vin, group_id) do update set
      make = excluded.make, model = excluded.model, variant = excluded.variant, model_year = excluded.model_year, colour = excluded.colour,
      evaluations = excluded.evaluations, is_in_stock = excluded.is_in_stock,
      first_seen_at = excluded.first_seen_at, last_seen_at = excluded.last_seen_at
    where stored is distinct from excluded
  )
  select array(
    select vin from fact where evaluations > 1
    union select vin from core.agg_repeat_vehicle where group_id = any(of_groups) and vin = any(of_vins)) into of_vins;
  with fact as materialized (select * from core.repeat_vehicles(of_groups, of_vins)), emptied as (
    delete from core.agg_repeat_vehicle where group_id = any(of_groups) and vin = any(of_vins)
      and (group_id, vin, currency_code) not in (select group_id, vin, currency_code from fact)
  )
  insert into core.agg_repeat_vehicle as stored select * from fact order by group_id, vin, currency_code
  on conflict (group_id, vin, currency_code) do update set
    evaluations = excluded.evaluations, rooftops = excluded.rooftops, first_on = excluded.first_on,
    last_on = excluded.last_on, lowest_price = excluded.lowest_price, highest_price = excluded.highest_price
  where stored is distinct from excluded;
  return null;
end
$function$

core.core.repeat_vehicles(integer[],character varying[]) routine
CREATE OR REPLACE FUNCTION core.repeat_vehicles(groups integer[], vins character varying[])
 RETURNS SETOF core.agg_repeat_vehicle
 LANGUAGE sql
 STABLE
AS $function$
  select group_id, vehicle_vin, currency_code, count(*)::int, count(distinct rooftop_id)::int,
    min(completed_date_local), max(completed_date_local), min(final_price)::numeric(15,3), max(final_price)::numeric(15,3)
  from core.evaluation
  where group_id = any(groups) and vehicle_vin = any(vins) and gone_at is null and completed_date_local is not null
  group by 1, 2, 3
  having count(*) > 1
$function$

core.core.repeats_of(integer,character varying[]) routine
CREATE OR REPLACE FUNCTION core.repeats_of(only_group integer DEFAULT NULL::integer, only_vins character varying[] DEFAULT NULL::character varying[])
 RETURNS SETOF core.agg_repeat_vehicle
 LANGUAGE sql
 STABLE
AS $function$
  select repeated.* from core.repeat_vehicles(
    case when only_group is null then array(select distinct group_id from core.evaluation) else array[only_group] end,
    coalesce(only_vins, array(
      select vehicle_vin from core.evaluation
      where vehicle_vin is not null and (only_group is null or group_id = only_group)
      group by group_id, vehicle_vin having count(*) > 1))) as repeated
$function$

core.core.stream_health(text,timestamp with time zone,boolean,boolean) routine
CREATE OR REPLACE FUNCTION core.stream_health(last_status text, last_good_run_at timestamp with time zone, is_at_work boolean, is_incomplete boolean)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN CASE WHEN (last_status IS NULL) THEN 'never'::text WHEN (last_status = ANY (ARRAY['failed'::text, 'parked'::text])) THEN 'failed'::text WHEN core.is_late(last_good_run_at, is_at_work) THEN 'late'::text WHEN is_incomplete THEN 'partial'::text ELSE 'ok'::text END

core.core.touch_all_trg() routine
CREATE OR REPLACE FUNCTION core.touch_all_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  insert into core.vehicle_touched (groups, vins) select array_agg(distinct group_id), array_agg(distinct vin) from core.vehicle having count(*) > 0;
  return null;
end
$function$

core.core.touch_checks_trg() routine
CREATE OR REPLACE FUNCTION core.touch_checks_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if tg_table_name = 'signed_link' then
    insert into core.vehicle_touched (groups, vins)
    select array_agg(distinct checked.group_id), array_agg(distinct checked.vin)
    from changed join core.vehicle_check as checked on checked.rooftop_id = changed.rooftop_id and checked.eval_id = changed.eval_id
      and checked.check_kind || '_pdf' = changed.link_kind and checked.check_ref = changed.link_ref
    having count(*) > 0;
  elsif tg_op = 'INSERT' then
    insert into core.vehicle_touched (groups, vins)
    select array_agg(distinct changed.group_id), array_agg(distinct changed.vin)
    from changed join pii.signed_link as link on link.rooftop_id = changed.rooftop_id and link.eval_id = changed.eval_id
      and link.link_kind = changed.check_kind || '_pdf' and link.link_ref = changed.check_ref
    having count(*) > 0;
  elsif tg_op = 'DELETE' then
    update pii.signed_link as link set is_in_scope = false from changed
    where link.rooftop_id = changed.rooftop_id and link.eval_id = changed.eval_id
      and link.link_kind = changed.check_kind || '_pdf' and link.link_ref = changed.check_ref;
  else
    -- A row that is there twice is the same before and after in what decides the scope of its link.
    insert into core.vehicle_touched (groups, vins)
    select array_agg(distinct group_id), array_agg(distinct vin)
    from (
      select group_id, vin
      from (
        select rooftop_id, eval_id, check_kind, check_ref, group_id, vin, gone_at is null as is_listed from before
        union all
        select rooftop_id, eval_id, check_kind, check_ref, group_id, vin, gone_at is null from changed
      ) as version
      group by rooftop_id, eval_id, check_kind, check_ref, group_id, vin, is_listed having count(*) = 1
    ) as touched
    having count(*) > 0;
  end if;
  return null;
end
$function$

core.core.touch_moved_trg() routine
CREATE OR REPLACE FUNCTION core.touch_moved_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  insert into core.vehicle_touched (groups, vins)
  select array[old.group_id, new.group_id], array_agg(distinct vin) from core.stock_unit
  where rooftop_id = new.rooftop_id and length(vin) = 17 having count(*) > 0;
  return null;
end
$function$

core.core.touch_units_trg() routine
CREATE OR REPLACE FUNCTION core.touch_units_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if tg_op = 'UPDATE' then
    -- A row that is there twice is the same before and after in what vehicles show: an import confirms every unit of a list.
    insert into core.vehicle_touched (groups, vins)
    with own as materialized (
      select rooftop_id, group_id from core.rooftop
      where rooftop_id in (select rooftop_id from before union select rooftop_id from changed) order by rooftop_id for share
    )
    select array_agg(distinct group_id), array_agg(distinct vin)
    from (
      select group_id, vin
      from (
        select rooftop_id, stock_no, group_id, vin, row(make, model, variant, model_year, first_seen_at, off_stock_at is null)::text as content from before join own using (rooftop_id) where length(vin) = 17
        union all
        select rooftop_id, stock_no, group_id, vin, row(make, model, variant, model_year, first_seen_at, off_stock_at is null)::text as content from changed join own using (rooftop_id) where length(vin) = 17
      ) as version
      group by rooftop_id, stock_no, group_id, vin, content having count(*) = 1
    ) as touched
    having count(*) > 0;
  else
    insert into core.vehicle_touched (groups, vins)
    with own as materialized (
      select rooftop_id, group_id from core.rooftop where rooftop_id in (select rooftop_id from changed) order by rooftop_id for share
    )
    select array_agg(distinct group_id), array_agg(distinct vin) from changed join own using (rooftop_id) where length(vin) = 17 having count(*) > 0;
  end if;
  return null;
end
$function$

core.core.touch_vehicles_trg() routine
CREATE OR REPLACE FUNCTION core.touch_vehicles_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if tg_op = 'UPDATE' then
    -- A row that is there twice is the same before and after in what vehicles show: an import confirms every unit of a list.
    insert into core.vehicle_touched (groups, vins)
    select array_agg(distinct group_id), array_agg(distinct vin)
    from (
      select group_id, vin
      from (
        select rooftop_id, eval_id, group_id, vehicle_vin as vin, row(make, model, variant, model_year, colour, created_at, completed_date_local, final_price, currency_code, gone_at)::text as content from before where vehicle_vin is not null
        union all
        select rooftop_id, eval_id, group_id, vehicle_vin as vin, row(make, model, variant, model_year, colour, created_at, completed_date_local, final_price, currency_code, gone_at)::text as content from changed where vehicle_vin is not null
      ) as version
      group by rooftop_id, eval_id, group_id, vin, content having count(*) = 1
    ) as touched
    having count(*) > 0;
  else
    insert into core.vehicle_touched (groups, vins)
    select array_agg(distinct group_id), array_agg(distinct vehicle_vin) from changed where vehicle_vin is not null having count(*) > 0;
  end if;
  return null;
end
$function$

core.core.vehicle_differences(integer,character varying[]) routine
CREATE OR REPLACE FUNCTION core.vehicle_differences(only_group integer DEFAULT NULL::integer, only_vins character varying[] DEFAULT NULL::character varying[])
 RETURNS TABLE(aggregate character varying, group_id integer, vin character varying)
 LANGUAGE sql
 STABLE
AS $function$
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
  full join (
    select * from core.vehicle_facts as f
    where (only_group is null or f.group_id = only_group) and (only_vins is null or f.vin = any(only_vins))
  ) as fact using (group_id, vin)
  where stored is distinct from fact
  union
  select 'signed_link', scope.group_id, scope.vin from ops.link_scope as scope
  where (only_group is null or scope.group_id = only_group) and (only_vins is null or scope.vin = any(only_vins)) and is_in_scope <> is_stored
$function$

core.core.vehicle_rebuild(integer) routine
CREATE OR REPLACE FUNCTION core.vehicle_rebuild(only_group integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  lock table core.vehicle, core.agg_repeat_vehicle in share row exclusive mode;
  delete from core.vehicle where group_id = only_group;
  insert into core.vehicle select * from core.vehicle_facts where group_id = only_group;
  delete from core.agg_repeat_vehicle where group_id = only_group;
  insert into core.agg_repeat_vehicle select * from core.repeats_of(only_group);
  perform core.refresh_link_scopes(array[only_group], null);
end
$function$

core.core.vehicles(integer[],character varying[]) routine
CREATE OR REPLACE FUNCTION core.vehicles(groups integer[], vins character varying[])
 RETURNS SETOF core.vehicle
 LANGUAGE sql
 STABLE
AS $function$
  select * from core.vehicle_facts where group_id = any(groups) and vin = any(vins)
$function$

core.core.watched_vins(integer,timestamp with time zone) routine
CREATE OR REPLACE FUNCTION core.watched_vins(of_group integer, run_start timestamp with time zone)
 RETURNS SETOF character varying
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
AS $function$
  select open.vin
  from core.ref_watch_status as status
  cross join lateral (
    select c.vin from core.vehicle_check as c
    where c.group_id = of_group and c.check_kind = 'ppsr' and c.gone_at is null and c.watch_status = status.watch_status offset 0
  ) as open
  where not status.is_terminal and status.watch_status not in ('not_watched', 'disabled')
  union all
  select c.vin from core.vehicle_check as c
  where c.group_id = of_group and c.check_kind = 'ppsr' and c.gone_at is null and c.watch_status = 'disabled' and c.watch_ends_at > run_start
  union all
  select c.vin from core.vehicle_check as c
  where c.group_id = of_group and c.check_kind = 'ppsr' and c.gone_at is null and c.watch_status is null
$function$

core.custom_field_value table
  rooftop_id integer not null
  eval_id bigint not null
  field_name character varying(200) not null
  field_type character varying(120)
  value_text text
  constraint custom_field_value_pkey PRIMARY KEY (rooftop_id, eval_id, field_name)

core.dim_date table
  date_day date not null
  year smallint not null
  quarter smallint not null
  month smallint not null
  month_start date not null
  month_label character varying(8) not null
  iso_year smallint not null
  iso_week smallint not null
  iso_dow smallint not null
  day_name character varying(9) not null
  is_weekend boolean not null
  au_fiscal_year smallint not null -- The year in which the Australian fiscal year (1 July to 30 June) ends
  constraint dim_date_pkey PRIMARY KEY (date_day)
  -- The calendar, 2000 to 2049.

core.evaluation table
  rooftop_id integer not null
  eval_id bigint not null
  group_id integer not null
  vin character varying(32)
  make character varying(120)
  model character varying(200)
  variant character varying(255)
  model_year integer
  registration_state character varying(10)
  colour character varying(120)
  user_id bigint
  entry_at timestamp with time zone not null -- EntryDate in UTC, by which the list filters; where EntryDate lies outside of the window that listed it, a time within that window
  created_at timestamp with time zone not null
  created_at_source character varying(10) not null
  completed_at timestamp with time zone
  source_updated_at timestamp with time zone not null -- UpdatedAt; an older one never replaces a newer one
  created_date_local date not null
  completed_date_local date
  odometer integer -- In odometer_unit, the unit of the rooftop: the document states none
  odometer_unit character(2) not null
  odometer_km integer generated always as (
  CASE odometer_unit
      WHEN 'mi'::bpchar THEN (round(((odometer)::numeric * 1.609344)))::integer
      ELSE odometer
  END) stored
  condition_score smallint
  final_price numeric(15,3) -- FinalPrice; a price sent as 0 is 0, one left out or null is null
  recon_total numeric(15,3)
  recon_line_total numeric(15,3) -- Sum of the reconditioning lines' cost; recon_total is the source's own total
  currency_code character(3) not null
  photo_count integer not null
  hero_source character varying(20)
  user_price_count integer not null
  customer_state character varying(20)
  customer_postcode character varying(20)
  version_no integer not null
  content_hash bytea not null
  first_loaded_at timestamp with time zone not null
  last_changed_at timestamp with time zone not null
  gone_at timestamp with time zone -- Source time when /geteval first answered 400 or the list no longer had it. The row is marked, never deleted
  run_id bigint not null
  vehicle_vin character varying(17) generated always as (
  CASE
      WHEN (length((vin)::text) = 17) THEN upper((vin)::text)
      ELSE NULL::text
  END) stored -- VIN in capitals; null unless it has 17 characters
  constraint evaluation_created_at_source_check CHECK (((created_at_source)::text = ANY ((ARRAY['CreatedAt'::character varying, 'EntryDate'::character varying])::text[])))
  constraint evaluation_pkey PRIMARY KEY (rooftop_id, eval_id)
  CREATE INDEX evaluation_completed ON core.evaluation USING btree (rooftop_id, completed_date_local)
  CREATE INDEX evaluation_entry ON core.evaluation USING btree (rooftop_id, entry_at)
  CREATE INDEX evaluation_id ON core.evaluation USING btree (eval_id)
  CREATE INDEX evaluation_key ON core.evaluation USING btree ((((((rooftop_id)::text || '-'::text) || (eval_id)::text))::character varying(32)))
  CREATE INDEX evaluation_month ON core.evaluation USING btree (rooftop_id, ((date_trunc('month'::text, (completed_date_local)::timestamp without time zone))::date))
  CREATE INDEX evaluation_newest ON core.evaluation USING btree (rooftop_id, COALESCE(completed_at, created_at))
  CREATE UNIQUE INDEX evaluation_once_in_group ON core.evaluation USING btree (group_id, eval_id)
  CREATE INDEX evaluation_time ON core.evaluation USING btree (rooftop_id, ((date_trunc('month'::text, (completed_date_local)::timestamp without time zone))::date)) INCLUDE (completed_date_local, created_at, completed_at, user_id) WHERE ((gone_at IS NULL) AND (completed_date_local IS NOT NULL) AND ((created_at_source)::text = 'CreatedAt'::text) AND (completed_at >= created_at))
  CREATE INDEX evaluation_vehicle_key ON core.evaluation USING btree ((((((group_id)::text || '-'::text) || (vehicle_vin)::text))::character varying(60)))
  CREATE INDEX evaluation_vehicle_vin ON core.evaluation USING btree (group_id, vehicle_vin) INCLUDE (gone_at) WHERE (vehicle_vin IS NOT NULL)
  CREATE INDEX evaluation_vin_end ON core.evaluation USING btree ("right"((vehicle_vin)::text, 6)) WHERE (vehicle_vin IS NOT NULL)
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.evaluation REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('evaluation')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.evaluation REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('evaluation')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.evaluation REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('evaluation')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.evaluation REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('evaluation')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.evaluation FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  CREATE TRIGGER new_to_pricing_delete AFTER DELETE ON core.evaluation REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.new_to_pricing_trg()
  CREATE TRIGGER new_to_pricing_insert AFTER INSERT ON core.evaluation REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.new_to_pricing_trg()
  CREATE TRIGGER new_to_pricing_truncate AFTER TRUNCATE ON core.evaluation FOR EACH STATEMENT EXECUTE FUNCTION ops.new_to_pricing_trg()
  CREATE TRIGGER new_to_pricing_update AFTER UPDATE ON core.evaluation REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.new_to_pricing_trg()
  CREATE TRIGGER touch_vehicles_delete AFTER DELETE ON core.evaluation REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION core.touch_vehicles_trg()
  CREATE TRIGGER touch_vehicles_insert AFTER INSERT ON core.evaluation REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION core.touch_vehicles_trg()
  CREATE TRIGGER touch_vehicles_truncate AFTER TRUNCATE ON core.evaluation FOR EACH STATEMENT EXECUTE FUNCTION core.touch_all_trg()
  CREATE TRIGGER touch_vehicles_update AFTER UPDATE ON core.evaluation REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION core.touch_vehicles_trg()
  -- One row per completed evaluation, with its current content.

core.evaluation_version table
  rooftop_id integer not null
  eval_id bigint not null
  version_no integer not null
  valid_from timestamp with time zone not null -- UpdatedAt of the content; valid_to of the current one is null
  valid_to timestamp with time zone
  observed_at timestamp with time zone not null
  changed_fields text[] not null
  final_price numeric(15,3)
  recon_total numeric(15,3)
  user_id bigint
  odometer integer
  condition_score smallint
  content_hash bytea not null
  run_id bigint not null
  constraint evaluation_version_pkey PRIMARY KEY (rooftop_id, eval_id, version_no)
  CREATE INDEX evaluation_version_edits ON core.evaluation_version USING btree (rooftop_id, eval_id, version_no) WHERE (version_no > 1)
  CREATE INDEX evaluation_version_key ON core.evaluation_version USING btree ((((((rooftop_id)::text || '-'::text) || (eval_id)::text))::character varying(32)))
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.evaluation_version REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('version')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.evaluation_version REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('version')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.evaluation_version REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('version')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.evaluation_version REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('version')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.evaluation_version FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  -- One row per observed content of an evaluation. Several edits between two reads appear as one change.

core.newest_fact view
  rooftop_id integer
  stream character varying(40)
  newest_fact_at timestamp with time zone
  as
   SELECT rooftop_id,
      stream::character varying(40) AS stream,
          CASE stream
              WHEN 'users'::text THEN ( SELECT max(last_changed_at) AS max
                 FROM core.app_user one
                   JOIN core.app_user_rooftop shown USING (user_id)
                WHERE rooftop_id = rooftop_id)
              WHEN 'evaluations'::text THEN ( SELECT max(completed_at) AS max
                 FROM core.evaluation e
                WHERE rooftop_id = rooftop_id AND gone_at IS NULL AND completed_date_local = (( SELECT max(completed_date_local) AS max
                         FROM core.evaluation newest
                        WHERE rooftop_id = rooftop_id AND gone_at IS NULL)))
              WHEN 'pricing'::text THEN ( SELECT max(observed_at) AS max
                 FROM core.price_observation p
                WHERE rooftop_id = rooftop_id)
              WHEN 'vehicle-checks'::text THEN ( SELECT max(COALESCE(searched_at, first_seen_at)) AS max
                 FROM core.vehicle_check k
                WHERE rooftop_id = rooftop_id AND gone_at IS NULL)
              ELSE ( SELECT max(observed_at) AS max
                 FROM core.stock_price_observation b
                WHERE rooftop_id = rooftop_id)
          END AS newest_fact_at
     FROM core.rooftop r
       CROSS JOIN ( VALUES ('users'::text), ('evaluations'::text), ('pricing'::text), ('vehicle-checks'::text), ('stock-prices'::text)) s(stream);
  -- Newest completion, price, search, or change of a user, by stream of each rooftop. Read by data_freshness and the console.

core.photo table
  rooftop_id integer not null
  eval_id bigint not null
  photo_id bigint not null
  display_position integer not null -- Position in Photos, from 1; supplied_order is the order that the source states, which is not unique
  supplied_order integer
  is_hero boolean not null
  hero_source character varying(20)
  angle character varying(120)
  first_seen_at timestamp with time zone not null
  removed_at timestamp with time zone
  constraint photo_pkey PRIMARY KEY (rooftop_id, eval_id, photo_id)
  CREATE INDEX photo_id ON core.photo USING btree (photo_id)
  CREATE INDEX photo_key ON core.photo USING btree ((((((rooftop_id)::text || '-'::text) || (eval_id)::text))::character varying(32)))
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.photo REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.photo REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.photo REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.photo REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.photo FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  -- Identity and order of photos. Their URLs are signed and expire: never stored.

core.price_insight table
  rooftop_id integer not null
  eval_id bigint not null
  price_source character varying(24) not null
  observed_at timestamp with time zone not null
  audience character varying(12) not null -- The readers of the bullet point
  position integer not null
  insight text not null
  constraint price_insight_audience_check CHECK (((audience)::text = ANY ((ARRAY['dealer'::character varying, 'customer'::character varying])::text[])))
  constraint price_insight_pkey PRIMARY KEY (rooftop_id, eval_id, price_source, observed_at, audience, "position")
  -- Bullet points of the reasoning of an observation, in the order received. When the same prices are explained again, the latest points.

core.price_observation table
  rooftop_id integer not null
  eval_id bigint not null
  price_source character varying(24) not null -- pricing_ai: /pricingAi/payload
  observed_at timestamp with time zone not null -- Source time of the first answer with these values
  last_confirmed_at timestamp with time zone not null -- Source time of the last answer with the same values
  is_current boolean not null
  as_of_date date not null -- prediction_date of the first answer: the day for which the prices are
  retail numeric(15,3) -- In currency_code; a price sent as 0 is 0, one left out or null is null
  wholesale numeric(15,3)
  wholesale_low numeric(15,3)
  wholesale_high numeric(15,3)
  buy_to_retail numeric(15,3)
  quick_sale numeric(15,3)
  sweet_spot numeric(15,3)
  currency_code character(3) not null -- Currency of the rooftop. The payload has only a symbol, which is checked against it (ops.data_quality)
  confidence character varying(40) not null
  reasoning_status character varying(12) -- null: reasoning was not requested; processing: it was not finished when polling ended
  value_hash bytea not null -- sha256 of prices, currency and confidence: a new observation is stored when it differs
  run_id bigint not null
  constraint price_observation_check CHECK ((last_confirmed_at >= observed_at))
  constraint price_observation_pkey PRIMARY KEY (rooftop_id, eval_id, price_source, observed_at)
  constraint price_observation_reasoning_status_check CHECK (((reasoning_status)::text = ANY ((ARRAY['processing'::character varying, 'completed'::character varying, 'unavailable'::character varying])::text[])))
  CREATE UNIQUE INDEX price_observation_current ON core.price_observation USING btree (rooftop_id, eval_id, price_source) WHERE is_current
  CREATE INDEX price_observation_key ON core.price_observation USING btree ((((((rooftop_id)::text || '-'::text) || (eval_id)::text))::character varying(32)))
  CREATE INDEX price_observation_newest ON core.price_observation USING btree (rooftop_id, observed_at)
  CREATE INDEX price_observation_superseded ON core.price_observation USING btree (rooftop_id, eval_id, observed_at) WHERE (NOT is_current)
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.price_observation REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.price_observation REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.price_observation FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  CREATE TRIGGER log_lake_update AFTER UPDATE ON core.price_observation REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_price_trg()
  -- Prices of an evaluation from a price source. A new row is added only when the answer changed; rows are never overwritten. The first row is what was known at the appraisal, the current one is what is known now.

core.recon_costs view
  rooftop_id integer
  eval_id bigint
  recon core.recon_cost[]
  as
   SELECT rooftop_id,
      eval_id,
      array_agg(ROW(recon_type::character varying(120),
          CASE
              WHEN is_known THEN first_cost
              ELSE NULL::numeric
          END::numeric(24,3),
          CASE
              WHEN is_known THEN last_cost
              ELSE NULL::numeric
          END::numeric(24,3))::core.recon_cost ORDER BY recon_type) AS recon
     FROM ( SELECT rooftop_id,
              eval_id,
              COALESCE(recon_type, ''::character varying) AS recon_type,
              bool_and(cost IS NOT NULL) AS is_known,
              COALESCE(sum(cost) FILTER (WHERE first_version = 1), 0::numeric) AS first_cost,
              COALESCE(sum(cost) FILTER (WHERE last_version IS NULL), 0::numeric) AS last_cost
             FROM core.reconditioning_item line
            WHERE lower(recon_type::text) IS DISTINCT FROM 'info'::text AND (first_version = 1 OR last_version IS NULL)
            GROUP BY rooftop_id, eval_id, (COALESCE(recon_type, ''::character varying))) cost
    GROUP BY rooftop_id, eval_id;
  -- Reconditioning of each evaluation by type, without lines of type info, which are no cost. Both costs are null where a line has none; a content without a line of the type costs 0.

core.reconditioning_item table
  rooftop_id integer not null
  eval_id bigint not null
  first_version integer not null
  line_no integer not null
  last_version integer -- null: part of the current content. Lines have no id, so a changed list replaces all lines
  recon_type character varying(120)
  source character varying(120)
  cost numeric(15,3)
  value_text character varying(1000)
  battery_soh_pct numeric(5,2) -- State of health of the battery, 0 to 100, from a line of type info whose value is a percentage
  constraint reconditioning_item_pkey PRIMARY KEY (rooftop_id, eval_id, first_version, line_no)
  CREATE INDEX reconditioning_item_info ON core.reconditioning_item USING btree (rooftop_id, eval_id) WHERE ((last_version IS NULL) AND (lower((recon_type)::text) = 'info'::text))
  CREATE INDEX reconditioning_item_key ON core.reconditioning_item USING btree ((((((rooftop_id)::text || '-'::text) || (eval_id)::text))::character varying(32)))
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.reconditioning_item REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.reconditioning_item REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.reconditioning_item REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.reconditioning_item REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.reconditioning_item FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()

core.ref_watch_status table
  watch_status character varying(40) not null
  noteworthiness smallint not null -- 1 is the most noteworthy; 0: a status that the document does not name, which comes before all others
  is_terminal boolean not null -- Never changes again, and is never polled again
  is_known boolean not null
  constraint ref_watch_status_pkey PRIMARY KEY (watch_status)
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.ref_watch_status REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.ref_watch_status REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.ref_watch_status REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.ref_watch_status REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.ref_watch_status FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  -- Statuses of a PPSR watch [A §3]. A status that the document does not name is added when it is first received, with is_known = false.

core.rooftop table
  rooftop_id integer not null generated always as identity
  rooftop_uid character varying(64) not null -- Value of X-Dealer-Id
  dealer_id bigint -- Numeric dealership id, used to filter the list; null: the list is not filtered
  group_id integer not null
  rooftop_name character varying(200) not null
  region character varying(3) not null
  time_zone character varying(64) not null
  currency_code character(3) not null
  odometer_unit character(2) not null
  previous_time_zone character varying(64) -- Before time_zone_changed_at, when the local days of its rows and their sums were calculated again; null: the zone never changed
  time_zone_changed_at timestamp with time zone
  left_config_at timestamp with time zone -- When a run found that the config no longer names the rooftop; null: the config names it
  constraint rooftop_group_id_fkey FOREIGN KEY (group_id) REFERENCES core.rooftop_group(group_id)
  constraint rooftop_odometer_unit_check CHECK ((odometer_unit = ANY (ARRAY['km'::bpchar, 'mi'::bpchar])))
  constraint rooftop_pkey PRIMARY KEY (rooftop_id)
  constraint rooftop_region_check CHECK (((region)::text = ANY ((ARRAY['AU'::character varying, 'US'::character varying, 'GCC'::character varying])::text[])))
  constraint rooftop_rooftop_uid_key UNIQUE (rooftop_uid)
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.rooftop REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.rooftop REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.rooftop REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.rooftop REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.rooftop FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  CREATE TRIGGER touch_moved AFTER UPDATE ON core.rooftop FOR EACH ROW WHEN ((old.group_id <> new.group_id)) EXECUTE FUNCTION core.touch_moved_trg()

core.rooftop_group table
  group_id integer not null generated always as identity
  group_code character varying(130) not null
  constraint rooftop_group_group_code_key UNIQUE (group_code)
  constraint rooftop_group_pkey PRIMARY KEY (group_id)
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.rooftop_group REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.rooftop_group REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.rooftop_group REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.rooftop_group REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.rooftop_group FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  -- A dealer group: one evaluation list covers all its rooftops [A §4 /getevallist].

core.stock_asking_price view
  rooftop_id integer
  stock_no character varying(80)
  asking_price_first numeric(15,3)
  asking_price_now numeric(15,3)
  price_changes integer
  is_comparable boolean -- true: a price is known before the newest one, or a later list of the whole stock has named the unit with the same price
  as
   WITH since AS NOT MATERIALIZED (
           SELECT rooftop_id,
              stock_no,
              max(import_id) AS import_id
             FROM core.stock_unit_change
            WHERE change::text = 'added'::text OR changes ?| ARRAY['currency_code'::text, 'first_seen_at'::text]
            GROUP BY rooftop_id, stock_no
          ), step AS (
           SELECT rooftop_id,
              stock_no,
              import_id,
              (((changes -> 'asking_price'::text) ->> 0))::numeric(15,3) AS was
             FROM core.stock_unit_change change
               LEFT JOIN since since_1 USING (rooftop_id, stock_no)
            WHERE changes ? 'asking_price'::text AND import_id > COALESCE(since_1.import_id, 0::bigint)
          ), history AS (
           SELECT rooftop_id,
              stock_no,
              (array_agg(was ORDER BY import_id) FILTER (WHERE was IS NOT NULL))[1] AS first_was,
              count(*)::integer AS price_changes,
              max(import_id) AS import_id
             FROM step
            GROUP BY rooftop_id, stock_no
          )
   SELECT rooftop_id,
      stock_no,
      COALESCE(first_was, asking_price)::numeric(15,3) AS asking_price_first,
      asking_price AS asking_price_now,
      COALESCE(price_changes, 0) AS price_changes,
      first_was IS NOT NULL OR COALESCE((( SELECT import_id
             FROM core.stock_import list
            WHERE rooftop_id = rooftop_id AND mode::text = 'snapshot'::text AND NOT dialect ? 'corrects'::text AND imported_at < COALESCE(missing_since, 'infinity'::timestamp with time zone)
            ORDER BY imported_at DESC
           LIMIT 1)) > COALESCE(import_id, import_id, import_id), false) AS is_comparable
     FROM core.stock_unit unit
       LEFT JOIN since USING (rooftop_id, stock_no)
       LEFT JOIN history USING (rooftop_id, stock_no);
  -- First and current asking price of each unit, from its changes in all imports since it came in. When a stock number is reused or the currency changes, the history starts again.

core.stock_evaluation view
  rooftop_id integer
  stock_no character varying(80)
  eval_rooftop_id integer
  eval_id bigint
  completed_at timestamp with time zone
  match_rule character varying(20)
  as
   SELECT rooftop_id,
      stock_no,
      rooftop_id AS eval_rooftop_id,
      eval_id,
      completed_at,
          CASE
              WHEN rooftop_id = rooftop_id THEN 'vin_same_rooftop'::text
              ELSE 'vin_same_group'::text
          END::character varying(20) AS match_rule
     FROM core.stock_unit unit
       JOIN core.rooftop USING (rooftop_id)
       JOIN core.evaluation seen ON group_id = group_id AND upper(vin::text) = vin::text AND length(vin::text) = 17
    WHERE gone_at IS NULL AND (CURRENT_USER <> 'forecourt_console'::name OR (rooftop_id = ANY (string_to_array(current_setting('rooftops'::text, true), ','::text)::integer[])));
  -- The evaluations of the vehicle of a unit in its dealer group, by VIN.

core.stock_import table
  import_id bigint not null generated always as identity
  rooftop_id integer not null
  file_name character varying(255) not null
  sha256 bytea not null
  byte_count bigint not null
  mode character varying(10) not null
  encoding character varying(40) not null
  delimiter character varying(4) not null
  dialect jsonb not null -- Quote, escape, line end, byte order mark, sep= line, number of columns, and the text above the records
  preamble jsonb not null -- Lines above the header, as text
  header jsonb -- { line, rows, names, rowNames, ragged }; null: the file has none
  mapping jsonb not null -- For each column: field, confidence and evidence
  warnings jsonb not null
  records integer not null
  accepted integer not null
  rejected integer not null
  collapsed integer not null -- Rows that repeat another row of the file
  skipped integer not null -- Rows that are no vehicle on hand: blank rows, totals, titles, footers, repeated headers, and vehicles with a status of sold
  added integer not null
  updated integer not null
  unchanged integer not null
  removed integer not null -- Units that a snapshot no longer lists
  reappeared integer not null
  imported_by character varying(120) not null
  imported_at timestamp with time zone not null default now()
  confirmed_at timestamp with time zone -- When the same content last came again; null: it did not
  constraint stock_import_check CHECK ((records = (((accepted + rejected) + collapsed) + skipped)))
  constraint stock_import_mode_check CHECK (((mode)::text = ANY ((ARRAY['snapshot'::character varying, 'delta'::character varying])::text[])))
  constraint stock_import_pkey PRIMARY KEY (import_id)
  constraint stock_import_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id)
  constraint stock_import_sha256_check CHECK ((length(sha256) = 32))
  CREATE INDEX stock_import_confirmed ON core.stock_import USING btree (rooftop_id, confirmed_at) WHERE (confirmed_at IS NOT NULL)
  CREATE INDEX stock_import_file ON core.stock_import USING btree (rooftop_id, sha256)
  CREATE INDEX stock_import_rooftop ON core.stock_import USING btree (rooftop_id, imported_at)
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.stock_import REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('list')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.stock_import REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('list')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.stock_import REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.stock_import REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('list')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.stock_import FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  -- One row per imported stock list. The same file is not imported again for a rooftop until another list has changed the stock.

core.stock_import_row table
  import_id bigint not null
  line_no integer not null -- Line of the file where the row begins, from 1
  stock_no character varying(80)
  status character varying(12) not null
  issues jsonb not null -- [{ code, severity, line, column, text, hint }]
  cells jsonb not null
  constraint stock_import_row_pkey PRIMARY KEY (import_id, line_no)
  constraint stock_import_row_status_check CHECK (((status)::text = ANY ((ARRAY['accepted'::character varying, 'rejected'::character varying, 'collapsed'::character varying, 'skipped'::character varying])::text[])))
  -- Every row of every import with every cell as text; never deleted.

core.stock_listed view
  rooftop_id integer
  group_id integer
  listed_from date -- First day of the month of the first list of the whole stock, in the time zone of the rooftop; null: none was imported
  listed_to date -- First day of the month of the newest list, as listed_from
  group_listed_from date -- The earliest listed_from of the rooftops of the dealer group
  group_listed_to date -- The latest listed_to of the rooftops of the dealer group
  first_list_at timestamp with time zone
  newest_list_at timestamp with time zone
  as
   SELECT rooftop_id,
      group_id,
      listed_from,
      listed_to,
      min(listed_from) OVER (PARTITION BY group_id) AS group_listed_from,
      max(listed_to) OVER (PARTITION BY group_id) AS group_listed_to,
      first_list_at,
      newest_list_at
     FROM core.rooftop r
       CROSS JOIN LATERAL ( SELECT date_trunc('month'::text, (first_list_at AT TIME ZONE time_zone))::date AS listed_from,
              date_trunc('month'::text, (newest_list_at AT TIME ZONE time_zone))::date AS listed_to,
              first_list_at,
              newest_list_at
             FROM ( SELECT min(imported_at) AS first_list_at,
                      GREATEST(max(imported_at), max(confirmed_at)) AS newest_list_at
                     FROM core.stock_import i
                    WHERE rooftop_id = rooftop_id AND mode::text = 'snapshot'::text AND NOT dialect ? 'corrects'::text) list) l;
  -- The first and the newest list of the whole stock of each rooftop, and of its dealer group. What was bought before or after them is not known: a car may have come and gone without a list.

core.stock_market_price view
  rooftop_id integer
  stock_no character varying(80)
  retail numeric(15,3)
  retail_low numeric(15,3)
  retail_high numeric(15,3)
  wholesale numeric(15,3)
  wholesale_low numeric(15,3)
  wholesale_high numeric(15,3)
  price_currency character(3)
  priced_at timestamp with time zone -- Last answer with these prices
  not_priced_reason character varying(255) -- Why it has no price; null: it has a retail or a wholesale price
  as
   SELECT rooftop_id,
      stock_no,
      retail,
      retail_low,
      retail_high,
      wholesale,
      wholesale_low,
      wholesale_high,
      currency_code AS price_currency,
      last_confirmed_at AS priced_at,
          CASE
              WHEN stock_no IS NOT NULL THEN
              CASE
                  WHEN error IS NOT NULL THEN error
                  WHEN retail IS NULL AND wholesale IS NULL THEN 'the service has no price for it'::character varying
                  ELSE NULL::character varying
              END::text
              ELSE COALESCE(( SELECT
                      CASE
                          WHEN error IS NOT NULL THEN error::text
                          WHEN retail IS NULL AND wholesale IS NULL THEN 'the service has no price for it'::text
                          ELSE (('its price is in '::text || currency_code::text) || ', the list has it in '::text) || currency_code::text
                      END AS "case"
                 FROM core.stock_price_observation o
                WHERE rooftop_id = rooftop_id AND stock_no::text = stock_no::text AND price_source::text = 'price_batch'::text AND is_current AND COALESCE(upper(vin::text) = upper(vin::text), true)),
              CASE
                  WHEN vin IS NULL AND adcode IS NULL THEN 'it has no VIN and no ADCode, so it cannot be priced'::text
                  ELSE NULL::text
              END, (( SELECT detail
                 FROM ops.data_quality q
                WHERE rooftop_id = rooftop_id AND stream::text = 'stock-prices'::text AND check_name::text = 'not-priced'::text
                ORDER BY seen_at DESC
               LIMIT 1))::text, ( SELECT
                      CASE
                          WHEN outcome::text = 'missing'::text THEN ('batch '::text || batch_no) || ' has no result for it: it will be priced again next night'::text
                          WHEN outcome::text = 'duplicate'::text THEN ('batch '::text || batch_no) || ' has several results for it and none was used: it will be priced again next night'::text
                          WHEN outcome::text = 'failed'::text THEN 'the service rejects it as too large, even alone in a batch'::text
                          WHEN state::text = 'lost'::text THEN ('the answer to batch '::text || batch_no) || ' was lost: it will be priced again next night'::text
                          WHEN state::text = 'stuck'::text THEN ('batch '::text || batch_no) || ' made no progress and was abandoned: it will be priced again next night'::text
                          WHEN state::text = 'refused'::text THEN ('the service rejected batch '::text || batch_no) || ': it will be priced again next night'::text
                          WHEN state::text <> 'complete'::text THEN ('batch '::text || batch_no) || ' is still being priced: the next run fetches its price'::text
                          ELSE NULL::text
                      END AS "case"
                 FROM ops.price_batch batch
                   JOIN ops.price_batch_unit part USING (batch_no)
                WHERE rooftop_id = rooftop_id AND stock_no::text = stock_no::text AND COALESCE(upper(vin::text) = upper(vin::text), true) AND submitted_at > (now() - '14 days'::interval)
                ORDER BY batch_no DESC
               LIMIT 1), 'not priced yet'::text)
          END::character varying(255) AS not_priced_reason
     FROM core.stock_unit s
       LEFT JOIN core.stock_price_observation p ON rooftop_id = rooftop_id AND stock_no::text = stock_no::text AND price_source::text = 'price_batch'::text AND is_current AND currency_code = currency_code AND COALESCE(upper(vin::text) = upper(vin::text), true)
    WHERE CURRENT_USER <> 'forecourt_console'::name OR (rooftop_id = ANY (string_to_array(current_setting('rooftops'::text, true), ','::text)::integer[]));
  -- The current price of each unit from price-batch: of the same vehicle, since stock numbers are reused, and in the currency of its list. One row per unit; null prices: it has none.

core.stock_outcome view
  rooftop_id integer
  stock_no character varying(80)
  eval_rooftop_id integer
  eval_id bigint
  acquired_on date
  match_rule character varying(20)
  as
   SELECT rooftop_id,
      stock_no,
      rooftop_id AS eval_rooftop_id,
      eval_id,
      COALESCE(acquired_on, (first_seen_at AT TIME ZONE time_zone)::date) AS acquired_on,
          CASE
              WHEN rooftop_id = rooftop_id THEN 'vin_same_rooftop'::text
              ELSE 'vin_same_group'::text
          END::character varying(20) AS match_rule
     FROM core.stock_unit unit
       JOIN core.rooftop rooftop USING (rooftop_id)
       CROSS JOIN LATERAL ( SELECT rooftop_id,
              eval_id,
              gone_at
             FROM core.evaluation e
            WHERE group_id = group_id AND vehicle_vin::text = vin::text AND completed_date_local <= COALESCE(acquired_on, (first_seen_at AT TIME ZONE time_zone)::date)
            ORDER BY (rooftop_id = rooftop_id) DESC, completed_at DESC, eval_id DESC
           LIMIT 1) seen
    WHERE gone_at IS NULL;
  -- The evaluation on which a unit of the stock lists was bought: of the same VIN in the dealer group, the last one of the same rooftop, else of the group, completed on or before the day that the unit came in (acquired_on, else the day of its first list). None where the service no longer shows that evaluation.

core.stock_price_observation table
  rooftop_id integer not null
  stock_no character varying(80) not null
  price_source character varying(24) not null
  observed_at timestamp with time zone not null
  last_confirmed_at timestamp with time zone not null
  is_current boolean not null
  vin character varying(40) -- VIN of the unit when it was priced, because stock numbers are reused
  retail numeric(15,3)
  retail_low numeric(15,3)
  retail_high numeric(15,3)
  wholesale numeric(15,3)
  wholesale_low numeric(15,3)
  wholesale_high numeric(15,3)
  currency_code character(3) not null
  error character varying(200) -- Why the unit could not be priced; then the prices are null
  value_hash bytea not null
  run_id bigint not null
  constraint stock_price_observation_check CHECK ((last_confirmed_at >= observed_at))
  constraint stock_price_observation_pkey PRIMARY KEY (rooftop_id, stock_no, price_source, observed_at)
  CREATE UNIQUE INDEX stock_price_current ON core.stock_price_observation USING btree (rooftop_id, stock_no, price_source) WHERE is_current
  CREATE INDEX stock_price_observation_newest ON core.stock_price_observation USING btree (rooftop_id, observed_at)
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.stock_price_observation REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.stock_price_observation REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.stock_price_observation FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  CREATE TRIGGER log_lake_update AFTER UPDATE ON core.stock_price_observation REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_price_trg()
  -- Prices of a unit from price-batch. A new row is added only when the answer changed; rows are never overwritten.

core.stock_unit table
  rooftop_id integer not null
  stock_no character varying(80) not null -- The VIN where the list has no stock number
  vin character varying(40)
  adcode character varying(40)
  plate character varying(40)
  make character varying(120)
  model character varying(200)
  variant character varying(255)
  model_year integer
  odometer_km integer
  asking_price numeric(15,3)
  cost numeric(15,3)
  currency_code character(3) not null
  price_on_application boolean not null
  acquired_on date
  extras jsonb not null -- Mapped fields that have no column in this table: the text of the file, by field
  content_hash bytea not null
  first_seen_at timestamp with time zone not null -- Time of the first import that listed it, or that listed it again after it was off stock
  last_seen_at timestamp with time zone not null -- Time of the last import that changed it, or that listed it again after it was missing
  missing_since timestamp with time zone -- First snapshot that did not list it; null: the newest snapshot lists it
  off_stock_at timestamp with time zone -- When its status became sold, or when the days of grace after the last list with it had passed. The row is marked, never deleted; null: in stock
  import_id bigint not null
  constraint stock_unit_odometer_km_check CHECK ((odometer_km >= 0))
  constraint stock_unit_pkey PRIMARY KEY (rooftop_id, stock_no)
  CREATE INDEX stock_unit_missing ON core.stock_unit USING btree (rooftop_id, missing_since) WHERE ((missing_since IS NOT NULL) AND (off_stock_at IS NULL))
  CREATE INDEX stock_unit_on_hand ON core.stock_unit USING btree (rooftop_id, stock_no) WHERE (off_stock_at IS NULL)
  CREATE INDEX stock_unit_vin ON core.stock_unit USING btree (vin) WHERE (vin IS NOT NULL)
  CREATE INDEX stock_unit_vin_end ON core.stock_unit USING btree ("right"((vin)::text, 6)) WHERE (vin IS NOT NULL)
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.stock_unit REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('unit')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.stock_unit REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('unit')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.stock_unit REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('unit')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.stock_unit REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('unit')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.stock_unit FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  CREATE TRIGGER touch_units_delete AFTER DELETE ON core.stock_unit REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION core.touch_units_trg()
  CREATE TRIGGER touch_units_insert AFTER INSERT ON core.stock_unit REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION core.touch_units_trg()
  CREATE TRIGGER touch_units_truncate AFTER TRUNCATE ON core.stock_unit FOR EACH STATEMENT EXECUTE FUNCTION core.touch_all_trg()
  CREATE TRIGGER touch_units_update AFTER UPDATE ON core.stock_unit REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION core.touch_units_trg()
  -- One row per vehicle that is or was in stock, with the content of the newest list that names it.

core.stock_unit_change table
  import_id bigint not null
  rooftop_id integer not null
  stock_no character varying(80) not null
  change character varying(12) not null
  changes jsonb not null -- { column: [old, new] }; empty for removed, and for added unless the stock number belonged to another vehicle before. first_seen_at: a new stay begins
  constraint stock_unit_change_change_check CHECK (((change)::text = ANY ((ARRAY['added'::character varying, 'updated'::character varying, 'removed'::character varying, 'reappeared'::character varying])::text[])))
  constraint stock_unit_change_pkey PRIMARY KEY (rooftop_id, stock_no, import_id)
  CREATE INDEX stock_unit_change_import ON core.stock_unit_change USING brin (import_id)
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.stock_unit_change REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.stock_unit_change REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.stock_unit_change REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.stock_unit_change REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('any')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.stock_unit_change FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  -- What each import changed in which unit: the stored change report.

core.stock_unit_known view
  rooftop_id integer
  stock_no character varying(80)
  ppsr_outcome character varying(20) -- answered: when it was last asked, the service has listed the PPSR searches of the VIN to the dealer group; no answer: it did not; null: it was never asked
  as
   SELECT rooftop_id,
      stock_no,
      ((( SELECT
                  CASE
                      WHEN bool_or(outcome::text = 'answered'::text) THEN 'answered'::text
                      ELSE 'no answer'::text
                  END AS "case"
             FROM core.evaluation e
               CROSS JOIN LATERAL ( SELECT outcome
                     FROM ops.enrichment_state asked
                    WHERE rooftop_id = rooftop_id AND stream::text = 'vehicle-checks'::text AND eval_id = eval_id AND ask::text = 'getpastppsrsearch'::text AND last_asked_at > '-infinity'::timestamp with time zone
                   OFFSET 0) state
            WHERE group_id = group_id AND vehicle_vin::text = upper(vin::text)
           HAVING count(*) > 0)))::character varying(20) AS ppsr_outcome
     FROM core.stock_unit s
       JOIN core.rooftop r USING (rooftop_id);
  -- Whether the service was asked about the searches of each unit. To read for a few units, by key.

core.stream_at_work view
  rooftop_id integer
  stream character varying(40)
  held tstzmultirange
  as
   SELECT rooftop_id,
      stream,
      range_agg(tstzrange(lower, GREATEST(lower, upper))) FILTER (WHERE (arguments ->> 'mode'::text) = ANY (ARRAY['sync'::text, 'backfill'::text])) AS held
     FROM ops.run run
       JOIN ops.run_stream part USING (run_id)
       CROSS JOIN LATERAL ( SELECT to_timestamp(((arguments ->> 'from'::text)::bigint)::double precision) AS lower,
              COALESCE(to_timestamp(((arguments ->> 'until'::text)::bigint)::double precision), source_started_at) AS upper) span
    WHERE status::text = 'running'::text AND heartbeat_at > (now() - '00:01:00'::interval) AND (status::text = ANY (ARRAY['waiting'::character varying, 'running'::character varying]::text[])) AND ((arguments ->> 'mode'::text) = ANY (ARRAY['sync'::text, 'backfill'::text, 'reprice'::text])) AND (stream::text = 'evaluations'::text OR lane::text <> 'background'::text)
    GROUP BY rooftop_id, stream;
  -- Streams of rooftops that a living run works on, and the span that it is listing: neither a gap nor late. Streams that a dead or ended run left are not included.

core.stream_status view
  rooftop_id integer
  stream character varying(40)
  last_status character varying(12)
  last_error text
  last_attempt_at timestamp with time zone
  clock_offset interval
  last_good_run_at timestamp with time zone
  covered tstzrange
  open_gaps integer
  unprovable bigint -- Windows that cannot be proved complete
  quarantined integer
  vanished integer
  is_at_work boolean
  read_to timestamp with time zone
  refused_key character varying
  listed tstzmultirange -- Spans that were listed; null for streams without windows, and before the first run
  settled tstzmultirange -- Spans that were listed once they were older than sync.settleDays
  gaps tstzmultirange -- Spans that are wanted and not listed, and no living run works on them
  as
   SELECT rooftop_id,
      stream::character varying(40) AS stream,
      status AS last_status,
      error AS last_error,
      finished_at AS last_attempt_at,
      clock_offset,
      finished_at AS last_good_run_at,
      ( SELECT range
             FROM unnest(listed) range(range)
            WHERE range @> COALESCE(start, lower(wanted))) AS covered,
          CASE
              WHEN gaps IS NOT NULL THEN ( SELECT count(*)::integer AS count
                 FROM unnest(gaps) unnest(unnest))
              ELSE NULL::integer
          END AS open_gaps,
      unprovable,
      quarantined,
      vanished,
      rooftop_id IS NOT NULL AS is_at_work,
      source_started_at AS read_to,
          CASE
              WHEN ops.is_refused(refused_key, rooftop_uid) THEN refused_key
              ELSE NULL::character varying
          END AS refused_key,
      listed,
      settled,
      gaps
     FROM core.rooftop r
       CROSS JOIN ( VALUES ('users'::text,false), ('evaluations'::text,true), ('pricing'::text,false), ('vehicle-checks'::text,false), ('stock-prices'::text,false)) s(stream, is_windowed)
       LEFT JOIN core.stream_at_work work ON rooftop_id = rooftop_id AND stream::text = stream
       LEFT JOIN LATERAL ( SELECT status,
              error,
              refused_key,
              finished_at,
              source_started_at - started_at AS clock_offset
             FROM ops.run_stream part
               JOIN ops.run run USING (run_id)
            WHERE rooftop_id = rooftop_id AND stream::text = stream AND finished_at IS NOT NULL AND ((arguments ->> 'mode'::text) = ANY (ARRAY['sync'::text, 'backfill'::text, 'reprice'::text])) AND (is_windowed OR lane::text <> 'background'::text)
            ORDER BY run_id DESC
           LIMIT 1) l ON true
       LEFT JOIN LATERAL ( SELECT finished_at,
              source_started_at
             FROM ops.run_stream part
               JOIN ops.run run USING (run_id)
            WHERE rooftop_id = rooftop_id AND stream::text = stream AND (status::text = ANY (ARRAY['ok'::character varying, 'partial'::character varying]::text[])) AND finished_at IS NOT NULL AND ((arguments ->> 'mode'::text) = ANY (ARRAY['sync'::text, 'backfill'::text, 'reprice'::text])) AND (is_windowed OR lane::text <> 'background'::text)
            ORDER BY run_id DESC
           LIMIT 1) g ON true
       LEFT JOIN LATERAL ( SELECT wanted,
              covered AS settled,
              covered + listed AS listed,
              unprovable,
              wanted - (covered + listed) - COALESCE(held, '{}'::tstzmultirange) - COALESCE(future, '{}'::tstzmultirange) AS gaps
             FROM ops.coverage o
               CROSS JOIN ( SELECT COALESCE(range_agg(tstzrange(window_from, window_until)), '{}'::tstzmultirange) AS listed
                     FROM ops.window_certificate
                    WHERE rooftop_id = rooftop_id AND stream::text = stream AND NOT settled) fresh
               CROSS JOIN ( SELECT count(*) AS unprovable
                     FROM ops.window_certificate
                    WHERE rooftop_id = rooftop_id AND stream::text = stream AND proof::text = 'unprovable'::text) doubted
               LEFT JOIN LATERAL ( SELECT tstzmultirange(tstzrange(source_started_at, NULL::timestamp with time zone)) AS future
                     FROM ops.run_stream part
                       JOIN ops.run run USING (run_id)
                    WHERE rooftop_id = rooftop_id AND stream::text = stream AND ((arguments ->> 'mode'::text) = ANY (ARRAY['sync'::text, 'backfill'::text]))
                    ORDER BY run_id DESC
                   LIMIT 1) last ON true
            WHERE rooftop_id = rooftop_id AND stream::text = stream) c ON is_windowed
       LEFT JOIN LATERAL ( SELECT to_timestamp(((arguments ->> 'from'::text)::bigint)::double precision) AS start
             FROM ops.run_stream part
               JOIN ops.run run USING (run_id)
            WHERE is_windowed AND rooftop_id = rooftop_id AND stream::text = stream AND (arguments ->> 'mode'::text) = 'sync'::text
            ORDER BY run_id DESC
           LIMIT 1) b ON true
       CROSS JOIN LATERAL ( SELECT count(*)::integer AS quarantined
             FROM ops.quarantine
            WHERE rooftop_id = rooftop_id AND stream::text = stream AND resolved_at IS NULL) q
       CROSS JOIN LATERAL ( SELECT count(*)::integer AS vanished
             FROM ops.vanished
            WHERE rooftop_id = rooftop_id AND stream::text = stream) v;
  -- Status of each stream of each rooftop: its last attempt, its last good run (all records are loaded or in quarantine) with the source time of its start (read_to), whether a living run works on it, and, for evaluations, the span listed without a gap from the start of the newest sync. Read by data_freshness and rpt_15.

core.user_price table
  rooftop_id integer not null
  eval_id bigint not null
  position integer not null
  amount numeric(15,3)
  currency_code character(3)
  body jsonb not null -- The item as received; the document does not show its shape
  constraint user_price_pkey PRIMARY KEY (rooftop_id, eval_id, "position")

core.vehicle table
  group_id integer not null
  vin character varying(17) not null -- core.evaluation.vehicle_vin, core.stock_unit.vin
  vehicle_key character varying(60) not null -- group_id and vin in one column, for joins
  make character varying(120) -- Of the newest evaluation or unit that has one; the same for model, variant, model_year and colour
  model character varying(200)
  variant character varying(255)
  model_year integer
  colour character varying(120)
  evaluations integer not null -- Number of evaluations, including those that the source no longer shows
  is_in_stock boolean not null -- On hand at a rooftop of the group
  first_seen_at timestamp with time zone -- Earliest core.evaluation.created_at or core.stock_unit.first_seen_at; last_seen_at is the latest
  last_seen_at timestamp with time zone
  constraint vehicle_pkey PRIMARY KEY (vin, group_id)
  CREATE INDEX vehicle_first_seen ON core.vehicle USING btree ((first_seen_at AT TIME ZONE 'UTC'::text))
  CREATE INDEX vehicle_group ON core.vehicle USING btree (group_id, vin)
  CREATE UNIQUE INDEX vehicle_key ON core.vehicle USING btree (vehicle_key)
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.vehicle REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('vehicle')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.vehicle REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('vehicle')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.vehicle REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('vehicle')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.vehicle REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('vehicle')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.vehicle FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  -- Vehicles that were appraised or are in a stock list, by VIN of 17 characters and dealer group. core.vehicles defines it.

core.vehicle_check table
  rooftop_id integer not null
  eval_id bigint not null -- The latest evaluation of the vehicle in the dealer group that existed when the check was made
  check_kind character varying(12) not null
  check_ref character varying(80) not null -- The id that the source gives (wire.appraisal.pastCheck.id), else another value that identifies the check
  group_id integer not null
  vin character varying(40) not null
  searched_at timestamp with time zone
  search_number character varying(80)
  certificate_number character varying(80)
  security_interest_count integer -- Known only for searches made by "forecourt api ppsrsearch"; null: unknown
  written_off_count integer
  stolen_count integer
  watch_status character varying(40) -- Status last reported; null: never reported. For a Car History report: the status of the certificate that came with it
  watch_status_since timestamp with time zone -- Source time of the first answer with this status
  watch_ends_at timestamp with time zone -- 14 days after the search [A §8]; null for a Car History report
  first_seen_at timestamp with time zone not null
  gone_at timestamp with time zone -- Source time of the first answer that no longer listed the check; null: it is listed
  run_id bigint -- The run or the paid call that loaded it; null: loaded by a permalink, or by a call whose answer was lost
  constraint vehicle_check_check_kind_check CHECK (((check_kind)::text = ANY ((ARRAY['ppsr'::character varying, 'car_history'::character varying])::text[])))
  constraint vehicle_check_group_id_fkey FOREIGN KEY (group_id) REFERENCES core.rooftop_group(group_id)
  constraint vehicle_check_once_in_group UNIQUE (group_id, check_kind, check_ref)
  constraint vehicle_check_pkey PRIMARY KEY (rooftop_id, eval_id, check_kind, check_ref)
  constraint vehicle_check_watch_status_fkey FOREIGN KEY (watch_status) REFERENCES core.ref_watch_status(watch_status)
  CREATE INDEX vehicle_check_key ON core.vehicle_check USING btree ((((((rooftop_id)::text || '-'::text) || (eval_id)::text))::character varying(32)))
  CREATE INDEX vehicle_check_newest ON core.vehicle_check USING btree (rooftop_id, COALESCE(searched_at, first_seen_at)) WHERE (gone_at IS NULL)
  CREATE INDEX vehicle_check_status ON core.vehicle_check USING btree (group_id, watch_status, watch_ends_at) WHERE (((check_kind)::text = 'ppsr'::text) AND (gone_at IS NULL))
  CREATE INDEX vehicle_check_vin ON core.vehicle_check USING btree (group_id, vin)
  CREATE INDEX vehicle_check_watch ON core.vehicle_check USING btree (watch_ends_at) WHERE (((check_kind)::text = 'ppsr'::text) AND (gone_at IS NULL))
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.vehicle_check REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('check')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.vehicle_check REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('check')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.vehicle_check REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('check')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.vehicle_check REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('check')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.vehicle_check FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  CREATE TRIGGER touch_checks_delete AFTER DELETE ON core.vehicle_check REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION core.touch_checks_trg()
  CREATE TRIGGER touch_checks_insert AFTER INSERT ON core.vehicle_check REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION core.touch_checks_trg()
  CREATE TRIGGER touch_checks_update AFTER UPDATE ON core.vehicle_check REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION core.touch_checks_trg()
  -- One row per real PPSR search or Car History report, even where several evaluations of the dealer group list it. Times are by the clock of the source.

core.vehicle_decode table
  vin character(17) not null
  operation character varying(40) not null
  adcode character varying(40)
  outcome character varying(12) not null
  decoded_at timestamp with time zone not null
  make character varying(120) -- As the service decodes the VIN, like model. null: the service gives none, or it was decoded before this column existed
  model character varying(120)
  constraint vehicle_decode_outcome_check CHECK (((outcome)::text = ANY ((ARRAY['decoded'::character varying, 'unknown'::character varying])::text[])))
  constraint vehicle_decode_pkey PRIMARY KEY (vin, operation)
  -- Factory builds that were looked up, once per VIN; unknown: the service does not know the VIN.

core.vehicle_facts view
  group_id integer
  vin character varying
  vehicle_key character varying(60)
  make character varying
  model character varying
  variant character varying
  model_year integer
  colour character varying
  evaluations integer
  is_in_stock boolean
  first_seen_at timestamp with time zone
  last_seen_at timestamp with time zone
  as
   SELECT group_id,
      vin,
      (((group_id::text || '-'::text) || vin::text))::character varying(60) AS vehicle_key,
      (array_agg(make ORDER BY seen_at DESC NULLS LAST, is_unit, rooftop_id, record_no) FILTER (WHERE make IS NOT NULL))[1] AS make,
      (array_agg(model ORDER BY seen_at DESC NULLS LAST, is_unit, rooftop_id, record_no) FILTER (WHERE model IS NOT NULL))[1] AS model,
      (array_agg(variant ORDER BY seen_at DESC NULLS LAST, is_unit, rooftop_id, record_no) FILTER (WHERE variant IS NOT NULL))[1] AS variant,
      (array_agg(model_year ORDER BY seen_at DESC NULLS LAST, is_unit, rooftop_id, record_no) FILTER (WHERE model_year IS NOT NULL))[1] AS model_year,
      (array_agg(colour ORDER BY seen_at DESC NULLS LAST, is_unit, rooftop_id, record_no) FILTER (WHERE colour IS NOT NULL))[1] AS colour,
      count(*) FILTER (WHERE NOT is_unit)::integer AS evaluations,
      bool_or(is_on_hand) AS is_in_stock,
      min(seen_at) AS first_seen_at,
      max(seen_at) AS last_seen_at
     FROM ( SELECT group_id,
              vehicle_vin AS vin,
              make,
              model,
              variant,
              model_year,
              colour,
              created_at AS seen_at,
              false AS is_unit,
              rooftop_id,
              eval_id::text AS record_no,
              false AS is_on_hand
             FROM core.evaluation
            WHERE vehicle_vin IS NOT NULL
          UNION ALL
           SELECT group_id,
              vin,
              make,
              model,
              variant,
              model_year,
              NULL::character varying,
              first_seen_at,
              true,
              rooftop_id,
              stock_no,
              off_stock_at IS NULL
             FROM core.stock_unit s
               JOIN core.rooftop r USING (rooftop_id)
            WHERE length(vin::text) = 17) seen
    GROUP BY group_id, vin;
  -- The rows of core.vehicle, calculated from the facts: the only definition of its columns.

core.vehicle_touched table
  groups integer[] not null
  vins character varying(40)[] not null
  constraint refresh_vehicles TRIGGER DEFERRABLE INITIALLY DEFERRED
  CREATE CONSTRAINT TRIGGER refresh_vehicles AFTER INSERT ON core.vehicle_touched DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION core.refresh_vehicles_trg()
  -- Vehicles that the statements of a transaction have touched. Empty again before it commits.

core.watch_status_change table
  rooftop_id integer not null
  eval_id bigint not null
  check_kind character varying(12) not null
  check_ref character varying(80) not null
  observed_at timestamp with time zone not null -- Source time of the first answer with this status
  from_status character varying(40) -- null: this is the first status observed
  to_status character varying(40) not null
  constraint watch_status_change_check CHECK (((from_status)::text IS DISTINCT FROM (to_status)::text))
  constraint watch_status_change_pkey PRIMARY KEY (rooftop_id, eval_id, check_kind, check_ref, observed_at)
  constraint watch_status_change_rooftop_id_eval_id_check_kind_check_re_fkey FOREIGN KEY (rooftop_id, eval_id, check_kind, check_ref) REFERENCES core.vehicle_check(rooftop_id, eval_id, check_kind, check_ref) ON UPDATE CASCADE ON DELETE CASCADE
  constraint watch_status_change_to_status_fkey FOREIGN KEY (to_status) REFERENCES core.ref_watch_status(watch_status)
  CREATE INDEX watch_status_change_key ON core.watch_status_change USING btree ((((((rooftop_id)::text || '-'::text) || (eval_id)::text))::character varying(32)))
  CREATE TRIGGER log_lake_after AFTER UPDATE ON core.watch_status_change REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_before AFTER UPDATE ON core.watch_status_change REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_delete AFTER DELETE ON core.watch_status_change REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_insert AFTER INSERT ON core.watch_status_change REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_change_trg('part')
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON core.watch_status_change FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  -- Every status that was observed of a watch, including the first.

ops schema

ops.alert table
  alert_id bigint not null generated always as identity
  alert_key character varying(120) not null -- The cause: while an alert with this key is open, it is not raised again.
  detail character varying(1000) not null
  raised_at timestamp with time zone not null default now()
  told_at timestamp with time zone -- When a receiver first got it
  resolved_at timestamp with time zone
  source_id integer -- The services of the process that found the problem: only such a process ends it. null: of an earlier version
  constraint alert_pkey PRIMARY KEY (alert_id)
  constraint alert_source_id_fkey FOREIGN KEY (source_id) REFERENCES ops.source(source_id)
  CREATE UNIQUE INDEX alert_open ON ops.alert USING btree (alert_key, source_id) NULLS NOT DISTINCT WHERE (resolved_at IS NULL)
  -- Problems that alerts report: one row from the failure to the recovery.

ops.alert_message table
  message_id uuid not null default gen_random_uuid() -- The Message-ID of an e-mail, and the header X-Forecourt-Message of a webhook: the same in every attempt
  target character varying(40) not null -- alerts.targets[].name; default: alerts.url or alerts.to
  recipient character varying(320) not null default ''::character varying -- The address of an e-mail, so that one that is refused does not repeat the others; empty for a webhook
  kind character varying(8) not null
  alert_id bigint not null
  severity character varying(8) not null
  made_at timestamp with time zone not null default now()
  attempts integer not null default 0 -- Attempts to send it, counted before each; after the last it is shown by "forecourt status"
  tried_at timestamp with time zone
  retry_at timestamp with time zone -- When the next attempt may begin, after a pause that grows
  paused_until timestamp with time zone -- Until when the receiver asked to get nothing (Retry-After), for all its messages
  sent_at timestamp with time zone
  error character varying(300) -- Why the last attempt failed, without the address
  constraint alert_message_alert_id_fkey FOREIGN KEY (alert_id) REFERENCES ops.alert(alert_id) ON DELETE CASCADE
  constraint alert_message_kind_check CHECK (((kind)::text = ANY ((ARRAY['raised'::character varying, 'resolved'::character varying])::text[])))
  constraint alert_message_pkey PRIMARY KEY (message_id)
  constraint alert_message_severity_check CHECK (((severity)::text = ANY ((ARRAY['critical'::character varying, 'warning'::character varying])::text[])))
  constraint alert_message_target_recipient_kind_alert_id_key UNIQUE (target, recipient, kind, alert_id)
  CREATE INDEX alert_message_alert ON ops.alert_message USING btree (alert_id)
  CREATE INDEX alert_message_open ON ops.alert_message USING btree (target, made_at) WHERE (sent_at IS NULL)
  -- One row per message to a receiver of the config (alerts): of a problem, or of its end.

ops.bi_access table
  role_name character varying(63) not null
  group_code character varying(130) not null -- core.rooftop_group.group_code; a group that no sync has loaded yet shows nothing
  constraint bi_access_pkey PRIMARY KEY (role_name, group_code)
  -- The dealer groups of each role in bi_tenant, written by "forecourt grant" from access.logins of the config. No BI role may read it.

ops.bi_login table
  role_name character varying(63) not null
  member_of character varying(63) not null -- forecourt_writer, bi_reader, bi_tenant or bi_pii_reader
  granted_at timestamp with time zone not null default now()
  constraint bi_login_pkey PRIMARY KEY (role_name)
  -- Login roles that "forecourt grant" made for this warehouse. When the config no longer names a login, this distinguishes it from the logins of another warehouse in the cluster.

ops.billable_call table
  call_id bigint not null generated always as identity
  operation character varying(40) not null
  budget character varying(40) not null -- Name of the setting under budget: in the config that limits the calls of a day
  rooftop_id integer -- core.rooftop; null for a call of the vehicle-data APIs that names none
  natural_key character varying(64) -- Subject of the call: the EvalID as text, else the VIN or code
  day date not null -- UTC day of the reservation, by the clock of the database
  state character varying(12) not null
  at timestamp with time zone not null default now()
  settled_at timestamp with time zone
  http_status integer
  requested_by character varying(120) not null -- user@host that requested it
  note character varying(400) -- Why it was released, or what is unknown; never the body of an answer
  check_ref character varying(80) -- check_ref of the check that the call made, from its answer or from the past checks
  known_refs character varying(80)[] -- Past checks that existed just before the call was sent; null: not read, or the operation makes none
  source_at timestamp with time zone -- Source time when known_refs was read
  shown_at timestamp with time zone -- When the answer of the call, or its check, was first shown to who requested it; null: not yet, so that a repeat shows it and pays nothing
  constraint billable_call_pkey PRIMARY KEY (call_id)
  constraint billable_call_state_check CHECK (((state)::text = ANY ((ARRAY['reserved'::character varying, 'committed'::character varying, 'released'::character varying])::text[])))
  CREATE INDEX billable_call_budget_day_idx ON ops.billable_call USING btree (budget, day) WHERE ((state)::text <> 'released'::text)
  CREATE INDEX billable_call_day ON ops.billable_call USING btree (day, budget, state)
  CREATE INDEX billable_call_natural_key_at_idx ON ops.billable_call USING btree (natural_key, at)
  CREATE INDEX billable_call_paid ON ops.billable_call USING btree (rooftop_id, at) WHERE ((state)::text = 'committed'::text)
  CREATE INDEX billable_call_rooftop_id_call_id_idx ON ops.billable_call USING btree (rooftop_id, call_id) WHERE ((state)::text = 'reserved'::text)
  -- One row per requested billable call. reserved: sent or about to be sent, outcome unknown (it counts against the budget); committed: answered; released: not sent, or refused with a documented error.

ops.certified_ids table
  rooftop_id integer not null
  stream character varying(40) not null
  window_from timestamp with time zone not null
  owner_id integer not null
  outcome character varying(12) not null -- loaded: in the tables; outdated: in the tables, but the newest read is in quarantine; quarantined and vanished: not in the tables
  ids bigint[] not null
  constraint certified_ids_outcome_check CHECK (((outcome)::text = ANY ((ARRAY['loaded'::character varying, 'outdated'::character varying, 'quarantined'::character varying, 'vanished'::character varying])::text[])))
  constraint certified_ids_pkey PRIMARY KEY (rooftop_id, stream, window_from, owner_id, outcome)
  CREATE INDEX certified_ids_owner ON ops.certified_ids USING btree (owner_id, stream)
  -- The ids that the certificate of a window listed, sorted, by owning rooftop and outcome. Written only when they change.

ops.console_action table
  action_id bigint not null generated always as identity
  at timestamp with time zone not null default now()
  email character varying(320) not null
  role character varying(10) not null
  action character varying(40) not null
  target jsonb not null default '{}'::jsonb
  shown_count integer -- How many records the page had announced when the person confirmed
  outcome character varying(12) not null default 'started'::character varying -- started: the process ended before the action did; refused: a rule was against it; failed: an error, see message
  message character varying(400)
  run_id bigint
  constraint console_action_outcome_check CHECK (((outcome)::text = ANY ((ARRAY['started'::character varying, 'done'::character varying, 'refused'::character varying, 'failed'::character varying])::text[])))
  constraint console_action_pkey PRIMARY KEY (action_id)
  constraint console_action_role_check CHECK (((role)::text = ANY ((ARRAY['engineer'::character varying, 'viewer'::character varying, 'stock'::character varying])::text[])))
  constraint console_action_run_id_fkey FOREIGN KEY (run_id) REFERENCES ops.run(run_id)
  CREATE INDEX console_action_email ON ops.console_action USING btree (email, action_id DESC)
  CREATE INDEX console_action_run ON ops.console_action USING btree (run_id) WHERE (run_id IS NOT NULL)
  -- What people did in the console. A row is written before the action starts, so that none is missing.

ops.console_link table
  token_hash bytea not null
  email character varying(320) not null
  made_at timestamp with time zone not null default now()
  ends_at timestamp with time zone not null
  constraint console_link_pkey PRIMARY KEY (token_hash)
  -- Sign-in links that were not used yet. Using one deletes its row.

ops.console_session table
  token_hash bytea not null -- sha256 of the cookie, so that a reader of this table cannot sign in
  email character varying(320) not null
  started_at timestamp with time zone not null default now()
  seen_at timestamp with time zone not null default now()
  ends_at timestamp with time zone not null
  user_agent character varying(400)
  constraint console_session_pkey PRIMARY KEY (token_hash)
  CREATE INDEX console_session_ends ON ops.console_session USING btree (ends_at)
  -- Who is signed in to the console. A row that is deleted ends its session; a person who is no longer in the config has none.

ops.console_try table
  address character varying(64) not null
  tried_at timestamp with time zone not null default now()
  method character varying(4) not null default 'link'::character varying -- What failed: a sign-in link, or an answer of the OpenID Connect provider. Each counts for itself
  constraint console_try_method_check CHECK (((method)::text = ANY ((ARRAY['link'::character varying, 'oidc'::character varying])::text[])))
  CREATE INDEX console_try_address ON ops.console_try USING btree (address, tried_at)
  -- Failed attempts to sign in, of the last 15 minutes, by the address of the client. In Postgres, so that several processes share the limit.

ops.coverage table
  rooftop_id integer not null
  stream character varying(40) not null
  covered tstzmultirange not null default '{}'::tstzmultirange
  wanted tstzmultirange not null default '{}'::tstzmultirange
  uncertified tstzmultirange not null default '{}'::tstzmultirange -- Covered, but by no settled certificate when it was last verified, and not listed since: a sync lists it again
  constraint coverage_pkey PRIMARY KEY (rooftop_id, stream)
  -- covered: the union of the settled windows. wanted: the spans that sync and backfill were asked to load. wanted - covered is still to do.

ops.data_quality table
  rooftop_id integer not null
  stream character varying(40) not null
  natural_key character varying(80) not null
  check_name character varying(40) not null
  detail character varying(300) not null
  run_id bigint not null
  seen_at timestamp with time zone not null default now()
  constraint data_quality_pkey PRIMARY KEY (rooftop_id, stream, natural_key, check_name)
  CREATE INDEX data_quality_check ON ops.data_quality USING btree (stream, check_name, seen_at DESC)
  -- Warnings: records that were loaded but contradict themselves or the document. A warning is deleted when a later read no longer has the problem.

ops.enrichment_state table
  rooftop_id integer not null
  stream character varying(40) not null
  eval_id bigint not null
  next_due_at timestamp with time zone -- null: never again, unless the evaluation changes
  last_asked_at timestamp with time zone not null
  polling_since timestamp with time zone -- Since when the answer is polled, every few seconds; null: it is not polled
  failures integer not null default 0 -- Requests in a row that got no readable answer
  outcome character varying(12) not null -- Outcome of the last request. skipped: the source does not know or does not price the evaluation; rejected: the answer could not be read, is in quarantine and is requested again in the next run; failed: no answer
  detail character varying(400) -- Why it was skipped or failed
  ask character varying(40) not null -- The operation that is called, e.g. getpastppsrsearch. A stream may call several operations for one evaluation, each on its own schedule
  refused_key character varying(130) -- The key whose refusal the failure is, or may be; null: another cause
  constraint enrichment_state_outcome_check CHECK (((outcome)::text = ANY ((ARRAY['answered'::character varying, 'processing'::character varying, 'skipped'::character varying, 'rejected'::character varying, 'failed'::character varying])::text[])))
  constraint enrichment_state_pkey PRIMARY KEY (rooftop_id, stream, eval_id, ask)
  CREATE INDEX enrichment_due ON ops.enrichment_state USING btree (rooftop_id, stream, next_due_at)
  CREATE INDEX enrichment_failed ON ops.enrichment_state USING btree (rooftop_id, stream, eval_id) WHERE (failures > 0)
  CREATE INDEX enrichment_made_due ON ops.enrichment_state USING btree (rooftop_id, stream) WHERE (next_due_at = '-infinity'::timestamp with time zone)
  CREATE INDEX enrichment_polled ON ops.enrichment_state USING btree (rooftop_id, stream) WHERE (polling_since IS NOT NULL)
  CREATE INDEX enrichment_state_evaluation ON ops.enrichment_state USING btree (rooftop_id, eval_id)
  CREATE TRIGGER log_lake_delete AFTER DELETE ON ops.enrichment_state REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_asked_trg()
  CREATE TRIGGER log_lake_insert AFTER INSERT ON ops.enrichment_state REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_asked_trg()
  CREATE TRIGGER log_lake_truncate AFTER TRUNCATE ON ops.enrichment_state FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_truncate_trg()
  CREATE TRIGGER log_lake_update AFTER UPDATE ON ops.enrichment_state REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.log_lake_asked_trg()
  CREATE TRIGGER new_to_pricing_delete AFTER DELETE ON ops.enrichment_state REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.new_to_pricing_trg()
  CREATE TRIGGER new_to_pricing_insert AFTER INSERT ON ops.enrichment_state REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.new_to_pricing_trg()
  CREATE TRIGGER new_to_pricing_truncate AFTER TRUNCATE ON ops.enrichment_state FOR EACH STATEMENT EXECUTE FUNCTION ops.new_to_pricing_trg()
  CREATE TRIGGER new_to_pricing_update AFTER UPDATE ON ops.enrichment_state REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ops.new_to_pricing_trg()
  -- State of an enrichment of an evaluation: one row per evaluation and request. It is not in core.evaluation, so that a request changes no fact. Times are by the clock of the source.

ops.field_drift table
  stream character varying(40) not null
  json_path character varying(300) not null
  json_type character varying(10) not null
  classification character varying(12) not null
  first_seen_at timestamp with time zone not null default now()
  last_seen_at timestamp with time zone not null default now()
  seen bigint not null default 0
  constraint field_drift_classification_check CHECK (((classification)::text = ANY ((ARRAY['documented'::character varying, 'undocumented'::character varying, 'missing'::character varying])::text[])))
  constraint field_drift_pkey PRIMARY KEY (stream, json_path, json_type)
  -- Every JSON path and type that was received, with its count over new and changed records.

ops.job table
  job_name character varying(30) not null
  schedule character varying(120) not null -- Cron expression of the scheduler that started last
  time_zone character varying(60) not null
  known_since timestamp with time zone not null default now() -- Slots from this instant on are run, or run late if they were missed. It is reset when the schedule or its time zone changes
  source_id integer -- The services of the scheduler; null: of an earlier version
  constraint job_job_name_source_id_key UNIQUE NULLS NOT DISTINCT (job_name, source_id)
  constraint job_source_id_fkey FOREIGN KEY (source_id) REFERENCES ops.source(source_id)
  -- Jobs that a scheduler of this warehouse has run, for each pair of services. Empty: no scheduler has ever run here, so no job can be late.

ops.job_fire table
  fire_id bigint not null generated always as identity
  job_name character varying(30) not null
  cause character varying(8) not null
  slot_at timestamp with time zone -- When it was due; null: started by hand
  status character varying(8) not null default 'running'::character varying -- stopped: by a signal, another scheduler continues it; skipped: not needed or not possible, see error; died: its process ended, a newer slot did its work
  attempt integer not null default 1 -- Above 1: taken over from a process that died or was stopped. It is the fence: an earlier attempt cannot record a result
  made_up boolean not null default false -- true: started more than a minute after it was due
  claimed_at timestamp with time zone not null default now()
  heartbeat_at timestamp with time zone not null default now()
  finished_at timestamp with time zone
  host character varying(120) not null
  process_id integer not null
  run_ids bigint[] not null default '{}'::bigint[] -- Its runs in ops.run
  error text
  source_id integer -- The services that it reads; null: of an earlier version, it belongs to any
  deaths integer not null default 0 -- How many processes in a row ended during the job run without being stopped; a stop by a signal starts the count again
  constraint job_fire_cause_check CHECK (((cause)::text = ANY ((ARRAY['schedule'::character varying, 'manual'::character varying])::text[])))
  constraint job_fire_check CHECK ((((cause)::text = 'manual'::text) = (slot_at IS NULL)))
  constraint job_fire_job_name_slot_at_source_id_key UNIQUE (job_name, slot_at, source_id)
  constraint job_fire_pkey PRIMARY KEY (fire_id)
  constraint job_fire_source_id_fkey FOREIGN KEY (source_id) REFERENCES ops.source(source_id)
  constraint job_fire_status_check CHECK (((status)::text = ANY ((ARRAY['running'::character varying, 'ok'::character varying, 'partial'::character varying, 'failed'::character varying, 'stopped'::character varying, 'skipped'::character varying, 'died'::character varying])::text[])))
  CREATE INDEX job_fire_claimed ON ops.job_fire USING btree (claimed_at)
  CREATE INDEX job_fire_job_name_fire_id_idx ON ops.job_fire USING btree (job_name, fire_id DESC)
  CREATE INDEX job_fire_runs ON ops.job_fire USING gin (run_ids)
  -- One row per job, slot and pair of services over all hosts, and one per "forecourt run". Times are by the clock of the database.

ops.key_refusal view
  key_name character varying(130)
  rooftop_uid character varying(120)
  operation character varying(60)
  refused_since timestamp with time zone
  refused_at timestamp with time zone
  refused_calls integer
  status integer
  answer character varying(400)
  as
   SELECT key_name,
      rooftop_uid,
      operation,
      refused_since,
      refused_at,
      refused_calls,
      status,
      answer
     FROM ops.key_state refused
    WHERE refused_since IS NOT NULL AND NOT (EXISTS ( SELECT
             FROM ops.key_state other
            WHERE key_name::text = key_name::text AND rooftop_uid::text = rooftop_uid::text AND good_at > (refused_at + '26:00:00'::interval)));
  -- Where API keys are refused now, one row for each operation and rooftop.

ops.key_state table
  key_name character varying(130) not null -- As in ops.rate_budget: appraisal/<name under keys:>, or vehicleData
  rooftop_uid character varying(120) not null -- Empty for vehicleData, whose key is the same for every rooftop
  operation character varying(60) not null
  good_at timestamp with time zone -- The last answer that accepted the key, by about a minute
  refused_since timestamp with time zone -- The first refusal after that; null: the key is not refused
  refused_at timestamp with time zone -- The last refusal
  refused_calls integer not null default 0 -- Calls that were refused since; calls that were not sent any more are not counted
  status integer -- HTTP status of the last refusal
  answer character varying(400) -- What the service answered then, without the key
  constraint key_state_pkey PRIMARY KEY (key_name, rooftop_uid, operation)
  -- The last answers to an API key: one row for each operation and rooftop, as a key may be refused at one of either. Processes write what changed, within a second; unchanged answers once a minute. Times are by the clock of the database.

ops.lake table
  lake character varying(1000) not null -- Folder, or s3://bucket/prefix
  warehouse character varying(100) not null -- The warehouse as the lake names it: a copy of a database is another one
  tracked_from xid8 -- Every transaction from this one on has recorded its changes; null: not known yet
  exported_at timestamp with time zone not null default now() -- End of the last complete export. A lake without one for 30 days is forgotten
  token uuid -- Of the last complete export, which the lake names too. They differ when the lake or the warehouse was restored
  basis character varying(200) -- Migrations and marts of that export: with other ones everything is compared
  snapshot pg_snapshot -- What that export has seen; null: changes before the next one may not be recorded
  constraint lake_pkey PRIMARY KEY (lake)
  -- Lakes that this warehouse writes. Without a row no changes are recorded in ops.lake_change.

ops.lake_change table
  changed_by xid8 not null default pg_current_xact_id() -- The transaction: an export reads those that the snapshot of the last one does not see
  source character varying(130) not null -- The table that has changed; <table>.last_confirmed_at: prices were confirmed
  rooftop_id integer
  eval_ids bigint[]
  months character varying(10)[] -- Months (YYYY-MM) of the rows before and after: of completion, of an edit (core.evaluation_version), or in which a vehicle was first seen (core.vehicle); empty text: none
  vins character varying(40)[] -- Vehicles of the rows before and after, whose other evaluations have columns about them
  -- What a statement has changed since the oldest export of ops.lake: one row per table and rooftop. Without eval_ids, months and vins: any row of the table. An export deletes what every lake has.

ops.link_scope view
  rooftop_id integer
  eval_id bigint
  link_kind character varying(20)
  link_ref character varying(80)
  group_id integer
  vin character varying(40)
  is_stored boolean
  is_in_scope boolean
  as
   SELECT rooftop_id,
      eval_id,
      link_kind,
      link_ref,
      group_id,
      vin,
      is_in_scope AS is_stored,
      gone_at IS NULL AND (EXISTS ( SELECT
             FROM core.evaluation any_of_vehicle
            WHERE group_id = group_id AND vehicle_vin::text = vin::text AND gone_at IS NULL)) AS is_in_scope
     FROM core.vehicle_check checked
       JOIN pii.signed_link link ON rooftop_id = rooftop_id AND eval_id = eval_id AND link_kind::text = (check_kind::text || '_pdf'::text) AND link_ref::text = check_ref::text;
  -- Of each link whether it is in scope, calculated from the facts (is_in_scope), and what the link says (is_stored).

ops.mart_source view
  reader name
  source_schema name
  source_name name
  source_oid oid
  source_kind "char"
  is_direct boolean
  as
   WITH RECURSIVE step AS (
           SELECT DISTINCT oid AS view_oid,
              relnamespace AS view_schema,
              refobjid AS source_oid
             FROM pg_class v
               JOIN pg_rewrite w ON ev_class = oid
               JOIN pg_depend d ON classid = 'pg_rewrite'::regclass::oid AND objid = oid AND refclassid = 'pg_class'::regclass::oid AND refobjid <> oid
            WHERE relkind = 'v'::"char"
          ), reached AS (
           SELECT view_schema AS reader,
              source_oid,
              true AS is_direct
             FROM step
            WHERE view_schema = ANY (ARRAY['mart'::regnamespace, 'mart_scoped'::regnamespace, 'mart_pii'::regnamespace, 'core_scoped'::regnamespace]::oid[])
          UNION
           SELECT reached_1.reader,
              source_oid,
              false
             FROM reached reached_1
               JOIN step ON view_oid = reached_1.source_oid
          )
   SELECT nspname AS reader,
      nspname AS source_schema,
      relname AS source_name,
      oid AS source_oid,
      relkind AS source_kind,
      bool_or(is_direct) AS is_direct
     FROM reached
       JOIN pg_namespace n ON oid = reader
       JOIN pg_class c ON oid = source_oid
       JOIN pg_namespace s ON oid = relnamespace
    GROUP BY nspname, nspname, relname, oid, relkind;
  -- Tables and views that each mart schema (reader) reads, directly (is_direct) or through other views. Grants and row-level security follow from it, so that a new mart is covered.

ops.mart_table view
  mart name
  source character varying(130)
  is_recorded boolean
  as
   WITH RECURSIVE step AS (
           SELECT DISTINCT view_1.oid AS reader,
              refobjid AS source
             FROM pg_class view_1
               JOIN pg_rewrite rule ON ev_class = view_1.oid
               JOIN pg_depend used ON classid = 'pg_rewrite'::regclass::oid AND objid = oid AND refclassid = 'pg_class'::regclass::oid AND refobjid <> view_1.oid
            WHERE view_1.relkind = 'v'::"char"
          ), reached AS (
           SELECT reader AS mart,
              source
             FROM step
            WHERE (reader IN ( SELECT oid
                     FROM pg_class
                    WHERE relnamespace = 'mart'::regnamespace::oid))
          UNION
           SELECT reached_1.mart,
              source
             FROM reached reached_1
               JOIN step ON reader = reached_1.source
          )
   SELECT relname AS mart,
      (((nspname::text || '.'::text) || relname::text))::character varying(130) AS source,
      (EXISTS ( SELECT
             FROM pg_trigger
            WHERE tgrelid = oid AND tgname = 'log_lake_delete'::name AND tgenabled = 'O'::"char")) AS is_recorded
     FROM reached
       JOIN pg_class view ON oid = mart
       JOIN pg_class source ON oid = source AND relkind <> 'v'::"char"
       JOIN pg_namespace space ON oid = relnamespace;
  -- Tables that each mart reads, directly or through other views. is_recorded: their changes are in ops.lake_change.

ops.mart_version table
  version character varying(20) not null
  checksum character varying(64) not null -- sha256 of all files of sql/marts. When it differs, the next migrate builds the marts again
  built_at timestamp with time zone not null default now()
  constraint mart_version_pkey PRIMARY KEY (built_at)
  -- One row per build of the marts; the newest row is current. version: semver of sql/marts/VERSION; removing, renaming or retyping a column raises the major number.

ops.moved_field table
  rooftop_id integer not null
  stream character varying(40) not null
  setting character varying(120) not null
  configured jsonb not null -- The value of the setting; the row counts while the config has it
  paths text[] not null -- Where the field probably is now; several: one of them; empty: not known
  evidence text not null -- Counts and rules, never a value
  records bigint[] not null -- Records that were read before and after; "wire learn --stored" reads them
  found_at timestamp with time zone not null default now()
  run_id bigint not null
  constraint moved_field_pkey PRIMARY KEY (rooftop_id, stream, setting)
  constraint moved_field_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id) ON DELETE CASCADE
  -- Settings of wire whose field newer records of a rooftop do not have, though most earlier ones had it. A row goes when a record has it again.

ops.new_to_pricing table
  rooftop_id integer not null
  eval_id bigint not null
  constraint new_to_pricing_pkey PRIMARY KEY (rooftop_id, eval_id)
  -- Evaluations that Pricing AI can price and was not asked about yet, or not since they were edited. ops.new_to_pricing_facts defines it.

ops.new_to_pricing_facts view
  rooftop_id integer
  eval_id bigint
  as
   SELECT rooftop_id,
      eval_id
     FROM core.evaluation
       LEFT JOIN ops.enrichment_state state ON rooftop_id = rooftop_id AND stream::text = 'pricing'::text AND eval_id = eval_id AND ask::text = 'pricingAi'::text
    WHERE ops.is_new_to_pricing(gone_at, completed_at, odometer, source_updated_at, last_asked_at);
  -- The rows of ops.new_to_pricing, calculated from the facts.

ops.ops.cause_of(text,text) routine
CREATE OR REPLACE FUNCTION ops.cause_of(path text, message text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN "left"(md5(((path || chr(10)) || message)), 12)

ops.ops.certificates_over(integer,text,timestamp with time zone,timestamp with time zone) routine
CREATE OR REPLACE FUNCTION ops.certificates_over(of_rooftop integer, of_stream text, start timestamp with time zone, stop timestamp with time zone)
 RETURNS SETOF ops.window_certificate
 LANGUAGE sql
 STABLE
AS $function$
  select * from ops.window_certificate
  where rooftop_id = of_rooftop and stream = of_stream and window_until > start
    and window_from < stop and window_from > start - interval '744 hours'
  offset 0
$function$

ops.ops.console_rooftops(name) routine
CREATE OR REPLACE FUNCTION ops.console_rooftops(who name)
 RETURNS integer[]
 LANGUAGE sql
 STABLE PARALLEL SAFE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select pg_catalog.string_to_array(pg_catalog.current_setting('forecourt.rooftops', true), ',')::int[]
  from pg_catalog.pg_roles as asked
  where asked.rolname = who and who = 'forecourt_console' and pg_catalog.pg_has_role(session_user, asked.oid, 'member')
$function$

ops.ops.drop_marts() routine
CREATE OR REPLACE FUNCTION ops.drop_marts()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  views text;
begin
  select string_agg(format('%I.%I', n.nspname, c.relname), ', ') into views
  from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname in ('mart', 'mart_scoped', 'mart_pii', 'core_scoped') and c.relkind = 'v';
  if views is not null then
    execute 'drop view ' || views;
  end if;
end
$function$

ops.ops.forget_lake_changes() routine
CREATE OR REPLACE FUNCTION ops.forget_lake_changes()
 RETURNS void
 LANGUAGE sql
AS $function$
  delete from ops.lake where exported_at < now() - interval '30 days';
  -- A number above those of all transactions is of a database that this one was copied from.
  delete from ops.lake_change where changed_by >= pg_snapshot_xmax(pg_current_snapshot()) or not exists (
    select from ops.lake where coalesce(pg_snapshot_xmin(snapshot), tracked_from, '0') <= changed_by);
$function$

ops.ops.is_new_to_pricing(timestamp with time zone,timestamp with time zone,integer,timestamp with time zone,timestamp with time zone) routine
CREATE OR REPLACE FUNCTION ops.is_new_to_pricing(gone_at timestamp with time zone, completed_at timestamp with time zone, odometer integer, updated_at timestamp with time zone, asked_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select gone_at is null and completed_at is not null and odometer is not null and (asked_at is null or updated_at > asked_at)
$function$

ops.ops.is_refused(character varying,character varying) routine
CREATE OR REPLACE FUNCTION ops.is_refused(of_key character varying, uid character varying)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from ops.key_refusal where key_name = of_key and rooftop_uid in (uid, ''))
$function$

ops.ops.issue_cause(jsonb) routine
CREATE OR REPLACE FUNCTION ops.issue_cause(issues jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ops.cause_of(ops.issue_path(issues), ops.issue_text(issues))

ops.ops.issue_path(jsonb) routine
CREATE OR REPLACE FUNCTION ops.issue_path(issues jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(COALESCE(((issues -> 0) ->> 'path'::text), '$'::text), '\[\d+\]|(^|\.)\d+(?=\.|$)'::text, '[*]'::text, 'g'::text)

ops.ops.issue_text(jsonb) routine
CREATE OR REPLACE FUNCTION ops.issue_text(issues jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(regexp_replace(COALESCE(((issues -> 0) ->> 'message'::text), 'no reason was stored'::text), '"[^"]*"'::text, '"…"'::text, 'g'::text), '\m(\d{4}-\d\d-\d\d[\dT:.Z+-]*|\d{6,})\M'::text, '…'::text, 'g'::text)

ops.ops.lake_changes_since(pg_snapshot) routine
CREATE OR REPLACE FUNCTION ops.lake_changes_since(seen pg_snapshot)
 RETURNS TABLE(source character varying, kind character varying, month character varying)
 LANGUAGE sql
 STABLE
AS $function$
  with change as materialized (
    select * from ops.lake_change where not pg_visible_in_snapshot(changed_by, seen)
  ), part as (
    select distinct source, rooftop_id, eval_id from change cross join unnest(eval_ids) as eval_id
  ), vehicle as (
    select distinct source, vin from change cross join unnest(vins) as vin
  )
  select source, case source when 'core.evaluation_version' then 'edit' when 'core.vehicle' then 'first seen' else 'row' end, unnest(months) from change
  -- Parts of an evaluation that is gone have no month.
  union select source, 'row', ops.month_of(e.completed_date_local) from part left join core.evaluation as e using (rooftop_id, eval_id)
  -- An edit counts only while its evaluation is shown, and is compared with the version before it.
  union select source, 'edit', ops.month_of((v.valid_from at time zone r.time_zone)::date)
  from part
  join core.evaluation_version as v using (rooftop_id, eval_id)
  join core.rooftop as r using (rooftop_id)
  where source in ('core.evaluation', 'core.evaluation_version') and v.version_no > 1
  union select source, 'vehicle', ops.month_of(e.completed_date_local)
  from vehicle join core.evaluation as e on e.vehicle_vin = vehicle.vin
  -- Evaluations of a vehicle have something to do with each other where it is a unit.
  where source <> 'core.evaluation' or exists (select from core.stock_unit as unit where unit.vin = vehicle.vin)
  union select source, 'table', '' from change
  union select source, 'row', null from change where eval_ids is null and months is null and vins is null
$function$

ops.ops.log_lake_asked_trg() routine
CREATE OR REPLACE FUNCTION ops.log_lake_asked_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if not exists (select from ops.lake) then
    return null;
  end if;
  if tg_op = 'UPDATE' then
    insert into ops.lake_change (source, rooftop_id, eval_ids)
    select 'ops.enrichment_state', rooftop_id, array_agg(distinct eval_id)
    from (
      select rooftop_id, eval_id
      from (
        select rooftop_id, stream, eval_id, ask, outcome = 'answered' and last_asked_at > '-infinity' as is_answered from before
        union all
        select rooftop_id, stream, eval_id, ask, outcome = 'answered' and last_asked_at > '-infinity' from changed
      ) as version
      where stream = 'vehicle-checks' and ask = 'getpastppsrsearch'
      -- A row that is there twice is the same before and after.
      group by rooftop_id, eval_id, is_answered having count(*) = 1
    ) as other
    group by rooftop_id;
  else
    insert into ops.lake_change (source, rooftop_id, eval_ids)
    select 'ops.enrichment_state', rooftop_id, array_agg(distinct eval_id) from changed
    where stream = 'vehicle-checks' and ask = 'getpastppsrsearch' group by rooftop_id;
  end if;
  return null;
end
$function$

ops.ops.log_lake_change_trg() routine
CREATE OR REPLACE FUNCTION ops.log_lake_change_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  -- No table has a column with this name.
  changed_source text := tg_table_schema || '.' || tg_table_name;
begin
  if not exists (select from ops.lake) then
    return null;
  end if;
  case tg_argv[0]
    when 'evaluation' then
      insert into ops.lake_change (source, rooftop_id, eval_ids, months, vins)
      select changed_source, rooftop_id, array_agg(eval_id), array_agg(distinct ops.month_of(completed_date_local)),
        array_agg(distinct vehicle_vin) filter (where vehicle_vin is not null)
      from changed group by rooftop_id;
    when 'month' then
      insert into ops.lake_change (source, months) select changed_source, array_agg(distinct ops.month_of(completed_date_local)) from changed having count(*) > 0;
    when 'version' then
      insert into ops.lake_change (source, rooftop_id, eval_ids, months)
      select changed_source, rooftop_id, array_agg(distinct eval_id),
        array_agg(distinct ops.month_of((valid_from at time zone time_zone)::date)) filter (where version_no > 1)
      from changed left join core.rooftop using (rooftop_id) group by rooftop_id;
    when 'vehicle' then
      insert into ops.lake_change (source, months)
      select changed_source, array_agg(distinct ops.month_of((first_seen_at at time zone 'UTC')::date)) from changed having count(*) > 0;
    when 'part' then
      insert into ops.lake_change (source, rooftop_id, eval_ids) select changed_source, rooftop_id, array_agg(distinct eval_id) from changed group by rooftop_id;
    when 'check' then
      insert into ops.lake_change (source, rooftop_id, eval_ids, vins)
      select changed_source, rooftop_id, array_agg(distinct eval_id), array_agg(distinct vin) from changed group by rooftop_id;
    when 'list' then
      -- The first whole list of a rooftop says from when on it is known what was bought, and the newest one until when.
      insert into ops.lake_change (source, months)
      select changed_source, case when bool_and(earlier.imported_at is not null) then
        coalesce(array_agg(distinct ops.month_of(month::date)) filter (where month is not null), '{}') end
      from changed as c
      join core.rooftop as r using (rooftop_id)
      cross join lateral (
        select max(i.imported_at) as imported_at from core.stock_import as i
        where i.rooftop_id = c.rooftop_id and i.imported_at < c.imported_at and i.mode = 'snapshot' and not i.dialect ? 'corrects'
      ) as earlier
      left join lateral generate_series(
        date_trunc('month', earlier.imported_at at time zone r.time_zone),
        greatest(c.imported_at, c.confirmed_at) at time zone r.time_zone, interval '1 month'
      ) as month on true
      having count(*) > 0;
    when 'unit' then
      insert into ops.lake_change (source, vins)
      select changed_source, coalesce(array_agg(distinct vin) filter (where vin is not null), '{}') from changed having count(*) > 0;
    else
      insert into ops.lake_change (source) select changed_source where exists (select from changed);
  end case;
  return null;
end
$function$

ops.ops.log_lake_new_user_trg() routine
CREATE OR REPLACE FUNCTION ops.log_lake_new_user_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if exists (select from core.app_user where user_id > (select min(user_id) from changed) and user_id not in (select user_id from changed)) then
    insert into ops.lake_change (source) select 'core.app_user' where exists (select from ops.lake);
  end if;
  return null;
end
$function$

ops.ops.log_lake_price_trg() routine
CREATE OR REPLACE FUNCTION ops.log_lake_price_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  changed_source text := tg_table_schema || '.' || tg_table_name;
begin
  if not exists (select from ops.lake) then
    return null;
  end if;
  with was as (
    select to_jsonb(before) - 'last_confirmed_at' as price from before
  ), became as (
    select to_jsonb(changed) - 'last_confirmed_at' as price from changed
  ), other as (
    (table was except table became) union all (table became except table was)
  ), change as (
    select changed_source as source, (price ->> 'rooftop_id')::int as rooftop_id, (price ->> 'eval_id')::bigint as eval_id from other
    union all
    select changed_source || '.last_confirmed_at', (price ->> 'rooftop_id')::int, (price ->> 'eval_id')::bigint from became
  )
  insert into ops.lake_change (source, rooftop_id, eval_ids)
  select source, rooftop_id, array_agg(distinct eval_id) filter (where eval_id is not null) from change group by source, rooftop_id;
  return null;
end
$function$

ops.ops.log_lake_truncate_trg() routine
CREATE OR REPLACE FUNCTION ops.log_lake_truncate_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  insert into ops.lake_change (source) select tg_table_schema || '.' || tg_table_name where exists (select from ops.lake);
  return null;
end
$function$

ops.ops.log_lake_user_trg() routine
CREATE OR REPLACE FUNCTION ops.log_lake_user_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if exists (select user_id, display_name, is_generated_link_account from before except select user_id, display_name, is_generated_link_account from changed) then
    insert into ops.lake_change (source) select 'core.app_user' where exists (select from ops.lake);
  end if;
  return null;
end
$function$

ops.ops.month_of(date) routine
CREATE OR REPLACE FUNCTION ops.month_of(day date)
 RETURNS character varying
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when day between '0001-01-01' and '9999-12-31' then to_char(day::timestamp, 'YYYY-MM') else '' end
$function$

ops.ops.new_to_pricing_differences(integer[],bigint[]) routine
CREATE OR REPLACE FUNCTION ops.new_to_pricing_differences(only_rooftops integer[] DEFAULT NULL::integer[], only_evals bigint[] DEFAULT NULL::bigint[])
 RETURNS TABLE(rooftop_id integer, eval_id bigint, is_missing boolean)
 LANGUAGE sql
 STABLE
AS $function$
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
$function$

ops.ops.new_to_pricing_rebuild(integer) routine
CREATE OR REPLACE FUNCTION ops.new_to_pricing_rebuild(only_rooftop integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  -- Whoever writes a state holds its evaluation. What the one before has committed is seen by the next statement only.
  perform from core.evaluation where (rooftop_id, eval_id) in (select rooftop_id, eval_id from ops.new_to_pricing_differences(array[only_rooftop]))
    order by rooftop_id, eval_id for update;
  perform ops.refresh_new_to_pricing(array_agg(rooftop_id), array_agg(eval_id)) from ops.new_to_pricing_differences(array[only_rooftop]) having count(*) > 0;
end
$function$

ops.ops.new_to_pricing_trg() routine
CREATE OR REPLACE FUNCTION ops.new_to_pricing_trg()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if tg_op = 'TRUNCATE' then
    delete from ops.new_to_pricing;
    insert into ops.new_to_pricing select * from ops.new_to_pricing_facts;
  elsif tg_op = 'INSERT' and tg_table_name = 'evaluation' then
    insert into ops.new_to_pricing
    select changed.rooftop_id, changed.eval_id
    from changed
    -- offset 0: one lookup for each, whatever the statistics are.
    left join lateral (
      select last_asked_at from ops.enrichment_state as state
      where (state.rooftop_id, state.stream, state.eval_id, state.ask) = (changed.rooftop_id, 'pricing', changed.eval_id, 'pricingAi') offset 0
    ) as asked on true
    where ops.is_new_to_pricing(gone_at, completed_at, odometer, source_updated_at, last_asked_at)
    order by 1, 2 on conflict do nothing;
  elsif tg_op = 'UPDATE' and tg_table_name = 'evaluation' then
    perform ops.refresh_new_to_pricing(array_agg(rooftop_id), array_agg(eval_id))
    from (select rooftop_id, eval_id from before union select rooftop_id, eval_id from changed) as touched having count(*) > 0;
  elsif tg_op = 'UPDATE' then
    perform ops.refresh_new_to_pricing(array_agg(rooftop_id), array_agg(eval_id))
    from (
      select rooftop_id, eval_id from before where stream = 'pricing' union select rooftop_id, eval_id from changed where stream = 'pricing'
    ) as touched
    having count(*) > 0;
  elsif tg_table_name = 'evaluation' then
    perform ops.refresh_new_to_pricing(array_agg(rooftop_id), array_agg(eval_id)) from changed having count(*) > 0;
  else
    perform ops.refresh_new_to_pricing(array_agg(rooftop_id), array_agg(eval_id)) from changed where stream = 'pricing' having count(*) > 0;
  end if;
  return null;
end
$function$

ops.ops.refresh_new_to_pricing(integer[],bigint[]) routine
CREATE OR REPLACE FUNCTION ops.refresh_new_to_pricing(rooftops integer[], evals bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  with touched as materialized (
    select * from unnest(rooftops, evals) as touched (rooftop_id, eval_id)
  ), fact as materialized (
    select rooftop_id, eval_id from touched join ops.new_to_pricing_facts using (rooftop_id, eval_id)
  ), emptied as (
    delete from ops.new_to_pricing as known using touched
    where (known.rooftop_id, known.eval_id) = (touched.rooftop_id, touched.eval_id)
      and (known.rooftop_id, known.eval_id) not in (select rooftop_id, eval_id from fact)
  )
  insert into ops.new_to_pricing select rooftop_id, eval_id from fact order by 1, 2 on conflict do nothing;
end
$function$

ops.ops.refresh_statistics() routine
CREATE OR REPLACE FUNCTION ops.refresh_statistics()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
declare
  grown regclass;
  refreshed int := 0;
begin
  -- Another process does it now.
  if not pg_try_advisory_xact_lock(7383, 0) then return 0; end if;
  for grown in
    select c.oid::regclass from pg_class as c
    where c.relnamespace in ('core'::regnamespace, 'pii'::regnamespace, 'raw'::regnamespace, 'ops'::regnamespace)
      and c.relkind = 'r' and pg_relation_size(c.oid) / 8192 > 4 * greatest(c.relpages, 8)
    order by c.oid
  loop
    execute format('analyze %s', grown);
    refreshed := refreshed + 1;
  end loop;
  return refreshed;
end
$function$

ops.ops.relist_day(timestamp with time zone,timestamp with time zone,integer) routine
CREATE OR REPLACE FUNCTION ops.relist_day(window_from timestamp with time zone, listed_at timestamp with time zone, nights integer)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when isfinite(listed_at) then listed + 1 + mod(nights + mod(start - listed - 1, nights), nights) else 0 end
  from (select floor(extract(epoch from window_from) / 86400)::bigint as start,
    floor(extract(epoch from case when isfinite(listed_at) then listed_at else window_from end) / 86400)::bigint as listed) as days
$function$

ops.ops.visible_groups(name) routine
CREATE OR REPLACE FUNCTION ops.visible_groups(who name)
 RETURNS integer[]
 LANGUAGE sql
 STABLE PARALLEL SAFE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select coalesce(array_agg(group_id), '{}') from (
    select g.group_id
    from ops.bi_access as a
    join pg_catalog.pg_roles as granted on granted.rolname = a.role_name
    join pg_catalog.pg_roles as asked on asked.rolname = who
    join core.rooftop_group as g on g.group_code = a.group_code
    where pg_catalog.pg_has_role(asked.oid, granted.oid, 'member') and pg_catalog.pg_has_role(session_user, asked.oid, 'member')
    union
    -- What belongs to a group, such as its salespeople, is for a person who sees all its rooftops.
    select r.group_id from core.rooftop as r group by 1 having bool_and(r.rooftop_id = any ((select ops.console_rooftops(who))::int[]))
  ) as visible
$function$

ops.ops.visible_rooftops(name) routine
CREATE OR REPLACE FUNCTION ops.visible_rooftops(who name)
 RETURNS integer[]
 LANGUAGE sql
 STABLE PARALLEL SAFE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select coalesce(array_agg(r.rooftop_id), '{}') from core.rooftop as r
  where r.group_id = any ((select ops.visible_groups(who))::int[]) or r.rooftop_id = any ((select ops.console_rooftops(who))::int[])
$function$

ops.ops.windows_to_relist(integer,text,bigint,timestamp with time zone,timestamp with time zone,integer) routine
CREATE OR REPLACE FUNCTION ops.windows_to_relist(of_rooftop integer, of_stream text, of_run bigint, began_at timestamp with time zone, recheck_since timestamp with time zone, nights integer)
 RETURNS TABLE(window_from timestamp with time zone, window_until timestamp with time zone, recent boolean)
 LANGUAGE sql
 STABLE
AS $function$
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
$function$

ops.parked table
  key_name character varying(120) not null
  stream character varying(40) not null
  until timestamp with time zone not null
  reason character varying(400) not null
  constraint parked_pkey PRIMARY KEY (key_name, stream)
  -- Keys whose daily quota is used up: the stream sends nothing with the key before until, the start of the source's next day (UTC). Other streams go on.

ops.price_batch table
  batch_no bigint not null generated always as identity
  rooftop_id integer not null
  run_id bigint not null -- The run that the batch belongs to; a batch that a run left open is taken over by the next run
  state character varying(12) not null
  batch_id character varying(200)
  units integer not null
  percent numeric(6,2)
  submitted_at timestamp with time zone not null
  progressed_at timestamp with time zone not null
  finished_at timestamp with time zone
  detail character varying(400) -- Why it is lost, stuck or refused. null with refused: the batch was too large, its units are sent again in smaller batches
  constraint price_batch_pkey PRIMARY KEY (batch_no)
  constraint price_batch_state_check CHECK (((state)::text = ANY ((ARRAY['submitting'::character varying, 'submitted'::character varying, 'complete'::character varying, 'refused'::character varying, 'lost'::character varying, 'stuck'::character varying])::text[])))
  CREATE INDEX price_batch_open ON ops.price_batch USING btree (rooftop_id) WHERE (finished_at IS NULL)
  CREATE INDEX price_batch_run ON ops.price_batch USING btree (rooftop_id, run_id)
  CREATE INDEX price_batch_submitted ON ops.price_batch USING btree (rooftop_id, submitted_at)
  -- Every batch, recorded before it is sent. submitting: sent or about to be sent, answer unknown; lost: its answer never came, and it cannot be requested again; stuck: it made no progress. Times are by our clock.

ops.price_batch_size table
  rooftop_id integer not null
  size integer not null
  learned_at timestamp with time zone not null default now()
  constraint price_batch_size_pkey PRIMARY KEY (rooftop_id)
  constraint price_batch_size_size_check CHECK ((size > 0))
  -- The largest batch that the service accepted after it refused a larger one (413).

ops.price_batch_unit table
  batch_no bigint not null
  stock_no character varying(80) not null
  vin character varying(40)
  adcode character varying(40)
  odometer_km integer
  outcome character varying(12)
  constraint price_batch_unit_batch_no_fkey FOREIGN KEY (batch_no) REFERENCES ops.price_batch(batch_no)
  constraint price_batch_unit_outcome_check CHECK (((outcome)::text = ANY ((ARRAY['priced'::character varying, 'failed'::character varying, 'missing'::character varying, 'duplicate'::character varying])::text[])))
  constraint price_batch_unit_pkey PRIMARY KEY (batch_no, stock_no)
  -- What was requested for each unit, and the outcome; null: the batch is open or was lost.

ops.quarantine table
  quarantine_id bigint not null generated always as identity
  stream character varying(40) not null
  rooftop_id integer not null
  natural_key character varying(80) not null
  issues jsonb not null
  payload text
  attempts integer not null default 1
  window_from timestamp with time zone
  window_until timestamp with time zone
  run_id bigint not null
  first_seen_at timestamp with time zone not null default now()
  last_seen_at timestamp with time zone not null default now()
  resolved_at timestamp with time zone
  cause character varying(12) generated always as (ops.issue_cause(issues)) stored -- The same for records that do not fit for the same reason: ops.issue_cause of its issues
  constraint quarantine_pkey PRIMARY KEY (quarantine_id)
  CREATE INDEX quarantine_cause ON ops.quarantine USING btree (cause, quarantine_id) WHERE (resolved_at IS NULL)
  CREATE UNIQUE INDEX quarantine_open ON ops.quarantine USING btree (rooftop_id, stream, natural_key) WHERE (resolved_at IS NULL)
  CREATE INDEX quarantine_record ON ops.quarantine USING btree (split_part((natural_key)::text, '/'::text, 1), rooftop_id)
  CREATE INDEX quarantine_resolved ON ops.quarantine USING btree (quarantine_id) WHERE (resolved_at IS NOT NULL)
  CREATE INDEX quarantine_unresolved ON ops.quarantine USING btree (quarantine_id) WHERE (resolved_at IS NULL)
  CREATE INDEX quarantine_window ON ops.quarantine USING btree (rooftop_id, stream, window_from, window_until) WHERE (resolved_at IS NULL)
  -- Records that do not match the contract, as received, with the JSON path of each issue.

ops.rate_budget table with (fillfactor=50)
  key_name text not null -- appraisal/<name under keys:>, or vehicleData
  rate double precision -- Requests a second right after the last cut; the allowed rate grows from there by the time since. Null: no limit is known
  next_at timestamp with time zone -- The next send time that no process has reserved
  blocked_until timestamp with time zone -- No process sends before this time; set by Retry-After, at most a day ahead. To try sooner, set it to null and restart the processes
  throttled_at timestamp with time zone -- When the rate was last cut
  state jsonb not null default '{}'::jsonb -- The state of the law that is written in rate-law.ts; times in ms since 1970. {}: no limit is known
  constraint rate_budget_pkey PRIMARY KEY (key_name)
  constraint rate_budget_rate_check CHECK ((rate > (0)::double precision))
  -- One row per API key, by its name in the config, never its value. Times are by the clock of the database. The table may be emptied at any time: the limits are then observed again.

ops.rate_member table unlogged with (fillfactor=50)
  key_name text not null
  member_id uuid not null
  host character varying(120) not null
  process_id integer not null
  demand integer not null -- Calls in flight or waiting, at most http.concurrency
  in_flight integer not null
  seen_at timestamp with time zone not null
  constraint rate_member_pkey PRIMARY KEY (key_name, member_id)
  -- Processes that use a key now, and how much of its http.concurrency each needs. A process that is silent for 5 seconds no longer counts.

ops.run table
  run_id bigint not null generated always as identity
  command character varying(40) not null
  arguments jsonb not null default '{}'::jsonb
  status character varying(12) not null default 'running'::character varying -- abandoned: the process died, and another run took over its work; paused: no slice begins until another run resumes it
  started_at timestamp with time zone not null default now()
  finished_at timestamp with time zone
  source_started_at timestamp with time zone not null
  fence bigint not null default 0 -- Number of slices that the run committed. When another run has taken over the work, a commit is refused and this number no longer grows
  host character varying(120)
  process_id integer
  lane character varying(10) not null default 'foreground'::character varying -- Priority where several runs want the same rooftop and stream: event, then foreground, then background
  is_detached boolean not null default false -- true: no process waits for it. Any worker does its work and updates its heartbeat
  resumes bigint -- The paused, stopped or killed run that this run continues
  heartbeat_at timestamp with time zone not null default now() -- When a process last worked for the run. Older than a minute while status is running: no process works for it
  source_id integer -- The services that it reads. null: a run of an earlier version, whose work any process takes
  summary jsonb -- What is left of the rows of ops.run_stream once retention has deleted them: { streams, rooftops, errors, firstError }; null: the rows are there
  constraint run_lane_check CHECK (((lane)::text = ANY ((ARRAY['event'::character varying, 'foreground'::character varying, 'background'::character varying])::text[])))
  constraint run_pkey PRIMARY KEY (run_id)
  constraint run_resumes_fkey FOREIGN KEY (resumes) REFERENCES ops.run(run_id)
  constraint run_source_id_fkey FOREIGN KEY (source_id) REFERENCES ops.source(source_id)
  constraint run_status_check CHECK (((status)::text = ANY ((ARRAY['running'::character varying, 'ok'::character varying, 'partial'::character varying, 'failed'::character varying, 'stopped'::character varying, 'abandoned'::character varying, 'paused'::character varying])::text[])))
  CREATE INDEX run_background ON ops.run USING btree (run_id) WHERE ((lane)::text = 'background'::text)
  CREATE INDEX run_command ON ops.run USING btree (command, COALESCE(finished_at, 'infinity'::timestamp with time zone), run_id)
  CREATE INDEX run_ended ON ops.run USING btree (COALESCE(finished_at, 'infinity'::timestamp with time zone), run_id)
  CREATE INDEX run_not_ok ON ops.run USING btree (COALESCE(finished_at, 'infinity'::timestamp with time zone), run_id) WHERE ((status)::text <> 'ok'::text)
  CREATE INDEX run_resumes ON ops.run USING btree (resumes) WHERE (resumes IS NOT NULL)
  CREATE INDEX run_running ON ops.run USING btree (run_id) WHERE ((status)::text = 'running'::text)
  CREATE INDEX run_without_summary ON ops.run USING btree (finished_at) WHERE ((summary IS NULL) AND ((status)::text <> 'running'::text))
  -- One execution of a command. Times are those of the database, source_started_at is the clock of the source (HTTP Date).

ops.run_log table
  run_id bigint not null
  line_id bigint not null generated always as identity
  at timestamp with time zone not null -- By the clock of the process
  level character varying(5) not null
  message character varying(1000) not null
  constraint run_log_level_check CHECK (((level)::text = ANY ((ARRAY['info'::character varying, 'warn'::character varying, 'error'::character varying, 'fatal'::character varying])::text[])))
  constraint run_log_pkey PRIMARY KEY (run_id, line_id)
  constraint run_log_run_id_fkey FOREIGN KEY (run_id) REFERENCES ops.run(run_id) ON DELETE CASCADE
  CREATE INDEX run_log_at_idx ON ops.run_log USING btree (at)
  -- The warnings and errors that the processes of a run logged, and its first other lines: at most 200 of a run, masked like the log, stored for retention.rawDays

ops.run_pace table
  run_id bigint not null
  minute_at timestamp with time zone not null
  windows integer not null default 0
  loaded integer not null default 0 -- Records inserted or updated
  constraint run_pace_pkey PRIMARY KEY (run_id, minute_at)
  constraint run_pace_run_id_fkey FOREIGN KEY (run_id) REFERENCES ops.run(run_id)
  -- Number of windows and records that a run committed in each minute of the last hour of its work; its speed is calculated from it.

ops.run_stream table
  run_id bigint not null
  rooftop_id integer not null
  stream character varying(40) not null
  status character varying(12) not null default 'waiting'::character varying
  error text
  listed integer not null default 0
  hydrated integer not null default 0
  inserted integer not null default 0
  updated integer not null default 0
  unchanged integer not null default 0
  quarantined integer not null default 0
  vanished integer not null default 0
  windows integer not null default 0
  requests integer not null default 0
  retries integer not null default 0
  finished_at timestamp with time zone
  saved integer not null default 0 -- Calls that were not needed: asking about every evaluation in every run would have taken this many more requests
  not_before timestamp with time zone -- The next slice begins no earlier, because the stream waits for an answer or for an earlier stream. Other runs work meanwhile
  began_at timestamp with time zone -- When the first slice of it started; null: none has
  refused_key character varying(130) -- The key whose refusal the error is, or may be where the documents leave open what was refused; null: another cause
  constraint run_stream_pkey PRIMARY KEY (run_id, rooftop_id, stream)
  constraint run_stream_run_id_fkey FOREIGN KEY (run_id) REFERENCES ops.run(run_id)
  constraint run_stream_status_check CHECK (((status)::text = ANY ((ARRAY['waiting'::character varying, 'running'::character varying, 'ok'::character varying, 'partial'::character varying, 'failed'::character varying, 'parked'::character varying])::text[])))
  CREATE INDEX run_stream_rooftop_id_stream_run_id_idx ON ops.run_stream USING btree (rooftop_id, stream, run_id DESC)
  -- What a run did for one rooftop and stream; each can fail without the others. The counts are updated in the transaction that loads the rows.

ops.schema_migration table
  version integer not null
  name text not null
  checksum text not null
  applied_at timestamp with time zone not null default now()
  constraint schema_migration_pkey PRIMARY KEY (version)
  -- One row per applied file of sql/migrations; written by the migration runner alone.

ops.source table
  source_id integer not null generated always as identity
  appraisal_url character varying(2000) not null -- appraisal.baseUrl, normalised: host in lower case, no slash at the end, no password
  vehicle_data_url character varying(2000) not null -- vehicleData.baseUrl, normalised alike
  is_sandbox boolean not null -- The sandbox of "forecourt demo", which ends with its process
  first_used_at timestamp with time zone not null default now()
  constraint source_appraisal_url_vehicle_data_url_key UNIQUE (appraisal_url, vehicle_data_url)
  constraint source_pkey PRIMARY KEY (source_id)
  -- The pairs of services that runs have read.

ops.stock_inbox table
  inbox character varying(1200) not null -- Folder and pattern
  known_since timestamp with time zone not null default now()
  checked_at timestamp with time zone -- When a process last read the folder, to about a minute
  arrived_at timestamp with time zone -- When the newest list came that was read to its end, imported or not
  problem character varying(1000) -- Why the folder cannot be used; null: it can
  problem_since timestamp with time zone
  constraint stock_inbox_pkey PRIMARY KEY (inbox)
  -- One row per drop folder and pattern of the config (stock.inbox) that was ever watched.

ops.stock_inbox_file table
  file_id bigint not null generated always as identity
  inbox character varying(1200) not null
  folder_id uuid not null -- The id in the file .forecourt-inbox of the folder: the same for all hosts
  name_bytes bytea not null
  file_name character varying(300) not null -- The name as it is shown: bytes that are no text, and line ends, are escaped
  state character varying(10) not null default 'waiting'::character varying -- waiting: in the folder, perhaps not complete; taken: moved to working/; decided: imported or refused, not moved yet; done, failed: moved there; gone: it disappeared while it was read
  byte_count bigint not null
  modified_ns numeric(30,0) not null -- Modification time of the file in nanoseconds since 1970
  seen_at timestamp with time zone not null default now()
  unchanged_since timestamp with time zone not null default now() -- Since when size and modification time are the same
  taken_as character varying(300) -- Its name in working/, and then in done/ or failed/: never used twice
  taken_at timestamp with time zone
  attempts integer not null default 0 -- How often a process began to read it without coming to an end
  reason text -- Why the whole file failed, whatever the rooftop
  ended_at timestamp with time zone
  cleared_at timestamp with time zone -- When a failed file was removed from failed/, so that no one is waiting for it
  alert_key character varying(120)
  constraint stock_inbox_file_inbox_fkey FOREIGN KEY (inbox) REFERENCES ops.stock_inbox(inbox)
  constraint stock_inbox_file_pkey PRIMARY KEY (file_id)
  constraint stock_inbox_file_state_check CHECK (((state)::text = ANY ((ARRAY['waiting'::character varying, 'taken'::character varying, 'decided'::character varying, 'done'::character varying, 'failed'::character varying, 'gone'::character varying])::text[])))
  CREATE INDEX stock_inbox_file_ended ON ops.stock_inbox_file USING btree (inbox, file_id)
  CREATE INDEX stock_inbox_file_open ON ops.stock_inbox_file USING btree (inbox, file_id) WHERE (((state)::text = ANY ((ARRAY['failed'::character varying, 'gone'::character varying])::text[])) AND (cleared_at IS NULL))
  CREATE INDEX stock_inbox_file_taken ON ops.stock_inbox_file USING btree (folder_id, file_id) WHERE ((state)::text = ANY ((ARRAY['taken'::character varying, 'decided'::character varying])::text[]))
  CREATE UNIQUE INDEX stock_inbox_file_waiting ON ops.stock_inbox_file USING btree (folder_id, name_bytes) WHERE ((state)::text = 'waiting'::text)
  -- Every file that was seen in a drop folder. Its row is written before it is moved, so that a killed process takes none twice and loses none.

ops.stock_inbox_part table
  file_id bigint not null
  rooftop_id integer not null
  sha256 bytea not null
  outcome character varying(20) not null
  import_id bigint -- The import, or the earlier one with the same content
  decided_at timestamp with time zone not null default now()
  result jsonb -- What the check found in a refused list, without its rows; null: it was imported
  constraint stock_inbox_part_file_id_fkey FOREIGN KEY (file_id) REFERENCES ops.stock_inbox_file(file_id) ON DELETE CASCADE
  constraint stock_inbox_part_outcome_check CHECK (((outcome)::text = ANY ((ARRAY['imported'::character varying, 'already-imported'::character varying, 'refused'::character varying])::text[])))
  constraint stock_inbox_part_pkey PRIMARY KEY (file_id, rooftop_id)
  constraint stock_inbox_part_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id)
  constraint stock_inbox_part_sha256_check CHECK ((length(sha256) = 32))
  -- What became of a file for each of its rooftops, written in the transaction of the import.

ops.stock_mapping table
  rooftop_id integer not null
  fingerprint character varying(64) not null
  columns jsonb not null -- Field by position of the column; null: unknown in this list, which does not decide about the next list.
  confirmed_at timestamp with time zone not null default now()
  absent jsonb -- Fields that a person marked as absent from the list; null: the mapping is older than this column, and its unmapped columns are examined again.
  constraint stock_mapping_pkey PRIMARY KEY (rooftop_id, fingerprint)
  constraint stock_mapping_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id)
  -- Mappings of headers to fields that were certain, or confirmed with --map. The next file with the same header is read with the same mapping.

ops.stock_upload table
  upload_id uuid not null default gen_random_uuid()
  rooftop_id integer not null
  email character varying(320) not null
  file_name character varying(120) not null
  sha256 bytea not null
  byte_count integer not null
  content bytea -- The file; null: it was imported, and core.stock_import_row has its rows
  options jsonb not null -- { mode, maps, encoding, delimiter }: how the person wants it to be read
  result jsonb -- What the check found, as of newest_import_id
  newest_import_id bigint not null -- The newest import of the rooftop when it was uploaded or checked; 0: none
  corrects_import_id bigint -- The import whose rejected rows it has, corrected
  import_began_at timestamp with time zone -- When a person last confirmed it; the import may be running
  import_id bigint
  made_at timestamp with time zone not null default now()
  ends_at timestamp with time zone not null default (now() + '24:00:00'::interval)
  inbox_file_id bigint -- The file of ops.stock_inbox_file that was refused; null: a person uploaded it
  constraint stock_upload_pkey PRIMARY KEY (upload_id)
  constraint stock_upload_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id)
  constraint stock_upload_sha256_check CHECK ((length(sha256) = 32))
  CREATE INDEX stock_upload_corrects ON ops.stock_upload USING btree (corrects_import_id) WHERE (corrects_import_id IS NOT NULL)
  CREATE UNIQUE INDEX stock_upload_inbox_file ON ops.stock_upload USING btree (inbox_file_id) WHERE (inbox_file_id IS NOT NULL)
  CREATE INDEX stock_upload_rooftop ON ops.stock_upload USING btree (rooftop_id, made_at)
  -- Stock lists that were uploaded in the console, or that a drop folder refused. One that is not imported before ends_at is deleted; the row of an imported one stays without its content.

ops.stream_state table
  rooftop_id integer not null
  stream character varying(40) not null
  largest_answer integer not null default 0
  list_cap integer
  state jsonb not null default '{}'::jsonb
  constraint stream_state_pkey PRIMARY KEY (rooftop_id, stream)
  -- Facts observed about the source: the longest list that it returned, and the silent list limit that halving a window revealed (null: none).

ops.unlisted_record table
  rooftop_id integer not null
  stream character varying(40) not null
  record_id bigint not null
  entry_at timestamp with time zone not null
  constraint unlisted_record_pkey PRIMARY KEY (rooftop_id, stream, record_id)
  -- Records that were stored or moved outside of the list of their window: by a webhook, a retry, or the list of another window. The next certificate that lists the record deletes its row here.

ops.value_check table
  rooftop_id integer not null -- Of vehicles: the first rooftop of the dealer group
  stream character varying(40) not null
  round_started_at timestamp with time zone not null
  round_records integer not null -- About how many records with payloads, windows, months, records or vehicles there were when the round began
  compared integer not null default 0
  last_key character varying(400) not null default ''::character varying -- The last key of the round that was compared; empty: none yet
  compared_at timestamp with time zone
  full_since timestamp with time zone -- Everything was compared at this time or later: the start of the last round that reached the end, or of a "forecourt verify" that compares all of it; null: not yet
  kind character varying(12) not null -- values: rows and payloads, by record; ids: records and certificates, by the start of the window; sums: by the month of completion; records: child rows and their record, and the same record at another rooftop, by record; vehicles: by VIN
  listed_through timestamp with time zone -- Windows that were listed until then (source time), months that had not ended long before, or records that were entered not long before, have been compared, beside the round; null: none
  changed_key text not null default ''::text -- The last key that was compared of what has changed and of what differed, where the night ended before all of them were; empty otherwise
  changed_through timestamp with time zone -- What listed_through becomes once all of those are compared; null: none are under way
  constraint value_check_kind_check CHECK (((kind)::text = ANY ((ARRAY['values'::character varying, 'ids'::character varying, 'sums'::character varying, 'records'::character varying, 'vehicles'::character varying])::text[])))
  constraint value_check_pkey PRIMARY KEY (rooftop_id, stream, kind)
  constraint value_check_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id) ON DELETE CASCADE
  -- How far a rooftop and stream were verified, in the order of their keys: the values of the rows with the stored payloads, record by record; the stored records and counts with the certificates, window by window; the sums of the reports with the rows, month by month; the rows of each record with the record; the vehicles of a dealer group with evaluations and stock.

ops.value_difference table
  rooftop_id integer not null -- Of vehicles: the first rooftop of the dealer group
  stream character varying(40) not null
  record_key character varying(400) not null
  compare_keys text[] not null -- What to compare again: the record or window, or those that were compared together with it
  difference character varying(400) not null -- The first row and its columns, without values; or the ids, the tables, or the other rooftops
  found_at timestamp with time zone not null default now()
  kind character varying(12) not null -- values: of a record; ids: stored records of a window differ from its list; counts: those of its certificate from its ids; sums: of a month from the rows; orphans: child rows whose record is missing; duplicates: an evaluation that is stored under another rooftop too; vehicles: a row of core.vehicle or core.agg_repeat_vehicle; due: a row of ops.new_to_pricing
  constraint value_difference_kind_check CHECK (((kind)::text = ANY ((ARRAY['values'::character varying, 'ids'::character varying, 'counts'::character varying, 'sums'::character varying, 'orphans'::character varying, 'duplicates'::character varying, 'vehicles'::character varying, 'due'::character varying])::text[])))
  constraint value_difference_pkey PRIMARY KEY (rooftop_id, stream, kind, record_key)
  constraint value_difference_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id) ON DELETE CASCADE
  -- Records whose rows are not what their payloads make, or that are missing or twice, windows whose records or counts are not what was listed, months whose sums are not those of the rows, vehicles that are not those of the evaluations and units, and evaluations that are wrongly due, until a later comparison finds them equal.

ops.vanished table
  rooftop_id integer not null
  stream character varying(40) not null
  natural_key character varying(80) not null
  reason character varying(12) not null
  vanished_at timestamp with time zone not null
  run_id bigint not null
  constraint vanished_pkey PRIMARY KEY (rooftop_id, stream, natural_key)
  constraint vanished_reason_check CHECK (((reason)::text = ANY ((ARRAY['not found'::character varying, 'not listed'::character varying])::text[])))
  -- Records that the source no longer returns, or no longer lists in a certified window.

ops.verification table
  rooftop_id integer not null
  stream character varying(40) not null
  verified_at timestamp with time zone not null
  fault character varying(400) -- What differed, in words; null: nothing
  fault_since timestamp with time zone -- When the first of the verifications that found a fault, without a good one since, was made
  late_completions numeric(12,1) -- Expected number of evaluations of the last 60 days before the end of the coverage that will still be completed; null: covered for too short a time, or a stream without windows
  constraint verification_pkey PRIMARY KEY (rooftop_id, stream)
  constraint verification_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id) ON DELETE CASCADE
  -- The last "forecourt verify" of each windowed stream of a rooftop, by the command or the job.

ops.webhook_day table
  rooftop_id integer not null
  webhook_date date not null -- Day in the time zone of the rooftop
  deliveries integer not null
  duplicates integer not null
  processed integer not null
  kept integer not null
  waiting integer not null
  unusable integer not null
  failed integer not null
  expected integer not null
  missed integer not null
  arrival_p50_seconds numeric(12,2) -- This column and those below: as in mart.webhook_latency
  arrival_p95_seconds numeric(12,2)
  loading_p50_seconds numeric(12,2)
  loading_p95_seconds numeric(12,2)
  constraint webhook_day_pkey PRIMARY KEY (webhook_date, rooftop_id)
  constraint webhook_day_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id)
  -- Rows of mart.webhook_latency of days before retention.ledgerDays, as they were counted when they became that old. None is counted again.

ops.webhook_delivery table
  delivery_id bigint not null generated always as identity
  event character varying(20) not null -- trigger_event of the subscription, from the address; not told: the address names none
  rooftop_id integer -- From the DealerID of the body, else from the address; null: no rooftop of the config
  eval_id bigint
  body_hash bytea not null -- HMAC-SHA256 of the body with the secret of the receiver: without the secret it reveals nothing
  body json -- As received, for drives and for deliveries that name no known evaluation; null: an evaluation, which is read again
  state character varying(10) not null -- kept: stored only, nothing is loaded for it (a drive); unusable: see issue; failed: every attempt failed
  issue character varying(400) -- Why the delivery is unusable, or why the last attempt failed
  source_event_at timestamp with time zone -- CompletedAt of the body for ON_COMPLETE, else its UpdatedAt; null: not there
  source_updated_at timestamp with time zone -- UpdatedAt of the body. If the evaluation read is older, it is read again
  source_received_at timestamp with time zone not null -- received_at by the clock of the service
  received_at timestamp with time zone not null default now()
  duplicates integer not null default 0 -- Further deliveries with the same body
  attempts integer not null default 0 -- Failed reads in a row
  due_at timestamp with time zone not null default now() -- Not processed before this time: shortly after the arrival, so that a burst becomes one run
  run_id bigint -- The run that read the evaluation, in ops.run
  outcome character varying(11) -- What changed in the warehouse when it was read again
  processed_at timestamp with time zone
  not_shown integer not null default 0 -- Reads that were answered and did not show the event yet
  source_id integer -- The services of the receiver that it arrived at: only a process with the same ones reads it. null: any
  constraint webhook_delivery_body_hash_check CHECK ((length(body_hash) = 32))
  constraint webhook_delivery_check CHECK ((((state)::text <> 'waiting'::text) OR ((rooftop_id IS NOT NULL) AND (eval_id IS NOT NULL))))
  constraint webhook_delivery_check1 CHECK ((((state)::text = 'processed'::text) = ((processed_at IS NOT NULL) AND (outcome IS NOT NULL))))
  constraint webhook_delivery_event_check CHECK (((event)::text = ANY ((ARRAY['ON_COMPLETE'::character varying, 'ON_EXPORT'::character varying, 'ON_DRIVE_COMPLETED'::character varying, 'ON_SHARE_OFFER'::character varying, 'ON_EXTERNAL_PRICE'::character varying, 'not told'::character varying])::text[])))
  constraint webhook_delivery_event_eval_id_body_hash_source_id_key UNIQUE NULLS NOT DISTINCT (event, eval_id, body_hash, source_id)
  constraint webhook_delivery_outcome_check CHECK (((outcome)::text = ANY ((ARRAY['inserted'::character varying, 'updated'::character varying, 'unchanged'::character varying, 'vanished'::character varying, 'quarantined'::character varying])::text[])))
  constraint webhook_delivery_pkey PRIMARY KEY (delivery_id)
  constraint webhook_delivery_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id)
  constraint webhook_delivery_source_id_fkey FOREIGN KEY (source_id) REFERENCES ops.source(source_id)
  constraint webhook_delivery_state_check CHECK (((state)::text = ANY ((ARRAY['waiting'::character varying, 'processed'::character varying, 'kept'::character varying, 'unusable'::character varying, 'failed'::character varying])::text[])))
  CREATE INDEX webhook_delivery_body ON ops.webhook_delivery USING btree (received_at) WHERE (body IS NOT NULL)
  CREATE INDEX webhook_delivery_eval_id_rooftop_id_idx ON ops.webhook_delivery USING btree (eval_id, rooftop_id)
  CREATE INDEX webhook_delivery_problem ON ops.webhook_delivery USING btree (delivery_id) WHERE ((state)::text = ANY ((ARRAY['failed'::character varying, 'unusable'::character varying])::text[]))
  CREATE INDEX webhook_delivery_received_at_idx ON ops.webhook_delivery USING btree (received_at)
  CREATE INDEX webhook_delivery_rooftop_id_due_at_idx ON ops.webhook_delivery USING btree (rooftop_id, due_at) WHERE ((state)::text = 'waiting'::text)
  CREATE INDEX webhook_delivery_rooftop_id_received_at_idx ON ops.webhook_delivery USING btree (rooftop_id, received_at)
  -- Inbox: one row per event that the service delivered. A row is only a hint: the evaluation is always read again by /geteval.

ops.webhook_settled table
  last_date date not null
  CREATE UNIQUE INDEX webhook_settled_one ON ops.webhook_settled USING btree ((true))
  -- The last day whose counts are in ops.webhook_day: the deliveries up to it are deleted

ops.webhook_subscription table
  rooftop_id integer not null
  event character varying(20) not null
  subscription_id bigint not null -- Its id at the service
  url character varying(2000) not null
  header_hash bytea not null -- HMAC-SHA256 of the auth header that was set, with the key of the rooftop: the service never shows the header
  applied_at timestamp with time zone not null default now()
  since timestamp with time zone not null -- Since when the subscription exists without a break, by the clock of the service: completions after it should have been delivered
  constraint webhook_subscription_event_check CHECK (((event)::text = ANY ((ARRAY['ON_COMPLETE'::character varying, 'ON_EXPORT'::character varying, 'ON_DRIVE_COMPLETED'::character varying])::text[])))
  constraint webhook_subscription_header_hash_check CHECK ((length(header_hash) = 32))
  constraint webhook_subscription_pkey PRIMARY KEY (rooftop_id, event)
  constraint webhook_subscription_rooftop_id_fkey FOREIGN KEY (rooftop_id) REFERENCES core.rooftop(rooftop_id)
  -- Subscriptions that "webhooks apply" made at the service, with the facts that the service does not report.

ops.window_certificate table
  rooftop_id integer not null
  stream character varying(40) not null
  window_from timestamp with time zone not null
  window_until timestamp with time zone not null
  listed_at timestamp with time zone not null
  reread_at timestamp with time zone not null -- Evaluations of the window that were due before this instant have been read again
  listed integer not null
  loaded integer not null
  quarantined integer not null
  vanished integer not null
  least_entry_at timestamp with time zone
  greatest_entry_at timestamp with time zone
  ids_digest bytea not null
  settled boolean not null -- true: the window was older than sync.settleDays when it was listed, so it counts as covered
  proof character varying(12) not null -- plain: fewer items than the longest list that the source ever returned; halved: ids(whole) = ids(left) + ids(right); unprovable: one second holds more items than the source lists at once
  run_id bigint not null
  malformed integer not null default 0 -- List items without a usable id; also counted in quarantined
  relist_nights integer not null default 28 -- sync.deepRelistNights when it was listed
  constraint window_certificate_check CHECK ((window_until > window_from))
  constraint window_certificate_pkey PRIMARY KEY (rooftop_id, stream, window_from)
  constraint window_certificate_proof_check CHECK (((proof)::text = ANY ((ARRAY['plain'::character varying, 'halved'::character varying, 'unprovable'::character varying])::text[])))
  CREATE INDEX window_certificate_faulty ON ops.window_certificate USING btree (rooftop_id, stream, window_from) WHERE (((proof)::text = 'unprovable'::text) OR (listed <> ((loaded + quarantined) + vanished)))
  CREATE INDEX window_certificate_listed ON ops.window_certificate USING btree (rooftop_id, stream, listed_at) INCLUDE (loaded, reread_at)
  CREATE INDEX window_certificate_quarantined ON ops.window_certificate USING btree (rooftop_id, stream) WHERE (quarantined > 0)
  CREATE INDEX window_certificate_relist ON ops.window_certificate USING btree (rooftop_id, stream, relist_nights, ops.relist_day(window_from, listed_at, relist_nights)) WHERE settled
  CREATE INDEX window_certificate_unprovable ON ops.window_certificate USING btree (rooftop_id, stream) WHERE ((proof)::text = 'unprovable'::text)
  CREATE INDEX window_certificate_unsettled ON ops.window_certificate USING btree (rooftop_id, stream) WHERE (NOT settled)
  -- Proof of what one listing of the half-open window [window_from, window_until) returned. Times are by the clock of the source.

pii schema

pii.app_user_email table
  user_id bigint not null
  group_id integer not null
  email character varying(320) not null
  constraint app_user_email_pkey PRIMARY KEY (user_id)
  constraint app_user_email_user_id_fkey FOREIGN KEY (user_id) REFERENCES core.app_user(user_id)
  CREATE UNIQUE INDEX app_user_email_natural ON pii.app_user_email USING btree (group_id, lower((email)::text))

pii.archived_pdf table
  rooftop_id integer not null
  eval_id bigint not null
  link_kind character varying(20) not null
  link_ref character varying(80) not null
  sha256 bytea not null
  byte_count integer not null
  archived_at timestamp with time zone not null default now()
  constraint archived_pdf_link_kind_check CHECK (((link_kind)::text = ANY ((ARRAY['ppsr_pdf'::character varying, 'car_history_pdf'::character varying])::text[])))
  constraint archived_pdf_pkey PRIMARY KEY (rooftop_id, eval_id, link_kind, link_ref)
  constraint archived_pdf_sha256_check CHECK ((length(sha256) = 32))
  CREATE INDEX archived_pdf_ref ON pii.archived_pdf USING btree (link_kind, link_ref)
  CREATE TRIGGER skip_erased_rows BEFORE INSERT ON pii.archived_pdf FOR EACH ROW EXECUTE FUNCTION pii.skip_erased_rows_trg()
  -- The PDF in the archive (links.archive) of each check; the file name is its digest.

pii.erasure table
  erasure_id bigint not null generated always as identity
  subject_kind character varying(10) not null
  subject_masked character varying(120) not null -- The subject of the request, masked; an EvalID is not masked
  reason character varying(400)
  requested_by character varying(120) not null -- user@host that requested it
  requested_at timestamp with time zone not null default now()
  done_at timestamp with time zone -- null: files of the archive must still be removed (pii.erasure_file)
  receipt jsonb not null -- Counts per table, evaluations, files, and what remains: as "forecourt erase --json" printed it
  constraint erasure_pkey PRIMARY KEY (erasure_id)
  constraint erasure_subject_kind_check CHECK (((subject_kind)::text = ANY ((ARRAY['email'::character varying, 'phone'::character varying, 'eval'::character varying])::text[])))
  -- One row per erasure: its receipt, which holds no personal data.

pii.erasure_file table
  sha256 bytea not null
  noted_at timestamp with time zone not null default now()
  constraint erasure_file_pkey PRIMARY KEY (sha256)
  constraint erasure_file_sha256_check CHECK ((length(sha256) = 32))
  -- Files of the archive (links.archive) that must be removed. The row is deleted when the file is removed.

pii.erasure_secret table
  is_only boolean not null default true
  secret bytea not null
  constraint erasure_secret_is_only_check CHECK (is_only)
  constraint erasure_secret_pkey PRIMARY KEY (is_only)
  constraint erasure_secret_secret_check CHECK ((length(secret) = 32))
  -- The random key of every digest of the suppression list, made by the first erasure. Without it the digests reveal nothing; with it they can be guessed. Protect it like the personal data beside it.

pii.evaluation_customer table
  rooftop_id integer not null
  eval_id bigint not null
  customer_name character varying(300)
  phone character varying(60)
  email character varying(320)
  address character varying(500)
  suburb character varying(200)
  registration_plate character varying(30)
  notes text
  erased_at timestamp with time zone
  constraint evaluation_customer_pkey PRIMARY KEY (rooftop_id, eval_id)
  CREATE INDEX evaluation_customer_key ON pii.evaluation_customer USING btree ((((((rooftop_id)::text || '-'::text) || (eval_id)::text))::character varying(32)))
  -- The customer of an evaluation, and free text that may name one. Only forecourt_writer and the views of mart_pii read it.

pii.pii.skip_erased_rows_trg() routine
CREATE OR REPLACE FUNCTION pii.skip_erased_rows_trg()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(7307, 0);
  if exists (
    select from pii.suppressed_evaluation as suppressed
    join core.rooftop using (group_id)
    where rooftop_id = new.rooftop_id and suppressed.eval_id = new.eval_id and scope = 'customer'
  ) then
    if tg_table_name = 'archived_pdf' then
      insert into pii.erasure_file (sha256) values (new.sha256) on conflict do nothing;
    end if;
    return null;
  end if;
  return new;
end
$function$

pii.signed_link table
  rooftop_id integer not null
  eval_id bigint not null
  link_kind character varying(20) not null
  link_ref character varying(80) not null -- check_ref of the check
  url text not null
  signed_at timestamp with time zone not null
  expires_at timestamp with time zone not null -- Source time: a week after signed_at [A §8]
  is_in_scope boolean not null default true -- Its check is listed, and its vehicle has an evaluation that is not gone, so it can be signed again. ops.link_scope defines it; core.refresh_vehicles_trg keeps it.
  constraint signed_link_check CHECK ((expires_at > signed_at))
  constraint signed_link_link_kind_check CHECK (((link_kind)::text = ANY ((ARRAY['ppsr_pdf'::character varying, 'car_history_pdf'::character varying])::text[])))
  constraint signed_link_pkey PRIMARY KEY (rooftop_id, eval_id, link_kind, link_ref)
  CREATE INDEX signed_link_in_scope ON pii.signed_link USING btree (rooftop_id, expires_at) WHERE is_in_scope
  CREATE INDEX signed_link_out_of_scope ON pii.signed_link USING btree (expires_at) WHERE (NOT is_in_scope)
  CREATE INDEX signed_link_ref ON pii.signed_link USING btree (link_kind, link_ref)
  CREATE TRIGGER skip_erased_rows BEFORE INSERT ON pii.signed_link FOR EACH ROW EXECUTE FUNCTION pii.skip_erased_rows_trg()
  CREATE TRIGGER touch_links_insert AFTER INSERT ON pii.signed_link REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION core.touch_checks_trg()
  -- The newest signed link to the PDF of each check. Whoever has the link can open the PDF, so dashboards use the permalink instead: GET /links/<link_kind>/<link_ref> of "forecourt serve".

pii.suppressed_contact table
  digest bytea not null
  kind character varying(10) not null -- person: a name together with an e-mail, phone or address that other customers share; it matches only with that name
  erasure_id bigint not null
  suppressed_at timestamp with time zone not null default now()
  constraint suppressed_contact_erasure_id_fkey FOREIGN KEY (erasure_id) REFERENCES pii.erasure(erasure_id)
  constraint suppressed_contact_kind_check CHECK (((kind)::text = ANY ((ARRAY['email'::character varying, 'phone'::character varying, 'person'::character varying])::text[])))
  constraint suppressed_contact_pkey PRIMARY KEY (digest)
  -- Erased e-mails and phones: a later evaluation that carries one is loaded without its customer.

pii.suppressed_evaluation table
  group_id integer not null
  eval_id bigint not null
  scope character varying(10) not null -- customer: loaded without its customer; mention: an evaluation of another customer, whose texts named the erased one
  erasure_id bigint not null
  suppressed_at timestamp with time zone not null default now()
  digests bytea[] not null -- HMAC-SHA256 of what is removed from its texts: e-mails, phones, names and addresses, each normalised
  phrase_words smallint[] not null -- Numbers of words of the names and addresses
  constraint suppressed_evaluation_erasure_id_fkey FOREIGN KEY (erasure_id) REFERENCES pii.erasure(erasure_id)
  constraint suppressed_evaluation_group_id_fkey FOREIGN KEY (group_id) REFERENCES core.rooftop_group(group_id)
  constraint suppressed_evaluation_pkey PRIMARY KEY (group_id, eval_id)
  constraint suppressed_evaluation_scope_check CHECK (((scope)::text = ANY ((ARRAY['customer'::character varying, 'mention'::character varying])::text[])))
  -- Evaluations whose personal data every load removes before it compares or stores anything. By dealer group, so that it applies to every rooftop that shows them.

raw schema

raw.payload table
  rooftop_id integer not null
  endpoint character varying(40) not null
  natural_key character varying(80) not null
  fetched_at timestamp with time zone not null
  content_hash bytea not null -- sha256 of the body without the query strings of its links, because each read returns new signatures
  body json not null
  run_id bigint not null
  constraint payload_pkey PRIMARY KEY (rooftop_id, endpoint, natural_key, fetched_at)
  -- Answers of the source; a new row only when the content changed. Only forecourt_writer may read it.

raw.payload_json view
  rooftop_id integer
  endpoint character varying(40)
  natural_key character varying(80)
  fetched_at timestamp with time zone
  content_hash bytea
  body json
  run_id bigint
  as
   SELECT rooftop_id,
      endpoint,
      natural_key,
      fetched_at,
      content_hash,
      raw.readable(body) AS body,
      run_id
     FROM raw.payload;
  -- raw.payload with a body that every JSON operator can read; raw.payload has the exact text.

raw.raw.readable(json) routine
CREATE OR REPLACE FUNCTION raw.readable(body json)
 RETURNS json
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when body::text ~ '\\u(0000|[dD][89a-fA-F])' then
    regexp_replace(
      regexp_replace(
        regexp_replace(body::text, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g'),
        '(?<!\\)((?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g'),
      '(?<!\\u[dD][89abAB][0-9a-fA-F]{2})(?<!\\)((?:\\\\)*)\\u[dD][c-fC-F][0-9a-fA-F]{2}', '\1\\ufffd', 'g')::json
  else body end
$function$
