import { type RawBuilder, sql } from 'kysely'
import { type Db, prepared } from './transaction.ts'

/** A table of sums: `function` says what evaluations add to it. A row whose `count` is 0 is deleted. */
interface Sums {
  readonly table: string
  readonly function: string
  readonly keys: readonly string[]
  readonly count: string
  readonly others: readonly string[]
}

const buckets = Array.from({ length: 12 }, (_, index) => `ttc_bucket_${index}`)

/** In the order in which their rows are locked. */
const tables: readonly Sums[] = [
  {
    table: 'core.agg_evaluation_day',
    function: 'core.evaluation_days',
    keys: ['rooftop_id', 'completed_date_local', 'user_id', 'currency_code'],
    count: 'appraisals',
    others: [
      ...['with_price', 'value_sum', 'photos', 'no_photo', 'under_eight', 'hero_default'],
      ...['hero_missing', 'complete', 'timed', ...buckets],
    ],
  },
  {
    table: 'core.agg_recon_day',
    function: 'core.recon_days',
    keys: ['rooftop_id', 'completed_date_local', 'recon_type', 'currency_code'],
    count: 'evaluations',
    others: ['first_cost', 'last_cost', 'costed'],
  },
  {
    table: 'core.agg_pricing_day',
    function: 'core.pricing_days',
    keys: ['rooftop_id', 'completed_date_local'],
    count: 'known',
    others: ['priced', 'cannot_be_priced', 'failed'],
  },
]

/**
 * Brings the reports' rows and sums up to date with evaluations of the dealer groups, at the end of the transaction that wrote
 * them, their reconditioning or their prices. What each evaluation added is stored (core.agg_appraisal): the sums of its days
 * change by the difference, so a load costs the same however many evaluations a day has. Transactions wait for each other only
 * where they touch the same day. The rows of vehicles follow by triggers (sql/migrations/0041_vehicles.sql).
 */
export async function refreshSums(
  db: Db,
  groupIds: readonly number[],
  evalIds: readonly number[],
): Promise<void> {
  if (evalIds.length === 0) return
  const groups = sql`${[...new Set(groupIds)]}::int[]`
  const ids = sql`${[...new Set(evalIds)]}::bigint[]`
  const facts = sql`core.appraisals(${groups}, ${ids})`
  const removed = await removeChanged(db, groups, ids, facts)
  await prepared(sql`
    with added as (
      insert into core.agg_appraisal
      select fact.* from ${facts} as fact where not exists (
        select from core.agg_appraisal as stored where stored.group_id = fact.group_id and stored.eval_id = fact.eval_id)
      returning *
    ), changed as materialized (
      select array(select row(added.*)::core.agg_appraisal from added) as added, ${removed}::core.agg_appraisal[] as removed
    ), ${sql.join(tables.map((sums) => sql.raw(addDifference(sums))))}
    select`).execute(db)
  if (removed !== '{}') await removeEmpty(db, removed)
}

/** Deletes the stored rows of evaluations that differ from the facts, and returns them as Postgres writes an array. */
async function removeChanged(
  db: Db,
  groups: RawBuilder<unknown>,
  ids: RawBuilder<unknown>,
  facts: RawBuilder<unknown>,
): Promise<string> {
  const stored = sql`from core.agg_appraisal where group_id = any(${groups}) and eval_id = any(${ids})`
  // A statement of its own: what another transaction commits while this one waits for it is seen by the next statement only.
  // A row that the other one replaced is not locked; then the rows are locked again.
  for (;;) {
    const { rows } = await prepared(sql<{ locked: number; found: number }>`
      with locked as (select eval_id ${stored} order by group_id, eval_id for update)
      select (select count(*) from locked) as locked, (select count(*) ${stored}) as found`).execute(
      db,
    )
    const { locked, found } = rows[0]!
    if (found === 0) return '{}'
    if (locked === found) break
  }
  const { rows } = await prepared(sql<{ removed: string }>`
    with removed as (
      delete from core.agg_appraisal as stored
      where group_id = any(${groups}) and eval_id = any(${ids}) and not exists (
        select from ${facts} as fact
        where fact.group_id = stored.group_id and fact.eval_id = stored.eval_id and fact is not distinct from stored)
      returning stored.*
    )
    select array(select row(removed.*)::core.agg_appraisal from removed)::text as removed`).execute(
    db,
  )
  return rows[0]!.removed
}

/** SQL that adds what the evaluations in `changed` add to the sums, less what they added before. */
function addDifference({ table, function: name, keys, count, others }: Sums): string {
  const sums = [count, ...others]
  const differences = sums.map((column) => `sum(sign * ${column})`)
  return /* sql */ `
    ${table.replace('core.', '')} as (
      insert into ${table} as stored (${[...keys, ...sums].join(', ')})
      select ${[...keys, ...differences].join(', ')}
      from (
        select 1 as sign, day.* from changed cross join ${name}(added) as day
        union all select -1, day.* from changed cross join ${name}(removed) as day
      ) as term
      group by ${keys.join(', ')} having (${differences.join(', ')}) <> (${sums.map(() => 0).join(', ')})
      order by ${keys.join(', ')}
      on conflict (${keys.join(', ')}) do update set
        ${sums.map((column) => `${column} = stored.${column} + excluded.${column}`).join(', ')}
    )`
}

/** Deletes the sums that are 0 now. */
async function removeEmpty(db: Db, removed: string): Promise<void> {
  const emptied = tables.map(
    ({ table, count }) => `${table.replace('core.', '')} as (
      delete from ${table} as stored using day
      where stored.rooftop_id = day.rooftop_id and stored.completed_date_local = day.completed_date_local and stored.${count} = 0
    )`,
  )
  await sql`
    with day as (
      select distinct rooftop_id, completed_date_local from unnest(${removed}::core.agg_appraisal[])
    ), ${sql.raw(emptied.join(', '))}
    select`.execute(db)
}
