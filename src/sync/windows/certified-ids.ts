import { sql } from 'kysely'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import type { Window } from '../../values/window.ts'
import { prepared, type Tx } from '../../warehouse/db/transaction.ts'
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
  { db }: Pick<Tx, 'db'>,
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
  const fresh = sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
    as fresh (rooftop_id int, window_from timestamptz, owner_id int, outcome text, ids bigint[])`
  const isSame = sql`(old.rooftop_id, old.window_from, old.owner_id, old.outcome)
    = (fresh.rooftop_id, fresh.window_from, fresh.owner_id, fresh.outcome) and old.ids = fresh.ids`
  const spans = (stop: (window: Window) => number) => sql`
    unnest(${windows.map(({ rooftopId }) => rooftopId)}::int[], ${windows.map(({ window }) => fromUnixSeconds(window.from))}::timestamptz[],
      ${windows.map(({ window }) => fromUnixSeconds(stop(window)))}::timestamptz[]) as listed (rooftop_id, start, stop)`
  // "offset 0": else the planner compares every window with every row of the table.
  await prepared(sql`
    delete from ops.certified_ids as old
    using ${spans(({ until }) => until)} cross join lateral (
      select * from ops.certified_ids as known
      where known.rooftop_id = listed.rooftop_id and known.stream = ${stream} and known.window_from >= start and known.window_from < stop offset 0
    ) as found
    where (old.rooftop_id, old.stream, old.window_from, old.owner_id, old.outcome)
      = (found.rooftop_id, found.stream, found.window_from, found.owner_id, found.outcome)
      and not exists (select from ${fresh} where ${isSame})`).execute(db)
  if (rows.length === 0) return
  await prepared(sql`
    insert into ops.certified_ids (rooftop_id, stream, window_from, owner_id, outcome, ids)
    select rooftop_id, ${stream}::varchar, window_from, owner_id, outcome, ids from ${fresh}
    where not exists (select from ops.certified_ids as old where old.stream = ${stream} and ${isSame})`).execute(
    db,
  )
  await prepared(sql`
    delete from ops.unlisted_record as old
    using ${fresh} join ${spans(({ until, open }) => until + (open ? 1 : 0))} on listed.rooftop_id = fresh.rooftop_id and start = fresh.window_from
    where old.stream = ${stream} and old.rooftop_id = fresh.owner_id and old.record_id = any(fresh.ids)
      and old.entry_at >= start and old.entry_at < stop`).execute(db)
}

/** Records stored rows that no certificate lists yet, so that `verify` expects them. */
export async function expectUnlisted(
  { db }: Pick<Tx, 'db'>,
  stream: WindowedRecords,
  ownerId: number,
  ids: readonly number[],
): Promise<void> {
  if (ids.length === 0) return
  const id = sql.ref(stream.idColumn)
  await sql`
    insert into ops.unlisted_record as old (rooftop_id, stream, record_id, entry_at)
    select rooftop_id, ${stream.name}::varchar, ${id}, entry_at from ${sql.table(stream.tables[0]!)}
    where rooftop_id = ${ownerId} and ${id} = any(${[...ids]}::bigint[])
    on conflict (rooftop_id, stream, record_id) do update set entry_at = excluded.entry_at
    where old.entry_at <> excluded.entry_at`.execute(db)
}
