import { sql } from 'kysely'
import type { Db } from '../../db/transaction.ts'
import type { Config } from '../../config/read.ts'
import {
  type KeyRefusal,
  keyRefusals,
  type StreamError,
  whereRefused,
} from '../../morning/key-refusals.ts'
import { allStreams } from '../../streams/all.ts'
import { type Content, html } from '../../values/html.ts'
import { badge } from './badge.ts'
import { agoText, instant } from './instant.ts'

/** An API key: whether and how fast it may be used, and which processes use it. Times are by the clock of the database. */
export interface KeyState {
  /** `appraisal/<name in the config>`, or `vehicleData`. */
  readonly key: string
  /** Null: its last answers did not refuse it. */
  readonly refusal: Omit<KeyRefusal, 'states'> | null
  /** Requests a second right after the last cut; null: there was none. */
  readonly rate: number | null
  readonly throttledAt: Date | null
  readonly blockedUntil: Date | null
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

/** The state of some keys. `rooftops`: all that have them. */
export async function readKeys(
  db: Db,
  keys: readonly string[],
  rooftops: Config['rooftops'],
): Promise<KeyState[]> {
  const { rows } = await sql<Omit<KeyState, 'refusal'>>`
    select key, rate, throttled_at as "throttledAt",
      case when blocked_until > clock_timestamp() then blocked_until end as "blockedUntil",
      coalesce((select json_agg(json_build_object('stream', stream, 'until', until, 'reason', reason) order by stream) from ops.parked
        where key_name in (key, split_part(key, '/', 2)) and until > clock_timestamp()), '[]') as parked,
      coalesce((select json_agg(json_build_object('host', host, 'processId', process_id, 'inFlight', in_flight, 'demand', demand) order by host, process_id)
        from ops.rate_member as member where member.key_name = key and seen_at > clock_timestamp() - interval '5 seconds'), '[]') as users
    from unnest(${keys}::text[]) as key left join ops.rate_budget on key_name = key order by key`.execute(
    db,
  )
  const refusals = keyRefusals(await readNewestErrors(db, rooftops))
  return rows.map((row) => {
    const found = refusals.find(({ key }) => key === row.key)
    if (found === undefined) return { ...row, refusal: null }
    const { states: _, ...refusal } = found
    return { ...row, refusal }
  })
}

/** How the newest part that has ended of each stream did, by index. */
async function readNewestErrors(db: Db, rooftops: Config['rooftops']): Promise<StreamError[]> {
  const { rows } = await sql<Pick<StreamError, 'uid' | 'status' | 'error'>>`
    select rooftop_uid as uid, newest.error,
      case when newest.status = 'ok' then 'ok' else 'failed' end as status
    from core.rooftop as r
    cross join unnest(${allStreams.map(({ name }) => name)}::text[]) as s (stream)
    cross join lateral (
      select status, error from ops.run_stream as part
      where part.rooftop_id = r.rooftop_id and part.stream = s.stream and finished_at is not null
      order by part.rooftop_id, part.stream, run_id desc limit 1
    ) as newest
    where rooftop_uid = any(${rooftops.map(({ uid }) => uid)}::text[])`.execute(db)
  const known = new Map(rooftops.map((rooftop) => [rooftop.uid, rooftop]))
  return rows.map((row) => {
    const { name, key } = known.get(row.uid)!
    return { ...row, name, key }
  })
}

/** Whether the key is refused, blocked, slowed down, or open; then the streams whose quota is used up. */
export function keyStateText(state: KeyState, zone: string, now: Date): Content {
  return html`${oneState(state, zone, now)}${state.parked.map(({ stream, until, reason }) => html`<div>${badge('parked', 'warn')} ${stream}: its daily quota is used up until ${instant(until, zone)}<small>${reason}</small></div>`)}`
}

function oneState(state: KeyState, zone: string, now: Date): Content {
  const { refusal, rate, throttledAt, blockedUntil } = state
  if (refusal !== null)
    return html`${badge('refused', 'bad')} ${whereRefused(refusal)}
<div>${refusal.error}</div>
<div>Put the right value there, run <code>forecourt check</code>, then start the processes again. What was missed is loaded by the next sync.</div>`
  if (blockedUntil !== null)
    return html`${badge('blocked', 'warn')} until ${instant(blockedUntil, zone, { seconds: true })}, as the source asked`
  if (throttledAt === null || rate === null)
    return html`${badge('open', 'ok')} not refused, never slowed down`
  return html`${badge('slowed down', 'quiet')} ${agoText(throttledAt, now)}: cut to ${rate.toFixed(1)} requests a second, and rising since`
}
