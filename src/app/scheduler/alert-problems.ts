import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { shortKey } from '../../api/sources/key-advice.ts'
import type { MovedText } from '../../sync/explain/moved-fields.ts'
import type { Reason, WarehouseStatus } from '../../sync/explain/status.ts'
import { causeWords } from '../../sync/run/cause-words.ts'
import { listText } from '../../values/text.ts'
import { isOfConfig } from '../../warehouse/db/run-source.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Config } from '../config/read.ts'
import type { JobStatus } from './job-status.ts'
import type { PlannedJob } from './load-jobs.ts'

/** A problem that people should know about until it is over. */
interface Problem {
  readonly key: string
  readonly what: string
}

/** The problems to raise, one per cause, and the keys of all causes that still apply, even those that another one explains. */
export interface Problems {
  readonly raised: readonly Problem[]
  readonly openKeys: ReadonlySet<string>
}

/** A job whose newest finished run failed. */
interface FailedJob {
  readonly name: string
  readonly error: string | null
  /** The job failed in streams, or as streams did, whose objectives report each cause once. */
  readonly isExplained: boolean
}

/** Jobs whose newest finished run failed. A run in progress does not count, as its result is not known. */
export async function readFailed(
  db: Db,
  config: Pick<Config, 'appraisal' | 'vehicleData'>,
  jobs: readonly PlannedJob[],
): Promise<FailedJob[]> {
  const { rows } = await sql<FailedJob>`
    select name, error, exists (
       select from ops.run_stream as part join ops.run using (run_id)
       where run_id = any(run_ids) and part.status in ('failed', 'parked') and arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
     ) or exists (select from core.stream_status where last_status = 'failed' and last_error = newest.error) as "isExplained"
     from unnest(${jobs.map(({ name }) => name)}::text[]) as name
     cross join lateral (
       select status, error, run_ids from ops.job_fire
       where job_name = name and status in ('ok', 'partial', 'failed', 'died') and ${isOfConfig('job_fire.source_id', config)} order by fire_id desc limit 1) as newest
     where status in ('failed', 'died')`.execute(db)
  return rows
}

/** Runs that are left to workers and that no worker takes, as `run 7 (backfill)`. */
export async function readWaiting(db: Db): Promise<string[]> {
  const { rows } = await sql<{ run: string }>`
    select format('run %s (%s)', run_id, command) as run from ops.run
    where status = 'running' and is_detached and heartbeat_at < now() - interval '1 minute'
    order by run_id`.execute(db)
  return rows.map(({ run }) => run)
}

/** Jobs that failed or are late, without those whose failure the objectives of their streams report, and runs without a worker. */
export function jobProblems(
  jobs: Readonly<Record<string, JobStatus>>,
  failed: readonly FailedJob[],
  waiting: readonly string[],
): Problems {
  const explained = new Set(failed.flatMap((job) => (job.isExplained ? [job.name] : [])))
  const unexplained = failed.filter(({ name }) => !explained.has(name))
  const byError = Map.groupBy(unexplained, ({ error }) => `job/failed/${digest(error ?? '')}`)
  const late = Object.entries(jobs).filter(
    ([name, { lateSince }]) => lateSince !== undefined && !explained.has(name),
  )
  const raised = [...byError].map(([key, group]) => ({
    key,
    what: `${list(group.map(({ name }) => name))} failed: ${group[0]!.error ?? 'its process died'}`,
  }))
  if (late.length > 0)
    raised.push({
      key: 'job/late',
      what: `${list(late.map(([name]) => name))} late: ${late[0]![1].error ?? ''}`,
    })
  if (waiting.length > 0)
    raised.push({
      key: 'job/worker',
      what: `${list(waiting)} ${waiting.length === 1 ? 'waits' : 'wait'}: no worker is alive. Start one with "forecourt worker".`,
    })
  return { raised, openKeys: new Set(raised.map(({ key }) => key)) }
}

interface Miss {
  readonly rooftop: string
  readonly stream: string
  readonly key: string
  readonly text: string
}

/** Streams that miss an objective, and fields that moved. Only the first reason of a stream is raised, since it may cause the others. */
export function objectiveProblems(
  rooftops: WarehouseStatus['rooftops'],
  moved: readonly MovedText[] = [],
): Problems {
  const all = Object.entries(rooftops).flatMap(([uid, { name, streams }]) =>
    Object.entries(streams).map(([stream, health]) => ({ uid, name, stream, ...health })),
  )
  const misses = all.map(({ uid, name, stream, reasons }) =>
    // A stream that was never loaded is no problem yet.
    reasons
      .filter(({ cause }) => cause !== 'never')
      .map((reason): Miss => {
        return { rooftop: name, stream, key: reasonKey(reason, uid), text: reason.text }
      }),
  )
  const first = misses.flatMap(([miss]) => miss ?? [])
  const raised = [...Map.groupBy(first, ({ key }) => key)].map(([key, group]) => ({
    key,
    what: `${list(group.map(({ stream }) => stream))} of ${list(group.map(({ rooftop }) => rooftop))}: ${group[0]!.text}`,
  }))
  if (moved.length > 0)
    raised.push({
      key: 'objective/names',
      what: moved.map(({ what, why, cure }) => `${what}: ${listText(why, 3)}. ${cure}`).join(' '),
    })
  const openKeys = new Set([...misses.flat(), ...raised].map(({ key }) => key))
  // While a run is active it may still fix these, so they stay open.
  if (all.some(({ isAtWork }) => isAtWork))
    for (const cause of ['late', 'gaps']) openKeys.add(`objective/${cause}`)
  return { raised, openKeys }
}

/** The cause of a reason. A refused key is one cause; other failures differ by their words. */
function reasonKey({ cause, text, key }: Reason, uid: string): string {
  if (cause !== 'failed') return `objective/${cause}`
  if (key !== undefined) return `objective/key/${shortKey(key)}`
  return `objective/failed/${digest(text.replaceAll(uid, ''))}`
}

function digest(text: string): string {
  return createHash('sha256').update(causeWords(text)).digest('hex').slice(0, 12)
}

const maxNamed = 5

function list(names: readonly string[]): string {
  const each = [...new Set(names)]
  const shown = each.slice(0, maxNamed).join(', ')
  return each.length > maxNamed ? `${shown} and ${each.length - maxNamed} more` : shown
}
