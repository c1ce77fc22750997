import type pg from 'pg'
import type { Context } from '../context.ts'
import { messageOf } from '../errors.ts'
import type { Counts } from './run-ledger.ts'

const intervalMs = 2_000
const refreshedAt = new WeakMap<pg.Pool, number>()

/**
 * Updates the planner statistics of tables that have grown much, after a slice that wrote rows. Otherwise, until autovacuum runs,
 * a first load is planned as if the warehouse were empty. A failure does not affect the slice.
 */
export async function refreshStatistics(
  { pool, log }: Pick<Context, 'pool' | 'log'>,
  { inserted, updated }: Pick<Counts, 'inserted' | 'updated'>,
): Promise<void> {
  const now = performance.now()
  if (inserted + updated === 0 || now - (refreshedAt.get(pool) ?? -Infinity) < intervalMs) return
  refreshedAt.set(pool, now)
  try {
    await pool.query('select ops.refresh_statistics()')
  } catch (error) {
    log.debug(`planner statistics not refreshed: ${messageOf(error)}`)
  }
}
