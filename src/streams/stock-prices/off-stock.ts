import { sql } from 'kysely'
import { lockSql } from '../../warehouse/db/locks.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** The stock of a rooftop at a time. */
interface StockAt {
  readonly db: Db
  readonly rooftopId: number
  readonly now: Date
}

/** Marks units as off stock once they were missing for the days of grace. The caller has the lock of the rooftop's imports. Returns their
 *  number. */
export async function markOffStock(
  stock: StockAt,
  graceDays: number,
  when = sql`true`,
): Promise<number> {
  const { numAffectedRows } = await sql`
    update core.stock_unit as unit set off_stock_at = ${stock.now}
    where ${isOverdue(stock, graceDays)} and ${when}`.execute(stock.db)
  return Number(numAffectedRows)
}

/** The same, unless an import of the rooftop runs: it does it itself. */
export async function markOffStockIfFree(stock: StockAt, graceDays: number): Promise<number> {
  return await markOffStock(
    stock,
    graceDays,
    sql`(select ${lockSql.try('import', stock.rooftopId)})`,
  )
}

/** Whether the days of grace of `unit` are over. */
export function isOverdue({ rooftopId, now }: Omit<StockAt, 'db'>, graceDays: number) {
  const missingBefore = new Date(now.getTime() - graceDays * 86_400_000)
  return sql`unit.rooftop_id = ${rooftopId} and unit.missing_since <= ${missingBefore} and unit.off_stock_at is null`
}
