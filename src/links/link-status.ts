import { sql } from 'kysely'
import type { Config } from '../config/read.ts'
import type { Db } from '../db/transaction.ts'

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

/** Reads the status of the links in scope: of the config's rooftops, of checks that the source lists, on vehicles with an evaluation
 *  that is not gone, and within links.keepAliveDays. `now` is the source's time. */
export async function readLinkStatus(
  db: Db,
  config: Pick<Config, 'rooftops' | 'links'>,
  now: Date,
): Promise<LinkStatus> {
  const uids = config.rooftops.map(({ uid }) => uid)
  const { rows } = await sql<{ inScope: number; alive: number; soonest: Date | null }>`
    select count(*)::int as "inScope", min(expires_at) as soonest,
      count(*) filter (where expires_at >= ${now}::timestamptz + make_interval(hours => ${hoursToLive}))::int as alive
    from core.vehicle_check as checked
    join core.rooftop using (rooftop_id)
    join pii.signed_link as link on link.rooftop_id = checked.rooftop_id and link.eval_id = checked.eval_id
      and link_kind = check_kind || '_pdf' and link_ref = check_ref
    where checked.gone_at is null and rooftop_uid = any(${uids}::text[])
      and exists (
        select from core.evaluation as any_of_vehicle
        where any_of_vehicle.group_id = checked.group_id and any_of_vehicle.vehicle_vin = checked.vin
          and any_of_vehicle.gone_at is null)
      and (${config.links.keepAliveDays}::int is null or exists (
        select from core.evaluation as own
        where own.rooftop_id = checked.rooftop_id and own.eval_id = checked.eval_id
          and coalesce(own.completed_at, own.created_at) >= ${now}::timestamptz - make_interval(days => ${config.links.keepAliveDays}::int)))`.execute(
    db,
  )
  const { inScope, alive, soonest } = rows[0]!
  const share = inScope === 0 ? 1 : alive / inScope
  const status = share < objective ? 'missed' : 'ok'
  const soonestExpiry = soonest?.toISOString() ?? null
  return { status, inScope, alive, share, objective, hoursToLive, soonestExpiry }
}
