import { sql } from 'kysely'
import type { CellIssue } from '../csv/map/typing/typed-row.ts'
import { deleteAdded, type StagedUnits, type Staging, stageAdded } from './stage.ts'

/** How many vehicles the warning names. */
const named = 5

/**
 * Finds vehicles with a new stock number: the VIN belongs to one unit in stock whose number the list does not
 * have, and to one row alone; or, without a VIN, the number differs in zeros before it, letter case or blanks alone. Their rows go to the
 * stage instead of being added; stock_renumbered has both numbers. Returns how many.
 */
export async function matchRenumbered(
  staging: Staging,
  { hadStock, added }: StagedUnits,
): Promise<number> {
  const { db, tables, rooftopId, importId } = staging
  await sql`
    create temp table
      stock_renumbered (stock_no varchar(80), old_stock_no varchar(80), is_by_vin boolean) on commit drop`.execute(
    db,
  )
  if (!hadStock || added === 0) return 0
  const { numAffectedRows } = await matchQuery(tables.units, rooftopId, importId).execute(db)
  if (numAffectedRows === 0n) return 0
  const chosen = sql`select stock_no from stock_renumbered`
  await stageAdded(staging, sql`unit.stock_no in (${chosen})`)
  await deleteAdded(staging, chosen)
  return Number(numAffectedRows)
}

/** A stock number without what spreadsheets and people change in it: `007`, `7.0` and ` 7` are one. */
const foldedNumber = sql.raw(
  `ltrim(regexp_replace(upper(stock_no), '[.]0$|[[:space:]'',]', '', 'g'), '0')`,
)
/** Of a group of one unit. */
const numberedUnit = sql`${foldedNumber} as folded, min(stock_no) as stock_no, min(vin) as vin,
  jsonb_build_array(lower(min(make)), lower(min(model)), min(model_year)) as name`

// By the VIN, but one repeated character identifies no vehicle. By the number a unit that the list no longer names, and a new row of the same
// make, model and year; one of them has no VIN.
const matchQuery = (units: string, rooftopId: number, importId: number) => sql`
insert into stock_renumbered
with arrived as (
  select vin, min(stock_no) as stock_no from ${sql.table(units)}
  where rooftop_id = ${rooftopId} and import_id = ${importId} and length(vin) = 17 and vin !~ '^(.)\\1+$'
  group by vin having count(*) = 1
), before as (
  select arrived.vin, min(unit.stock_no) as stock_no
  from core.stock_unit as unit join arrived on arrived.vin = unit.vin
  where unit.rooftop_id = ${rooftopId} and unit.import_id <> ${importId} and unit.off_stock_at is null
    and not exists (select from stock_stage as stage where stage.stock_no = unit.stock_no)
  group by arrived.vin having count(*) = 1
), by_vin as (
  select arrived.stock_no, before.stock_no as old_stock_no from arrived join before using (vin)
  where not exists (select from stock_stage as stage where stage.vin = arrived.vin)
), arrived_number as (
  select ${numberedUnit} from ${sql.table(units)}
  where rooftop_id = ${rooftopId} and import_id = ${importId} and stock_no not in (select stock_no from by_vin)
  group by 1 having count(*) = 1
), before_number as (
  select ${numberedUnit} from core.stock_unit as unit
  where rooftop_id = ${rooftopId} and import_id <> ${importId} and off_stock_at is null
    and not exists (select from stock_stage as stage where stage.stock_no = unit.stock_no)
    and stock_no not in (select old_stock_no from by_vin)
  group by 1 having count(*) = 1
)
select stock_no, old_stock_no, true from by_vin
union all select arrived.stock_no, before.stock_no, false
from arrived_number as arrived join before_number as before using (folded, name)
where folded <> '' and (arrived.vin is null or before.vin is null)`

/**
 * Gives the units, their changes and their prices the new number. If a price was requested under that number before and came
 * after the unit had lost it, that price is the current one.
 */
export async function renumber({ db, rooftopId }: Staging): Promise<void> {
  const others = sql`, is_current = own.is_current and not exists (
    select from core.stock_price_observation as there where there.rooftop_id = own.rooftop_id
      and there.stock_no = renumbered.stock_no and there.price_source = own.price_source and there.is_current)`
  const tables = [
    ['core.stock_unit', sql``],
    ['core.stock_unit_change', sql``],
    ['core.stock_price_observation', others],
  ] as const
  for (const [table, besides] of tables)
    await sql`
      update ${sql.table(table)} as own set stock_no = renumbered.stock_no${besides} from stock_renumbered as renumbered
      where own.rooftop_id = ${rooftopId} and own.stock_no = renumbered.old_stock_no`.execute(db)
}

/** A warning, because a spreadsheet may have removed leading zeros. */
export async function renumberedWarning(
  { db }: Staging,
  count: number,
): Promise<readonly CellIssue[]> {
  if (count === 0) return []
  const { rows } = await sql<{ text: string; is_by_vin: boolean }>`
    select old_stock_no || ' is now ' || stock_no as text, bool_and(is_by_vin) over () as is_by_vin
    from stock_renumbered order by old_stock_no limit ${named}`.execute(db)
  const how = rows[0]!.is_by_vin
    ? 'the VIN'
    : 'the VIN, or the number but for zeros, case and blanks'
  const names = rows.map(({ text }) => text).join(', ') + (count > rows.length ? ', …' : '')
  const hint = `${count} ${count === 1 ? 'vehicle has' : 'vehicles have'} a new stock number and ${count === 1 ? 'keeps its' : 'keep their'} history, by ${how}: ${names}`
  return [{ code: 'RENUMBERED', severity: 'warning', line: null, column: null, text: '', hint }]
}
