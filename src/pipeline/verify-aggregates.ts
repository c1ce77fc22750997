import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import type { RooftopRow } from '../values/rooftop.ts'

/** An aggregate of a rooftop, or of a dealer group, that is not what the facts say. */
export interface WrongAggregate {
  /** Table of core. */
  readonly aggregate: string
  /** Whose: uid of the rooftop, or code of the dealer group. */
  readonly of: string
  /** Days, or vehicles, that differ. */
  readonly differences: number
  /** The statement that counts them again. */
  readonly mend: string
}

/** Counts what the reports stand on again and compares; reads every evaluation of the rooftops, and writes nothing. */
export async function verifyAggregates(
  db: Db,
  rooftops: readonly RooftopRow[],
): Promise<WrongAggregate[]> {
  const untrue: WrongAggregate[] = []
  for (const { id, uid } of rooftops) untrue.push(...(await untrueDays(db, id, uid)))
  for (const groupId of new Set(rooftops.map((rooftop) => rooftop.groupId)))
    untrue.push(...(await untrueVehicles(db, groupId)))
  return untrue
}

async function untrueDays(db: Db, id: number, uid: string): Promise<WrongAggregate[]> {
  const { rows } = await sql<{ aggregate: string; differences: number }>`
    select aggregate, count(*)::int as differences from core.agg_differences(${id})
    group by aggregate order by aggregate`.execute(db)
  return rows.map((row) => ({ ...row, of: uid, mend: `select core.agg_rebuild(${id})` }))
}

async function untrueVehicles(db: Db, groupId: number): Promise<WrongAggregate[]> {
  const { rows } = await sql<{ of: string; differences: number }>`
    select group_code as of, count(*)::int as differences
    from core.repeat_differences(${groupId}) join core.rooftop_group using (group_id)
    group by group_code`.execute(db)
  const mend = `select core.repeat_rebuild(${groupId})`
  return rows.map((row) => ({ aggregate: 'agg_repeat_vehicle', ...row, mend }))
}
