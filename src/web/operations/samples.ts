import { sql } from 'kysely'
import { shortKey, vehicleDataKey } from '../../api/sources/key-advice.ts'
import type { Config } from '../../app/config/read.ts'
import { readJobStatuses } from '../../app/scheduler/job-status.ts'
import type { PlannedJob } from '../../app/scheduler/load-jobs.ts'
import type { Context } from '../../context.ts'
import { keyStateNames, readKeyStates } from '../../sync/run/key-states.ts'
import { isOfConfig } from '../../warehouse/db/run-source.ts'
import { readSourceNow } from '../../warehouse/db/source-now.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { countQueue } from '../../warehouse/queue/queue.ts'
import { readLinkStatus } from '../links/link-status.ts'
import { gaugeSamples, type Sample } from './gauges.ts'

/** The status of an API key in this process. */
type KeyStatus = Omit<ReturnType<Context['rates']>[number], 'service' | 'share'>

/** The gauges of the keys, labelled as the requests are. */
export function keySamples(keys: readonly KeyStatus[]): Sample[] {
  return keys.flatMap(({ key, blockedUntil, ...status }) => {
    const blockedMs = blockedUntil === null ? 0 : blockedUntil.getTime() - Date.now()
    const values = {
      forecourt_requests_in_flight: status.inFlight,
      forecourt_requests_waiting: status.waiting,
      forecourt_request_concurrency_limit: status.concurrency,
      forecourt_key_processes: status.processes,
      forecourt_key_blocked_seconds: Math.max(0, blockedMs / 1000),
      forecourt_request_rate_limit: status.perSecond,
    }
    return gaugeSamples(values, keyLabels(key))
  })
}

/** The state of the keys by their last answers, as in `status`. */
export async function keyStateSamples(db: Db, config: Config): Promise<Sample[]> {
  const keys = await readKeyStates(db, config)
  return keys.flatMap(({ key, state, refusal }) => {
    const labels = keyLabels(key)
    return [
      ...keyStateNames.flatMap((name) =>
        gaugeSamples({ forecourt_key_state: Number(name === state) }, { ...labels, state: name }),
      ),
      ...gaugeSamples(
        {
          forecourt_key_refused_rooftops: refusal?.rooftops.length ?? 0,
          forecourt_key_refused_calls: refusal?.calls ?? 0,
        },
        labels,
      ),
    ]
  })
}

/** The same labels as on the counters of requests, so that both can be joined. */
function keyLabels(key: string): Record<string, string> {
  return { service: key === vehicleDataKey ? 'vehicle-data' : 'appraisal', key: shortKey(key) }
}

/** The version of the schema. */
export async function schemaSamples(db: Db): Promise<Sample[]> {
  const { rows } = await sql<{ version: number }>`
    select coalesce(max(version), 0) as version from ops.schema_migration`.execute(db)
  return gaugeSamples({ forecourt_schema_version: rows[0]!.version })
}

/** The links and their objective, as in `status`. */
export async function linkSamples(db: Db, config: Config): Promise<Sample[]> {
  const { inScope, alive, objective } = await readLinkStatus(db, config, await readSourceNow(db))
  return gaugeSamples({
    forecourt_links_in_scope: inScope,
    forecourt_links_alive: alive,
    forecourt_links_objective_ratio: objective,
  })
}

/** Billable calls of today (UTC), and those allowed. */
export async function spendSamples(db: Db, { budget: allowed }: Config): Promise<Sample[]> {
  const { rows } = await sql<{ budget: string; calls: number }>`
    select budget, count(*)::int as calls
    from ops.billable_call
    where state <> 'released' and day = (now() at time zone 'UTC')::date
    group by budget`.execute(db)
  const used = new Map(rows.map(({ budget, calls }) => [budget, calls]))
  return Object.entries(allowed).flatMap(([budget, most]) => {
    const today = used.get(budget) ?? 0
    const values = {
      forecourt_billable_calls_today: today,
      forecourt_billable_calls_allowed: most,
    }
    return gaugeSamples(values, { budget })
  })
}

/** The jobs that a scheduler runs. */
export async function jobSamples(
  db: Db,
  config: Config,
  jobs: readonly PlannedJob[],
): Promise<Sample[]> {
  const statuses = Object.entries(await readJobStatuses(db, config, jobs))
  return statuses.flatMap(([job, { kept, status, lastGoodAt }]) => {
    if (!kept || status === 'off') return []
    const values = {
      forecourt_job_late: Number(status === 'late'),
      forecourt_job_failed: Number(status === 'failed'),
      forecourt_job_last_good_timestamp_seconds:
        lastGoodAt === null ? null : Date.parse(lastGoodAt) / 1000,
    }
    return gaugeSamples(values, { job })
  })
}

/** The slices in the queue. */
export async function queueSamples(db: Db): Promise<Sample[]> {
  const { oldestSeconds, ...counts } = await countQueue(db)
  return [
    ...Object.entries(counts).flatMap(([state, count]) =>
      gaugeSamples({ forecourt_queue_slices: count }, { state }),
    ),
    ...gaugeSamples({ forecourt_queue_oldest_waiting_seconds: oldestSeconds }),
  ]
}

/** Deliveries of webhooks whose evaluation is not read again yet. */
export async function webhookSamples(db: Db): Promise<Sample[]> {
  const { rows } = await sql<{ waiting: number; oldest: number }>`
    select count(*)::int as waiting,
      coalesce(extract(epoch from now() - min(received_at)), 0)::float8 as oldest
    from ops.webhook_delivery
    where state = 'waiting'`.execute(db)
  const { waiting, oldest } = rows[0]!
  return gaugeSamples({
    forecourt_webhook_deliveries_waiting: waiting,
    forecourt_webhook_oldest_waiting_seconds: oldest,
  })
}

/** Runs that have not ended, and open alerts of the processes with these services. */
export async function runSamples(db: Db, config: Config): Promise<Sample[]> {
  const { rows } = await sql<{ lane: string; running: number }>`
    select known.lane, count(run_id)::int as running
    from unnest(array['event', 'foreground', 'background']) as known (lane)
    left join ops.run on run.lane = known.lane and status = 'running'
    group by known.lane`.execute(db)
  const alerts = await sql<{ open: number }>`
    select count(*)::int as open from ops.alert
    where resolved_at is null and ${isOfConfig('alert.source_id', config)}`.execute(db)
  return [
    ...rows.flatMap(({ lane, running }) =>
      gaugeSamples({ forecourt_runs_running: running }, { lane }),
    ),
    ...gaugeSamples({ forecourt_alerts_open: alerts.rows[0]!.open }),
  ]
}
