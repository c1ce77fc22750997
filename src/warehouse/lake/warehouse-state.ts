import type pg from 'pg'
import type { Manifest } from './manifest.ts'

/** What the manifest has about the warehouse of the snapshot. */
export async function readWarehouse(
  client: pg.ClientBase,
): Promise<Pick<Manifest, 'warehouse' | 'martVersion' | 'lastErasure'>> {
  // A copy of the warehouse, on another server or under another name, is another warehouse.
  const { rows } = await client.query(
    `select (select system_identifier from pg_control_system()) || '/' || current_database() as warehouse,
       coalesce((select version from mart.mart_version where is_current limit 1), 'unknown') as "martVersion",
       (select coalesce(max(erasure_id), 0)::int from pii.erasure) as "lastErasure"`,
  )
  return rows[0]!
}

/** How far the data of the snapshot reaches. `coveredTo`: the earliest of all rooftops of the config that have evaluations. Others, e.g. one that the service
 *  refuses, are null in `rooftops`. null: none has any. */
export async function readCoverage(
  client: pg.ClientBase,
): Promise<Pick<Manifest, 'coveredTo' | 'rooftops'>> {
  const { rows } = await client.query<{
    uid: string
    stream: string
    status: string
    coveredTo: Date | null
  }>(
    `select rooftop_uid as uid, stream, status, covered_to as "coveredTo"
     from mart.data_freshness join mart.dim_rooftop using (rooftop_id) order by 1, 2`,
  )
  const rooftops: Record<string, Record<string, string | null>> = {}
  for (const { uid, stream, coveredTo } of rows)
    rooftops[uid] = { ...rooftops[uid], [stream]: coveredTo?.toISOString() ?? null }
  const listed = rows.flatMap(({ stream, status, coveredTo }) =>
    stream === 'evaluations' && status !== 'retired' && coveredTo !== null ? [coveredTo] : [],
  )
  const coveredTo = listed.map((at) => at.toISOString()).toSorted()[0] ?? null
  return { coveredTo, rooftops }
}
