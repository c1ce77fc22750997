import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import { allStreams } from '../../streams/all.ts'
import { freshWithinHours } from '../../sync/explain/status.ts'
import { readSourceNow } from '../../warehouse/db/source-now.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { gaugeSamples, type Sample } from './gauges.ts'

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
export async function quarantineSamples(db: Db, config: Config): Promise<Sample[]> {
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
