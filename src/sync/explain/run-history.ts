import { type RawBuilder, sql } from 'kysely'
import type { RunState } from '../../values/names.ts'
import { type RunSource, sourceOfRun } from '../../warehouse/db/run-source.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import {
  addCounts,
  type Counts,
  type Lane,
  type RunMode,
  type StreamStatus,
  zeroCounts,
} from '../run/run-ledger.ts'
import { reportRun } from '../run/run-report.ts'

/** A run of the history: what it was, how it ended, what it did. Times are those of the database. */
export interface RunSummary {
  readonly runId: number
  readonly command: string
  readonly mode: RunMode
  readonly lane: Lane
  readonly status: RunState
  /** Whether a process was at work for it within the last minute. */
  readonly isAtWork: boolean
  /** No process waits for it: workers of its source do its work. */
  readonly isDetached: boolean
  /** The run that it continues, and the run that continues it. */
  readonly resumes: number | null
  readonly resumedBy: number | null
  readonly startedAt: Date
  readonly finishedAt: Date | null
  /** From start to end; until now while it is running. */
  readonly seconds: number
  readonly host: string | null
  readonly processId: number | null
  /** The services that it reads; null: a run of an earlier version. */
  readonly source: RunSource | null
  readonly streams: readonly string[]
  /** ok: every stream is; incomplete: partial, failed or parked; failed: with a stream that failed or is parked; open: not ended. */
  readonly rooftops: {
    readonly all: number
    readonly ok: number
    readonly incomplete: number
    readonly failed: number
    readonly open: number
  }
  readonly counts: Counts
  /** Streams of rooftops that failed or have an error. */
  readonly errors: number
  readonly firstError: string | null
  /** What it did for each rooftop was deleted (`retention.runDays`): the counts are those of all rooftops. */
  readonly isSummary: boolean
}

type StreamCounts = Readonly<Record<string, Counts>>

/** What the history is limited to; left out: everything. */
interface RunFilter {
  /** Runs that began at this instant or later, or had not ended before it. */
  readonly since?: Date
  /** The last run of the page before: what follows it in the order. */
  readonly after?: number
  readonly statuses?: readonly string[]
  /** Leaves out the runs that ended well. */
  readonly isNotOk?: true
  readonly commands?: readonly string[]
  /** With these two the counts are of the named rooftops and streams alone. */
  readonly rooftopIds?: readonly number[]
  readonly streams?: readonly string[]
}

/** A rooftop of the warehouse, also one that the config no longer names. */
export interface KnownRooftop {
  readonly id: number
  readonly uid: string
  readonly name: string
}

/** Every rooftop of the warehouse, by name. */
export async function readKnownRooftops(db: Db): Promise<KnownRooftop[]> {
  const { rows } = await sql<KnownRooftop>`
    select rooftop_id as id, rooftop_uid as uid, rooftop_name as name
    from core.rooftop order by rooftop_name, rooftop_uid`.execute(db)
  return rows
}

/** A run that has not ended is the newest. Written as in the indexes of the table. */
const endedAt = sql`coalesce(finished_at, 'infinity'::timestamptz)`

/** The order of a list: the newest first, by the begin or by the end. */
type RunOrder = 'begin' | 'end'

/** The runs that fit, a page of them. */
export async function listRuns(
  db: Db,
  filter: RunFilter,
  limit: number,
  order: RunOrder = 'begin',
): Promise<{ readonly runs: readonly RunSummary[]; readonly hasMore: boolean }> {
  const found = await readSummaries(db, filter, filterConditions(filter, order), limit + 1, order)
  const runs = found.slice(0, limit).map(({ countsByStream: _, ...run }) => run)
  return { runs, hasMore: found.length > limit }
}

function filterConditions(filter: RunFilter, order: RunOrder): RawBuilder<unknown>[] {
  const { since, after, statuses, isNotOk, commands, rooftopIds, streams } = filter
  return [
    ...(since === undefined ? [] : [sql`${endedAt} >= ${since}`]),
    ...(after === undefined ? [] : [isAfter(after, order)]),
    ...(isNotOk === undefined ? [] : [sql`status <> 'ok'`]),
    ...(statuses === undefined ? [] : [sql`status = any(${[...statuses]}::text[])`]),
    ...(commands === undefined ? [] : [sql`command = any(${[...commands]}::text[])`]),
    ...(rooftopIds === undefined && streams === undefined
      ? []
      : [sql`exists (select from ops.run_stream as part where ${isOfRun(filter)})`]),
  ]
}

function isAfter(runId: number, order: RunOrder): RawBuilder<unknown> {
  if (order === 'begin') return sql`run_id < ${runId}::bigint`
  return sql`(${endedAt}, run_id) < ((select ${endedAt} from ops.run where run_id = ${runId}::bigint), ${runId}::bigint)`
}

/** The rows of `ops.run_stream as part` of a run that the filter is about. */
function isOfRun({ rooftopIds, streams }: RunFilter): RawBuilder<unknown> {
  const ids = rooftopIds === undefined ? null : [...rooftopIds]
  const names = streams === undefined ? null : [...streams]
  return sql`part.run_id = run.run_id and (${ids}::int[] is null or part.rooftop_id = any(${ids}::int[]))
    and (${names}::text[] is null or part.stream = any(${names}::text[]))`
}

const countNames = Object.keys(zeroCounts) as (keyof Counts)[]

/** The counts of the grouped rows of `ops.run_stream as part`, as one object. */
const sumOfCounts = sql`jsonb_build_object(${sql.join(
  countNames.flatMap((name) => [sql.lit(name), sql`coalesce(sum(part.${sql.ref(name)}), 0)`]),
)})`

/** What `run` did, as one object, from the rows of `ops.run_stream` that the filter is about. */
function summaryOfRun(filter: RunFilter): RawBuilder<unknown> {
  return sql`(select jsonb_build_object(
    'streams', coalesce((select jsonb_object_agg(stream, counts) from (
      select stream, ${sumOfCounts} as counts from ops.run_stream as part where ${isOfRun(filter)} group by stream) as of_stream), '{}'),
    'rooftops', jsonb_build_object('all', count(distinct rooftop_id),
      'ok', count(distinct rooftop_id) - count(distinct rooftop_id) filter (where part.status <> 'ok'),
      'incomplete', count(distinct rooftop_id) filter (where part.status in ('partial', 'failed', 'parked')),
      'failed', count(distinct rooftop_id) filter (where part.status in ('failed', 'parked')),
      'open', count(distinct rooftop_id) filter (where part.status in ('waiting', 'running'))),
    'errors', count(*) filter (where error is not null or part.status in ('failed', 'parked')),
    'firstError', (array_agg(error order by part.status = 'failed' desc, rooftop_id, part.stream)
      filter (where error is not null))[1])
    from ops.run_stream as part where ${isOfRun(filter)})`
}

/**
 * Keeps of runs that ended before the cutoff their sums, and deletes what they did for each rooftop; at most `limit` runs. Rows stay
 * where work is open, and where no newer run of the same kind ended alike: they say when a stream was last well. Returns the number of runs.
 */
export async function summariseRuns(db: Db, cutoff: Date, limit: number): Promise<number> {
  const { rows } = await sql<{ runs: number }>`
    with old as materialized (
      select run_id from ops.run as run
      where summary is null and status <> 'running' and finished_at < ${cutoff} and not exists (
        select from ops.run_stream as part where part.run_id = run.run_id and (status in ('waiting', 'running') or not exists (
          select from ops.run_stream as newer join ops.run as later using (run_id)
          where newer.rooftop_id = part.rooftop_id and newer.stream = part.stream and newer.run_id > part.run_id
            and newer.status = part.status and later.arguments ->> 'mode' is not distinct from run.arguments ->> 'mode')))
      order by finished_at limit ${limit}
    ), parts as (delete from ops.run_stream using old where run_stream.run_id = old.run_id
    ), pace as (delete from ops.run_pace using old where run_pace.run_id = old.run_id
    ), summarised as (
      update ops.run set summary = ${summaryOfRun({})} from old where run.run_id = old.run_id returning 1)
    select count(*)::int as runs from summarised`.execute(db)
  return rows[0]!.runs
}

async function readSummaries(
  db: Db,
  filter: RunFilter,
  conditions: readonly RawBuilder<unknown>[],
  limit: number,
  order: RunOrder = 'begin',
): Promise<(RunSummary & { readonly countsByStream: StreamCounts })[]> {
  const newestFirst = order === 'begin' ? sql`run_id desc` : sql`${endedAt} desc, run_id desc`
  const { rows } = await sql<
    Omit<RunSummary, 'streams' | 'counts'> & { readonly streams: StreamCounts }
  >`
    select run_id as "runId", command, arguments ->> 'mode' as mode, lane, status,
      status = 'running' and heartbeat_at > now() - interval '1 minute' as "isAtWork", is_detached as "isDetached", resumes,
      (select max(run_id) from ops.run as next where next.resumes = run.run_id) as "resumedBy",
      started_at as "startedAt", finished_at as "finishedAt",
      round(extract(epoch from coalesce(finished_at, now()) - started_at), 1)::float8 as seconds,
      host, process_id as "processId", ${sql.raw(sourceOfRun)} as source, summary is not null as "isSummary", found.*
    from (
      select * from ops.run as run where ${sql.join([sql`true`, ...conditions], sql` and `)}
      order by ${newestFirst} limit ${limit}
    ) as run
    cross join lateral jsonb_to_record(coalesce(summary, ${summaryOfRun(filter)})) as found
      (streams jsonb, rooftops jsonb, errors int, "firstError" text)
    order by ${newestFirst}`.execute(db)
  return rows.map(({ streams, ...run }) => ({
    ...run,
    streams: Object.keys(streams).sort(),
    counts: Object.values(streams).reduce<Counts>(addCounts, zeroCounts),
    countsByStream: streams,
  }))
}

/** One stream of one rooftop of a run. */
export interface RunPart extends Counts {
  readonly status: StreamStatus
  readonly error: string | null
  /** When the work on its first slice started; null: none has ended yet. */
  readonly beganAt: Date | null
  readonly finishedAt: Date | null
  /** The next slice begins no earlier; null: it waits for nothing, or has ended. */
  readonly waitsUntil: Date | null
  /** From the start of the run to the end of this part; null: it has not ended. */
  readonly seconds: number | null
}

/** A run with everything that the ledger holds of it. */
export interface RunDetail extends Omit<RunSummary, 'rooftops' | 'streams' | 'counts'> {
  /** The clock of the source when the run began. */
  readonly sourceStartedAt: Date
  /** The range that it was asked for; `until` null: up to its start. */
  readonly from: string
  readonly until: string | null
  /** The run of a job that started it; null: none did. */
  readonly job: { readonly name: string; readonly slotAt: Date | null } | null
  readonly streams: Readonly<Record<string, Counts>>
  readonly rooftops: Readonly<
    Record<
      string,
      {
        readonly name: string
        readonly status: string
        readonly error?: string
        readonly streams: Readonly<Record<string, RunPart>>
      }
    >
  >
}

/** Everything of one run, of the named rooftops alone where there are any; null when there is no such run. */
export async function showRun(
  db: Db,
  runId: number,
  rooftops: readonly KnownRooftop[],
): Promise<RunDetail | null> {
  const [summary] = await readSummaries(db, {}, [sql`run_id = ${runId}::bigint`], 1)
  if (summary === undefined) return null
  const parts = Map.groupBy(await readParts(db, runId), ({ rooftopId }) => rooftopId)
  const concerned = rooftops.filter(({ id }) => parts.has(id))
  const { rooftops: statuses } = await reportRun(db, runId, concerned)
  const { rooftops: _all, counts: _sum, streams: _names, countsByStream, ...run } = summary
  const streams: Record<string, Counts> = run.isSummary ? { ...countsByStream } : {}
  const byRooftop = concerned.map(({ id, uid, name }) => {
    const runParts = parts.get(id)!
    for (const part of runParts)
      streams[part.stream] = addCounts(streams[part.stream] ?? zeroCounts, part)
    const byStream = runParts.map(({ rooftopId: _, stream, ...part }) => [stream, part] as const)
    return [uid, { name, ...statuses[uid]!, streams: Object.fromEntries(byStream) }] as const
  })
  return {
    ...run,
    ...(await readRequest(db, runId)),
    streams,
    rooftops: Object.fromEntries(byRooftop),
  }
}

async function readParts(
  db: Db,
  runId: number,
): Promise<(RunPart & { readonly rooftopId: number; readonly stream: string })[]> {
  const names = sql.join(countNames.map((name) => sql`part.${sql.ref(name)}`))
  const { rows } = await sql<RunPart & { rooftopId: number; stream: string }>`
    select rooftop_id as "rooftopId", stream, part.status, error, began_at as "beganAt", part.finished_at as "finishedAt",
      case when part.status in ('waiting', 'running') then not_before end as "waitsUntil",
      round(extract(epoch from part.finished_at - run.started_at), 1)::float8 as seconds, ${names}
    from ops.run_stream as part join ops.run as run using (run_id)
    where run_id = ${runId}::bigint order by rooftop_id, stream`.execute(db)
  return rows
}

async function readRequest(
  db: Db,
  runId: number,
): Promise<Pick<RunDetail, 'sourceStartedAt' | 'from' | 'until' | 'job'>> {
  const { rows } = await sql<{
    sourceStartedAt: Date
    from: Date
    until: Date | null
    job: string | null
    slotAt: Date | null
  }>`
    select source_started_at as "sourceStartedAt", to_timestamp((arguments ->> 'from')::float8) as "from",
      to_timestamp((arguments ->> 'until')::float8) as until, job_run.job_name as job, job_run.slot_at as "slotAt"
    from ops.run left join ops.job_fire as job_run on job_run.run_ids @> array[${runId}::bigint]
    where run_id = ${runId}::bigint limit 1`.execute(db)
  const { from, until, job, slotAt, ...rest } = rows[0]!
  return {
    ...rest,
    from: from.toISOString(),
    until: until?.toISOString() ?? null,
    job: job === null ? null : { name: job, slotAt },
  }
}
