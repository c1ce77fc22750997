import { evaluations, rooftops, type Step } from './step.ts'

/** Half of the evaluations, so that two sessions write them. */
const half = (odd: 0 | 1) => /* sql */ `
  insert into core.evaluation (rooftop_id, eval_id, group_id, vin, make, model, variant, model_year, user_id, entry_at,
    created_at, created_at_source, completed_at, source_updated_at, created_date_local, completed_date_local, odometer,
    odometer_unit, condition_score, final_price, recon_total, recon_line_total, currency_code, photo_count, hero_source,
    user_price_count, customer_state, customer_postcode, version_no, content_hash, first_loaded_at, last_changed_at, gone_at, run_id)
  select r.rooftop_id, 10000000 + n, r.group_id, 'VF' || lpad((case when n % 10 = 7 then n - 20000 else n end)::text, 15, '0'),
    'Make ' || n % 30, 'Model ' || n % 300, 'Variant ' || n % 900, 2008 + n % 18,
    case when n % 50 > 0 then people[1 + n * 31 / 7 % cardinality(people)] end, born, born,
    case when n % 20 = 0 then 'EntryDate' else 'CreatedAt' end, done, done,
    (born at time zone r.time_zone)::date, (done at time zone r.time_zone)::date, 1000 + n * 37 % 200000,
    r.odometer_unit, n % 11, case when n % 20 > 0 then 5000 + n * 13 % 60000 end, 1500, 1500, r.currency_code,
    n * 17 % 21, case when n * 17 % 21 = 0 then null when n % 3 = 0 then 'default' else 'manual' end,
    0, 'NSW', '2000', case when n % 7 = 0 then 2 else 1 end, sha256(n::text::bytea), done, done,
    case when n % 100 = 99 then done end, 1
  from generate_series(1::bigint, ${evaluations}) as n
  join scale.place as r on r.no = case when n % 10 = 0 then 0 else (n * 7 + n / 1000) % ${rooftops} end
  cross join lateral (select now() - make_interval(secs => 2 * 365 * 86400.0 * (${evaluations} - n + 1) / ${evaluations}) as born) as begun
  cross join lateral (select least(born + make_interval(mins => power(1.012, n * 7 % 800)::int), now()) as done) as ended
  where n % 2 = ${odd};`

/** A million evaluations of two years, a tenth of them at one rooftop, with what is stored of each. */
export const evaluationSteps: readonly Step[] = [
  {
    name: 'rooftops and people',
    sql: /* sql */ `
      create schema scale;
      insert into core.app_user (group_id, display_name, is_generated_link_account, is_active, in_user_list)
      select group_id, 'Person ' || n || ' of ' || rooftop_name, n = 10, true, n < 10
      from core.rooftop cross join generate_series(1, 10) as n order by rooftop_id, n;
      insert into core.app_user_rooftop (rooftop_id, user_id, is_active)
      select rooftop_id, user_id, true from core.app_user join core.rooftop on display_name like '% of ' || rooftop_name and app_user.group_id = rooftop.group_id
      where display_name like 'Person % of %';
      create table scale.place as
      select row_number() over (order by rooftop_id) - 1 as no, r.*, array(
        select user_id from core.app_user_rooftop as own join core.app_user using (user_id)
        where own.rooftop_id = r.rooftop_id and display_name like 'Person %' order by 1) as people
      from core.rooftop as r;`,
  },
  {
    name: 'indexes and triggers away',
    // To build an index once takes a fraction of the time; what follows from the rows is calculated at the end.
    sql: /* sql */ `
      alter table core.evaluation disable trigger user;
      alter table ops.enrichment_state disable trigger user;
      create table scale.later as
      select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid in ('core.evaluation'::regclass, 'core.price_observation'::regclass, 'core.evaluation_version'::regclass, 'ops.enrichment_state'::regclass)
        and not exists (select from pg_constraint where conindid = indexrelid);
      do $$ begin execute (select string_agg('drop index ' || name, ';') from scale.later); end $$;`,
  },
  { name: 'evaluations, one half', sql: half(0) },
  { name: 'evaluations, other half', sql: half(1), beside: true },
  { name: 'statistics', sql: 'analyze core.evaluation' },
  {
    name: 'versions',
    beside: true,
    sql: /* sql */ `
      insert into core.evaluation_version (rooftop_id, eval_id, version_no, valid_from, valid_to, observed_at, changed_fields,
        final_price, recon_total, user_id, odometer, condition_score, content_hash, run_id)
      select rooftop_id, eval_id, no, completed_at + make_interval(days => no - 1),
        case when no < version_no then completed_at + interval '1 day' end, completed_at,
        case when no = 1 then '{}' else array['final_price', 'reconditioning'] end::text[],
        final_price - 100 * (version_no - no), recon_total, user_id, odometer, condition_score, content_hash, 1
      from core.evaluation cross join lateral generate_series(1, version_no) as no where eval_id > 10000000;`,
  },
  {
    name: 'reconditioning',
    beside: true,
    sql: /* sql */ `
      insert into core.reconditioning_item (rooftop_id, eval_id, first_version, line_no, last_version, recon_type, source, cost, value_text, battery_soh_pct)
      select rooftop_id, eval_id, version_no, 1, null, case when eval_id % 20 = 3 then 'info' else 'Type ' || eval_id % 8 end, 'Inspector',
        case when eval_id % 20 <> 3 then 100 + eval_id % 900 end,
        case when eval_id % 20 = 3 then '91%' end, case when eval_id % 20 = 3 then 60 + eval_id % 40 end
      from core.evaluation where eval_id > 10000000;`,
  },
  {
    name: 'prices',
    beside: true,
    sql: /* sql */ `
      insert into core.price_observation (rooftop_id, eval_id, price_source, observed_at, last_confirmed_at, is_current, as_of_date,
        retail, wholesale, wholesale_low, wholesale_high, buy_to_retail, quick_sale, sweet_spot, currency_code, confidence, value_hash, run_id)
      select rooftop_id, eval_id, 'pricing_ai', completed_at + make_interval(days => no * 20),
        completed_at + make_interval(days => no * 20 + 5), no = newest, completed_date_local + no * 20,
        18000 + eval_id % 9000 - no * 200, 15000 + eval_id % 9000 - no * 150, 14000, 16000, 15500, 14500, 17000, currency_code, 'high', content_hash, 1
      from core.evaluation
      cross join lateral (select case when eval_id % 8 = 0 then 1 else 0 end as newest) as known
      cross join lateral generate_series(0, newest) as no
      where eval_id > 10000000 and eval_id % 25 > 0;`,
  },
  {
    name: 'what was asked',
    beside: true,
    sql: /* sql */ `
      insert into ops.enrichment_state (rooftop_id, stream, eval_id, ask, next_due_at, last_asked_at, outcome, failures, detail)
      select rooftop_id, 'pricing', eval_id, 'pricingAi', now() + interval '1 day', completed_at,
        case when eval_id % 25 > 0 then 'answered' when eval_id % 50 = 0 then 'skipped' else 'failed' end,
        case when eval_id % 25 = 0 and eval_id % 50 > 0 then 1 else 0 end, null
      from core.evaluation where eval_id > 10000000 and eval_id % 1000 > 0
      union all
      select rooftop_id, 'vehicle-checks', eval_id, 'getpastppsrsearch', now() + interval '1 day', now() - interval '1 day',
        case when eval_id % 40 = 0 then 'failed' else 'answered' end, case when eval_id % 40 = 0 then 3 else 0 end,
        case when eval_id % 40 = 0 then 'HTTP 50' || eval_id % 7 end
      from core.evaluation where eval_id > ${10_000_000 + evaluations * 0.8};`,
  },
  {
    name: 'payloads',
    beside: true,
    sql: /* sql */ `
      insert into raw.payload (rooftop_id, endpoint, natural_key, fetched_at, content_hash, body, run_id)
      select rooftop_id, 'geteval', eval_id::text, completed_at + make_interval(days => no), sha256((eval_id || ' ' || no)::bytea), body, 1
      from core.evaluation
      cross join (select array_agg(body order by natural_key) as bodies from raw.payload where endpoint = 'geteval') as known
      cross join generate_series(0, 1) as no
      cross join lateral (select bodies[1 + (eval_id + no) % cardinality(bodies)] as body) as chosen
      where eval_id > ${10_000_000 + evaluations - 10_000};`,
  },
  ...([0, 1] as const).map((odd) => ({
    name: `${odd === 0 ? 'even' : 'odd'} indexes`,
    beside: odd === 1,
    sql: /* sql */ `do $$ begin execute (
      select string_agg(definition, ';') from (select *, row_number() over (order by definition) as nr from scale.later) as one where nr % 2 = ${odd}); end $$;`,
  })),
  // As autovacuum does: without statistics the sums take minutes.
  {
    name: 'more statistics',
    sql: 'analyze core.evaluation, core.price_observation, core.reconditioning_item, ops.enrichment_state, core.evaluation_version',
  },
  // Rooftops of one parity each: their rows are different, so that neither session waits.
  ...([0, 1] as const).map((odd) => ({
    name: `sums of ${odd === 0 ? 'even' : 'odd'} rooftops`,
    beside: odd === 1,
    sql: /* sql */ `
      insert into core.agg_appraisal
      select fact.* from core.appraisals(array(select group_id from core.rooftop_group),
        array(select eval_id from core.evaluation where rooftop_id % 2 = ${odd} and eval_id > 10000000)) as fact;`,
  })),
  ...['evaluation', 'recon', 'pricing'].map((name, at) => ({
    name: `${name} days`,
    beside: at > 0,
    // Days of the first night have sums already.
    sql: /* sql */ `
      delete from core.agg_${name}_day;
      insert into core.agg_${name}_day
      select day.* from core.rooftop cross join lateral core.${name}_days(array(
        select fact from core.agg_appraisal as fact where fact.rooftop_id = rooftop.rooftop_id)) as day;`,
  })),
  {
    name: 'vehicles',
    beside: true,
    sql: /* sql */ `
      alter table core.evaluation enable trigger user;
      alter table ops.enrichment_state enable trigger user;
      truncate ops.new_to_pricing;
      insert into ops.new_to_pricing select * from ops.new_to_pricing_facts;
      select core.vehicle_rebuild(group_id) from core.rooftop_group;`,
  },
]
