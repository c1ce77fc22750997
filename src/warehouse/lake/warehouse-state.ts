import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import type { Month } from './partitions.ts'
import { type LakeTable, monthly } from './tables.ts'

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
const warehouseName = sql<string>`(select system_identifier from pg_control_system()) || '/' || current_database()`

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

/**
 * Tables whose rows of a month depend only on changes that name that month, and on rows whose change is one of all months.
 * None of their columns changes with the time.
 */
export const byMonth = new Set([
  ...monthly,
  ...['fact_evaluation', 'fact_evaluation_change', 'fact_reconditioning', 'fact_photo'],
  ...['fact_price_observation', 'fact_price_confirmation', 'fact_vehicle_check'],
  ...['fact_watch_status_change', 'evaluation_wide', 'appraisal_accuracy'],
  ...['rpt_01_appraisal_gap', 'rpt_09_ev_battery_health'],
])
/** Of these, the ones with columns about other evaluations, units and checks of the vehicle. */
const byVehicle = ['evaluation_wide', 'rpt_02_look_to_book', 'rpt_14_link_capture_funnel']
/** Tables that stay the same as long as nothing that they read has changed. */
export const byTable = new Set([
  ...['rpt_12_ai_price_accuracy', 'rpt_13_repeat_appraisals'],
  ...['fact_stock_price_observation', 'fact_stock_price_confirmation', 'stock_price_drift'],
])
/** Of both kinds, the ones that change when a price is only confirmed. */
const byConfirmation = new Set([
  ...['fact_price_confirmation', 'fact_stock_price_confirmation', 'appraisal_accuracy'],
])

/** Which months of ops.lake_changes_since are those of a table. */
function listKinds(table: string): readonly string[] {
  if (table === 'dim_vehicle') return ['first seen']
  if (table === 'rpt_11_post_completion_changes') return ['edit']
  return byVehicle.includes(table) ? ['row', 'vehicle'] : ['row']
}

/** The tables of a lake that may have changed in known months only, with these months. All rows of any other table are compared. */
type Changes = ReadonlyMap<string, ReadonlySet<Month>>

/** Lets the warehouse record changes for this lake. Must have ended before the snapshot of an export begins. */
export async function trackChanges(db: Db, lake: string): Promise<void> {
  await sql`
    insert into ops.lake as known (lake, warehouse) select ${lake}, ${warehouseName}
    on conflict (lake) do update set warehouse = excluded.warehouse, tracked_from = null, snapshot = null
    where known.warehouse <> excluded.warehouse`.execute(db)
  // After the commit: a transaction that did not see the row when it wrote has a smaller number.
  await sql`
    update ops.lake set tracked_from = pg_snapshot_xmax(pg_current_snapshot())
    where lake = ${lake} and tracked_from is null`.execute(db)
}

/** A complete export: its token, the migrations and marts of the warehouse, and what it has seen. */
interface Mark {
  readonly token: string
  readonly basis: string
  readonly snapshot: string
}

/** What the export with this token has seen, if every change since is recorded; null: that is not known. */
export async function readSnapshot(
  db: Db,
  lake: string,
  { token, basis }: Omit<Mark, 'snapshot'>,
): Promise<string | null> {
  const { rows } = await sql<{ snapshot: string | null }>`
    select snapshot::text
    from ops.lake where lake = ${lake} and token = ${token} and basis = ${basis}`.execute(db)
  return rows[0]?.snapshot ?? null
}

/** Stores what an export has seen, and deletes the changes that every lake has. */
export async function storeMark(db: Db, lake: string, mark: Mark): Promise<void> {
  await sql`
    update ops.lake set token = ${mark.token}, basis = ${mark.basis}, exported_at = now(),
      snapshot = case when pg_snapshot_xmin(${mark.snapshot}::pg_snapshot) >= tracked_from then ${mark.snapshot}::pg_snapshot end
    where lake = ${lake}`.execute(db)
  await sql`select ops.forget_lake_changes()`.execute(db)
}

/** Which months may have changed since a snapshot. */
export async function readChanges(
  db: Db,
  snapshot: string,
  tables: readonly LakeTable[],
): Promise<Changes> {
  const { rows: marts } = await sql<{ mart: string; sources: string[] }>`
    select mart, array_agg(source) as sources
    from ops.mart_table group by 1 having bool_and(is_recorded)`.execute(db)
  const sources = new Map(marts.map((row) => [row.mart, row.sources]))
  const { rows } = await sql<{ source: string; kind: string; month: string | null }>`
    select source, kind, month from ops.lake_changes_since(${snapshot})`.execute(db)
  const changed = Map.groupBy(rows, ({ source }) => source)
  const found = new Map<string, ReadonlySet<Month>>()
  for (const { name, month } of tables) {
    const read = sources.get(name)
    // It reads a table whose changes are not recorded.
    if (read === undefined) continue
    const changesIn = (ending: string) =>
      read.flatMap((source) => changed.get(`${source}${ending}`) ?? [])
    const changes = [
      ...changesIn(''),
      ...(byConfirmation.has(name) ? changesIn('.last_confirmed_at') : []),
    ]
    if (byTable.has(name) && changes.length === 0) found.set(name, new Set())
    if (!byMonth.has(name) || month === null) continue
    // A row is in the month of its evaluation.
    const all = [...changes, ...(changed.get('core.evaluation') ?? [])]
    const kinds = listKinds(name)
    const months = all.filter((one) => one.month === null || kinds.includes(one.kind))
    if (months.some((one) => one.month === null)) continue
    found.set(name, new Set(months.map((one) => one.month || null)))
  }
  return found
}
