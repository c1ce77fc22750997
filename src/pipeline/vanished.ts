import { sql } from 'kysely'
import type { Db, Tx } from '../db/transaction.ts'
import type { WindowedRecords } from './windowed-records.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import { markGone } from './stored-records.ts'

/** Records that vanished for the same reason. */
export interface VanishedGroup {
  readonly reason: 'not found' | 'not listed'
  readonly ids: readonly number[]
  /** Source time. */
  readonly at: Date
}

/** Marks records that the source no longer answers for or lists: a mark, never a delete. */
export async function markVanished(
  tx: Tx,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  runId: number,
  groups: readonly VanishedGroup[],
): Promise<void> {
  for (const { reason, ids, at } of groups) {
    if (ids.length === 0) continue
    await markGone(tx.db, stream, rooftop, ids, at)
    await sql`
      insert into ops.vanished (rooftop_id, stream, natural_key, reason, vanished_at, run_id)
      select ${rooftop.id}, ${stream.name}, id, ${reason}, ${at}, ${runId} from unnest(${ids.map(String)}::text[]) as id
      on conflict do nothing`.execute(tx.db)
  }
}

/** Those of the keys that the source no longer answers for. */
export async function vanishedKeys(
  db: Db,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  naturalKeys: readonly string[],
): Promise<Set<string>> {
  if (naturalKeys.length === 0) return new Set()
  const rows = await db
    .selectFrom('ops.vanished')
    .select('natural_key')
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .where('natural_key', '=', sql<string>`any(${[...naturalKeys]}::text[])`)
    .execute()
  return new Set(rows.map((row) => row.natural_key))
}

/** Removes the mark from records that are back. */
export async function clearVanished(
  tx: Tx,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  ids: readonly number[],
): Promise<void> {
  if (ids.length === 0) return
  await tx.client.query(
    'delete from ops.vanished where rooftop_id = $1 and stream = $2 and natural_key = any($3)',
    [rooftop.id, stream.name, ids.map(String)],
  )
}
