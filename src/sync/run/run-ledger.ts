import { hostname } from 'node:os'
import { type RawBuilder, sql } from 'kysely'
import { FencedError } from '../../errors.ts'
import type { RunState } from '../../values/names.ts'
import { fromUnixSeconds, toUnixSeconds } from '../../values/unix-seconds.ts'
import { type Db, prepared, type Tx } from '../../warehouse/db/transaction.ts'

/**
 * sync: reads `[sync.start, now)` and lists older windows again. backfill: reads the uncovered part of `[from, until)` once.
 * retry: reads quarantined records again. links: renews signed links before they expire. reprice: asks for prices, even recent
 * ones. replay: rebuilds tables from stored payloads, without a call. hints: reads evaluations that webhooks reported.
 */
export type RunMode = 'sync' | 'backfill' | 'retry' | 'links' | 'reprice' | 'replay' | 'hints'

/** Decides which run goes first where several runs have work for the same rooftop and stream. */
export type Lane = 'event' | 'foreground' | 'background'

/** What a run does: its mode, its span and its options. */
export interface RunPlan {
  readonly command: string
  readonly mode: RunMode
  /** Unix seconds; `until` null: up to now, the newest window stays open. */
  readonly from: number
  readonly until: number | null
  /** retry: the quarantine ids to retry; left out: all. */
  readonly only?: readonly number[]
  /** Default: foreground. */
  readonly lane?: Lane
  /** backfill: the oldest windows first; otherwise the newest. */
  readonly oldestFirst?: boolean
  /** backfill: also windows that are covered. */
  readonly relists?: boolean
  /** No process waits for the run; any worker does its work. */
  readonly isDetached?: boolean
  /** The paused, stopped or killed run that this one continues. */
  readonly resumes?: number
  /** replay: `wireDigest` of the process that started it; another process with another one leaves its work alone. */
  readonly wireDigest?: string
}

/** A row of ops.run, with what the slices need. */
export interface Run extends RunPlan {
  readonly runId: number
  readonly lane: Lane
  /** The status when the row was read. */
  readonly status: RunState
  readonly startedAt: Date
  /** The source's clock when the run began, in Unix seconds; used for the whole run. */
  readonly sourceStart: number
}

/** parked: the daily quota of the key is used up; the stream sends nothing with it until the source's next day. */
export type StreamStatus = 'waiting' | 'running' | 'ok' | 'partial' | 'failed' | 'parked'

/** What a slice did; added to ops.run_stream in the slice's own transaction. */
export interface Counts {
  readonly listed: number
  readonly hydrated: number
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  readonly quarantined: number
  readonly vanished: number
  readonly windows: number
  readonly requests: number
  readonly retries: number
  /** Calls that were not needed; see ops.run_stream. */
  readonly saved: number
}

export const zeroCounts: Counts = {
  listed: 0,
  hydrated: 0,
  inserted: 0,
  updated: 0,
  unchanged: 0,
  quarantined: 0,
  vanished: 0,
  windows: 0,
  requests: 0,
  retries: 0,
  saved: 0,
}

/** Adds counts; a name that is left out counts as 0. */
export function addCounts(left: Counts, right: Partial<Counts>): Counts {
  const sum = { ...left }
  for (const name of Object.keys(zeroCounts) as (keyof Counts)[])
    sum[name] = left[name] + (right[name] ?? 0)
  return sum
}

/** Whether the run is a backfill of history. A run of the same mode in another lane is of a job: it loads the fresh windows of a sync. */
export function isHistory({ mode, lane }: Pick<Run, 'mode' | 'lane'>): boolean {
  return mode === 'backfill' && lane === 'background'
}

/** Whether a row of ops.run belongs to the source; one of an earlier version belongs to any. */
export function isOfSource(sourceId: number): RawBuilder<boolean> {
  return sql`coalesce(run.source_id = ${sourceId}, true)`
}

/** Inserts the run's row. `details` are the names of its streams and rooftops. */
export async function insertRun(
  db: Db,
  plan: RunPlan,
  { sourceId, sourceStart }: { readonly sourceId: number; readonly sourceStart: number },
  details: object,
): Promise<Run> {
  const row = await db
    .insertInto('ops.run')
    .values({
      command: plan.command,
      arguments: JSON.stringify({
        ...details,
        mode: plan.mode,
        from: plan.from,
        until: plan.until,
        only: plan.only ?? [],
        oldestFirst: plan.oldestFirst ?? false,
        ...(plan.relists === true ? { relists: true } : {}),
        ...(plan.wireDigest === undefined ? {} : { wireDigest: plan.wireDigest }),
      }),
      lane: plan.lane ?? 'foreground',
      is_detached: plan.isDetached ?? false,
      resumes: plan.resumes ?? null,
      source_id: sourceId,
      source_started_at: fromUnixSeconds(sourceStart),
      host: hostname().slice(0, 120),
      process_id: process.pid,
    })
    .returning(['run_id', 'started_at'])
    .executeTakeFirstOrThrow()
  const { lane = 'foreground' } = plan
  return {
    ...plan,
    lane,
    status: 'running',
    runId: row.run_id,
    startedAt: row.started_at,
    sourceStart,
  }
}

/** A row of ops.run, as far as a slice needs it. */
export interface RunRow {
  readonly run_id: number
  readonly command: string
  readonly arguments: unknown
  readonly lane: string
  readonly status: string
  readonly is_detached: boolean
  readonly started_at: Date
  readonly source_started_at: Date
}

export function toRun(row: RunRow): Run {
  const stored = row.arguments as Omit<RunPlan, 'command'>
  const { mode, from, until, only = [], oldestFirst = false, relists = false, wireDigest } = stored
  return {
    runId: row.run_id,
    command: row.command,
    ...{ mode, from, until, only, oldestFirst, relists },
    ...(wireDigest === undefined ? {} : { wireDigest }),
    lane: row.lane as Lane,
    status: row.status as RunState,
    isDetached: row.is_detached,
    startedAt: row.started_at,
    sourceStart: toUnixSeconds(row.source_started_at),
  }
}

/** A run; null when it is not in the ledger. */
export async function readRun(db: Db, runId: number): Promise<Run | null> {
  const row = await db
    .selectFrom('ops.run')
    .select(['run_id', 'command', 'arguments', 'started_at', 'source_started_at'])
    .select(['lane', 'status', 'is_detached'])
    .where('run_id', '=', runId)
    .executeTakeFirst()
  return row ? toRun(row) : null
}

/** Marks a dead run as abandoned, so that the fence refuses its late commits. */
export async function abandonRun(db: Db, runId: number): Promise<void> {
  await sql`
    update ops.run set status = 'abandoned', finished_at = now()
    where run_id = ${runId} and status = 'running'`.execute(db)
}

/** Ends a run and returns the time. FencedError when another run has ended it. */
export async function finishRun(
  db: Db,
  runId: number,
  status: 'ok' | 'partial' | 'failed' | 'stopped',
): Promise<Date> {
  const row = await db
    .updateTable('ops.run')
    .set({ status, finished_at: sql<Date>`now()` })
    .where('run_id', '=', runId)
    .where('status', '=', 'running')
    .returning('finished_at')
    .executeTakeFirst()
  if (!row) throw new FencedError(`Run ${runId} was ended by another run; see "forecourt status".`)
  return row.finished_at!
}

/** Counts one commit of the run; FencedError when another run has taken its work over. A slice in progress when its run is
 *  paused may still commit. */
export async function advanceFence(tx: Tx, runId: number): Promise<void> {
  const { numAffectedRows } = await prepared(sql`
    update ops.run set fence = fence + 1, heartbeat_at = clock_timestamp()
    where run_id = ${runId} and status in ('running', 'paused')`).execute(tx.db)
  if (numAffectedRows !== 1n)
    throw new FencedError(`Run ${runId} was ended by another run; nothing was written.`)
}

/**
 * Writes the heartbeat of these runs; a worker also writes that of every detached run of its source (null: it is not a worker). A
 * locked row is skipped: a slice of that run is being committed, which writes the heartbeat too.
 */
export async function touchRuns(
  db: Db,
  runIds: readonly number[],
  workerSource: number | null,
): Promise<void> {
  await sql`
    update ops.run set heartbeat_at = clock_timestamp() where run_id in (
      select run_id from ops.run
      where status = 'running' and (run_id = any(${[...runIds]}::bigint[]) or is_detached and ${workerSource === null ? sql`false` : isOfSource(workerSource)})
        and heartbeat_at < clock_timestamp() - interval '5 seconds'
      for no key update skip locked)`.execute(db)
}

/** Whether a run has open work, is done or is paused. FencedError when another run has ended it. */
export async function readRunProgress(db: Db, runId: number): Promise<'open' | 'done' | 'paused'> {
  const { rows } = await sql<{ status: string; isOpen: boolean }>`
    select status, exists (
      select from ops.run_stream
      where run_stream.run_id = run.run_id and run_stream.status in ('waiting', 'running')) as "isOpen"
    from ops.run as run where run_id = ${runId}`.execute(db)
  const { status, isOpen } = rows[0] ?? { status: 'gone', isOpen: true }
  if (status === 'paused') return 'paused'
  if (status === 'running') return isOpen ? 'open' : 'done'
  // Another process found the run without open work and ended it.
  if (!isOpen && ['ok', 'partial', 'failed'].includes(status)) return 'done'
  throw new FencedError(
    `Run ${runId} was ended by another run, which took its work over; see "forecourt status".`,
  )
}

/** A row of ops.run_stream. */
export interface RunStreamKey {
  readonly runId: number
  readonly rooftopId: number
  readonly stream: string
}

/** Inserts the run's work: one row per stream and rooftop. */
export async function insertRunStreams(db: Db, keys: readonly RunStreamKey[]): Promise<void> {
  await sql`
    insert into ops.run_stream (run_id, rooftop_id, stream)
    select * from unnest(${keys.map(({ runId }) => runId)}::bigint[], ${keys.map(({ rooftopId }) => rooftopId)}::int[],
      ${keys.map(({ stream }) => stream)}::text[])`.execute(db)
}

/** What a slice of a rooftop adds to the ledger. */
export interface RecordedSlice {
  readonly rooftopId: number
  readonly counts: Counts
  /** How long ago the work on it started. */
  readonly seconds: number
  /** Not waiting or running: it ends the stream for this run. */
  readonly status: StreamStatus
  readonly error?: string | undefined
  /** The key whose refusal that is, or may be. */
  readonly refusedKey?: string | null | undefined
}

/** Adds the counts of slices; the first one of a stream also says when it began. */
export async function recordSlices(
  tx: Tx,
  { runId, stream }: Omit<RunStreamKey, 'rooftopId'>,
  slices: readonly RecordedSlice[],
): Promise<void> {
  const names = Object.keys(zeroCounts) as (keyof Counts)[]
  const sums = names.map((name) => `${name} = stored.${name} + added.${name}`)
  const counted = names.map((name) => sql`${slices.map(({ counts }) => counts[name])}::bigint[]`)
  await prepared(sql`
    update ops.run_stream as stored set ${sql.raw(sums.join(', '))},
      status = added.status, error = coalesce(added.error, stored.error), refused_key = coalesce(added.refused_key, stored.refused_key),
      began_at = coalesce(stored.began_at, clock_timestamp() - make_interval(secs => added.seconds)),
      finished_at = case when added.status in ('waiting', 'running') then null else now() end
    from unnest(${slices.map(({ rooftopId }) => rooftopId)}::int[], ${slices.map(({ status }) => status)}::text[],
      ${slices.map(({ error }) => error ?? null)}::text[], ${slices.map(({ seconds }) => seconds)}::float8[],
      ${slices.map(({ refusedKey }) => refusedKey ?? null)}::text[], ${sql.join(counted)})
      as added (rooftop_id, status, error, seconds, refused_key, ${sql.raw(names.join(', '))})
    where run_id = ${runId} and stream = ${stream}
      and stored.rooftop_id = added.rooftop_id`).execute(tx.db)
}
