import type pg from 'pg'
import type { ImportRequest } from './request.ts'
import { renumber } from './renumbered.ts'
import type { Staging } from './stage.ts'
import { unitColumns } from './unit-columns.ts'

const content = [...unitColumns.slice(1), 'content_hash']

/** Applies stock_diff and stock_gone to the known units. Other units are not touched; new ones were added before. */
export async function applyDiff(
  client: pg.ClientBase,
  { rooftopId, importId, now }: Staging,
): Promise<void> {
  const values = [rooftopId, importId, now]
  await renumber(client, rooftopId)
  await client.query(
    `update core.stock_unit as unit
     set ${content.map((name) => `${name} = stage.${name}`).join(', ')}, last_seen_at = $3::timestamptz,
       import_id = $2::bigint,
       first_seen_at = case when diff.is_reused then $3::timestamptz else unit.first_seen_at end,
       missing_since = null, off_stock_at = null
     from stock_stage as stage join stock_diff as diff using (line_no)
     where unit.rooftop_id = $1 and unit.stock_no = stage.stock_no`,
    values,
  )
  await client.query(
    `update core.stock_unit as unit set missing_since = $2
     from stock_gone as gone where unit.rooftop_id = $1 and unit.stock_no = gone.stock_no`,
    [rooftopId, now],
  )
  await client.query(
    `update core.stock_unit as unit set off_stock_at = $2
     from stock_left as gone where unit.rooftop_id = $1 and unit.stock_no = gone.stock_no`,
    [rooftopId, now],
  )
  await client.query(
    `insert into core.stock_unit_change (import_id, rooftop_id, stock_no, change, changes)
     select $2::bigint, $1::int, stock_no, change, changes from stock_diff
     union all select $2::bigint, $1::int, stock_no, 'removed', '{}' from stock_gone`,
    [rooftopId, importId],
  )
}

/** Marks units as off stock once they were missing for the days of grace; a dry run only counts them. Returns the number. */
export async function markOffStock(
  client: Pick<pg.ClientBase, 'query'>,
  rooftopId: number,
  graceDays: number,
  { now, dryRun }: Pick<ImportRequest, 'now' | 'dryRun'>,
): Promise<number> {
  const since = new Date(now.getTime() - graceDays * 86_400_000)
  const due = 'rooftop_id = $1 and missing_since <= $2 and off_stock_at is null'
  if (dryRun) {
    const named =
      'select from stock_diff as diff where coalesce(diff.old_stock_no, diff.stock_no) = unit.stock_no'
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from core.stock_unit as unit where ${due} and not exists (${named})`,
      [rooftopId, since],
    )
    return rows[0]!.count
  }
  const { rowCount } = await client.query(
    `update core.stock_unit set off_stock_at = $3 where ${due}`,
    [rooftopId, since, now],
  )
  return rowCount ?? 0
}
