import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import { daySeconds, type Span } from '../../values/window.ts'
import { copyInto } from '../../warehouse/db/copy.ts'
import { type Db, prepared, type Tx } from '../../warehouse/db/transaction.ts'
import { type CertifiedIds, type RecordOutcome, replaceCertifiedIds } from './certified-ids.ts'
import type { DueScope } from './due-windows.ts'
import type { ListLimit, ProvenPart } from './prove.ts'

/** What one listing of a window proved, and the outcomes of its records. */
export interface Certificate {
  readonly part: ProvenPart
  /** Listed records with an outcome, grouped. A record without an outcome is in no group. */
  readonly listed: readonly CertifiedIds[]
  readonly leastEntryAt: Date | null
  readonly greatestEntryAt: Date | null
  /** Known records that were due before this instant have been read again. */
  readonly rereadAt: Date
}

/** An earlier certificate that overlaps a window. */
export interface EarlierCertificate {
  readonly from: number
  readonly until: number
  readonly idsDigest: Buffer
  readonly proof: string
  readonly listedAt: Date
  readonly rereadAt: Date
}

/** A window that cannot be proved, or some of whose listed records have no outcome: an index has these. */
const isFaulty = sql<boolean>`(proof = 'unprovable' or listed <> loaded + quarantined + vanished)`

/** SQL for the start of the first window of a rooftop that is so; null: none is. */
export function firstFaulty(rooftopId: unknown, stream: string) {
  // Not `exists`: Postgres expects that most windows are faulty, and reads all of them to find one, instead of their index.
  return sql<Date | null>`(
    select window_from from ops.window_certificate as faulty
    where faulty.rooftop_id = ${rooftopId} and faulty.stream = ${stream} and ${isFaulty} order by window_from limit 1)`
}

/** sha256 of the sorted ids: equal sets give equal digests. */
export function idsDigest(ids: readonly number[]): Buffer {
  return createHash('sha256')
    .update([...new Set(ids)].sort((a, b) => a - b).join(','))
    .digest()
}

/** Certificates that overlap any of the spans; one query, since a night has dozens of windows per rooftop. */
export async function earlierCertificates(
  db: Db,
  scope: DueScope,
  spans: readonly Span[],
): Promise<EarlierCertificate[]> {
  if (spans.length === 0) return []
  const starts = spans.map(({ from }) => fromUnixSeconds(from))
  const stops = spans.map(({ until }) => fromUnixSeconds(until))
  const { rows } = await prepared(sql<EarlierCertificate>`
    select distinct extract(epoch from window_from)::float8 as "from", extract(epoch from window_until)::float8 as until,
      ids_digest as "idsDigest", proof, listed_at as "listedAt", reread_at as "rereadAt"
    from unnest(${starts}::timestamptz[], ${stops}::timestamptz[]) as span (start, stop)
    cross join ops.certificates_over(${scope.rooftopId}, ${scope.stream}, start, stop)`).execute(db)
  return rows
}

/**
 * Replaces the certificates of the windows of some rooftops and their ids, and updates the coverage. A window is settled, and so
 * covered, only when it was older than the settle margin at its listing, every listed record has an outcome, and it is not
 * unprovable.
 */
export async function certify(
  tx: Tx,
  { stream, run }: Pick<DueScope, 'stream' | 'run'>,
  certified: readonly { rooftopId: number; certificates: readonly Certificate[] }[],
  sync: Pick<Config['sync'], 'settleDays' | 'deepRelistNights'>,
): Promise<void> {
  const all = certified.flatMap(({ rooftopId, certificates }) =>
    certificates.map((certificate) => ({ rooftopId, certificate })),
  )
  const rows = all.map(({ rooftopId, certificate }) =>
    certificateRow({ rooftopId, stream, run }, certificate, sync),
  )
  await prepared(sql`
    with listed as (
      select * from unnest(${rows.map((row) => row.rooftop_id)}::int[], ${rows.map((row) => row.window_from)}::timestamptz[], ${rows.map((row) => row.window_until)}::timestamptz[], ${rows.map((row) => row.settled)}::boolean[])
        as listed (rooftop_id, start, stop, settled)
    ), replaced as (
      delete from ops.window_certificate as old
      using listed cross join ops.certificates_over(listed.rooftop_id, ${stream}, start, stop) as found
      where old.rooftop_id = found.rooftop_id and old.stream = ${stream} and old.window_from = found.window_from
      returning old.rooftop_id, old.window_from, old.window_until
    ), coverage as materialized (
      -- In this order, so that two transactions that lock several rooftops cannot deadlock.
      select rooftop_id, covered, uncertified from ops.coverage
      where stream = ${stream} and rooftop_id in (select rooftop_id from listed) order by rooftop_id for no key update
    ), next as (
      select rooftop_id, covered
        - coalesce((select range_agg(tstzrange(window_from, window_until)) from replaced
            where replaced.rooftop_id = coverage.rooftop_id), '{}')
        - (select range_agg(tstzrange(start, stop)) from listed where listed.rooftop_id = coverage.rooftop_id)
        + coalesce((select range_agg(tstzrange(start, stop)) from listed
            where listed.rooftop_id = coverage.rooftop_id and settled), '{}') as covered,
        uncertified - (select range_agg(tstzrange(start, stop)) from listed where listed.rooftop_id = coverage.rooftop_id) as uncertified
      from coverage
    )
    update ops.coverage as stored set covered = next.covered, uncertified = next.uncertified from next
    where stored.rooftop_id = next.rooftop_id and stored.stream = ${stream}
      and (stored.covered, stored.uncertified) is distinct from (next.covered, next.uncertified)`).execute(
    tx.db,
  )
  await copyInto(tx.client, 'ops.window_certificate', rows)
  await replaceCertifiedIds(
    tx,
    stream,
    all.map(({ rooftopId, certificate: { part, listed } }) => ({
      ...{ rooftopId, listed },
      window: part.window,
    })),
  )
}

/** The row of a certificate. Malformed items count as listed and quarantined, so that the sum is complete. */
function certificateRow(
  scope: DueScope,
  certificate: Certificate,
  { settleDays, deepRelistNights }: Parameters<typeof certify>[3],
) {
  const { window, items, malformed, listedAt, proof } = certificate.part
  const ids = new Set(items.map(({ id }) => id))
  const listed = ids.size + malformed.length
  const count = (...outcomes: readonly RecordOutcome[]) =>
    certificate.listed
      .filter(({ outcome }) => outcomes.includes(outcome))
      .reduce((sum, group) => sum + group.ids.length, 0)
  const loaded = count('loaded')
  const quarantined = count('quarantined', 'outdated') + malformed.length
  const vanished = count('vanished')
  const until = fromUnixSeconds(window.until)
  const margin = settleDays * daySeconds * 1000
  return {
    rooftop_id: scope.rooftopId,
    stream: scope.stream,
    window_from: fromUnixSeconds(window.from),
    window_until: until,
    listed_at: listedAt,
    reread_at: certificate.rereadAt,
    listed,
    loaded,
    quarantined,
    vanished,
    malformed: malformed.length,
    least_entry_at: certificate.leastEntryAt,
    greatest_entry_at: certificate.greatestEntryAt,
    ids_digest: idsDigest([...ids]),
    settled:
      proof !== 'unprovable' &&
      listed === loaded + quarantined + vanished &&
      until.getTime() <= listedAt.getTime() - margin,
    proof,
    run_id: scope.run.runId,
    relist_nights: deepRelistNights,
  }
}

/** Adds a span to what sync and backfills must cover for a stream of some rooftops. */
export async function addWanted(
  db: Db,
  scope: { readonly rooftopIds: readonly number[]; readonly stream: string },
  from: number,
  until: number,
): Promise<void> {
  if (until <= from) return
  const range = sql`tstzmultirange(tstzrange(${fromUnixSeconds(from)}, ${fromUnixSeconds(until)}))`
  await sql`
    insert into ops.coverage as stored (rooftop_id, stream, wanted)
    select rooftop_id, ${scope.stream}, ${range} from unnest(${scope.rooftopIds}::int[]) as rooftop_id order by 1
    on conflict (rooftop_id, stream) do update set wanted = stored.wanted + excluded.wanted
    where not stored.wanted @> excluded.wanted`.execute(db)
}

/** What is known about the list size of the rooftop's source; a cap of null: none was seen. */
export async function readListLimit(db: Db, scope: DueScope): Promise<ListLimit> {
  const row = await db
    .selectFrom('ops.stream_state')
    .select(['largest_answer', 'list_cap'])
    .where('rooftop_id', '=', scope.rooftopId)
    .where('stream', '=', scope.stream)
    .executeTakeFirst()
  return { largest: row?.largest_answer ?? 0, cap: row?.list_cap ?? null }
}

/**
 * Stores what is known of the source's list limit. A new cap removes the coverage of every window that it may have cut off; these
 * windows become gaps and are listed again.
 */
export async function saveListLimit(
  tx: Tx,
  scope: DueScope,
  before: ListLimit,
  after: ListLimit,
): Promise<void> {
  if (before.largest === after.largest && before.cap === after.cap) return
  await sql`
    insert into ops.stream_state (rooftop_id, stream, largest_answer, list_cap)
    values (${scope.rooftopId}, ${scope.stream}, ${after.largest}, ${after.cap}::int)
    on conflict (rooftop_id, stream)
    do update set largest_answer = excluded.largest_answer, list_cap = excluded.list_cap`.execute(
    tx.db,
  )
  if (after.cap === null || after.cap === before.cap) return
  await sql`
    with doubtful as (
      delete from ops.window_certificate
      where rooftop_id = ${scope.rooftopId} and stream = ${scope.stream} and listed >= ${after.cap}::int and proof <> 'unprovable'
      returning window_from, window_until
    ), unlisted as (
      delete from ops.certified_ids using doubtful
      where rooftop_id = ${scope.rooftopId} and stream = ${scope.stream} and certified_ids.window_from = doubtful.window_from
    )
    update ops.coverage set covered = covered - (select range_agg(tstzrange(window_from, window_until)) from doubtful)
    where rooftop_id = ${scope.rooftopId} and stream = ${scope.stream} and exists (select from doubtful)`.execute(
    tx.db,
  )
}
