import type pg from 'pg'
import type { AddedUnit } from './row-batch.ts'
import { shownChanges, type UnitChange } from './import-report.ts'
import type { Staging } from './stage.ts'

/** The first changes of each kind, in the order of the list; removed units by stock number. */
export async function firstChanges(
  client: pg.ClientBase,
  added: readonly AddedUnit[],
): Promise<readonly UnitChange[]> {
  const first = (from: string, order = 'line_no') =>
    `(select * from (${from}) as one order by ${order} limit ${shownChanges})`
  const known = (change: string) =>
    `select line_no, stock_no, change, changes from stock_diff where change = '${change}'`
  const { rows } = await client.query<UnitChange>(
    `select stock_no as "stockNo", change, changes
     from (${[
       first(
         `${known('added')} union all select *, 'added', '{}'::jsonb from unnest($1::int[], $2::text[]) as unit (line_no, stock_no)`,
       ),
       first(known('updated')),
       first(known('reappeared')),
       first(`select null::int, stock_no, 'removed', '{}'::jsonb from stock_gone`, 'stock_no'),
     ].join(' union all ')}) as shown (line_no, stock_no, change, changes)
     order by array_position(array['added', 'updated', 'reappeared', 'removed'], change), line_no, stock_no`,
    [added.map(({ line }) => line), added.map(({ stockNo }) => stockNo)],
  )
  return rows
}

/** The first added units, after some were deleted again. */
export async function firstAddedUnits(
  client: pg.ClientBase,
  { tables, rooftopId, importId }: Staging,
): Promise<readonly AddedUnit[]> {
  const { rows } = await client.query<AddedUnit>(
    `select stored.line_no as line, unit.stock_no as "stockNo"
     from ${tables.units} as unit join ${tables.rows} as stored using (import_id, stock_no)
     where unit.rooftop_id = $1 and unit.import_id = $2 and stored.status = 'accepted'
     order by stored.line_no limit ${shownChanges}`,
    [rooftopId, importId],
  )
  return rows
}
