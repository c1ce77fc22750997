import type { Tx } from '../db/transaction.ts'
import type { StoredRecord, WindowedRecords } from './windowed-records.ts'
import type { RooftopRow } from '../values/rooftop.ts'

/** Whether another rooftop of the group owns the record and its list still shows it. Such a record is not read here. */
export function isOwnedByOther(entry: StoredRecord | undefined, rooftop: RooftopRow): boolean {
  return entry !== undefined && !entry.gone && entry.rooftopId !== rooftop.id
}

/**
 * Moves records to the rooftop whose list shows them now. Another rooftop of the group owned them before. A record belongs to
 * one rooftop, and keeps its versions and payloads when the source moves it to another.
 */
export async function reassignRooftop(
  tx: Tx,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  records: readonly (StoredRecord | undefined)[],
): Promise<void> {
  const ownedByOther = records.filter(
    (entry) => entry !== undefined && entry.rooftopId !== rooftop.id,
  )
  const byOwner = Map.groupBy(ownedByOther, (entry) => entry!.rooftopId)
  for (const [ownerId, entries] of byOwner) {
    const ids = entries.map((entry) => entry!.id)
    for (const table of [...stream.tables, ...stream.dependentTables]) {
      await tx.client.query(
        `update ${table} set rooftop_id = $1 where rooftop_id = $2 and ${stream.idColumn} = any($3)`,
        [rooftop.id, ownerId, ids],
      )
    }
    const keys = ids.map(String)
    await tx.client.query(
      `update raw.payload set rooftop_id = $1 where rooftop_id = $2 and endpoint = $3 and natural_key = any($4)`,
      [rooftop.id, ownerId, stream.endpoint, keys],
    )
    await tx.client.query(
      'delete from ops.vanished where rooftop_id = $1 and stream = $2 and natural_key = any($3)',
      [ownerId, stream.name, keys],
    )
    await tx.client.query(
      'delete from ops.unlisted_record where rooftop_id = $1 and stream = $2 and record_id = any($3)',
      [ownerId, stream.name, ids],
    )
  }
}
