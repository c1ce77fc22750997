import { sql } from 'kysely'
import type { JsonPath } from '../../values/json-path.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { FreshRecord } from '../run/slice-outcome.ts'
import type { SliceJob } from '../run/stream.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import type { Reading } from './named-fields.ts'

/** What is read to find out: the newest records of a rooftop, some that the slice has read again, and of each its newest payloads. */
const most = { newest: 120, ofSlice: 100, payloads: 3, bytes: 100_000 }

/**
 * Stores which settings the records of a slice have no field for any more, and forgets those that they have again. A slice whose records
 * have all fields reads no payload, nor does one of webhooks: its records are among the newest of the next night.
 */
export async function recordMovedFields(
  { context, stream, run }: SliceJob<WindowedRecords>,
  fresh: readonly FreshRecord[],
): Promise<void> {
  const { names } = stream
  if (names === undefined) return
  const { db, config } = context
  const wire = config.wire.appraisal
  const settings = names.settings(wire)
  for (const [{ id: rooftopId }, records] of Map.groupBy(fresh, ({ owner }) => owner)) {
    const isFilled = ([, path]: [string, JsonPath]) =>
      records.some(({ drift }) => names.isFilled(drift, path))
    const filled = Object.entries(settings).filter(isFilled)
    await sql`delete from ops.moved_field where rooftop_id = ${rooftopId} and stream = ${stream.name}
      and (setting = any(${filled.map(([setting]) => setting)}::text[]) or configured is distinct from ${JSON.stringify(settings)}::jsonb -> setting)`.execute(
      db,
    )
    const { rows } = await sql<{ setting: string }>`select setting from ops.moved_field
      where rooftop_id = ${rooftopId} and stream = ${stream.name} and cardinality(paths) > 0`.execute(
      db,
    )
    const known = new Set(rows.map(({ setting }) => setting))
    const open = Object.entries(settings).filter((one) => !isFilled(one) && !known.has(one[0]))
    const paths = open.flatMap(([, path]) => path)
    if (run.lane === 'event' || !(await wereSeen(db, stream.name, paths))) continue
    const ids = new Set([
      ...(await names.readNewest(db, rooftopId, most.newest)),
      ...records.slice(-most.ofSlice).map(({ id }) => id),
    ])
    const readings = await readReadings(db, stream, rooftopId, [...ids])
    for (const moved of await names.findMoved(readings, Object.fromEntries(open), wire))
      await sql`
        insert into ops.moved_field (rooftop_id, stream, setting, configured, paths, evidence, records, run_id)
        values (${rooftopId}, ${stream.name}, ${moved.setting}, ${JSON.stringify(settings[moved.setting])}::jsonb,
          ${moved.paths}::text[], ${moved.evidence}, ${moved.records}::bigint[], ${run.runId})
        on conflict (rooftop_id, stream, setting)
        do update set paths = excluded.paths, evidence = excluded.evidence, records = excluded.records, run_id = excluded.run_id`.execute(
        db,
      )
  }
}

/** Whether records of the stream ever had a value at one of these paths. */
async function wereSeen(db: Db, stream: string, paths: readonly string[]): Promise<boolean> {
  if (paths.length === 0) return false
  const known = paths.map((path) => path.replaceAll(/\.0(?=\.|$)/g, '[]'))
  const { rows } = await sql`select from ops.field_drift
    where stream = ${stream} and json_path = any(${known}::text[]) and json_type <> 'null' limit 1`.execute(
    db,
  )
  return rows.length > 0
}

/** Reads the payloads of records, the oldest first. */
async function readReadings(
  db: Db,
  stream: WindowedRecords,
  rooftopId: number,
  ids: readonly number[],
): Promise<Reading[]> {
  const { rows } = await sql<{ key: string; text: string }>`
    select key, body::text as text from unnest(${ids.map(String)}::text[]) as chosen (key) cross join lateral (
      select body, fetched_at from raw.payload
      where rooftop_id = ${rooftopId} and endpoint = ${stream.endpoint} and natural_key = key
      order by fetched_at desc limit ${most.payloads}
    ) as payload
    where octet_length(body::text) < ${most.bytes} order by fetched_at`.execute(db)
  return rows.map(({ key, text }) => ({
    id: Number(key),
    record: stream.findRecord(JSON.parse(text), Number(key)),
  }))
}
