import { sql } from 'kysely'
import type { RooftopConfig } from '../../app/config/read.ts'
import type { CellIssue } from '../csv/map/typing/typed-row.ts'
import type { Staging } from './stage.ts'

/** How many stock numbers a warning names. */
const named = 5

interface Found {
  /** `name (uid)` of the rooftop. */
  readonly name: string
  /** Vehicles that have the same VIN. */
  readonly byVin: number
  /** Also those with the same stock number where one of the two lists has no VIN. */
  readonly all: number
  readonly first: readonly string[]
}

/**
 * Warnings for new vehicles of the list that are in stock at another rooftop of the config. They have moved,
 * or it is the list of that rooftop; the removal guard does not notice this if few vehicles would leave.
 */
export async function otherRooftopWarnings(
  { db, tables, rooftopId, importId }: Staging,
  rooftops: readonly RooftopConfig[],
  rooftop: RooftopConfig,
  accepted: number,
): Promise<readonly CellIssue[]> {
  const others = rooftops.map(({ uid }) => uid).filter((uid) => uid !== rooftop.uid)
  if (others.length === 0) return []
  const { rows } = await sql<{ rooftop_id: number; name: string }>`
    select rooftop_id, format('%s (%s)', rooftop_name, rooftop_uid) as name from core.rooftop as rooftop
    where rooftop_uid = any (${others}::text[])
      and exists (select from core.stock_unit as unit where unit.rooftop_id = rooftop.rooftop_id offset 0)
    order by rooftop_name, rooftop_id`.execute(db)
  if (rows.length === 0) return []
  await sql`
    create temp table stock_arrived (stock_no varchar(80), vin varchar(40)) on commit drop`.execute(
    db,
  )
  const { numAffectedRows } = await arrivedQuery(tables.units, rooftopId, importId).execute(db)
  if (numAffectedRows === 0n) return []
  const warnings: CellIssue[] = []
  for (const { rooftop_id, name } of rows) {
    const { rows: found } = await foundQuery(rooftop_id).execute(db)
    const warning = otherRooftopWarning({ ...found[0]!, name }, accepted)
    if (warning) warnings.push(warning)
  }
  return warnings
}

const arrivedQuery = (units: string, rooftopId: number, importId: number) => sql`
insert into stock_arrived
select stock_no, vin from ${sql.table(units)} where rooftop_id = ${rooftopId} and import_id = ${importId}
union all select stage.stock_no, stage.vin from stock_diff as diff join stock_stage as stage using (line_no)
where diff.change <> 'updated' and not stage.is_rejected`

// Two rooftops may use the same stock number, so it counts only if a VIN is missing.
const foundQuery = (rooftopId: number) => sql<Omit<Found, 'name'>>`
with arrived as (
  select stock_no, vin from stock_arrived
), other as (
  select stock_no, vin from core.stock_unit
  where rooftop_id = ${rooftopId} and missing_since is null and off_stock_at is null
), found as (
  select arrived.stock_no, true as is_vin from arrived where vin in (select vin from other)
  union all select arrived.stock_no, false from arrived join other using (stock_no)
  where arrived.vin is null or other.vin is null
)
select count(*) filter (where is_vin)::int as "byVin", count(distinct stock_no)::int as all,
  (select coalesce(array_agg(stock_no), '{}') from (select distinct stock_no from found order by stock_no limit ${named}) as few) as first
from found`

function otherRooftopWarning(
  { name, byVin, all, first }: Found,
  accepted: number,
): CellIssue | null {
  const isMost = all > 5 && all > accepted / 2
  const count = isMost ? all : byVin
  if (count === 0) return null
  const names = first.join(', ') + (count > first.length ? ', …' : '')
  const question = isMost ? `is it the list of that rooftop? First of them: ${names}` : names
  const hint = `${count} of the ${accepted} vehicles are in stock at ${name}: ${question}`
  const code = 'in-stock-elsewhere'
  const advice = 'if so, import the right list with --allow-mass-removal'
  return {
    code,
    severity: 'warning',
    line: null,
    column: null,
    text: '',
    hint,
    ...(isMost && { advice }),
  }
}
