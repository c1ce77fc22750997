import type pg from 'pg'
import type { UnitChange } from './report.ts'

/** Of each kind, at most. */
const shown = 1000

/** The first changes of each kind, in the order of the list; removed units by stock number. */
export async function firstChanges(client: pg.ClientBase): Promise<readonly UnitChange[]> {
  const of = (change: string) => `
    (select line_no, stock_no, change, changes from stock_diff
     where change = '${change}' order by line_no limit ${shown})`
  const { rows } = await client.query<UnitChange>(
    `select stock_no as "stockNo", change, changes
     from (${['added', 'updated', 'reappeared'].map(of).join(' union all ')}
       union all (select null, stock_no, 'removed', '{}' from stock_gone order by stock_no limit ${shown})) as shown
     order by array_position(array['added', 'updated', 'reappeared', 'removed'], change), line_no, stock_no`,
  )
  return rows
}
