import type pg from 'pg'

/** A world of the given number of evaluations, over 100 rooftops and the last three years. */
export interface MartsWorld {
  readonly evaluations: number
}

const rooftops = 100
const days = 1_095

/**
 * Fills an empty warehouse by SQL: ten photos, a price, two reconditioning lines, and an enrichment state for every evaluation,
 * 60 units of stock for every rooftop. The sums are calculated at the end.
 */
export async function fillMartsWorld(pool: pg.Pool, { evaluations }: MartsWorld): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('set synchronous_commit = off')
    await client.query('select setseed(0.42)')
    const marks = { ':evaluations': evaluations, ':rooftops': rooftops, ':days': days }
    for (const [what, text] of Object.entries(steps)) {
      const startedAt = performance.now()
      await client.query(
        Object.entries(marks).reduce(
          (sql, [mark, value]) => sql.replaceAll(mark, String(value)),
          text,
        ),
      )
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      console.error(`  ${what}: ${seconds} s`)
    }
  } finally {
    client.release(true)
  }
}

// Pseudo-random numbers: the world is always the same, except for its last day.
const steps: Readonly<Record<string, string>> = {
  'rooftops and people': /* sql */ `
    insert into core.rooftop_group (group_code) select 'group-' || n from generate_series(1, 10) as n;
    insert into core.rooftop (rooftop_uid, dealer_id, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
    select 'uid-' || n, n, 1 + n % 10, 'Rooftop ' || n, region, time_zone, currency, unit
    from generate_series(1, :rooftops) as n
    join (values (0, 'AU', 'Australia/Sydney', 'AUD', 'km'), (1, 'AU', 'Australia/Perth', 'AUD', 'km'),
      (2, 'US', 'America/Chicago', 'USD', 'mi'), (3, 'GCC', 'Asia/Kuwait', 'KWD', 'km'))
      as place (n4, region, time_zone, currency, unit) on n4 = (n - 1) % 4;
    insert into core.app_user (group_id, display_name, is_generated_link_account, is_active, in_user_list)
    select 1 + (1 + (n - 1) % :rooftops) % 10, 'Person ' || n, n > :rooftops * 10, true, n <= :rooftops * 10
    from generate_series(1, :rooftops * 11) as n;`,
  evaluations: /* sql */ `
    insert into core.evaluation (rooftop_id, eval_id, group_id, vin, make, model, variant, model_year, user_id, entry_at,
      created_at, created_at_source, completed_at, source_updated_at, created_date_local, completed_date_local, odometer,
      odometer_unit, condition_score, final_price, recon_total, recon_line_total, currency_code, photo_count, hero_source,
      user_price_count, customer_state, customer_postcode, version_no, content_hash, first_loaded_at, last_changed_at, gone_at, run_id)
    select r.rooftop_id, n, r.group_id, 'VF' || lpad((n * 7919 % (:evaluations * 9 / 10))::text, 15, '0'),
      'Make ' || n % 30, 'Model ' || n % 300, 'Variant ' || n % 900, 2008 + n % 18,
      case when n % 50 > 0 then r.rooftop_id + :rooftops * (n * 31 / 7 % 11) end, created_at,
      created_at, case when n % 20 = 0 then 'EntryDate' else 'CreatedAt' end, completed_at, completed_at,
      (created_at at time zone r.time_zone)::date, (completed_at at time zone r.time_zone)::date, 1000 + n * 37 % 200000,
      r.odometer_unit, n % 11, case when n % 20 > 0 then 5000 + n * 13 % 60000 end, 1500, 1500, r.currency_code,
      n * 17 % 21, case when n * 17 % 21 = 0 then null when n % 3 = 0 then 'default' else 'manual' end,
      0, 'NSW', '2000', case when n % 7 = 0 then 2 else 1 end, sha256(n::text::bytea), completed_at, completed_at,
      case when n % 100 = 99 then completed_at end, 1
    from generate_series(1::bigint, :evaluations) as n
    join core.rooftop as r on r.rooftop_id = 1 + (n * 7 + n / 1000) % :rooftops
    cross join lateral (select now() - make_interval(secs => :days * 86400.0 * (:evaluations - n + 1) / :evaluations) as created_at) as born
    cross join lateral (select least(created_at + make_interval(mins => (power(1.012, n * 7 % 800))::int), now()) as completed_at) as done;
    insert into core.evaluation_version (rooftop_id, eval_id, version_no, valid_from, valid_to, observed_at, changed_fields,
      final_price, recon_total, user_id, odometer, condition_score, content_hash, run_id)
    select rooftop_id, eval_id, no, completed_at + make_interval(days => no - 1),
      case when no < version_no then completed_at + interval '1 day' end, completed_at,
      case when no = 1 then '{}' else array['final_price', 'reconditioning'] end::text[],
      final_price - 100 * (version_no - no), recon_total, user_id, odometer, condition_score, content_hash, 1
    from core.evaluation cross join lateral generate_series(1, version_no) as no;`,
  photos: /* sql */ `
    insert into core.photo (rooftop_id, eval_id, photo_id, display_position, supplied_order, is_hero, hero_source, angle, first_seen_at)
    select rooftop_id, eval_id, eval_id * 100 + n, n, n, n = 1, case when n = 1 then hero_source end, 'front', completed_at
    from core.evaluation cross join lateral generate_series(1, photo_count) as n;`,
  'reconditioning lines': /* sql */ `
    insert into core.reconditioning_item (rooftop_id, eval_id, first_version, line_no, last_version, recon_type, source, cost, value_text, battery_soh_pct)
    select rooftop_id, eval_id, case when line = 2 then version_no else 1 end, line, null,
      case when line = 1 and eval_id % 20 = 0 then 'info' else 'Type ' || eval_id * line % 8 end, 'Inspector',
      case when line = 1 and eval_id % 20 = 0 then null else 100 + eval_id % 900 end,
      case when line = 1 and eval_id % 20 = 0 then '91%' end, case when line = 1 and eval_id % 20 = 0 then 91 end
    from core.evaluation cross join generate_series(1, 2) as line;`,
  prices: /* sql */ `
    insert into core.price_observation (rooftop_id, eval_id, price_source, observed_at, last_confirmed_at, is_current, as_of_date,
      retail, wholesale, wholesale_low, wholesale_high, buy_to_retail, quick_sale, sweet_spot, currency_code, confidence, value_hash, run_id)
    select rooftop_id, eval_id, 'pricing_ai', completed_at, greatest(completed_at, now() - make_interval(days => (eval_id % 90)::int)), true, completed_date_local,
      18000 + eval_id % 9000, 15000 + eval_id % 9000, 14000, 16000, 15500, 14500, 17000, currency_code, 'high', content_hash, 1
    from core.evaluation where eval_id % 25 > 0;
    insert into ops.enrichment_state (rooftop_id, stream, eval_id, ask, next_due_at, last_asked_at, outcome)
    select rooftop_id, 'pricing', eval_id, 'pricingAi', now() + interval '1 day', completed_at,
      case when eval_id % 25 > 0 then 'answered' when eval_id % 50 = 0 then 'skipped' else 'failed' end
    from core.evaluation where eval_id % 1000 > 0;`,
  stock: /* sql */ `
    insert into core.stock_import (rooftop_id, file_name, sha256, byte_count, mode, encoding, delimiter, dialect, preamble, mapping,
      warnings, records, accepted, rejected, collapsed, skipped, added, updated, unchanged, removed, reappeared, imported_by, imported_at)
    select rooftop_id, 'stock.csv', sha256('x'), 1, 'snapshot', 'utf-8', ',', '{}', '[]', '[]', '[]', 60, 60, 0, 0, 0, 60, 0, 0, 0, 0, 'bench',
      now() - make_interval(days => 90 - 30 * step)
    from core.rooftop cross join generate_series(0, 2) as step order by step, rooftop_id;
    insert into core.stock_unit (rooftop_id, stock_no, vin, make, model, model_year, odometer_km, asking_price, cost, currency_code,
      price_on_application, acquired_on, extras, content_hash, first_seen_at, last_seen_at, off_stock_at, import_id)
    select rooftop_id, 'S' || eval_id, vin, make, model, model_year, odometer_km, 20000 + eval_id % 9000, 15000, currency_code, false,
      completed_date_local + 2, '{}', sha256('u'), now() - interval '90 days', now(), case when place % 3 = 0 then now() end, rooftop_id
    from (
      select *, row_number() over (partition by rooftop_id order by eval_id desc) as place
      from core.evaluation where gone_at is null and completed_at < now() - interval '10 days'
    ) as seen where place <= 60;
    insert into core.stock_unit_change (import_id, rooftop_id, stock_no, change, changes)
    select rooftop_id + :rooftops * step, rooftop_id, stock_no, case when step = 0 then 'added' else 'updated' end,
      case when step = 0 then '{}' else jsonb_build_object('asking_price', jsonb_build_array(asking_price + 500 * (3 - step), asking_price + 500 * (2 - step))) end
    from core.stock_unit cross join generate_series(0, 2) as step;
    insert into core.stock_price_observation (rooftop_id, stock_no, price_source, observed_at, last_confirmed_at, is_current, vin, retail,
      retail_low, retail_high, wholesale, currency_code, value_hash, run_id)
    select rooftop_id, stock_no, 'price_batch', now() - make_interval(days => 80 - 20 * step), now() - make_interval(days => 80 - 20 * step),
      step = 3, vin, asking_price - 100 * step, asking_price - 900, asking_price + 900, asking_price - 3000, currency_code, sha256('p'), 1
    from core.stock_unit cross join generate_series(0, 3) as step;`,
  checks: /* sql */ `
    insert into core.vehicle_check (rooftop_id, eval_id, check_kind, check_ref, group_id, vin, searched_at, watch_status, watch_status_since,
      watch_ends_at, first_seen_at, security_interest_count)
    select e.rooftop_id, e.eval_id, 'ppsr', 'C' || e.eval_id, e.group_id, e.vin, e.completed_at,
      case when e.completed_at > now() - interval '14 days' then 'watching' when e.eval_id % 30 = 0 then 'changed' else 'unchanged' end, e.completed_at,
      e.completed_at + interval '14 days', e.completed_at, case when e.eval_id % 4 = 0 then 0 end
    from core.evaluation as e where e.currency_code = 'AUD' and e.eval_id % 5 = 0;
    insert into core.watch_status_change (rooftop_id, eval_id, check_kind, check_ref, observed_at, from_status, to_status)
    select rooftop_id, eval_id, check_kind, check_ref, searched_at, null, watch_status from core.vehicle_check;`,
  ledger: /* sql */ `
    insert into ops.run (command, status, started_at, finished_at, source_started_at)
    select 'sync', 'ok', at, at + interval '1 hour', at
    from generate_series(now() - interval '400 days', now() - interval '3 hours', interval '1 day') as at;
    insert into ops.run_stream (run_id, rooftop_id, stream, status, finished_at, listed)
    select run_id, rooftop_id, stream, 'ok', finished_at, 10
    from ops.run cross join core.rooftop
    cross join unnest(array['users', 'evaluations', 'pricing', 'vehicle-checks', 'stock-prices']) as stream;
    insert into ops.coverage (rooftop_id, stream, covered, wanted)
    select rooftop_id, 'evaluations', tstzmultirange(tstzrange(now() - interval '1095 days', now() - interval '3 days')),
      tstzmultirange(tstzrange(now() - interval '1095 days', now())) from core.rooftop;
    insert into ops.window_certificate (rooftop_id, stream, window_from, window_until, listed_at, reread_at, listed, loaded, quarantined,
      vanished, ids_digest, settled, proof, run_id)
    select rooftop_id, 'evaluations', at, at + interval '1 day', at + interval '2 days', at + interval '2 days', 9, 9, 0, 0, sha256('d'), true, 'plain', 1
    from core.rooftop cross join generate_series(now() - interval '1095 days', now() - interval '1 day', interval '1 day') as at;
    insert into ops.vanished (rooftop_id, stream, natural_key, reason, vanished_at, run_id)
    select rooftop_id, 'evaluations', eval_id::text, 'not found', gone_at, 1 from core.evaluation where gone_at is not null;
    insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id)
    select 'evaluations', rooftop_id, 'q' || n, '[]', 1 from core.rooftop cross join generate_series(1, 3) as n;`,
  // As autovacuum does: without statistics the days of a million evaluations take minutes.
  analyse: 'analyze',
  aggregates: /* sql */ `
    select core.agg_rebuild(rooftop_id) from core.rooftop;
    select core.vehicle_rebuild(group_id) from core.rooftop_group;`,
  'vacuum analyze': 'vacuum analyze',
}
