import { type RawBuilder, sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import { hoursToRefresh, ofRenewedAge } from '../../streams/vehicle-checks/due.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** The share of links in scope that must be valid for `hoursToLive` more hours. */
const objective = 0.99
const hoursToLive = 48

/** The links compared with the objective. */
export interface LinkStatus {
  readonly status: 'ok' | 'missed'
  readonly inScope: number
  readonly alive: number
  /** 1 when none is in scope. */
  readonly share: number
  readonly objective: number
  readonly hoursToLive: number
  readonly soonestExpiry: string | null
}

type LinkConfig = Pick<Config, 'rooftops' | 'links'>

/** Reads the status of the links in scope: of the config's rooftops, of checks that the source lists, on vehicles with an evaluation
 *  that is not gone, and within links.keepAliveDays. `now` is the source's time. */
export async function readLinkStatus(db: Db, config: LinkConfig, now: Date): Promise<LinkStatus> {
  const { rows } = await sql<{ inScope: number; alive: number; soonest: Date | null }>`
    select count(*)::int as "inScope", min(expires_at) as soonest,
      count(*) filter (where expires_at >= ${inHours(now, hoursToLive)})::int as alive
    from (${linksInScope(config, now)}) as link`.execute(db)
  const { inScope, alive, soonest } = rows[0]!
  return { ...comparedWithObjective(inScope, alive), soonestExpiry: soonest?.toISOString() ?? null }
}

function comparedWithObjective(inScope: number, alive: number) {
  const share = inScope === 0 ? 1 : alive / inScope
  const status = share < objective ? ('missed' as const) : ('ok' as const)
  return { status, inScope, alive, share, objective, hoursToLive }
}

/** The links of a rooftop by the hours that they have left. */
interface LinkLife {
  readonly uid: string
  readonly name: string
  /** By `lifeBounds`: expired, then one entry up to each bound, then those that live longer. */
  readonly counts: readonly number[]
  /** Those that `links refresh` would sign now. */
  readonly toSign: number
  /** How many of them have fewer than `hoursToLive`. */
  readonly short: number
}

/** Hours left that part the links of `LinkLife`. */
export const lifeBounds = [0, 24, 48, 72, 120] as const

/** The same links by rooftop and by the hours that they have left, with the status of all. Without their URLs. */
export async function readLinkLife(
  db: Db,
  config: LinkConfig,
  now: Date,
): Promise<{ readonly status: LinkStatus; readonly rooftops: readonly LinkLife[] }> {
  const count = sql.join(
    [...lifeBounds, null].map(
      (_, at) => sql`coalesce(sum(links) filter (where bucket = ${at}), 0)::int`,
    ),
  )
  const { rows } = await sql<LinkLife & { readonly soonest: Date }>`
    select rooftop_uid as uid, rooftop_name as name, array[${count}] as counts, min(soonest) as soonest,
      sum(to_sign)::int as "toSign", sum(short)::int as short
    from (
      select rooftop_uid, rooftop_name, width_bucket(expires_at, array[${sql.join(lifeBounds.map((hours) => inHours(now, hours)))}]) as bucket,
        count(*) as links, min(expires_at) as soonest,
        count(*) filter (where expires_at < ${inHours(now, hoursToRefresh(config))}) as to_sign,
        count(*) filter (where expires_at < ${inHours(now, hoursToLive)}) as short
      from (${linksInScope(config, now)}) as link
      group by 1, 2, 3
    ) as life
    group by 1, 2 order by min(soonest)`.execute(db)
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
  const inScope = sum(rows.flatMap(({ counts }) => counts))
  const compared = comparedWithObjective(inScope, inScope - sum(rows.map(({ short }) => short)))
  const status = { ...compared, soonestExpiry: rows[0]?.soonest.toISOString() ?? null }
  return { status, rooftops: rows.map(({ soonest: _, ...life }) => life) }
}

/** The links in scope that expire within some hours, by rooftop, the soonest first. */
export async function readExpiringLinks(
  db: Db,
  config: LinkConfig,
  now: Date,
  hours: number,
): Promise<{ readonly name: string; readonly count: number; readonly soonest: string }[]> {
  const { rows } = await sql<{ name: string; count: number; soonest: Date }>`
    select rooftop_name as name, count(*)::int as count, min(expires_at) as soonest
    from (${linksInScope(config, now, hours)}) as link
    group by 1 order by soonest`.execute(db)
  return rows.map((row) => ({ ...row, soonest: row.soonest.toISOString() }))
}

/** As a constant of the statement: it is compared with every link. */
function inHours(now: Date, hours: number): RawBuilder<unknown> {
  return sql`${new Date(now.getTime() + hours * 3_600_000)}::timestamptz`
}

/** `hours`: only those that expire within them. */
function linksInScope(config: LinkConfig, now: Date, hours?: number): RawBuilder<unknown> {
  const uids = config.rooftops.map(({ uid }) => uid)
  return sql`
    select rooftop_uid, rooftop_name, expires_at
    from core.rooftop join pii.signed_link as link using (rooftop_id) ${ofRenewedAge(config, now)}
    where rooftop_uid = any(${uids}::text[]) and is_in_scope ${hours === undefined ? sql`` : sql`and expires_at < ${inHours(now, hours)}`}`
}
