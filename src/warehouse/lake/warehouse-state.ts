import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'

/** The warehouse at the snapshot of an export. */
export interface WarehouseState {
  /** A copy of a warehouse, on another server or under another name, is another one. */
  readonly warehouse: string
  readonly martVersion: string
  /** The migrations and the marts that it has. */
  readonly basis: string
  /** What the snapshot sees, as Postgres writes it. */
  readonly snapshot: string
  /** The number of the last erasure; 0: none. */
  readonly lastErasure: number
  readonly snapshotAt: string
  /** How far the data reaches: the earliest of all rooftops of the config that have evaluations; null: none has any. */
  readonly coveredTo: string | null
}

/** SQL for the name of the warehouse. */
export const warehouseName = sql<string>`(select system_identifier from pg_control_system()) || '/' || current_database()`

/** Reads what the table `export` says about the warehouse. */
export async function readWarehouse(db: Db): Promise<WarehouseState> {
  const { rows } = await sql<
    Omit<WarehouseState, 'snapshotAt' | 'coveredTo'> & { snapshotAt: Date; coveredTo: Date | null }
  >`
    select ${warehouseName} as warehouse, pg_current_snapshot()::text as snapshot,
      concat_ws('/', (select max(version) from ops.schema_migration),
        (select checksum from ops.mart_version order by built_at desc limit 1)) as basis,
      coalesce((select version from mart.mart_version where is_current limit 1), 'unknown') as "martVersion",
      (select coalesce(max(erasure_id), 0)::int from pii.erasure) as "lastErasure",
      now() as "snapshotAt",
      (select min(covered_to) from mart.data_freshness
        where stream = 'evaluations' and status <> 'retired') as "coveredTo"`.execute(db)
  const { snapshotAt, coveredTo, ...state } = rows[0]!
  return {
    ...state,
    snapshotAt: snapshotAt.toISOString(),
    coveredTo: coveredTo?.toISOString() ?? null,
  }
}
