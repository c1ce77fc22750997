import { sql } from 'kysely'
import type { CheckKind } from '../../api/contract/appraisal/past-checks.ts'
import type { RooftopAccess } from '../../api/sources/calls.ts'
import type { Config } from '../../app/config/read.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { LinkOutcome, LinkRequest } from './link.ts'

/** The owner of what a permalink names. */
interface Found {
  readonly rooftopId: number
  readonly rooftopUid: string
  readonly rooftopName: string
  readonly groupId: number
  /** Dealer group of the rooftop that the click names; null: it names none, or one that is unknown. */
  readonly requestedGroupId: number | null
  readonly evalId: number
}

/** A check with its newest link; the link is null where none was ever given. */
export interface FoundPdf extends Found {
  readonly vin: string
  readonly kind: CheckKind
  readonly ref: string
  readonly url: string | null
  readonly expiresAt: Date | null
  readonly isGone: boolean
  /** The customer of its evaluation was erased: no link to it is stored any more. */
  readonly isErased: boolean
}

export type FoundPhoto = Found & { readonly photoId: number; readonly isGone: boolean }

/** Checks of the config's rooftops with the id, one of each dealer group at most. */
export async function findPdfs(db: Db, config: Config, request: LinkRequest): Promise<FoundPdf[]> {
  const { rows } = await sql<FoundPdf>`
    select checked.rooftop_id as "rooftopId", rooftop_uid as "rooftopUid", rooftop_name as "rooftopName",
      checked.group_id as "groupId", ${requestedGroup(request)} as "requestedGroupId", checked.eval_id as "evalId", vin,
      check_kind as kind, check_ref as ref, url, expires_at as "expiresAt", gone_at is not null as "isGone",
      exists (select from pii.suppressed_evaluation as erased
        where erased.group_id = checked.group_id and erased.eval_id = checked.eval_id and scope = 'customer') as "isErased"
    from core.vehicle_check as checked
    join core.rooftop using (rooftop_id)
    left join pii.signed_link as link on link.rooftop_id = checked.rooftop_id and link.eval_id = checked.eval_id
      and link_kind = ${request.kind} and link_ref = check_ref
    where check_kind = ${request.kind.replace(/_pdf$/, '')} and check_ref = ${request.id}
      and checked.group_id in (select group_id from core.rooftop where ${ofConfig(config)})
      and ${ofConfig(config)}
    order by rooftop_uid`.execute(db)
  return rows
}

/** Photos of the config's rooftops with the id, one of each rooftop at most. */
export async function findPhotos(
  db: Db,
  config: Config,
  request: LinkRequest,
): Promise<FoundPhoto[]> {
  // No id of the source has more digits.
  if (!/^\d{1,15}$/.test(request.id)) return []
  const { rows } = await sql<FoundPhoto>`
    select distinct on (rooftop_uid) rooftop_id as "rooftopId", rooftop_uid as "rooftopUid",
      rooftop_name as "rooftopName", rooftop.group_id as "groupId", ${requestedGroup(request)} as "requestedGroupId",
      photo.eval_id as "evalId", photo_id as "photoId", evaluation.gone_at is not null as "isGone"
    from core.photo join core.rooftop using (rooftop_id)
    left join core.evaluation using (rooftop_id, eval_id)
    where photo_id = ${request.id}::bigint and ${ofConfig(config)}
    order by rooftop_uid, removed_at is null desc, photo.eval_id desc`.execute(db)
  return rows
}

/** Chooses the one that is meant, or says why there is none. A rooftop also matches the others of its dealer group. */
export function chooseOne<F extends Found>(
  found: readonly F[],
  { rooftopUid }: LinkRequest,
): { readonly one: F } | { readonly outcome: LinkOutcome } {
  const rooftopLinks = found.filter((row) => row.rooftopUid === rooftopUid)
  const ofGroup = found.filter((row) => row.groupId === row.requestedGroupId)
  const meant = rooftopUid === null ? found : rooftopLinks.length > 0 ? rooftopLinks : ofGroup
  const [one] = meant
  if (one === undefined) return { outcome: { is: 'unknown' } }
  if (meant.length === 1) return { one }
  const rooftops = meant.map((row) => ({ uid: row.rooftopUid, name: row.rooftopName }))
  return { outcome: { is: 'ambiguous', rooftops } }
}

/** Evaluations of the vehicle in the dealer group that are not gone, the newest first. */
export async function findEvaluations(
  db: Db,
  { groupId, vin }: Pick<FoundPdf, 'groupId' | 'vin'>,
): Promise<{ readonly rooftopUid: string; readonly evalId: number }[]> {
  const { rows } = await sql<{ rooftopUid: string; evalId: number }>`
    select rooftop_uid as "rooftopUid", eval_id as "evalId"
    from core.evaluation join core.rooftop using (rooftop_id)
    where evaluation.group_id = ${groupId} and vehicle_vin = ${vin} and gone_at is null
    order by created_at desc, eval_id desc`.execute(db)
  return rows
}

/** The access to the source for a rooftop; null when it is not in the config. */
export function findAccess(config: Config, uid: string): RooftopAccess | null {
  const rooftop = config.rooftops.find((one) => one.uid === uid)
  return rooftop ? { uid, dealerId: rooftop.dealerId, keyName: rooftop.key } : null
}

const ofConfig = ({ rooftops }: Config) =>
  sql`rooftop_uid = any(${rooftops.map(({ uid }) => uid)}::text[])`

const requestedGroup = ({ rooftopUid }: LinkRequest) =>
  sql`(select group_id from core.rooftop as asked where asked.rooftop_uid = ${rooftopUid})`
