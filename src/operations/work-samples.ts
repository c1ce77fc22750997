import { sql } from 'kysely'
import type { Config } from '../config/read.ts'
import type { Db } from '../db/transaction.ts'
import { readSourceNow } from '../links/source-time.ts'
import { readLinkStatus } from '../links/link-status.ts'
import { countQueue } from '../queue/queue.ts'
import type { PlannedJob } from '../scheduler/load-jobs.ts'
import { readJobStatuses } from '../scheduler/job-status.ts'
import type { Sample } from './gauges.ts'

/** The version of the schema. */
export async function schemaSamples(db: Db): Promise<Sample[]> {
  const { rows } = await sql<{ version: number }>`
    select coalesce(max(version), 0) as version from ops.schema_migration`.execute(db)
  return [{ gauge: 'forecourt_schema_version', value: rows[0]!.version }]
}

/** The links and their objective, as in `status`. */
export async function linkSamples(db: Db, config: Config): Promise<Sample[]> {
  const { inScope, alive, objective } = await readLinkStatus(db, config, await readSourceNow(db))
  return [
    { gauge: 'forecourt_links_in_scope', value: inScope },
    { gauge: 'forecourt_links_alive', value: alive },
    { gauge: 'forecourt_links_objective_ratio', value: objective },
  ]
}

/** Billable calls of today (UTC), and those allowed. */
export async function spendSamples(db: Db, { budget: allowed }: Config): Promise<Sample[]> {
  const { rows } = await sql<{ budget: string; calls: number }>`
    select budget, count(*)::int as calls
    from ops.billable_call
    where state <> 'released' and day = (now() at time zone 'UTC')::date
    group by budget`.execute(db)
  const used = new Map(rows.map(({ budget, calls }) => [budget, calls]))
  return Object.entries(allowed).flatMap(([budget, value]): Sample[] => [
    {
      gauge: 'forecourt_billable_calls_today',
      labels: { budget },
      value: used.get(budget) ?? 0,
    },
    { gauge: 'forecourt_billable_calls_allowed', labels: { budget }, value },
  ])
}

/** The jobs that a scheduler runs. */
export async function jobSamples(db: Db, jobs: readonly PlannedJob[]): Promise<Sample[]> {
  const statuses = Object.entries(await readJobStatuses(db, jobs))
  return statuses.flatMap(([job, { kept, status, lastGoodAt }]): Sample[] => {
    if (!kept || status === 'off') return []
    const labels = { job }
    const goodAt = lastGoodAt === null ? null : Date.parse(lastGoodAt) / 1000
    return [
      { gauge: 'forecourt_job_late', labels, value: Number(status === 'late') },
      { gauge: 'forecourt_job_failed', labels, value: Number(status === 'failed') },
      ...(goodAt === null
        ? []
        : [{ gauge: 'forecourt_job_last_good_timestamp_seconds', labels, value: goodAt } as const]),
    ]
  })
}

/** The slices in the queue. */
export async function queueSamples(db: Db): Promise<Sample[]> {
  const counts = await countQueue(db)
  const slices = (['active', 'waiting', 'delayed'] as const).map(
    (state): Sample => ({
      gauge: 'forecourt_queue_slices',
      labels: { state },
      value: counts[state],
    }),
  )
  return [
    ...slices,
    { gauge: 'forecourt_queue_oldest_waiting_seconds', value: counts.oldestSeconds },
  ]
}

const lanes = ['event', 'foreground', 'background']

/** Runs that have not ended, and open alerts. */
export async function runSamples(db: Db): Promise<Sample[]> {
  const { rows } = await sql<{ lane: string; running: number }>`
    select lane, count(*)::int as running from ops.run where status = 'running' group by lane`.execute(
    db,
  )
  const alerts = await sql<{ open: number }>`
    select count(*)::int as open from ops.alert where resolved_at is null`.execute(db)
  const running = new Map(rows.map((row) => [row.lane, row.running]))
  const runs = lanes.map((lane): Sample => {
    return { gauge: 'forecourt_runs_running', labels: { lane }, value: running.get(lane) ?? 0 }
  })
  return [...runs, { gauge: 'forecourt_alerts_open', value: alerts.rows[0]!.open }]
}
