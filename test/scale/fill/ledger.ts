import { evaluations, rooftops, type Step } from './step.ts'

/** 91,250 windows that agree with the evaluations, 100,000 runs, and 100,000 records in quarantine. */
export const ledgerSteps: readonly Step[] = [
  {
    // Windows of six hours in the last year, of a day before. Each was listed when it had its turn of 28 nights, those of the last 60 days
    // yesterday. A tenth has records in quarantine; a larger warehouse
    // has not more of these.
    name: 'windows',
    sql: /* sql */ `
      create table scale.listed as
      with span as (
        select now() - interval '365 days' as middle, now() - interval '730 days' as start
      ), entry as (
        select rooftop_id, eval_id, case when entry_at >= middle then date_bin('6 hours', entry_at, middle) else date_bin('1 day', entry_at, start) end as window_from,
          extract(day from entry_at) in (9, 18, 27) and eval_id % ${5 * Math.max(1, Math.round(evaluations / 1_000_000))} between 1 and 4 and gone_at is null as is_held
        from core.evaluation cross join span where entry_at >= start
      ), own as (
        select rooftop_id, window_from, array_agg(eval_id order by eval_id) as ids,
          array_agg(eval_id order by eval_id) filter (where is_held) as held
        from entry group by 1, 2
      )
      select place.rooftop_id, at as window_from, at + size as window_until, coalesce(ids, '{}') as ids, coalesce(held, '{}') as held
      from scale.place
      cross join (
        select generate_series(start, middle - interval '1 day', interval '1 day') as at, interval '1 day' as size from span
        union all select generate_series(middle, now() - interval '6 hours', interval '6 hours'), interval '6 hours' from span) as series
      left join own on own.rooftop_id = place.rooftop_id and own.window_from = at
      -- Three rooftops have a gap of three days. A fourth misses a day that the living run is listing, which is not a gap.
      where not (no in (3, 17, 31) and at >= now() - interval '100 days' and at < now() - interval '97 days')
        and not (no = 6 and at >= now() - interval '50 days' and at < now() - interval '49 days');
      delete from ops.window_certificate;
      delete from ops.certified_ids;
      insert into ops.window_certificate (rooftop_id, stream, window_from, window_until, listed_at, reread_at, listed, loaded, quarantined,
        vanished, ids_digest, settled, proof, run_id)
      select rooftop_id, 'evaluations', window_from, window_until,
        greatest(window_until, now() - make_interval(days => case when window_until > now() - interval '60 days' then 1
          else 1 + mod(27 + extract(day from now() - window_from)::int, 28) end)), greatest(window_until, now() - interval '20 days'),
        cardinality(ids), cardinality(ids) - cardinality(held), cardinality(held), 0,
        sha256(convert_to(array_to_string(ids, ','), 'UTF8')), window_until < now() - interval '3 days',
        case when rooftop_id % 10 = 4 and extract(day from window_from) = 9 then 'unprovable' else 'plain' end, 1
      from scale.listed;
      insert into ops.certified_ids (rooftop_id, stream, window_from, owner_id, outcome, ids)
      select rooftop_id, 'evaluations', window_from, rooftop_id, 'loaded', array(select unnest(ids) except select unnest(held) order by 1)
      from scale.listed where cardinality(ids) > cardinality(held)
      union all
      select rooftop_id, 'evaluations', window_from, rooftop_id, 'outdated', held from scale.listed where cardinality(held) > 0;
      delete from ops.coverage where stream = 'evaluations';
      insert into ops.coverage (rooftop_id, stream, covered, wanted)
      select rooftop_id, 'evaluations', range_agg(tstzrange(window_from, window_until)) filter (where window_until < now() - interval '3 days'),
        tstzmultirange(tstzrange(min(window_from), max(window_until)))
      from scale.listed group by 1;`,
  },
  {
    name: 'runs',
    beside: true,
    // A webhook makes one every ten minutes; a night has a run of everything; the rest are backfills, some of them paused.
    sql: /* sql */ `
      insert into ops.run (command, arguments, status, started_at, source_started_at, finished_at, heartbeat_at, lane, host, process_id, is_detached)
      select case kind when 'event' then 'webhooks' when 'night' then 'run nightly' else 'backfill' end,
        jsonb_build_object('mode', case kind when 'background' then 'backfill' else 'sync' end, 'from', extract(epoch from at - interval '60 days')::bigint,
          'until', extract(epoch from at)::bigint, 'streams', streams, 'rooftops', '[]'::jsonb),
        case when no % 1500 = 0 then 'failed' when no % 700 = 0 then 'partial' when kind = 'background' and no % 3 = 0 then 'paused' else 'ok' end,
        at, at, at + interval '1 minute', at + interval '1 minute', case kind when 'night' then 'foreground' else kind end, 'host-' || no % 3, 100 + no % 900, kind = 'background'
      from generate_series(1, 100000) as no
      cross join lateral (select now() - (100001 - no) * interval '10 minutes' as at,
        case when no % 144 = 0 then 'night' when no % 2500 = 7 then 'background' else 'event' end as kind) as one
      cross join lateral (select case kind when 'night' then '["users","evaluations","pricing","vehicle-checks","stock-prices"]' else '["evaluations"]' end::jsonb as streams) as two
      order by no;
      insert into ops.run (command, arguments, status, started_at, source_started_at, heartbeat_at, lane, host, process_id)
      select 'sync', jsonb_build_object('mode', 'sync', 'from', extract(epoch from now() - interval '60 days')::bigint, 'until', null,
          'streams', '["users","evaluations","pricing","vehicle-checks","stock-prices"]'::jsonb, 'rooftops', '[]'::jsonb),
        -- Its heart beats for the time of the test.
        'running', now() - interval '20 minutes', now() - interval '20 minutes', now() + interval '1 day', 'foreground', 'host-1', 77;
      insert into ops.run_stream (run_id, rooftop_id, stream, status, error, listed, inserted, updated, requests, saved, began_at, finished_at)
      select run_id, rooftop_id, stream, state, case when state in ('failed', 'partial') then 'HTTP 50' || run_id % 5 || ' of the list' end, 20, 10, 2, 30, 400,
        started_at, case when state not in ('waiting', 'running') then started_at + interval '1 minute' end
      from ops.run
      cross join scale.place
      cross join unnest(array['users', 'evaluations', 'pricing', 'vehicle-checks', 'stock-prices']) as stream
      cross join lateral (select case when run.status = 'running' then case when no % 3 = 0 then 'waiting' when no % 3 = 1 then 'running' else 'ok' end
        when no = 7 and stream = 'pricing' and started_at > now() - interval '5 days' then 'failed'
        when (run_id + no) % 97 = 0 then 'partial' else 'ok' end as state) as ended
      where run_id > 1 and case when lane = 'event' then no = run_id % ${rooftops} and stream = 'evaluations' when lane = 'background' then stream = 'evaluations' else true end
      order by run_id;
      insert into ops.run_pace (run_id, minute_at, windows, loaded)
      select run_id, finished_at - make_interval(mins => minute), 3, 200 from ops.run cross join generate_series(0, 59) as minute where lane = 'background';`,
  },
  {
    name: 'jobs',
    sql: /* sql */ `
      insert into ops.job (job_name, schedule, time_zone, known_since)
      select job, '0 2 * * *', 'UTC', now() - interval '2 years' from unnest(array['nightly', 'hourly', 'recheck', 'reconcile', 'watch-checks', 'refresh-links', 'retention']) as job
      on conflict do nothing;
      insert into ops.job_fire (job_name, cause, slot_at, status, claimed_at, heartbeat_at, finished_at, host, process_id, run_ids, error)
      select 'hourly', 'schedule', at, case when extract(day from at) = 13 then 'failed' else 'ok' end, at, at, at + interval '1 minute', 'host-1', 1, '{}', null
      from generate_series(now() - interval '700 days', now() - interval '1 hour', interval '1 hour') as at;
      insert into ops.job_fire (job_name, cause, slot_at, status, claimed_at, heartbeat_at, finished_at, host, process_id)
      select job_name, 'schedule', at, 'ok', at, at, at + interval '1 minute', 'host-1', 1
      from ops.job cross join generate_series(now() - interval '300 days', now() - interval '1 hour', interval '1 day') as at where job_name not in ('hourly', 'nightly') order by at;
      insert into ops.job_fire (job_name, cause, slot_at, status, claimed_at, heartbeat_at, finished_at, host, process_id, run_ids)
      select 'nightly', 'schedule', started_at, 'ok', started_at, started_at, finished_at, 'host-1', 1, array[run_id] from ops.run
      where command = 'run nightly' order by run_id;`,
  },
  {
    name: 'quarantine',
    beside: true,
    // 70,000 of them are evaluations that were loaded before, in windows all over the two years; 30,000 have left.
    sql: /* sql */ `
      insert into ops.quarantine (stream, rooftop_id, natural_key, issues, attempts, run_id, resolved_at)
      select stream, rooftop_id, key, '[{"path":"prices[2].retail","message":"is missing"}]', 2, 60000, case when n > 26000 then now() - n * interval '5 minutes' end
      from generate_series(1, 55000) as n join scale.place on no = n % ${rooftops}
      cross join lateral (select case when n % 2 = 0 then 'pricing' else 'vehicle-checks' end as stream,
        case when n % 20 = 0 then 'item ' || n else 10000000 + n || '/getpastppsrsearch' end as key) as one;
      insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, attempts, window_from, window_until, run_id, first_seen_at, last_seen_at)
      select 'evaluations', rooftop_id, id::text, issues, case when id % 3 = 2 then '{"EvalID":' || id || ',"VIN":7}' end, 1 + id % 9, window_from, window_until,
        50000, window_until, now() - interval '1 day'
      from scale.listed cross join unnest(held) as id
      cross join lateral (select jsonb_build_array(jsonb_build_object('path', 'Field' || id % 41, 'message', 'expected text, received "' || id || '"')) as issues) as why;`,
  },
  {
    name: 'checks of data',
    beside: true,
    sql: /* sql */ `
      insert into ops.data_quality (rooftop_id, stream, natural_key, check_name, detail, run_id, seen_at)
      select rooftop_id, 'evaluations', eval_id::text, (array['odometer', 'price', 'vin', 'dates'])[1 + eval_id % 4], 'it contradicts itself', 1, completed_at
      from core.evaluation where eval_id > ${10_000_000 + evaluations - 100_000};
      insert into ops.field_drift (stream, json_path, json_type, classification, first_seen_at, last_seen_at, seen)
      select 'evaluations', '$.Extra' || n || '.field', 'string', case when n % 3 = 0 then 'documented' when n % 3 = 1 then 'undocumented' else 'missing' end,
        now() - make_interval(days => 700 - n % 650), now() - make_interval(days => n % 90), n
      from generate_series(1, 5000) as n on conflict do nothing;
      insert into ops.vanished (rooftop_id, stream, natural_key, reason, vanished_at, run_id)
      select rooftop_id, 'evaluations', eval_id::text, 'not found', gone_at, 1 from core.evaluation where gone_at is not null
      on conflict do nothing;
      insert into ops.console_action (at, email, role, action, target, shown_count, outcome, run_id)
      select now() - n * interval '9 minutes', case when n % 10 = 0 then 'kim@example.com' else 'vic@example.com' end, 'engineer', 'retry', '{"cause":"x"}', n % 50, 'done', n
      from generate_series(100000, 1, -1) as n;`,
  },
]
