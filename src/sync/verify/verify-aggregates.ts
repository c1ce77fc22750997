import { sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** An aggregate of a rooftop or dealer group that differs from its facts. */
export interface WrongAggregate {
  /** Table of core. */
  readonly aggregate: string
  /** The uid of the rooftop, or the code of the dealer group. */
  readonly of: string
  /** Days, or vehicles, that differ. */
  readonly differences: number
  /** The first and the last day that differ, as YYYY-MM-DD; null for vehicles. */
  readonly days: { readonly first: string; readonly last: string } | null
  /** The uids of the rooftops that it is about. */
  readonly rooftops: readonly string[]
}

/** Calculates the aggregates behind the reports again and compares; reads every evaluation of the rooftops, writes nothing. */
export async function verifyAggregates(
  db: Db,
  rooftops: readonly RooftopRow[],
): Promise<WrongAggregate[]> {
  const wrong: WrongAggregate[] = []
  for (const { id, uid } of rooftops) wrong.push(...(await wrongDays(db, id, uid)))
  for (const [groupId, group] of Map.groupBy(rooftops, (rooftop) => rooftop.groupId))
    wrong.push(...(await wrongVehicles(db, groupId, group)))
  return wrong
}

async function wrongDays(db: Db, id: number, uid: string): Promise<WrongAggregate[]> {
  const { rows } = await sql<Pick<WrongAggregate, 'aggregate' | 'differences' | 'days'>>`
    select aggregate, count(*)::int as differences,
      json_build_object('first', min(completed_date_local), 'last', max(completed_date_local)) as days
    from core.agg_differences(${id})
    group by aggregate order by aggregate`.execute(db)
  return rows.map((row) => ({ ...row, of: uid, rooftops: [uid] }))
}

async function wrongVehicles(
  db: Db,
  groupId: number,
  group: readonly RooftopRow[],
): Promise<WrongAggregate[]> {
  const { rows } = await sql<{ of: string; differences: number }>`
    select group_code as of, count(*)::int as differences
    from core.repeat_differences(${groupId}) join core.rooftop_group using (group_id)
    group by group_code`.execute(db)
  return rows.map((row) => ({
    ...{ aggregate: 'agg_repeat_vehicle', ...row, days: null },
    rooftops: group.map(({ uid }) => uid),
  }))
}

/** Calculates the aggregates of a rooftop and of its dealer group again where they differ from the facts. Loads wait meanwhile, so
 *  the transaction must have written none of the aggregates before: two such transactions would wait for each other. */
export async function rebuildAggregates(
  db: Db,
  { id, groupId }: Pick<RooftopRow, 'id' | 'groupId'>,
): Promise<void> {
  await sql`
    select core.agg_rebuild(${id}) where exists (select from core.agg_differences(${id}))`.execute(
    db,
  )
  await sql`
    select core.repeat_rebuild(${groupId}) where exists (select from core.repeat_differences(${groupId}))`.execute(
    db,
  )
}
