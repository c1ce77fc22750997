import { type RawBuilder, sql } from 'kysely'
import { isOverdue } from '../../streams/stock-prices/off-stock.ts'
import { renumber } from './renumbered.ts'
import { type ImportRequest, shownChanges, type UnitChange, type UnitCounts } from './request.ts'
import type { StagedUnits, Staging } from './stage.ts'
import { unitColumns } from './unit-columns.ts'

/** The changes that the list makes to the stock. */
export interface Diff extends UnitCounts {
  /** Units in stock before. */
  readonly onHand: number
  /** Units that leave the stock: `missing` and `reused`. */
  readonly removed: number
  /** Units that the snapshot does not name, or that have left by their status. */
  readonly missing: number
  /** Those among them that have left by their status. */
  readonly left: number
  /** Stock numbers in stock that now belong to another vehicle: one removed and one added each. */
  readonly reused: number
}

/** A unit as JSON, without the reading as written, which odometer_km contains. */
const document = (unit: string) =>
  sql.raw(
    `jsonb_build_object(${unitColumns
      .filter((name) => name !== 'extras' && name !== 'stock_no')
      .map((name) => `'${name}', ${unit}.${name}`)
      .join(', ')}) || (${unit}.extras - '{odometer,odometer_unit}'::text[])`,
  )

/**
 * Compares stock_stage with the stock of a rooftop, where new units are already added. Writes temporary tables:
 * stock_diff has a row for each known unit that the list changes, stock_gone one for each unit that the
 * snapshot does not name.
 */
export async function diffStock(
  staging: Staging,
  mode: ImportRequest['mode'],
  { hadStock, left }: Pick<StagedUnits, 'hadStock' | 'left'>,
): Promise<Diff> {
  const { db, tables, rooftopId, importId } = staging
  const onHand = hadStock ? await unitsOnHand(staging) : 0
  await diffQuery(rooftopId).execute(db)
  // The same content with another hash: columns in another order.
  await sql`
    delete
    from stock_diff where change = 'updated' and changes = '{}' and not is_reused`.execute(db)
  await leftTable.execute(db)
  if (left > 0) await leftQuery(rooftopId, importId).execute(db)
  await goneQuery(rooftopId, mode === 'snapshot' && onHand > 0, importId).execute(db)
  const { rows } = await sql<Omit<Diff, 'onHand' | 'removed'>>`
    select
      count(*) filter (where change = 'added')::int + (
        select count(*)::int from ${sql.table(tables.units)}
        where rooftop_id = ${rooftopId} and import_id = ${importId}) as added,
      count(*) filter (where change = 'updated')::int as updated,
      count(*) filter (where change = 'reappeared')::int as reappeared,
      count(*) filter (where is_reused and was_on_hand)::int as reused,
      (select count(*)::int from stock_stage as stage
       join core.stock_unit as unit on unit.rooftop_id = ${rooftopId} and unit.stock_no = stage.stock_no
       where not stage.is_rejected and not exists (
         select from stock_diff as diff where diff.line_no = stage.line_no)) as unchanged,
      (select count(*) from stock_gone)::int as missing,
      (select count(*) from stock_gone where has_left)::int as left
    from stock_diff`.execute(db)
  const { missing, reused } = rows[0]!
  return { onHand, removed: missing + reused, ...rows[0]! }
}

/** Units in stock before this import. */
async function unitsOnHand({ db, rooftopId, importId }: Staging): Promise<number> {
  const { rows } = await sql<{ units: number }>`
    select count(*)::int as units from core.stock_unit
    where rooftop_id = ${rooftopId}
      and import_id <> ${importId} and missing_since is null and off_stock_at is null`.execute(db)
  return rows[0]!.units
}

// A unit that was off stock has come in again, unless the list gives the day on which it came in before.
const diffQuery = (rooftopId: number) => sql`
create temp table stock_diff on commit drop as
with known as (
  select stage.line_no, stage.stock_no, renumbered.old_stock_no, unit.missing_since is null and unit.off_stock_at is null as was_on_hand,
    coalesce(unit.vin <> stage.vin, false) as is_reused,
    case when unit.off_stock_at is not null and coalesce(unit.acquired_on <> stage.acquired_on, true) then unit.first_seen_at end as stay_began_at,
    case when unit.content_hash <> stage.content_hash then ${document('unit')} end as old,
    case when unit.content_hash <> stage.content_hash then ${document('stage')} end as new
  from stock_stage as stage left join stock_renumbered as renumbered using (stock_no)
  join core.stock_unit as unit on unit.rooftop_id = ${rooftopId} and unit.stock_no = coalesce(renumbered.old_stock_no, stage.stock_no)
  where not stage.is_rejected
    and (unit.content_hash <> stage.content_hash or unit.missing_since is not null or unit.off_stock_at is not null)
)
select line_no, stock_no, old_stock_no, was_on_hand, is_reused, stay_began_at,
  case when is_reused then 'added' when was_on_hand then 'updated' else 'reappeared' end as change,
  case when old is null then '{}' else (
    select coalesce(jsonb_object_agg(key, jsonb_build_array(a.value, b.value)), '{}')
    from jsonb_each(old) as a full join jsonb_each(new) as b using (key) where a.value is distinct from b.value
  ) end || case when old_stock_no is null then '{}' else jsonb_build_object('stock_no', jsonb_build_array(old_stock_no, stock_no)) end as changes
from known`

// A rejected row still shows that the vehicle is in stock, by its stock number or its VIN.
const goneQuery = (rooftopId: number, isSnapshot: boolean, importId: number) => sql`
create temp table stock_gone on commit drop as
select unit.stock_no, false as has_left from core.stock_unit as unit
where ${isSnapshot}::boolean and unit.rooftop_id = ${rooftopId} and unit.import_id <> ${importId}::bigint and unit.missing_since is null and unit.off_stock_at is null
  and not exists (select from stock_stage as stage where stage.stock_no = unit.stock_no)
  and not exists (select from stock_stage as stage where stage.is_rejected and stage.vin = unit.vin)
  and not exists (select from stock_renumbered as renumbered where renumbered.old_stock_no = unit.stock_no)
union all select stock_no, true from stock_left where not was_missing`

const leftTable = sql`
  create temp table stock_left (stock_no varchar(80), was_missing boolean) on commit drop`

// By the stock number, unless it has another VIN, and by the VIN. A row with the unit in stock wins.
const leftQuery = (rooftopId: number, importId: number) => sql`
insert into stock_left
select distinct unit.stock_no, unit.missing_since is not null
from core.stock_unit as unit
join (
  select stage.stock_no, stage.vin from stock_stage as stage where stage.has_left and stage.stock_no is not null
  union all select unit.stock_no, stage.vin from stock_stage as stage
  join core.stock_unit as unit on unit.rooftop_id = ${rooftopId} and unit.vin = stage.vin
  where stage.has_left
) as named on named.stock_no = unit.stock_no and coalesce(named.vin = unit.vin, true)
where unit.rooftop_id = ${rooftopId} and unit.import_id <> ${importId} and unit.off_stock_at is null
  and not exists (select from stock_stage as stage where stage.stock_no = unit.stock_no and not stage.is_rejected)
  and not exists (select from stock_renumbered as renumbered where renumbered.old_stock_no = unit.stock_no)`

const content = [...unitColumns.slice(1), 'content_hash']

/** Applies stock_diff and stock_gone to the known units. Other units are not touched; new ones were added before. */
export async function applyDiff(staging: Staging): Promise<void> {
  const { db, rooftopId, importId, now } = staging
  await renumber(staging)
  await sql`
    update core.stock_unit as unit
    set ${sql.raw(content.map((name) => `${name} = stage.${name}`).join(', '))}, last_seen_at = ${now}::timestamptz,
      import_id = ${importId}::bigint,
      first_seen_at = case when diff.is_reused or diff.stay_began_at is not null then ${now}::timestamptz else unit.first_seen_at end,
      missing_since = null, off_stock_at = null
    from stock_stage as stage join stock_diff as diff using (line_no)
    where unit.rooftop_id = ${rooftopId} and unit.stock_no = stage.stock_no`.execute(db)
  await sql`
    update core.stock_unit as unit set missing_since = ${now}
    from stock_gone as gone
    where unit.rooftop_id = ${rooftopId} and unit.stock_no = gone.stock_no`.execute(db)
  await sql`
    update core.stock_unit as unit set off_stock_at = ${now}
    from stock_left as gone
    where unit.rooftop_id = ${rooftopId} and unit.stock_no = gone.stock_no`.execute(db)
  await sql`
    insert into core.stock_unit_change (import_id, rooftop_id, stock_no, change, changes)
    select ${importId}::bigint, ${rooftopId}::int, stock_no, change, changes || case
      when stay_began_at is null or is_reused then '{}' else jsonb_build_object('first_seen_at', jsonb_build_array(stay_began_at, ${now}::timestamptz)) end
    from stock_diff
    union all select ${importId}::bigint, ${rooftopId}::int, stock_no, 'removed', '{}'
    from stock_gone`.execute(db)
}

/** The number of units that `markOffStock` would mark after this list. */
export async function countOffStock(staging: Staging, graceDays: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from core.stock_unit as unit where ${isOverdue(staging, graceDays)} and not exists (
      select from stock_diff as diff
      where coalesce(diff.old_stock_no, diff.stock_no) = unit.stock_no)`.execute(staging.db)
  return rows[0]!.count
}

/** The first changes of each kind, in the order of the list; removed units by stock number. */
export async function firstChanges({
  db,
  tables,
  rooftopId,
  importId,
}: Staging): Promise<readonly UnitChange[]> {
  const first = (from: RawBuilder<unknown>, order = 'line_no') =>
    sql`(select * from (${from}) as one order by ${sql.ref(order)} limit ${shownChanges})`
  const known = (change: string) =>
    sql`select line_no, stock_no, change, changes from stock_diff where change = ${change}`
  const added = sql`
    select stored.line_no, unit.stock_no, 'added', '{}'::jsonb
    from ${sql.table(tables.units)} as unit join ${sql.table(tables.rows)} as stored using (import_id, stock_no)
    where unit.rooftop_id = ${rooftopId} and unit.import_id = ${importId} and stored.status = 'accepted'`
  const { rows } = await sql<UnitChange>`
    select stock_no as "stockNo", change, changes
    from (${first(sql`${known('added')} union all ${added}`)}
      union all ${first(known('updated'))}
      union all ${first(known('reappeared'))}
      union all ${first(sql`select null::int, stock_no, 'removed', '{}'::jsonb from stock_gone`, 'stock_no')}
    ) as shown (line_no, stock_no, change, changes)
    order by array_position(array['added', 'updated', 'reappeared', 'removed'], change),
      line_no, stock_no`.execute(db)
  return rows
}
