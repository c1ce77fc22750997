import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import type { Window } from '../../values/window.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'
import type { WindowedRecords } from './windowed-records.ts'

/** loaded: in the tables. outdated: in the tables, but its newest version is in quarantine. The others are not in the tables. */
export type RecordOutcome = 'loaded' | 'outdated' | 'quarantined' | 'vanished'

/** Listed records with the same owner and outcome. */
export interface CertifiedIds {
  readonly ownerId: number
  readonly outcome: RecordOutcome
  /** Sorted, each once. */
  readonly ids: readonly number[]
}

/** The outcomes of the records that a window of a rooftop lists. */
interface ListedWindow {
  readonly rooftopId: number
  readonly window: Window
  readonly listed: readonly CertifiedIds[]
}

/** Stores the ids that the certificates of the windows list. Unchanged rows are not written again. */
export async function replaceCertifiedIds(
  { client }: Tx,
  stream: string,
  windows: readonly ListedWindow[],
): Promise<void> {
  if (windows.length === 0) return
  const rows = windows.flatMap(({ rooftopId, window, listed }) =>
    listed.map(({ ownerId, outcome, ids }) => ({
      rooftop_id: rooftopId,
      window_from: fromUnixSeconds(window.from),
      owner_id: ownerId,
      outcome,
      ids,
    })),
  )
  const fresh = `jsonb_to_recordset($1::jsonb)
    as fresh (rooftop_id int, window_from timestamptz, owner_id int, outcome text, ids bigint[])`
  const isSame = `(old.rooftop_id, old.window_from, old.owner_id, old.outcome)
    = (fresh.rooftop_id, fresh.window_from, fresh.owner_id, fresh.outcome) and old.ids = fresh.ids`
  const listed = `unnest($3::int[], $4::timestamptz[], $5::timestamptz[]) as listed (rooftop_id, start, stop)`
  const json = JSON.stringify(rows)
  const rooftopIds = windows.map(({ rooftopId }) => rooftopId)
  const starts = windows.map(({ window }) => fromUnixSeconds(window.from))
  await client.query(
    `delete from ops.certified_ids as old using ${listed}
     where old.rooftop_id = listed.rooftop_id and old.stream = $2 and old.window_from >= start and old.window_from < stop
       and not exists (select from ${fresh} where ${isSame})`,
    [
      ...[json, stream, rooftopIds, starts],
      windows.map(({ window }) => fromUnixSeconds(window.until)),
    ],
  )
  if (rows.length === 0) return
  await client.query(
    `insert into ops.certified_ids (rooftop_id, stream, window_from, owner_id, outcome, ids)
     select rooftop_id, $2::varchar, window_from, owner_id, outcome, ids from ${fresh}
     where not exists (select from ops.certified_ids as old where old.stream = $2::varchar and ${isSame})`,
    [json, stream],
  )
  await client.query(
    `delete from ops.unlisted_record as old
     using ${fresh} join ${listed} on listed.rooftop_id = fresh.rooftop_id and start = fresh.window_from
     where old.stream = $2 and old.rooftop_id = fresh.owner_id and old.record_id = any(fresh.ids)
       and old.entry_at >= start and old.entry_at < stop`,
    [
      ...[json, stream, rooftopIds, starts],
      windows.map(({ window }) => fromUnixSeconds(window.until + (window.open ? 1 : 0))),
    ],
  )
}

/** Records stored rows that no certificate lists yet, so that `verify` expects them. */
export async function expectUnlisted(
  { client }: Tx,
  stream: WindowedRecords,
  ownerId: number,
  ids: readonly number[],
): Promise<void> {
  if (ids.length === 0) return
  await client.query(
    `insert into ops.unlisted_record as old (rooftop_id, stream, record_id, entry_at)
     select rooftop_id, $2::varchar, ${stream.idColumn}, entry_at from ${stream.tables[0]}
     where rooftop_id = $1 and ${stream.idColumn} = any($3)
     on conflict (rooftop_id, stream, record_id) do update set entry_at = excluded.entry_at
     where old.entry_at <> excluded.entry_at`,
    [ownerId, stream.name, ids],
  )
}
