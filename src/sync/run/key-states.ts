import { sql } from 'kysely'
import { appraisalKey, vehicleDataKey } from '../../api/sources/key-advice.ts'
import type { Config } from '../../app/config/read.ts'
import { sourceNow } from '../../warehouse/db/source-now.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** Where and since when the service refuses a key. Times are by the clock of the database. */
export interface KeyRefusal {
  readonly since: Date
  readonly lastAt: Date
  /** The last answer that accepted the key, anywhere; null: there was none. */
  readonly goodAt: Date | null
  /** Calls that were refused since. */
  readonly calls: number
  /** HTTP status of the last refusal, and what the service answered; null: not known. */
  readonly status: number | null
  readonly answer: string | null
  readonly operations: readonly string[]
  /** The uids of the rooftops of the config where it is refused; for the vehicle-data APIs, all. */
  readonly rooftops: readonly string[]
  /** How many rooftops have the key. */
  readonly all: number
}

/** An API key: whether and how fast it may be used, and which processes use it. Times are by the clock of the database, but for
 *  `parked`: by that of the source. */
export interface KeyState {
  /** As in `ops.rate_budget`. */
  readonly key: string
  /** By the last answers. resting: nothing is sent until `blockedUntil`; quotaUsed: nothing of some streams; slowed: the rate was
   *  cut, and rises since. */
  readonly state: 'open' | 'slowed' | 'quotaUsed' | 'resting' | 'refused'
  readonly refusal: KeyRefusal | null
  /** Requests a second right after the last cut; null: there was none. */
  readonly rate: number | null
  readonly throttledAt: Date | null
  readonly blockedUntil: Date | null
  /** Streams whose daily quota is used up. */
  readonly parked: readonly {
    readonly stream: string
    readonly until: string
    readonly reason: string
  }[]
  readonly users: readonly {
    readonly host: string
    readonly processId: number
    readonly inFlight: number
    readonly demand: number
  }[]
}

/** All names of `KeyState.state`, the best first. */
export const keyStateNames = ['open', 'slowed', 'quotaUsed', 'resting', 'refused'] as const

/** The state of the keys of a config by their last answers, or of one of them. The only definition, whoever shows it. */
export async function readKeyStates(
  db: Db,
  { keys, rooftops }: Pick<Config, 'keys' | 'rooftops'>,
  only: readonly string[] = [...Object.keys(keys).map(appraisalKey), vehicleDataKey],
): Promise<KeyState[]> {
  const pairs = rooftops.flatMap(({ uid, key }) => [
    { uid, key: appraisalKey(key) },
    { uid, key: vehicleDataKey },
  ])
  const { rows } = await sql<Omit<KeyState, 'state'>>`
    with used as (
      select * from unnest(${pairs.map(({ key }) => key)}::text[], ${pairs.map(({ uid }) => uid)}::text[]) as used (key_name, uid)
    )
    select key, rate, throttled_at as "throttledAt",
      case when blocked_until > clock_timestamp() then blocked_until end as "blockedUntil",
      coalesce((select json_agg(json_build_object('stream', stream, 'until', until, 'reason', reason) order by stream) from ops.parked
        where key_name in (key, split_part(key, '/', 2)) and until > ${sourceNow}), '[]') as parked,
      coalesce((select json_agg(json_build_object('host', host, 'processId', process_id, 'inFlight', in_flight, 'demand', demand) order by host, process_id)
        from ops.rate_member as member where member.key_name = key and seen_at > clock_timestamp() - interval '5 seconds'), '[]') as users,
      refusal
    from unnest(${only}::text[]) as key left join ops.rate_budget on key_name = key
    left join lateral (
      select json_build_object('since', min(refused_since), 'lastAt', max(refused_at), 'calls', sum(refused_calls),
        'goodAt', (select max(good_at) from ops.key_state where key_name = key),
        'status', (array_agg(status order by refused_at desc) filter (where status is not null))[1],
        'answer', (array_agg(answer order by refused_at desc) filter (where answer is not null))[1],
        'operations', array_agg(distinct operation), 'rooftops', array_agg(distinct uid),
        'all', (select count(distinct uid) from used where key_name = key)) as refusal
      from ops.key_refusal as refused join used using (key_name)
      where key_name = key and rooftop_uid in (uid, '')
      having count(*) > 0
    ) as refused on true
    order by key`.execute(db)
  return rows.map(({ refusal, ...row }) => {
    const state = { ...row, refusal: refusal && withTimes(refusal) }
    return { ...state, state: keyState(state) }
  })
}

/** As JSON has them, times are texts. */
function withTimes(refusal: KeyRefusal): KeyRefusal {
  const { since, lastAt, goodAt } = refusal
  return {
    ...refusal,
    since: new Date(since),
    lastAt: new Date(lastAt),
    goodAt: goodAt && new Date(goodAt),
  }
}

/** When the quota of all of these streams is new again, and what the service answered. */
export function quotaEnd(parked: KeyState['parked']): { until: string; reasons: string[] } {
  const until = parked.reduce((last, one) => (one.until > last ? one.until : last), '')
  return { until, reasons: [...new Set(parked.map(({ reason }) => reason))] }
}

function keyState(key: Omit<KeyState, 'state'>): KeyState['state'] {
  if (key.refusal !== null) return 'refused'
  if (key.blockedUntil !== null) return 'resting'
  if (key.parked.length > 0) return 'quotaUsed'
  return key.throttledAt === null || key.rate === null ? 'open' : 'slowed'
}
