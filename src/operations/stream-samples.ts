import { sql } from 'kysely'
import type { Config } from '../config/read.ts'
import type { Db } from '../db/transaction.ts'
import { readSourceNow } from '../links/source-time.ts'
import { freshWithinHours } from '../pipeline/status.ts'
import { allStreams } from '../streams/all.ts'
import type { GaugeName, Sample } from './gauges.ts'

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
  const sums = [...byStream].flatMap(([stream, own]) => streamSums(stream, own))
  const each = config.operations.perRooftop ? statuses.flatMap(rooftopSamples) : []
  return [...sums, ...each, { gauge: 'forecourt_rooftops', value: config.rooftops.length }]
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
  const sums = allStreams.map(({ name: stream }): Sample => {
    const own = rows.filter((row) => row.stream === stream)
    const value = own.reduce((sum, { records }) => sum + records, 0)
    return { gauge: 'forecourt_quarantined_records', labels: { stream }, value }
  })
  const each = rows.map(({ records, ...labels }): Sample => {
    return { gauge: 'forecourt_rooftop_quarantined_records', labels, value: records }
  })
  return config.operations.perRooftop ? [...sums, ...each] : sums
}

/** Sums over the rooftops of a stream, so that the number of series does not grow with the number of rooftops. */
function streamSums(stream: string, own: readonly StreamStatus[]): Sample[] {
  const ages = own.flatMap(({ goodAge }) => goodAge ?? [])
  const lags = own.flatMap(({ lag }) => lag ?? [])
  const isFresh = ({ goodAge, isAtWork }: StreamStatus) =>
    isAtWork || (goodAge !== null && goodAge <= freshWithinHours * 3600)
  const count = (gauge: GaugeName, value: number): Sample => ({ gauge, labels: { stream }, value })
  const greatest = (gauge: GaugeName, values: readonly number[]) =>
    values.length === 0
      ? []
      : [
          count(
            gauge,
            values.reduce((a, b) => Math.max(a, b)),
          ),
        ]
  return [
    ...greatest('forecourt_stream_lag_max_seconds', lags),
    ...greatest('forecourt_stream_last_good_run_age_max_seconds', ages),
    count('forecourt_stream_late_rooftops', own.filter((one) => !isFresh(one)).length),
    count('forecourt_stream_never_run_rooftops', own.length - ages.length),
    count('forecourt_coverage_gaps', sum(own, 'gaps')),
    count('forecourt_coverage_gap_rooftops', own.filter(({ gaps }) => gaps > 0).length),
    count('forecourt_unprovable_windows', sum(own, 'unprovable')),
  ]
}

function sum(own: readonly StreamStatus[], name: 'gaps' | 'unprovable'): number {
  return own.reduce((total, status) => total + status[name], 0)
}

/** Series of one rooftop; only with operations.perRooftop. */
function rooftopSamples({ rooftop, stream, lag, goodAge }: StreamStatus): Sample[] {
  const sample = (gauge: GaugeName, value: number | null): Sample[] =>
    value === null ? [] : [{ gauge, labels: { rooftop, stream }, value }]
  return [
    ...sample('forecourt_rooftop_stream_lag_seconds', lag),
    ...sample('forecourt_rooftop_last_good_run_age_seconds', goodAge),
  ]
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
      select count(*) from unnest(coverage.wanted - coverage.listed - coalesce(work.held, '{}')) as range
    ) as gap on true`.execute(db)
  return rows
}
