import { sql } from 'kysely'
import type { Config } from '../config.ts'
import type { Db } from '../db/transaction.ts'
import { readSourceNow } from '../links/source-time.ts'
import { readLinkStatus } from '../links/link-status.ts'
import type { PlannedJob } from '../scheduler/load-jobs.ts'
import { readJobStatuses } from '../scheduler/job-status.ts'
import type { Sample } from './gauges.ts'

/** What the schema is at. */
export async function schemaSamples(db: Db): Promise<Sample[]> {
  const { rows } = await sql<{ version: number }>`
    select coalesce(max(version), 0) as version from ops.schema_migration`.execute(db)
  return [{ gauge: 'forecourt_schema_version', value: rows[0]!.version }]
}

/** The links against their objective, as `status` tells them. */
export async function linkSamples(db: Db, config: Config): Promise<Sample[]> {
  const { inScope, alive, objective } = await readLinkStatus(db, config, await readSourceNow(db))
  return [
    { gauge: 'forecourt_links_in_scope', value: inScope },
    { gauge: 'forecourt_links_alive', value: alive },
    { gauge: 'forecourt_links_objective_ratio', value: objective },
  ]
}

/** What today (UTC) has cost, and what it may. */
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

/** The jobs that a scheduler keeps. */
export async function jobSamples(db: Db, jobs: readonly PlannedJob[]): Promise<Sample[]> {
  const standings = Object.entries(await readJobStatuses(db, jobs))
  return standings.flatMap(([job, { kept, status, lastGoodAt }]): Sample[] => {
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

/** Runs, queue and alerts. The queue's own table is read as it is: its engine counts only what it has looked at itself. */
export async function queueSamples(db: Db): Promise<Sample[]> {
  const { rows } = await sql<{ state: string; slices: number; oldest: number | null }>`
    select case when state = 'active' then 'active' when start_after <= now() then 'waiting' else 'delayed' end as state,
      count(*)::int as slices,
      extract(epoch from now() - min(start_after))::float8 as oldest
    from pgboss.job
    where name = 'rooftop.sync' and state in ('created', 'retry', 'active')
    group by 1`.execute(db)
  const of = new Map(rows.map((row) => [row.state, row]))
  const slices = ['active', 'waiting', 'delayed'].map((state): Sample => {
    return { gauge: 'forecourt_queue_slices', labels: { state }, value: of.get(state)?.slices ?? 0 }
  })
  const oldest = Math.max(0, of.get('waiting')?.oldest ?? 0)
  return [...slices, { gauge: 'forecourt_queue_oldest_waiting_seconds', value: oldest }]
}

const lanes = ['event', 'foreground', 'background']

/** Runs that have not ended, and alerts that nobody has mended. */
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
