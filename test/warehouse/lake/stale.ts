import { isDeepStrictEqual } from 'node:util'
import type pg from 'pg'
import { inTransaction } from '#src/warehouse/db/transaction.ts'
import { readLakeState } from '#src/warehouse/lake/lake-state.ts'
import { type Digests, filePart, readAllDigests } from '#src/warehouse/lake/partitions.ts'
import { readLakeTables } from '#src/warehouse/lake/tables.ts'
import { byMonth, byTable, readWarehouse } from '#src/warehouse/lake/warehouse-state.ts'
import { FolderStore } from '#src/warehouse/store/folder-store.ts'

/** Of these an export compares only what may have changed. */
export const restingTables: ReadonlySet<string> = new Set([...byMonth, ...byTable])

/** What the marts have now, by table and month. */
export async function restingDigests(pool: pg.Pool): Promise<ReadonlyMap<string, Digests>> {
  return await inTransaction(
    pool,
    async (tx) => {
      const { martVersion } = await readWarehouse(tx.db)
      const tables = (await readLakeTables(tx.db)).filter(({ name }) => restingTables.has(name))
      const wanted = tables.map((table) => ({ table, months: null }))
      return await readAllDigests({ pool, ...tx }, wanted, martVersion)
    },
    'repeatable read, read only',
  )
}

/** Those that have a month with other rows in the marts than in the lake. */
export async function staleTables(
  lake: string,
  marts: ReadonlyMap<string, Digests>,
): Promise<readonly string[]> {
  const { logs } = await readLakeState(new FolderStore(lake))
  return [...marts.keys()].sort().filter((name) => {
    const files = [...logs.get(name)!.files.values()].map(filePart)
    const stored = new Map(files.map(({ month, digest }) => [month, digest]))
    return !isDeepStrictEqual(stored, new Map(marts.get(name)))
  })
}

/** Exports until the warehouse knows all changes since: a transaction of any database of the server that is open during the first one prevents it. */
export async function exportUntilKnown(
  pool: pg.Pool,
  exported: () => Promise<unknown>,
): Promise<void> {
  for (;;) {
    await exported()
    const { rows } = await pool.query('select from ops.lake where snapshot is null')
    if (rows.length === 0) return
  }
}
