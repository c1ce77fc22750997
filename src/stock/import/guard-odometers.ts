import { sql } from 'kysely'
import { columnName } from '../csv/map/candidates.ts'
import type { Mapping } from '../csv/map/column-mapping.ts'
import { maxKm } from '../csv/map/typing/odometer.ts'
import { assertSure } from './open-list.ts'
import type { Staging } from './stage.ts'

const shown = 5

/**
 * Asks about odometers that hardly a vehicle has: EarlyRefusal unless the user mapped the column in this command, or the warehouse has
 * such a reading of the same vehicle, which a person confirmed before.
 */
export async function guardOdometers(
  { db, tables, rooftopId, importId }: Staging,
  mapping: Mapping,
): Promise<void> {
  const column = mapping.columns.find(({ field }) => field === 'odometer')
  if (column === undefined || column.source === 'override') return
  const { rows } = await sql<{ stock_no: string; reading: string; count: number }>`
    with doubted as (
      select stock_no, odometer_km, extras from ${sql.table(tables.units)}
      where rooftop_id = ${rooftopId} and import_id = ${importId} and odometer_km > ${maxKm}
      union all
      select stage.stock_no, stage.odometer_km, stage.extras from pg_temp.stock_stage as stage
      where not is_rejected and odometer_km > ${maxKm} and not exists (
        select from core.stock_unit as unit
        where unit.rooftop_id = ${rooftopId} and unit.stock_no = stage.stock_no and unit.import_id <> ${importId}
          and unit.odometer_km > ${maxKm})
    )
    select stock_no, concat_ws(' ', extras ->> 'odometer', extras ->> 'odometer_unit') as reading, count(*) over ()::int as count
    from doubted order by odometer_km desc limit ${shown}`.execute(db)
  if (rows.length === 0) return
  const { count } = rows[0]!
  const examples = rows.map(({ stock_no, reading }) => `${stock_no}: ${reading}`).join(', ')
  const message = `${count} ${count === 1 ? 'vehicle has' : 'vehicles have'} an odometer above 1,000,000 km (${examples}). Correct them in the list, or confirm that the readings are right.`
  const maps = [`odometer=${columnName(column, mapping.columns)}`]
  const questions = [{ code: 'ODOMETER_DOUBTED', message, maps } as const]
  assertSure({ ...mapping, status: 'unsure', questions })
}
