import { sql } from 'kysely'
import type { RowCounts, UnitCounts } from './request.ts'
import type { Staging } from './stage.ts'

/** The stored rows by status. Each count is counted by itself, never from the others, so that a lost row is found. */
export async function countRows(
  { db, tables, importId }: Staging,
  records: number,
): Promise<RowCounts> {
  const { rows } = await sql<Omit<RowCounts, 'records'>>`
    select ${sql.join(
      ['accepted', 'rejected', 'collapsed', 'skipped'].map(
        (status) => sql`count(*) filter (where status = ${status})::int as ${sql.ref(status)}`,
      ),
    )}
    from ${sql.table(tables.rows)} where import_id = ${importId}`.execute(db)
  return { records, ...rows[0]! }
}

/** The units that the import has written, with their changes. A stock number that now belongs to another vehicle counts as
 *  removed, too. */
export async function countWritten({
  db,
  rooftopId,
  importId,
}: Staging): Promise<Omit<UnitCounts, 'unchanged'>> {
  const count = (change: string) => sql`count(*) filter (where change = ${change})::int`
  const { rows } = await sql<Omit<UnitCounts, 'unchanged'>>`
    select ${count('added')} as added, ${count('updated')} as updated, ${count('reappeared')} as reappeared,
      ${count('removed')} + count(*) filter (where is_reused and was_on_hand)::int as removed
    from core.stock_unit_change as written join core.stock_unit as unit using (rooftop_id, stock_no)
    left join stock_diff as diff using (stock_no, change)
    where rooftop_id = ${rooftopId} and written.import_id = ${importId} and case change
      when 'removed' then coalesce(unit.missing_since, unit.off_stock_at) is not null
      else unit.import_id = ${importId} end`.execute(db)
  return rows[0]!
}

/** Throws, which undoes the import, if a row has no outcome or a change of the list was not written. */
export function assertNothingLost(
  { records, accepted, rejected, collapsed, skipped }: RowCounts,
  { added, updated, unchanged, reappeared, removed }: UnitCounts,
  plannedRemovals: number,
): void {
  const sums = [
    ['records of the file', records, accepted + rejected + collapsed + skipped],
    ['accepted rows', accepted, added + updated + unchanged + reappeared],
    ['removed units', plannedRemovals, removed],
  ] as const
  const wrong = sums.filter(([, expected, found]) => expected !== found)
  if (wrong.length === 0) return
  const texts = wrong.map(([what, expected, found]) => `${expected} ${what}, ${found} stored`)
  throw new Error(
    `The import lost data (${texts.join('; ')}): nothing was imported. This is a fault of Forecourt or of the warehouse; please report it.`,
  )
}
