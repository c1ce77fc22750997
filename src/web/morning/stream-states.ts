import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import { allStreams } from '../../streams/all.ts'
import { freshWithinHours } from '../../sync/explain/status.ts'
import type { StreamFacts } from '../../sync/explain/status-facts.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** How a stream of a rooftop is. */
export interface StreamState
  extends Pick<
    StreamFacts,
    'stream' | 'refusedKey' | 'isAtWork' | 'quarantined' | 'verifiedAt' | 'fault'
  > {
  readonly uid: string
  readonly name: string
  /** The key of the rooftop, by its name in the config. */
  readonly key: string
  /** As in `forecourt status`. */
  readonly status: StreamFacts['health']
  readonly error: string | null
  /** failed: the first failure after the last good run; late: when it became too old. */
  readonly since: Date | null
  /** The run that failed last. */
  readonly failedRun: number | null
  /** The three clocks: the end of the last good run, the end of what it covers, the newest fact. */
  readonly lastGoodAt: Date | null
  readonly coveredTo: Date | null
  readonly newestAt: Date | null
  readonly gaps: number
  readonly unprovable: number
  /** Since when every window was compared; null: not yet. */
  readonly windowsSince: Date | null
  /** Records of the round in which the values of the rows are compared with the payloads, and how many of them were. */
  readonly roundRecords: number
  readonly roundCompared: number
  /** Since when all values were compared, or else when the first round began; null: never. */
  readonly valuesSince: Date | null
  readonly isRoundComplete: boolean
}

/** The state of every stream of some rooftops of the config, in their order, by two reads of each index. */
export async function readStreamStates(
  db: Db,
  rooftops: Config['rooftops'],
): Promise<StreamState[]> {
  const { rows } = await sql<StreamState>`
    select rooftop_uid as uid, s.stream, s.last_error as error, s.refused_key as "refusedKey", s.is_at_work as "isAtWork",
      core.stream_health(s.last_status, s.last_good_run_at, s.is_at_work,
        s.last_error is not null or s.quarantined > 0 or s.open_gaps > 0 or s.unprovable > 0 or verification.fault is not null) as status,
      coalesce(failed.since,
        case when core.is_late(s.last_good_run_at, s.is_at_work) then s.last_good_run_at + make_interval(hours => ${freshWithinHours}) end,
        verification.fault_since
      ) as since,
      failed.run_id as "failedRun", s.last_good_run_at as "lastGoodAt",
      case when s.stream = 'evaluations' then upper(s.covered) else s.read_to end as "coveredTo",
      newest.newest_fact_at as "newestAt",
      coalesce(s.open_gaps, 0) as gaps, coalesce(s.unprovable, 0)::int as unprovable, s.quarantined,
      verification.verified_at as "verifiedAt", verification.fault,
      windows.full_since as "windowsSince", coalesce(value.round_records, 0) as "roundRecords", coalesce(least(value.compared, value.round_records), 0) as "roundCompared",
      coalesce(value.full_since, value.round_started_at) as "valuesSince",
      value.full_since is not null as "isRoundComplete"
    from core.rooftop as r
    join core.stream_status as s using (rooftop_id)
    join core.newest_fact as newest using (rooftop_id, stream)
    left join ops.verification as verification using (rooftop_id, stream)
    left join ops.value_check as windows on (windows.rooftop_id, windows.stream, windows.kind) = (r.rooftop_id, s.stream, 'ids')
    left join ops.value_check as value on (value.rooftop_id, value.stream, value.kind) = (r.rooftop_id, s.stream, 'values')
    left join lateral (
      select min(part.finished_at) as since, max(part.run_id)::float8 as run_id
      from ops.run_stream as part
      join ops.run as run using (run_id)
      where s.last_status in ('failed', 'parked') and part.rooftop_id = r.rooftop_id and part.stream = s.stream
        and part.status in ('failed', 'parked') and run.arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
        and part.run_id > coalesce((
          select good.run_id from ops.run_stream as good
          where good.rooftop_id = r.rooftop_id and good.stream = s.stream and good.finished_at = s.last_good_run_at
          order by good.run_id desc limit 1), 0)
    ) as failed on true
    where rooftop_uid = any(${rooftops.map(({ uid }) => uid)}::text[])`.execute(db)
  const found = new Map(rows.map((row) => [`${row.uid} ${row.stream}`, row]))
  return rooftops.flatMap(({ uid, name, key }) =>
    allStreams.map(({ name: stream }) => ({
      ...(found.get(`${uid} ${stream}`) ?? neverSeen),
      ...{ uid, name, key, stream },
    })),
  )
}

/** A rooftop that no run has registered yet. */
const neverSeen = {
  status: 'never',
  ...{ error: null, refusedKey: null, since: null, failedRun: null, lastGoodAt: null },
  ...{ coveredTo: null, newestAt: null, gaps: 0, unprovable: 0, quarantined: 0, isAtWork: false },
  ...{ verifiedAt: null, fault: null, windowsSince: null },
  ...{ roundRecords: 0, roundCompared: 0, valuesSince: null, isRoundComplete: false },
} as const
