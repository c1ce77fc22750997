import type pg from 'pg'
import type { Context } from '../context.ts'
import { messageOf } from '../errors.ts'
import type { Counts } from './run-ledger.ts'

const lookEveryMs = 2_000
const lookedAt = new WeakMap<pg.Pool, number>()

/**
 * After a slice that has written: lets the planner know of tables that have grown a great deal. Without it a first load is planned
 * as if the warehouse were empty, until autovacuum comes by. A slice stands whether or not it can be done.
 */
export async function refreshStatistics(
  { pool, log }: Pick<Context, 'pool' | 'log'>,
  { inserted, updated }: Pick<Counts, 'inserted' | 'updated'>,
): Promise<void> {
  const now = performance.now()
  if (inserted + updated === 0 || now - (lookedAt.get(pool) ?? -Infinity) < lookEveryMs) return
  lookedAt.set(pool, now)
  try {
    await pool.query('select ops.refresh_statistics()')
  } catch (error) {
    log.debug(`statistics were not refreshed: ${messageOf(error)}`)
  }
}
