import { sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import { plural } from '../../values/text.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Stream } from '../run/stream.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import { type Duplicate, duplicateIds } from './verify.ts'
import type { Comparison, Difference } from './verify-round.ts'
import { type Orphan, orphans } from './verify-stored.ts'

/** Records and vehicles whose rows were entered within this number of days before the last comparison are compared every night. */
export const enteredDays = 3

/** The rows of each record with the record itself, each evaluation with those of other rooftops, and whether it is due for Pricing AI,
 *  by record. */
export function recordComparisons(streams: readonly Stream[]): Comparison[] {
  return streams.flatMap(({ records }) => (records === undefined ? [] : [compareRecords(records)]))
}

function compareRecords(stream: WindowedRecords): Comparison {
  const { name, tables, dependentTables, isSummed } = stream
  const id = sql.ref(stream.idColumn)
  return {
    ...{ stream: name, kind: 'records', keysAtOnce: 1000 },
    keys: {
      count: (rooftop) => sql`
        select coalesce(sum(loaded), 0) from ops.window_certificate where rooftop_id = ${rooftop.id} and stream = ${name}`,
      async next(db, rooftop, after, limit) {
        const due = isSummed ? ['ops.new_to_pricing'] : []
        const ofTables = [...tables, ...dependentTables, ...due].map(
          (table) => sql`(
            select distinct ${id} as id from ${sql.table(table)}
            where rooftop_id = ${rooftop.id} and ${id} > ${Number(after)} order by id limit ${limit})`,
        )
        const { rows } = await sql<{ key: string }>`
          select id::text as key from (${sql.join(ofTables, sql` union `)}) as record order by id limit ${limit}`.execute(
          db,
        )
        return rows.map(({ key }) => key)
      },
    },
    ...(isSummed ? { changed: enteredEvaluations } : {}),
    async compare({ db }, rooftop, keys) {
      const left = await orphans(db, stream, [rooftop.id], keys)
      const ofRecords = recordDifferences(
        rooftop,
        left.get(rooftop.id) ?? [],
        isSummed ? await duplicateIds(db, keys) : [],
      )
      return isSummed ? [...ofRecords, ...(await dueDifferences(db, rooftop, keys))] : ofRecords
    },
  }
}

/** What was deleted by hand is found by the round. */
async function enteredEvaluations(db: Db, { id }: RooftopRow, through: Date | null) {
  const { rows } = await sql<{ keys: string[]; through: Date }>`
    select coalesce(array_agg(eval_id::text order by eval_id), '{}') as keys, now() as through from core.evaluation
    where rooftop_id = ${id} and entry_at > ${through}::timestamptz - make_interval(days => ${enteredDays})`.execute(
    db,
  )
  return { ...rows[0]!, isWhole: false }
}

/** What differs at a rooftop, by record. */
export function recordDifferences(
  { uid }: RooftopRow,
  left: readonly Orphan[],
  duplicates: readonly Duplicate[],
): Difference[] {
  return [
    ...left.map(({ record, rows, tables }) => ({
      ...{ kind: 'orphans' as const, record },
      difference: `${plural(rows, 'row')} of ${tables.join(', ')}`,
    })),
    ...duplicates
      .filter(({ rooftops }) => rooftops.includes(uid))
      .map(({ evalId, rooftops }) => ({
        ...{ kind: 'duplicates' as const, record: String(evalId) },
        difference: `stored under ${rooftops.join(' and ')}`,
      })),
  ]
}

/** The evaluations with a row too many or too few in ops.new_to_pricing; `evalIds` null: of all. */
export async function dueDifferences(
  db: Db,
  { id }: RooftopRow,
  evalIds: readonly string[] | null,
): Promise<Difference[]> {
  const { rows } = await sql<Omit<Difference, 'kind'>>`
    select eval_id::text as record, case when is_missing then 'missing' else 'not due' end as difference
    from ops.new_to_pricing_differences(array[${id}::int], ${evalIds === null ? null : [...evalIds]}::bigint[]) order by eval_id`.execute(
    db,
  )
  return rows.map((row) => ({ ...row, kind: 'due' }))
}
