import { sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Stream } from '../run/stream.ts'
import { enteredDays } from './verify-records.ts'
import { type Comparison, type Difference, queriedKeys } from './verify-round.ts'

/** An aggregate of a rooftop or dealer group that differs from its facts. */
export interface WrongAggregate {
  /** due: what is due for Pricing AI. */
  readonly kind: 'sums' | 'vehicles' | 'due'
  /** Table of core; of what is due, of ops; `signed_link` of pii: the scope of links. */
  readonly aggregate: string
  /** The uid of the rooftop, or the code of the dealer group. */
  readonly of: string
  /** Days, vehicles or evaluations that differ. */
  readonly differences: number
  /** The first and the last day that differ, as YYYY-MM-DD; null for the other kinds. */
  readonly days: { readonly first: string; readonly last: string } | null
  /** The uids of the rooftops that it is about. */
  readonly rooftops: readonly string[]
}

/** Days after the end of a month in which its sums are compared every night. */
const youngDays = 62

/** The sums of each month with the rows of its evaluations. */
export function sumComparisons(streams: readonly Stream[]): Comparison[] {
  const summed = streams.filter(({ records }) => records?.isSummed === true)
  return summed.map(({ name }) => ({
    ...{ stream: name, kind: 'sums' },
    keys: queriedKeys(
      ([id]) => sql`select rooftop_id, month_start::text as key from core.agg_months(${id}::int)`,
    ),
    // The largest rooftop has thousands of evaluations in a month.
    bounded: async (_db, _rooftop, keys) => keys.slice(0, 1),
    // Any load may change sums of any month, but hardly those of old ones: the round compares these.
    async changed(db, { id }, through) {
      const { rows } = await sql<{ keys: string[]; through: Date }>`
        select coalesce(array_agg(month_start::text order by month_start) filter (
            where ${through}::timestamptz is null or month_start + interval '1 month' > ${through}::timestamptz - make_interval(days => ${youngDays})), '{}') as keys,
          now() as through
        from core.agg_months(${id})`.execute(db)
      return { ...rows[0]!, isWhole: through === null }
    },
    compare: async ({ db }, { id }, keys) => await sumDifferences(db, id, keys),
  }))
}

/** Each vehicle of a dealer group, each repeated one, and the scope of their links, with its evaluations, units and checks. */
export function vehicleComparisons(streams: readonly Stream[]): Comparison[] {
  const summed = streams.filter(({ records }) => records?.isSummed === true)
  return summed.map(({ name }) => ({
    ...{ stream: name, kind: 'vehicles', isOfGroups: true, keysAtOnce: 1000 },
    keys: {
      count: ({ groupId }) => sql`select count(*) from core.vehicle where group_id = ${groupId}`,
      async next(db, { groupId }, after, limit) {
        const { rows } = await sql<{ key: string }>`
          select vin as key from (
            (select distinct vehicle_vin as vin from core.evaluation
              where group_id = ${groupId} and vehicle_vin > ${after}::varchar order by vin limit ${limit})
            union (select distinct vin from core.stock_unit join core.rooftop using (rooftop_id)
              where group_id = ${groupId} and vin > ${after}::varchar and length(vin) = 17 order by vin limit ${limit})
            union (select vin from core.vehicle
              where group_id = ${groupId} and vin > ${after}::varchar order by vin limit ${limit})
            union (select distinct vin from core.agg_repeat_vehicle
              where group_id = ${groupId} and vin > ${after}::varchar order by vin limit ${limit})
          ) as known order by vin limit ${limit}`.execute(db)
        return rows.map(({ key }) => key)
      },
    },
    // Triggers calculate a vehicle with each change of its facts: what else changes it is found by the round.
    async changed(db, { groupId }, through) {
      const { rows } = await sql<{ keys: string[]; through: Date }>`
        select coalesce(array_agg(distinct vehicle_vin), '{}') as keys, now() as through from core.evaluation
        where rooftop_id in (select rooftop_id from core.rooftop where group_id = ${groupId}) and vehicle_vin is not null
          and entry_at > ${through}::timestamptz - make_interval(days => ${enteredDays})`.execute(
        db,
      )
      return { ...rows[0]!, isWhole: false }
    },
    compare: async ({ db }, { groupId }, keys) => await vehicleDifferences(db, groupId, keys),
  }))
}

/** The vehicles of a dealer group that differ; `vins` null: of all. */
export async function vehicleDifferences(
  db: Db,
  groupId: number,
  vins: readonly string[] | null,
): Promise<Difference[]> {
  const { rows } = await sql<Omit<Difference, 'kind'>>`
    select vin as record, string_agg(aggregate, ', ' order by aggregate) as difference
    from core.vehicle_differences(${groupId}, ${vins === null ? null : [...vins]}::varchar[]) group by 1`.execute(
    db,
  )
  return rows.map((row) => ({ ...row, kind: 'vehicles' }))
}

/** The months whose sums differ from the rows. */
export async function sumDifferences(
  db: Db,
  rooftopId: number,
  months: readonly string[],
): Promise<Difference[]> {
  const { rows } = await sql<Omit<Difference, 'kind'>>`
    select date_trunc('month', completed_date_local::timestamp)::date::text as record, string_agg(distinct aggregate, ', ' order by aggregate) as difference
    from core.agg_differences(${rooftopId}, ${[...months]}::date[]) group by 1`.execute(db)
  return rows.map((row) => ({ ...row, kind: 'sums' }))
}

/** Each calculates aggregates behind the reports again and compares. Together they read every evaluation of the rooftops; they write nothing. */
export const findWrongAggregates: readonly ((
  db: Db,
  rooftops: readonly RooftopRow[],
) => Promise<WrongAggregate[]>)[] = [wrongSums, wrongVehicles, wrongDue]

async function wrongSums(db: Db, rooftops: readonly RooftopRow[]): Promise<WrongAggregate[]> {
  const { rows: suspects } = await sql<{ id: number; months: string[] }>`
    select rooftop_id as id, array_agg(month_start::text) as months from core.agg_suspects(${rooftops.map(({ id }) => id)}::int[]) group by 1`.execute(
    db,
  )
  const wrong: WrongAggregate[] = []
  for (const { id, uid } of rooftops) {
    const months = suspects.find((suspect) => suspect.id === id)?.months
    if (months !== undefined) wrong.push(...(await wrongDays(db, id, uid, months)))
  }
  return wrong
}

async function wrongDays(
  db: Db,
  id: number,
  uid: string,
  months: readonly string[],
): Promise<WrongAggregate[]> {
  const { rows } = await sql<Pick<WrongAggregate, 'aggregate' | 'differences' | 'days'>>`
    select aggregate, count(*)::int as differences,
      json_build_object('first', min(completed_date_local), 'last', max(completed_date_local)) as days
    from core.agg_differences(${id}, ${[...months]}::date[])
    group by aggregate order by aggregate`.execute(db)
  return rows.map((row) => ({ ...row, kind: 'sums', of: uid, rooftops: [uid] }))
}

async function wrongVehicles(db: Db, rooftops: readonly RooftopRow[]): Promise<WrongAggregate[]> {
  const groups = Map.groupBy(rooftops, ({ groupId }) => groupId)
  const ids = [...groups.keys()]
  // Several groups in one pass over all evaluations, which is quicker than by group.
  const { rows } = await sql<
    Pick<WrongAggregate, 'aggregate' | 'of' | 'differences'> & { id: number }
  >`
    select aggregate, group_id as id, group_code as of, count(*)::int as differences
    from core.vehicle_differences(${ids.length === 1 ? ids[0] : null}::int) join core.rooftop_group using (group_id)
    where group_id = any(${ids}::int[])
    group by aggregate, group_id, group_code order by group_id, aggregate`.execute(db)
  return rows.map(({ id, ...row }) => ({
    ...{ ...row, kind: 'vehicles', days: null },
    rooftops: groups.get(id)!.map(({ uid }) => uid),
  }))
}

async function wrongDue(db: Db, rooftops: readonly RooftopRow[]): Promise<WrongAggregate[]> {
  const { rows } = await sql<Pick<WrongAggregate, 'of' | 'differences'>>`
    select rooftop_uid as of, count(*)::int as differences
    from ops.new_to_pricing_differences(${rooftops.map(({ id }) => id)}::int[]) join core.rooftop using (rooftop_id) group by 1 order by 1`.execute(
    db,
  )
  const due = { kind: 'due', aggregate: 'new_to_pricing', days: null } as const
  return rows.map((row) => ({ ...due, ...row, rooftops: [row.of] }))
}

/** Calculates the aggregates of a rooftop and of its dealer group, and what is due, again where they differ from the facts. Loads wait meanwhile, so
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
    select core.vehicle_rebuild(${groupId}) where exists (select from core.vehicle_differences(${groupId}))`.execute(
    db,
  )
  await sql`select ops.new_to_pricing_rebuild(${id})`.execute(db)
}
