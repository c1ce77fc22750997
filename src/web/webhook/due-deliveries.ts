import { sql } from 'kysely'
import { isForSource, postponeDeliveries } from '../../streams/evaluations/hints.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

const rooftopsAtOnce = 16
const deliveriesAtOnce = 500

/** A rooftop with deliveries that are due. */
interface DueRooftop {
  readonly rooftopId: number
  readonly uid: string
}

/** The deliveries of a rooftop that were due at a moment. */
export interface DueDeliveries {
  /** The longest waiting, at most 500. */
  readonly ids: readonly number[]
  /** That moment by the clock of the warehouse, to the microsecond. */
  readonly asOf: string
}

/** Rooftops whose deliveries are due for a process of the source, the longest waiting first, without those that are named; 16,
 *  unless `atMost` says more. Reads one delivery of each rooftop, however many wait. */
export async function readDueRooftops(
  db: Db,
  sourceId: number,
  except: readonly string[] = [],
  atMost = rooftopsAtOnce,
): Promise<DueRooftop[]> {
  const { rows } = await sql<DueRooftop>`
    with recursive oldest as (
      (select rooftop_id, due_at from ops.webhook_delivery
       where state = 'waiting' and ${isForSource(sourceId)} order by rooftop_id, due_at limit 1)
      union all
      select next.* from oldest cross join lateral (
        select rooftop_id, due_at from ops.webhook_delivery
        where state = 'waiting' and ${isForSource(sourceId)} and rooftop_id > oldest.rooftop_id
          order by rooftop_id, due_at limit 1) as next
    )
    select rooftop_id as "rooftopId", rooftop_uid as uid from oldest join core.rooftop using (rooftop_id)
    where due_at <= now() and rooftop_uid <> all(${except}::text[])
    order by due_at limit ${atMost}`.execute(db)
  return rows
}

/** The deliveries of a rooftop that are due now for a process of the source. */
export async function readDueDeliveries(
  db: Db,
  sourceId: number,
  rooftopId: number,
): Promise<DueDeliveries> {
  const { rows } = await sql<{ ids: string[]; asOf: string }>`
    select now()::text as "asOf", array(
      select delivery_id from ops.webhook_delivery
      where rooftop_id = ${rooftopId} and state = 'waiting' and due_at <= now() and ${isForSource(sourceId)}
      order by due_at, delivery_id limit ${deliveriesAtOnce}) as ids`.execute(db)
  const { ids, asOf } = rows[0]!
  return { ids: ids.map(Number), asOf }
}

/** Counts a failed attempt of those that still wait, and that the run has not postponed itself. */
export async function postpone(db: Db, due: DueDeliveries, reason: string): Promise<void> {
  await postponeDeliveries(db, due.ids, reason, due.asOf)
}
