import { sql } from 'kysely'
import type { Config } from '../config.ts'
import type { Db } from '../db/transaction.ts'
import type { WindowedStream } from '../streams/windowed-stream.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import { idsDigest } from './certificate.ts'

export interface Span {
  readonly from: string
  readonly until: string
}

/** What the ledger and the tables say of one rooftop and stream. Every list empty: complete and consistent. */
export interface Verification {
  readonly rooftop: string
  readonly stream: string
  readonly windows: number
  readonly listed: number
  readonly loaded: number
  readonly quarantined: number
  readonly vanished: number
  /** Asked for, but in no certificate, and no living run is at work on it. */
  readonly gaps: readonly Span[]
  /** Certificates that overlap. */
  readonly overlaps: readonly Span[]
  /** listed <> loaded + quarantined + vanished. */
  readonly brokenSums: readonly Span[]
  /** Covered, but by no settled certificate. */
  readonly uncertified: readonly Span[]
  /** Windows that may have been cut by the source and cannot be proved. */
  readonly unprovable: readonly Span[]
  /** Windows whose certificate counts more records than the tables hold, or other ones. */
  readonly notStored: readonly Span[]
  /** Child rows without their record. */
  readonly orphans: number
}

/** Proves coverage from the warehouse alone, with no call. */
export async function verifyStream(
  db: Db,
  stream: WindowedStream,
  rooftop: RooftopRow,
  sync: Config['sync'],
  now: Date,
): Promise<Verification> {
  const key = sql`rooftop_id = ${rooftop.id} and stream = ${stream.name}`
  const spans = async (
    query: ReturnType<typeof sql<{ from: Date; until: Date }>>,
  ): Promise<Span[]> => (await query.execute(db)).rows.map(asSpan)
  const totals = await sql<
    Pick<Verification, 'windows' | 'listed' | 'loaded' | 'quarantined' | 'vanished'>
  >`
    select count(*)::int as windows, coalesce(sum(listed), 0)::int as listed, coalesce(sum(loaded), 0)::int as loaded,
      coalesce(sum(quarantined), 0)::int as quarantined, coalesce(sum(vanished), 0)::int as vanished
    from ops.window_certificate where ${key}`.execute(db)
  const certified = sql`coalesce((select range_agg(tstzrange(window_from, window_until)) from ops.window_certificate where ${key}), '{}')`
  const held = sql`coalesce((select held from core.stream_at_work where ${key}), '{}')`
  const never = sql`tstzmultirange(tstzrange(${sync.start}::timestamptz, greatest(${now}::timestamptz, ${sync.start}::timestamptz)))`
  return {
    rooftop: rooftop.uid,
    stream: stream.name,
    ...totals.rows[0]!,
    gaps: await spans(sql`
      select lower(gap) as "from", upper(gap) as "until"
      from unnest(coalesce((select wanted from ops.coverage where ${key}), ${never}) - ${certified} - ${held}) as gap`),
    overlaps: await spans(sql`
      select next_from as "from", window_until as "until"
      from (
        select window_until, lead(window_from) over (order by window_from) as next_from
        from ops.window_certificate where ${key}
      ) as pair
      where next_from < window_until`),
    brokenSums: await spans(sql`
      select window_from as "from", window_until as "until" from ops.window_certificate
      where ${key} and listed <> loaded + quarantined + vanished`),
    uncertified: await spans(sql`
      select lower(range) as "from", upper(range) as "until"
      from unnest((select covered from ops.coverage where ${key}) - coalesce((
        select range_agg(tstzrange(window_from, window_until)) from ops.window_certificate where ${key} and settled
      ), '{}')) as range`),
    unprovable: await spans(sql`
      select window_from as "from", window_until as "until" from ops.window_certificate
      where ${key} and proof = 'unprovable'`),
    notStored: await notStored(db, stream, rooftop),
    orphans: await orphans(db, stream, rooftop),
  }
}

export function isProved(verification: Verification): boolean {
  const { gaps, overlaps, brokenSums, uncertified, unprovable, notStored, orphans } = verification
  return (
    [gaps, overlaps, brokenSums, uncertified, unprovable, notStored].every(
      (spans) => spans.length === 0,
    ) && orphans === 0
  )
}

/**
 * Compares each certificate with the rows of its window, by the digest of the ids where all were loaded, else by count.
 * A rooftop whose list is not filtered lists its whole group: there the records of the group count.
 */
async function notStored(db: Db, stream: WindowedStream, rooftop: RooftopRow): Promise<Span[]> {
  const certificates = await db
    .selectFrom('ops.window_certificate')
    .select(['window_from', 'window_until', 'listed', 'loaded', 'ids_digest', 'listed_at'])
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .orderBy('window_from')
    .execute()
  const missing: Span[] = []
  for (const certificate of certificates) {
    const { window_from: from, window_until, listed_at: goneAfter } = certificate
    // The newest window ends at its listing, whose second was not over: what was created in it was listed too.
    const isNewest = goneAfter.getTime() - window_until.getTime() < 1000
    const until = isNewest ? new Date(window_until.getTime() + 1000) : window_until
    const holds = async (of: 'rooftop' | 'group') =>
      matches(certificate, await stream.storedWithin(db, rooftop, { from, until, goneAfter, of }))
    // A list that is not filtered, or whose filter the source passes over, shows the records of the whole group.
    if (!(await holds('rooftop')) && !(await holds('group')))
      missing.push(asSpan({ from: certificate.window_from, until: certificate.window_until }))
  }
  return missing
}

function matches(
  certificate: { listed: number; loaded: number; ids_digest: Buffer },
  ids: readonly number[],
): boolean {
  if (certificate.listed !== certificate.loaded || ids.length !== certificate.loaded)
    return ids.length >= certificate.loaded
  return idsDigest(ids).equals(certificate.ids_digest)
}

/** Children have no foreign key; this is the proof that replaces it. */
async function orphans(db: Db, stream: WindowedStream, rooftop: RooftopRow): Promise<number> {
  const [entity, ...children] = stream.tables
  const id = sql.ref(stream.idColumn)
  let count = 0
  for (const table of children) {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from ${sql.table(table)} as child
      where rooftop_id = ${rooftop.id} and not exists (
        select from ${sql.table(entity!)} as parent
        where parent.rooftop_id = child.rooftop_id and parent.${id} = child.${id}
      )`.execute(db)
    count += rows[0]!.count
  }
  return count
}

/** One record under two rooftops: lists that answer for a whole group, read under two keys. */
export async function duplicateIds(db: Db): Promise<{ evalId: number; rooftops: string[] }[]> {
  const { rows } = await sql<{ evalId: number; rooftops: string[] }>`
    select eval_id as "evalId", array_agg(rooftop_uid::text order by rooftop_uid) as rooftops
    from core.evaluation join core.rooftop using (rooftop_id)
    group by eval_id, region, created_at having count(*) > 1
    order by eval_id limit 100`.execute(db)
  return rows
}

function asSpan({ from, until }: { from: Date; until: Date }): Span {
  return { from: from.toISOString(), until: until.toISOString() }
}
