import { aVehicle, listOf, vehicles } from '../stock/import-fixture.ts'
import { recentThursday, reportedFixture } from '../support/reports-fixture.ts'
import { type ConsoleFixture, openConsole } from '../web/console/console-fixture.ts'
import { pathOf, uploadForm } from '../web/console/upload-fixture.ts'

/** A console whose tables are full: two months of six rooftops with three stock lists each, and more than a page of all that is counted by hand in other tests. */
export async function openFullConsole(): Promise<ConsoleFixture> {
  const fixture = await reportedFixture(7, 900, recentThursday())
  const console = await openConsole({ fixture })
  for (const statement of planted) await console.rows(statement)
  await uploadLists(console)
  return console
}

/** Stock lists at every step. */
async function uploadLists({ config, post }: ConsoleFixture): Promise<void> {
  const upload = async (list: string, name: string) => {
    const fields = { rooftop: config.rooftops.at(-1)!.uid, mode: 'delta' }
    return pathOf(await post('/stock/upload', uploadForm(list, name, fields)))
  }
  const wrong = Array.from({ length: 60 }, (_, at) => aVehicle(100 + at, { price: `${at}x2` }))
  await post(await upload(listOf([...vehicles(60), ...wrong]), 'imported.csv'), {
    action: 'import',
  })
  const changed = vehicles(60).map((_, at) => aVehicle(at + 1, { price: String(20_000 + at) }))
  await upload(listOf([...changed, ...wrong, aVehicle(200)]), 'ready.csv')
  await upload(listOf(vehicles(60)).replace('Price', 'Amount'), 'in-doubt.csv')
}

const run = '(select max(run_id) from ops.run)'
const many = 'generate_series(1, 60)'

/** More than a page of rows of each kind. */
const planted: readonly string[] = [
  `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, run_id)
   select 'evaluations', rooftop_id, n::text, jsonb_build_array(jsonb_build_object('path', 'Reconditioning[' || n || '].Cost' || n, 'message', 'is not a number')),
     jsonb_build_object('EvalID', n, 'UpdatedAt', 'never'), ${run}
   from core.rooftop cross join ${many} as n`,
  `insert into ops.run (command, arguments, status, started_at, source_started_at, finished_at, heartbeat_at, lane, host, process_id)
   select command, arguments, case when n % 3 = 0 then 'partial' else 'ok' end, started_at - n * interval '4 hours', source_started_at - n * interval '4 hours',
     finished_at - n * interval '4 hours', finished_at - n * interval '4 hours', lane, host, process_id
   from ops.run cross join ${many} as n where run_id = ${run}`,
  `insert into ops.run_stream (run_id, rooftop_id, stream, status, error, listed, inserted, updated, requests, began_at, finished_at)
   select run.run_id, rooftop_id, stream, case when run.status = 'partial' and n = 3 then 'partial' else 'ok' end,
     case when run.status = 'partial' and n = 3 then '502 at /getpricing: the service answered with a page instead of a price' end, 2000, 1000, 200, 30, started_at, run.finished_at
   from ops.run cross join core.rooftop
   cross join unnest(array['users', 'evaluations', 'pricing', 'vehicle-checks', 'stock-prices']) with ordinality as s (stream, n)
   where not exists (select from ops.run_stream as one where one.run_id = run.run_id)`,
  `insert into ops.console_action (at, email, role, action, target, shown_count, outcome, run_id)
   select now() - n * interval '9 minutes', 'kim@example.com', 'engineer', 'retry', '{"cause":"Reconditioning[3].Cost is not a number"}', n, 'done', ${run} from ${many} as n`,
  `insert into ops.field_drift (stream, json_path, json_type, classification, first_seen_at, last_seen_at, seen)
   select 'evaluations', '$.Reconditioning[].Extra' || n || '.field', 'string', case when n % 2 = 0 then 'undocumented' else 'missing' end, now() - n * interval '1 day', now(), n * 1000
   from ${many} as n`,
  `insert into ops.data_quality (rooftop_id, stream, natural_key, check_name, detail, run_id)
   select rooftop_id, 'evaluations', eval_id::text, 'odometer', 'the odometer of 412,345 km contradicts the 12,345 km of an earlier appraisal', ${run} from core.evaluation limit 300`,
  `insert into ops.job_fire (job_name, cause, slot_at, status, claimed_at, heartbeat_at, finished_at, host, process_id, run_ids)
   select job_name, 'schedule', now() - n * interval '1 day', 'ok', now() - n * interval '1 day', now() - n * interval '1 day', now() - n * interval '1 day' + interval '4 minutes', 'host-1', 1, array[${run}]
   from ops.job cross join ${many} as n`,
  `insert into ops.parked (key_name, stream, until, reason) select min(rooftop_name), 'pricing', now() + interval '1 hour', '429' from core.rooftop`,
  // As autovacuum does.
  'analyze',
]
