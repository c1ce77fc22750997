import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import { UsageError } from '../../errors.ts'
import type { RunState } from '../../values/names.ts'
import { daySeconds } from '../../values/window.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { RunRequest } from './start-run.ts'
import type { Stream } from './stream.ts'

/** The progress of a backfill. */
export interface BackfillStatus {
  readonly runId: number
  /** dead: its row says "running", but its process has ended. */
  readonly state: RunState | 'dead'
  readonly isDetached: boolean
  /** The run that this one continues. */
  readonly resumes: number | null
  /** The run that continues this one. */
  readonly resumedBy: number | null
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly streams: readonly string[]
  readonly from: string
  readonly to: string
  /** done: all of it that the run was asked for has ended, and nothing of it failed or is parked. */
  readonly rooftops: { readonly done: number; readonly all: number }
  /** left: an estimate, windows of the largest size that are wanted and not covered yet; null: its streams have no windows. */
  readonly windows: { readonly done: number; readonly left: number | null }
  /** Records inserted or updated. */
  readonly loaded: number
  /** Measured over the last five minutes. */
  readonly perMinute: { readonly windows: number; readonly loaded: number }
  /** At that pace; null: the pace is not known. */
  readonly secondsLeft: number | null
}

interface Row
  extends Pick<BackfillStatus, 'runId' | 'state' | 'isDetached' | 'resumes' | 'resumedBy'> {
  readonly startedAt: Date
  readonly finishedAt: Date | null
  readonly streams: readonly string[] | null
  readonly from: number
  readonly until: number
  readonly all: number
  readonly open: number
  readonly windows: number
  readonly loaded: number
  readonly paceSeconds: number
  readonly paceWindows: number
  readonly paceLoaded: number
}

const newestEnded = 10

/** Every backfill that has not ended, and the last few that have; the newest first. */
export async function readBackfills(db: Db, sync: Config['sync']): Promise<BackfillStatus[]> {
  const { rows } = await sql<Row>`
    with chosen as (
      select * from ops.run where lane = 'background' and status = 'running'
      union all
      (select * from ops.run where lane = 'background' and status <> 'running' order by run_id desc limit ${newestEnded})
    )
    select run_id as "runId", is_detached as "isDetached", resumes, started_at as "startedAt", finished_at as "finishedAt",
      case when status = 'running' and not is_detached and not ${isHeld} then 'dead' else status end as state,
      (select max(run_id) from ops.run as next where next.resumes = chosen.run_id) as "resumedBy",
      arguments -> 'streams' as streams, (arguments ->> 'from')::float8 as "from",
      coalesce((arguments ->> 'until')::float8, extract(epoch from source_started_at)::float8) as until,
      totals.*, pace.*, extract(epoch from now() - greatest(started_at, ${paceSince}))::float8 as "paceSeconds"
    from chosen
    cross join lateral (
      select count(distinct rooftop_id)::int as all,
        count(distinct rooftop_id) filter (where run_stream.status not in ('ok', 'partial'))::int as open,
        coalesce(sum(run_stream.windows), 0)::int as windows, coalesce(sum(inserted + updated), 0)::int as loaded
      from ops.run_stream where run_stream.run_id = chosen.run_id having summary is null
      union all
      select (summary -> 'rooftops' ->> 'all')::int, (summary -> 'rooftops' ->> 'failed')::int, sum((counts ->> 'windows')::int)::int,
        sum((counts ->> 'inserted')::int + (counts ->> 'updated')::int)::int
      from jsonb_each(summary -> 'streams') as stream (name, counts) having summary is not null) as totals
    cross join lateral (
      select coalesce(sum(pace.windows), 0)::int as "paceWindows", coalesce(sum(pace.loaded), 0)::int as "paceLoaded"
      from ops.run_pace as pace where pace.run_id = chosen.run_id and minute_at >= ${paceSince}) as pace
    order by run_id desc`.execute(db)
  const left = await windowsLeft(db, rows, sync)
  return rows.map((row) => backfillStatus(row, left.get(row.runId) ?? null))
}

const paceSince = sql`date_trunc('minute', now()) - interval '5 minutes'`

const isHeld = lockSql.isHeld('run', sql`chosen.run_id`)

function backfillStatus(row: Row, left: number | null): BackfillStatus {
  const { runId, state, isDetached, resumes, resumedBy, loaded, all, open } = row
  const perSecond = row.paceSeconds > 0 ? row.paceWindows / row.paceSeconds : 0
  const minutes = Math.max(row.paceSeconds, 1) / 60
  const isMoving = state === 'running' && perSecond > 0
  return {
    ...{ runId, state, isDetached, resumes, resumedBy, loaded },
    startedAt: row.startedAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
    streams: row.streams ?? [],
    from: new Date(row.from * 1000).toISOString(),
    to: new Date(row.until * 1000).toISOString(),
    rooftops: { done: all - open, all },
    windows: { done: row.windows, left },
    perMinute: {
      windows: Math.round(row.paceWindows / minutes),
      loaded: Math.round(row.paceLoaded / minutes),
    },
    secondsLeft: isMoving && left !== null ? Math.ceil(left / perSecond) : null,
  }
}

/** Counts the windows that are left of each backfill, also of what failed or is parked. It reads the coverage alone, so that it is cheap
 *  for any length of history. The few newest windows that it or a later run has listed, but that are not settled yet, are subtracted as
 *  well; of a run that lists covered windows again, all that it or a later run has listed. null: its streams have no windows. */
async function windowsLeft(
  db: Db,
  runs: readonly Pick<Row, 'runId' | 'from' | 'until'>[],
  { windowHours, settleDays }: Config['sync'],
): Promise<Map<number, number | null>> {
  const edges = runs.map(({ until }) => until - settleDays * daySeconds - windowHours * 3600)
  const { rows } = await sql<{ runId: number; left: number | null }>`
    with asked as (
      select run_id, to_timestamp(start) as start, to_timestamp(greatest(start, stop)) as stop, arguments -> 'streams' as streams,
        is_relisted, case when is_relisted then to_timestamp(start) else to_timestamp(edge) end as edge
      from unnest(${runs.map(({ runId }) => runId)}::bigint[], ${runs.map(({ from }) => from)}::float8[],
        ${runs.map(({ until }) => until)}::float8[], ${edges}::float8[]) as given (run_id, start, stop, edge)
      join ops.run using (run_id)
      cross join lateral (select coalesce((arguments ->> 'relists')::boolean, false) as is_relisted) as read
    ), part as (
      select run_id, rooftop_id, stream from asked join ops.run_stream using (run_id) where status not in ('ok', 'partial')
      union all
      -- The summary of an old run does not name what failed: what all of it has left.
      select run_id, rooftop_id, stream from asked join ops.run using (run_id)
      join core.rooftop on arguments -> 'rooftops' ? rooftop_uid
      cross join lateral jsonb_array_elements_text(streams) as stream
      where (summary -> 'rooftops' ->> 'failed')::int > 0
    )
    select run_id as "runId", case when exists (select from ops.coverage where streams ? stream) then coalesce((
      select sum(ceil(extract(epoch from upper(gap) - lower(gap)) / ${windowHours * 3600}::float8))
      from part join ops.coverage using (rooftop_id, stream)
      cross join lateral unnest(
        tstzmultirange(tstzrange(start, stop)) - case when is_relisted then '{}' else covered end
        - coalesce((
          select range_agg(tstzrange(window_from, window_until)) from ops.window_certificate as listed
          where listed.rooftop_id = part.rooftop_id and listed.stream = part.stream
            and window_from >= edge and window_from < stop and listed.run_id >= asked.run_id), '{}')) as gap
      where part.run_id = asked.run_id), 0)::int end as left
    from asked`.execute(db)
  return new Map(rows.map(({ runId, left }) => [runId, left]))
}

/** Pauses all running backfills, or one: no new slice starts, active slices may commit. Returns the ids of the paused runs. */
export async function pauseBackfills(db: Db, runId: number | null): Promise<number[]> {
  const { rows } = await sql<{ runId: number }>`
    update ops.run set status = 'paused', finished_at = now()
    where lane = 'background' and status = 'running' and (${runId}::bigint is null or run_id = ${runId}::bigint)
    returning run_id as "runId"`.execute(db)
  return rows.map((row) => row.runId).sort((a, b) => a - b)
}

/** The command that continues a backfill. Without its number, the one that has the most left is continued. */
export function resumeCommand(runId: number): string {
  return `forecourt backfill --resume --run ${runId}`
}

/** A backfill that another run may continue, with its arguments. */
export interface Resumable {
  readonly runId: number
  readonly state: BackfillStatus['state']
  readonly streams: readonly string[]
  readonly rooftops: readonly string[]
  /** Unix seconds. */
  readonly from: number
  readonly until: number | null
  readonly oldestFirst: boolean
  readonly relists: boolean
  /** Windows that are left, without those that another run has listed since; null: its streams have no windows. */
  readonly left: number | null
}

/** The backfills that no run continues yet: those with the most windows left first, then paused ones, then the newest. A run that
 *  is named by its id may also be an abandoned one. */
export async function findResumable(
  db: Db,
  runId: number | null,
  sync: Config['sync'],
): Promise<Resumable[]> {
  const { rows } = await sql<Stopped>`
    select run_id as "runId", arguments, extract(epoch from source_started_at)::float8 as started, case when status = 'running' then 'dead' else status end as state
    from ops.run as chosen
    where lane = 'background'
      and (status in ('paused', 'stopped') or status = 'running' and not is_detached and not ${isHeld}
        or status = 'abandoned' and run_id = ${runId}::bigint)
      and (${runId}::bigint is null or run_id = ${runId}::bigint)
      and not exists (select from ops.run as next where next.resumes = chosen.run_id)
    order by status = 'paused' desc, run_id desc`.execute(db)
  const spans = rows.map(({ runId: id, started, arguments: { from, until } }) => ({
    ...{ runId: id, from, until: until ?? started },
  }))
  const left = await windowsLeft(db, spans, sync)
  const found = rows.map(({ runId: id, state, arguments: answers }): Resumable => {
    const { streams, rooftops, from, until, oldestFirst = false, relists = false } = answers
    return {
      runId: id,
      state,
      streams,
      rooftops,
      from,
      until,
      oldestFirst,
      relists,
      left: left.get(id) ?? null,
    }
  })
  return found.sort((a, b) => (b.left ?? 0) - (a.left ?? 0))
}

/** What the run is asked for that goes on with a backfill, and its rooftops that are no longer in the config, which are left out.
 *  UsageError when none is left. */
export function resumeRequest(
  config: Config,
  streams: readonly Stream[],
  old: Resumable,
): { readonly request: RunRequest; readonly gone: readonly string[] } {
  const rooftops = config.rooftops.filter(({ uid }) => old.rooftops.includes(uid))
  const gone = old.rooftops.filter((uid) => !rooftops.some((rooftop) => rooftop.uid === uid))
  if (rooftops.length === 0)
    throw new UsageError(
      `Run ${old.runId} cannot be resumed: none of its rooftops is in the config.`,
    )
  const { from, until, oldestFirst, relists, runId: resumes } = old
  const plan = { command: 'backfill', mode: 'backfill', lane: 'background' } as const
  const chosen = streams.filter(({ name }) => old.streams.includes(name))
  return {
    request: {
      plan: { ...plan, from, until, oldestFirst, relists, resumes },
      ...{ streams: chosen, rooftops },
    },
    gone,
  }
}

interface Stopped {
  readonly runId: number
  readonly state: BackfillStatus['state']
  readonly started: number
  readonly arguments: Arguments
}

type Arguments = Omit<Resumable, 'runId' | 'state' | 'left'>
