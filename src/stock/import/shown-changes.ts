import type pg from 'pg'
import type { UnitChange } from './report.ts'

/** Of each kind, at most. */
const shown = 1000

/** The first changes of each kind, in the order of the list; removed units by stock number. */
export async function firstChanges(client: pg.ClientBase): Promise<readonly UnitChange[]> {
  const first = (from: string, order = 'line_no') =>
    `(select * from (${from}) as one order by ${order} limit ${shown})`
  const known = (change: string) =>
    `select line_no, stock_no, change, changes from stock_diff where change = '${change}'`
  const added = `select line_no, stock_no, 'added', '{}'::jsonb from stock_stage where is_new and not is_rejected`
  const { rows } = await client.query<UnitChange>(
    `select stock_no as "stockNo", change, changes
     from (${[
       first(`${known('added')} union all ${added}`),
       first(known('updated')),
       first(known('reappeared')),
       first(`select null::int, stock_no, 'removed', '{}'::jsonb from stock_gone`, 'stock_no'),
     ].join(' union all ')}) as shown (line_no, stock_no, change, changes)
     order by array_position(array['added', 'updated', 'reappeared', 'removed'], change), line_no, stock_no`,
  )
  return rows
}
