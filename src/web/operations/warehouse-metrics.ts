import { sql } from 'kysely'
import type pg from 'pg'
import type { Config } from '../../app/config/read.ts'
import type { PlannedJob } from '../../app/scheduler/load-jobs.ts'
import { errorText } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { allStreams } from '../../streams/all.ts'
import { freshWithinHours } from '../../sync/explain/status.ts'
import { readSourceNow } from '../../warehouse/db/source-now.ts'
import { type Db, inTransaction } from '../../warehouse/db/transaction.ts'
import { gaugeSamples, type Sample } from './gauges.ts'
import {
  jobSamples,
  keyStateSamples,
  linkSamples,
  queueSamples,
  runSamples,
  schemaSamples,
  spendSamples,
  webhookSamples,
} from './samples.ts'

/** How long a scrape waits for the warehouse, and a statement may run there. */
export const warehouseTimeoutMs = 5_000
const cacheMs = 10_000
/** A slow part is cached for this many times its duration, so that scrapes do not burden the warehouse. */
const cacheFactor = 30

const schemaPart = 'schema'

/** Metrics that are read together by one or a few statements. */
interface Part {
  readonly name: string
  /** A scrape within this time gets the cached samples. */
  readonly cacheMs: number
  readonly read: (db: Db) => Promise<readonly Sample[]>
}

interface Reading {
  readonly at: number
  readonly seconds: number
  /** Null: it failed. */
  readonly samples: readonly Sample[] | null
}

/** What the metrics of the warehouse are read from. */
interface WarehouseMetricsOptions {
  readonly config: Config
  readonly log: Log
  /** A separate pool of few connections: a scrape takes none from the work. */
  readonly pool: pg.Pool
  readonly jobs: readonly PlannedJob[]
}

/**
 * The metrics of the warehouse in parts, so that a slow or failing part does not hide others. For any number of scrapes, each part is
 * read once at a time and at most every 10 seconds; a slow one ends at its time-out, also in the warehouse.
 */
export class WarehouseMetrics {
  readonly #options: WarehouseMetricsOptions
  readonly #parts: readonly Part[]
  readonly #readings = new Map<string, Reading>()
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(options: WarehouseMetricsOptions) {
    this.#options = options
    this.#parts = metricParts(options)
  }

  /** Waits for outdated parts, but no longer than a scrape may take; then the metrics of such a part are left out. */
  async samples(): Promise<Sample[]> {
    const late = new Promise<void>((done) => setTimeout(done, warehouseTimeoutMs).unref())
    await Promise.race([Promise.all(this.#parts.map((part) => this.#refresh(part))), late])
    const parts = this.#parts.flatMap(({ name }) => this.#samplesOf(name))
    const isUp = Number(this.#isUp(schemaPart))
    return [...gaugeSamples({ forecourt_warehouse_up: isUp }), ...parts]
  }

  #samplesOf(part: string): Sample[] {
    const reading = this.#readings.get(part)
    const isUp = this.#isUp(part)
    const values = {
      forecourt_warehouse_part_up: Number(isUp),
      forecourt_warehouse_part_duration_seconds: reading?.seconds ?? null,
    }
    return [...gaugeSamples(values, { part }), ...((isUp && reading?.samples) || [])]
  }

  #isUp(name: string): boolean {
    return this.#readings.get(name)?.samples != null && !this.#underWay.has(name)
  }

  async #refresh(part: Part): Promise<void> {
    const reading = this.#readings.get(part.name)
    if (reading !== undefined && performance.now() < until(part, reading)) return
    const underWay = this.#underWay.get(part.name) ?? this.#read(part)
    this.#underWay.set(part.name, underWay)
    await underWay
  }

  async #read({ name, read }: Part): Promise<void> {
    const { pool, log } = this.#options
    const startedMs = performance.now()
    let samples: readonly Sample[] | null = null
    try {
      samples = await inTransaction(
        pool,
        async ({ db }) => await read(db),
        'repeatable read, read only',
      )
    } catch (error) {
      log.warn({ part: name }, `warehouse metrics could not be read: ${errorText(error)}`)
    }
    const at = performance.now()
    this.#readings.set(name, { at, seconds: (at - startedMs) / 1000, samples })
    this.#underWay.delete(name)
  }
}

function until({ cacheMs }: Part, { at, seconds }: Reading): number {
  return at + Math.max(cacheMs, seconds * 1000 * cacheFactor)
}

function metricParts({ config, jobs }: WarehouseMetricsOptions): Part[] {
  return [
    // The first and smallest part: it shows whether the warehouse answers at all.
    { name: schemaPart, cacheMs, read: schemaSamples },
    { name: 'streams', cacheMs, read: (db) => streamSamples(db, config) },
    { name: 'quarantine', cacheMs, read: (db) => quarantineSamples(db, config) },
    { name: 'keys', cacheMs, read: (db) => keyStateSamples(db, config) },
    { name: 'runs', cacheMs, read: (db) => runSamples(db, config) },
    { name: 'queue', cacheMs, read: queueSamples },
    { name: 'jobs', cacheMs, read: (db) => jobSamples(db, config, jobs) },
    { name: 'spend', cacheMs, read: (db) => spendSamples(db, config) },
    { name: 'webhooks', cacheMs, read: webhookSamples },
    // Reads every link, and changes only by the hour.
    { name: 'links', cacheMs: 60_000, read: (db) => linkSamples(db, config) },
  ]
}

/** The status of one rooftop and stream; times in seconds, null when there is no start to count from. */
interface StreamStatus {
  readonly rooftop: string
  readonly stream: string
  readonly lag: number | null
  readonly goodAge: number | null
  /** A living run works on it: it is not late. */
  readonly isAtWork: boolean
  readonly gaps: number
  readonly unprovable: number
}

/** Metrics of the lag of the streams. Reads one row per rooftop and stream by index, however long the history is. */
export async function streamSamples(db: Db, config: Config): Promise<Sample[]> {
  const statuses = await readStatuses(db, config)
  const byStream = Map.groupBy(statuses, ({ stream }) => stream)
  const sums = [...byStream].flatMap(([stream, streamStatuses]) =>
    streamSums(stream, streamStatuses),
  )
  const each = config.operations.perRooftop ? statuses.flatMap(rooftopSamples) : []
  return [...sums, ...each, ...gaugeSamples({ forecourt_rooftops: config.rooftops.length })]
}

/** Records in quarantine. */
async function quarantineSamples(db: Db, config: Config): Promise<Sample[]> {
  const uids = config.rooftops.map(({ uid }) => uid)
  const { rows } = await sql<{ rooftop: string; stream: string; records: number }>`
    select rooftop_uid as rooftop, stream, count(*)::int as records
    from ops.quarantine
    join core.rooftop using (rooftop_id)
    where resolved_at is null and rooftop_uid = any(${uids}::text[])
    group by rooftop_uid, stream`.execute(db)
  const sums = allStreams.flatMap(({ name: stream }) => {
    const streamRows = rows.filter((row) => row.stream === stream)
    return gaugeSamples(
      { forecourt_quarantined_records: sumColumn(streamRows, 'records') },
      { stream },
    )
  })
  if (!config.operations.perRooftop) return sums
  const each = rows.flatMap(({ records, ...labels }) =>
    gaugeSamples({ forecourt_rooftop_quarantined_records: records }, labels),
  )
  return [...sums, ...each]
}

/** Sums over the rooftops of a stream, so that the number of series does not grow with the number of rooftops. */
function streamSums(stream: string, statuses: readonly StreamStatus[]): Sample[] {
  const isFresh = ({ goodAge, isAtWork }: StreamStatus) =>
    isAtWork || (goodAge !== null && goodAge <= freshWithinHours * 3600)
  const values = {
    forecourt_stream_lag_max_seconds: greatest(statuses.map(({ lag }) => lag)),
    forecourt_stream_last_good_run_age_max_seconds: greatest(
      statuses.map(({ goodAge }) => goodAge),
    ),
    forecourt_stream_late_rooftops: statuses.filter((one) => !isFresh(one)).length,
    forecourt_stream_never_run_rooftops: statuses.filter(({ goodAge }) => goodAge === null).length,
    forecourt_coverage_gaps: sumColumn(statuses, 'gaps'),
    forecourt_coverage_gap_rooftops: statuses.filter(({ gaps }) => gaps > 0).length,
    forecourt_unprovable_windows: sumColumn(statuses, 'unprovable'),
  }
  return gaugeSamples(values, { stream })
}

function sumColumn<Name extends string>(rows: readonly Record<Name, number>[], name: Name): number {
  return rows.reduce((sum, row) => sum + row[name], 0)
}

/** The greatest of the values that are known; null: none is. */
function greatest(values: readonly (number | null)[]): number | null {
  return values.reduce(
    (most, value) => (value === null ? most : Math.max(most ?? value, value)),
    null,
  )
}

/** Series of one rooftop; only with operations.perRooftop. */
function rooftopSamples({ rooftop, stream, lag, goodAge }: StreamStatus): Sample[] {
  const values = {
    forecourt_rooftop_stream_lag_seconds: lag,
    forecourt_rooftop_last_good_run_age_seconds: goodAge,
  }
  return gaugeSamples(values, { rooftop, stream })
}

/** Calculates like `status`, but from the coverage and the few unsettled windows instead of every certificate. */
async function readStatuses(db: Db, { rooftops, sync }: Config): Promise<StreamStatus[]> {
  const uids = rooftops.map(({ uid }) => uid)
  const names = allStreams.map(({ name }) => name)
  const windowed = allStreams.map(({ records }) => records !== undefined)
  const now = await readSourceNow(db)
  const { rows } = await sql<StreamStatus>`
    select uid as rooftop, known.stream,
      extract(epoch from case
        when is_windowed then ${now}::timestamptz - coalesce(listed_to.at, ${sync.start}::timestamptz)
        else now() - good.at
      end)::float8 as lag,
      extract(epoch from now() - good.at)::float8 as "goodAge",
      work.stream is not null as "isAtWork",
      coalesce(gap.count, 0)::int as gaps,
      coalesce(fresh.unprovable, 0)::int as unprovable
    from unnest(${uids}::text[]) as uid
    cross join unnest(${names}::text[], ${windowed}::boolean[]) as known (stream, is_windowed)
    left join core.rooftop on rooftop_uid = uid
    left join core.stream_at_work as work on work.rooftop_id = rooftop.rooftop_id and work.stream = known.stream
    left join lateral (
      select part.finished_at as at
      from ops.run_stream as part
      join ops.run using (run_id)
      where part.rooftop_id = rooftop.rooftop_id and part.stream = known.stream
        and part.status in ('ok', 'partial')
        and arguments ->> 'mode' in ('sync', 'backfill', 'reprice') and (is_windowed or lane <> 'background')
      order by part.run_id desc
      limit 1
    ) as good on true
    left join lateral (
      select range_agg(tstzrange(window_from, window_until)) as listed,
        count(*) filter (where proof = 'unprovable') as unprovable
      from ops.window_certificate as certificate
      where is_windowed and certificate.rooftop_id = rooftop.rooftop_id and certificate.stream = known.stream
        and not settled
    ) as fresh on true
    left join lateral (
      select wanted, covered + coalesce(fresh.listed, '{}') as listed
      from ops.coverage
      where is_windowed and coverage.rooftop_id = rooftop.rooftop_id and coverage.stream = known.stream
    ) as coverage on true
    left join lateral (
      select upper(range) as at from unnest(coverage.listed) as range where range @> ${sync.start}::timestamptz
    ) as listed_to on true
    left join lateral (
      -- As in verify: what the source's clock has not reached is not a gap.
      select count(*) from unnest(coverage.wanted - coverage.listed - coalesce(work.held, '{}') - coalesce((
        select tstzmultirange(tstzrange(source_started_at, null)) from ops.run_stream as part join ops.run using (run_id)
        where part.rooftop_id = rooftop.rooftop_id and part.stream = known.stream and arguments ->> 'mode' in ('sync', 'backfill')
        order by run_id desc limit 1), '{}')) as range
    ) as gap on true`.execute(db)
  return rows
}
