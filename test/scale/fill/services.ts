import { evaluations, type Step } from './step.ts'

/** The evaluation at this share of all. */
const after = (share: number) => 10_000_000 + Math.round(share * evaluations)

/** 50,000 units of stock, an eighth of them on hand, and 100,000 paid calls; of a million evaluations 100,000 vehicle checks with links, and
 *  100,000 webhooks. */
export const serviceSteps: readonly Step[] = [
  {
    name: 'stock',
    sql: /* sql */ `
      insert into core.stock_import (rooftop_id, file_name, sha256, byte_count, mode, encoding, delimiter, dialect, preamble, mapping,
        warnings, records, accepted, rejected, collapsed, skipped, added, updated, unchanged, removed, reappeared, imported_by, imported_at)
      select rooftop_id, 'stock-' || day || '.csv', sha256(day::text::bytea), 1, 'snapshot', 'utf-8', ',', '{}', '[]', '[]', '[]', 500, 500, 0, 0, 0,
        20, 10, 470, 20, 0, 'sam', now() - make_interval(days => 300 - day)
      from generate_series(1, 300) as day cross join core.rooftop order by day, rooftop_id;
      insert into core.stock_unit (rooftop_id, stock_no, vin, make, model, model_year, odometer_km, asking_price, cost, currency_code,
        price_on_application, acquired_on, extras, content_hash, first_seen_at, last_seen_at, missing_since, off_stock_at, import_id)
      select rooftop_id, 'S' || eval_id, vin, make, model, model_year, odometer_km, 20000 + eval_id % 9000, 15000, currency_code, false,
        completed_date_local + 2, '{}', sha256('u'), completed_at + interval '3 days', now() - interval '1 day',
        case when place % 80 = 0 then now() - interval '2 days' end, case when place > 100 and place % 40 > 0 then now() - interval '5 days' end, 1
      from (
        select *, row_number() over (partition by rooftop_id order by eval_id desc) as place
        from core.evaluation where gone_at is null and completed_at < now() - interval '10 days' and eval_id > ${after(0.5)} and eval_id % 7 = 3
      ) as seen where place <= 1000 order by eval_id;
      insert into core.stock_unit_change (import_id, rooftop_id, stock_no, change, changes)
      select list.import_id, rooftop_id, stock_no, case when step = 0 then 'added' else 'updated' end,
        case when step = 0 then '{}' else jsonb_build_object('asking_price', jsonb_build_array(asking_price + 500 * (3 - step), asking_price + 500 * (2 - step))) end
      from core.stock_unit cross join generate_series(0, 2) as step
      join (select rooftop_id, import_id, row_number() over (partition by rooftop_id order by import_id) as nr from core.stock_import) as list
        using (rooftop_id)
      where nr = 150 + step * 50;
      insert into core.stock_price_observation (rooftop_id, stock_no, price_source, observed_at, last_confirmed_at, is_current, vin, retail,
        retail_low, retail_high, wholesale, currency_code, error, value_hash, run_id)
      select rooftop_id, stock_no, 'price_batch', now() - make_interval(days => 80 - 20 * step), now() - make_interval(days => 80 - 20 * step),
        step = 3, vin, case when odometer_km % 20 > 0 then asking_price - 100 * step end, asking_price - 900, asking_price + 900, asking_price - 3000, currency_code,
        case when odometer_km % 20 = 0 then 'no comparable vehicle' end, sha256('p'), 1
      from core.stock_unit cross join generate_series(0, 3) as step;
      insert into ops.stock_upload (rooftop_id, email, file_name, sha256, byte_count, content, options, newest_import_id)
      select rooftop_id, 'kim@example.com', 'list.csv', sha256(content), length(content), content, '{"mode": "snapshot", "maps": []}', 0
      from scale.place cross join convert_to(E'Stock No,VIN,Price\\nS1,WVWZZZ1KZ8W000001,19990\\n', 'UTF8') as content where no = 5;`,
  },
  {
    name: 'checks and links',
    beside: true,
    sql: /* sql */ `
      insert into core.vehicle_check (rooftop_id, eval_id, check_kind, check_ref, group_id, vin, searched_at, watch_status, watch_status_since,
        watch_ends_at, first_seen_at, security_interest_count, run_id)
      select rooftop_id, eval_id, case when eval_id % 5 = 0 then 'car_history' else 'ppsr' end, 'C' || eval_id, group_id, vin, completed_at,
        case when completed_at > now() - interval '14 days' then 'watching' when eval_id % 30 = 0 then 'changed' else 'expired' end, completed_at,
        case when eval_id % 5 > 0 then completed_at + interval '14 days' end, completed_at, case when eval_id % 4 = 0 then 0 end, 1
      from core.evaluation where eval_id > ${after(0.7)} and eval_id % 3 = 0;
      insert into core.watch_status_change (rooftop_id, eval_id, check_kind, check_ref, observed_at, from_status, to_status)
      select rooftop_id, eval_id, check_kind, check_ref, searched_at, null, watch_status from core.vehicle_check where check_ref like 'C1%';
      insert into pii.signed_link (rooftop_id, eval_id, link_kind, link_ref, url, signed_at, expires_at)
      select rooftop_id, eval_id, check_kind || '_pdf', check_ref, 'https://pdf.example.com/' || check_ref || '?signature=x', now() - interval '1 day',
        -- A few were not signed again in time.
        now() + interval '1 hour' * case when eval_id % 100 < 3 then 1 + eval_id % 20 else 49 + eval_id % 120 end
      from core.vehicle_check where check_ref like 'C1%';`,
  },
  {
    name: 'webhooks',
    beside: true,
    sql: /* sql */ `
      insert into ops.webhook_subscription (rooftop_id, event, subscription_id, url, header_hash, since)
      select rooftop_id, 'ON_COMPLETE', rooftop_id, 'https://hooks.example.com/' || rooftop_id, sha256('h'), now() - interval '80 days' from core.rooftop;
      insert into ops.webhook_delivery (event, rooftop_id, eval_id, body_hash, state, issue, source_event_at, source_updated_at, source_received_at,
        received_at, duplicates, attempts, due_at, run_id, outcome, processed_at)
      select 'ON_COMPLETE', rooftop_id, eval_id, sha256(eval_id::text::bytea), state, case when state in ('failed', 'unusable') then 'HTTP 503' end,
        completed_at, completed_at, arrived, arrived, eval_id % 50 / 49, 1, arrived, 80000, case when state = 'processed' then 'updated' end,
        case when state = 'processed' then arrived + interval '2 minutes' end
      from core.evaluation
      cross join lateral (select completed_at + make_interval(secs => eval_id % 100) as arrived,
        case when eval_id % 500 = 1 then 'failed' when eval_id % 500 = 2 then 'unusable' when eval_id > ${after(1) - 100} then 'waiting' else 'processed' end as state) as one
      where eval_id > ${after(0.899)} and eval_id % 101 > 0 order by eval_id;`,
  },
  {
    name: 'paid calls',
    beside: true,
    sql: /* sql */ `
      insert into ops.billable_call (operation, budget, rooftop_id, natural_key, day, state, at, settled_at, http_status, requested_by)
      select 'ppsrsearch', 'ppsrSearchPerDay', rooftop_id, 10000000 + n * 9 || '', at::date, case when n % 1000 = 0 then 'reserved' when n % 50 = 1 then 'released' else 'committed' end,
        at, at, 200, (array['kim@one', 'vic@two', 'cron@three'])[1 + n % 3]
      from generate_series(1, 100000) as n join scale.place on no = n % 50
      cross join lateral (select now() - (100001 - n) * interval '3 minutes' as at) as one;`,
  },
]
