import { sql } from 'kysely'
import type { Config } from '../config/read.ts'
import type { Warehouse } from '../warehouse.ts'
import { type Db, inTransaction } from '../db/transaction.ts'
import type { WindowedRecords } from './windowed-records.ts'
import type { RooftopRow } from '../values/rooftop.ts'

/** A time span with ISO times, as `--json` shows it. */
export interface IsoSpan {
  readonly from: string
  readonly until: string
}

/** A window whose stored records differ from those of its certificate. */
export interface Mismatch {
  readonly from: string
  readonly until: string
  /** false: outside all listed windows, so that no sync lists it. */
  readonly isCertified: boolean
  /** Listed, but not stored in the dealer group, or only outside the windows that list them. */
  readonly missing: readonly number[]
  /** Stored here, but listed by no certificate. */
  readonly unexpected: readonly number[]
}

/** The result of verifying one rooftop and stream. With all lists empty it is complete and consistent. */
export interface Verification {
  readonly rooftop: string
  readonly stream: string
  readonly windows: number
  readonly listed: number
  readonly loaded: number
  readonly quarantined: number
  readonly vanished: number
  /** Wanted, but in no certificate, and no live run works on it. Times that the source's clock has not reached are no gap. */
  readonly gaps: readonly IsoSpan[]
  /** Certificates that overlap. */
  readonly overlaps: readonly IsoSpan[]
  /** Certificates whose counts do not add up, or differ from their listed ids. */
  readonly brokenSums: readonly IsoSpan[]
  /** Covered, but by no settled certificate. */
  readonly uncertified: readonly IsoSpan[]
  /** Windows that the source may have cut off; they cannot be proved. */
  readonly unprovable: readonly IsoSpan[]
  /** Windows whose certificate and tables differ in records or owners. */
  readonly notStored: readonly Mismatch[]
  /** Child rows without their record. */
  readonly orphans: number
}

/** Verifies one snapshot of the warehouse, also during a sync. */
export async function verifyNow(
  { pool }: Pick<Warehouse, 'pool'>,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  sync: Config['sync'],
): Promise<Verification> {
  return await inTransaction(
    pool,
    async (tx) => await verifyStream(tx.db, stream, rooftop, sync, new Date()),
    'repeatable read, read only',
  )
}

/** What listing and reading a window again repairs. */
export function repairableSpans({ overlaps, brokenSums, notStored }: Verification): IsoSpan[] {
  return [...overlaps, ...brokenSums, ...notStored]
}

/** Verifies coverage from the warehouse alone, without a call. It runs several statements, so use a transaction with one snapshot. */
export async function verifyStream(
  db: Db,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  sync: Config['sync'],
  now: Date,
): Promise<Verification> {
  const key = sql`rooftop_id = ${rooftop.id} and stream = ${stream.name}`
  const spans = async (
    query: ReturnType<typeof sql<{ from: Date; until: Date }>>,
  ): Promise<IsoSpan[]> => (await query.execute(db)).rows.map(asSpan)
  const totals = await sql<
    Pick<Verification, 'windows' | 'listed' | 'loaded' | 'quarantined' | 'vanished'>
  >`
    select count(*)::int as windows, coalesce(sum(listed), 0)::int as listed, coalesce(sum(loaded), 0)::int as loaded,
      coalesce(sum(quarantined), 0)::int as quarantined, coalesce(sum(vanished), 0)::int as vanished
    from ops.window_certificate where ${key}`.execute(db)
  const certified = sql`coalesce((select range_agg(tstzrange(window_from, window_until)) from ops.window_certificate where ${key}), '{}')`
  const held = sql`coalesce((select held from core.stream_at_work where ${key}), '{}')`
  // A source whose clock was set back has not reached what an earlier sync wanted.
  const future = sql`coalesce((
    select tstzmultirange(tstzrange(source_started_at, null)) from ops.run_stream join ops.run using (run_id)
    where ${key} and arguments ->> 'mode' in ('sync', 'backfill') order by run_id desc limit 1), '{}')`
  const never = sql`tstzmultirange(tstzrange(${sync.start}::timestamptz, greatest(${now}::timestamptz, ${sync.start}::timestamptz)))`
  return {
    rooftop: rooftop.uid,
    stream: stream.name,
    ...totals.rows[0]!,
    gaps: await spans(sql`
      select lower(gap) as "from", upper(gap) as "until"
      from unnest(coalesce((select wanted from ops.coverage where ${key}), ${never}) - ${certified} - ${held} - ${future}) as gap`),
    overlaps: await spans(sql`
      select next_from as "from", window_until as "until"
      from (
        select window_until, lead(window_from) over (order by window_from) as next_from
        from ops.window_certificate where ${key}
      ) as pair
      where next_from < window_until`),
    brokenSums: await spans(sql`
      select window_from as "from", window_until as "until"
      from ops.window_certificate cross join lateral (
        select count(*) filter (where outcome = 'loaded') as stored, count(*) filter (where outcome = 'vanished') as missing,
          count(*) filter (where outcome in ('outdated', 'quarantined')) as quarantined_ids,
          sha256(coalesce(string_agg(id::text, ',' order by id), '')::bytea) as digest
        from ops.certified_ids as own cross join unnest(ids) as id
        where (own.rooftop_id, own.stream, own.window_from)
          = (window_certificate.rooftop_id, window_certificate.stream, window_certificate.window_from)
      ) as counted
      where ${key} and (listed <> loaded + quarantined + vanished or loaded <> stored
        or quarantined <> quarantined_ids + malformed or vanished <> missing or ids_digest <> digest)
      order by window_from`),
    uncertified: await spans(sql`
      select lower(range) as "from", upper(range) as "until"
      from unnest((select covered from ops.coverage where ${key}) - coalesce((
        select range_agg(tstzrange(window_from, window_until)) from ops.window_certificate where ${key} and settled
      ), '{}')) as range`),
    unprovable: await spans(sql`
      select window_from as "from", window_until as "until" from ops.window_certificate
      where ${key} and proof = 'unprovable'`),
    notStored: await mismatches(db, stream, rooftop),
    orphans: await orphans(db, stream, rooftop),
  }
}

/** Whether the verification found nothing wrong. */
export function isProved(verification: Verification): boolean {
  const { gaps, overlaps, brokenSums, uncertified, unprovable, notStored, orphans } = verification
  return (
    [gaps, overlaps, brokenSums, uncertified, unprovable, notStored].every(
      (spans) => spans.length === 0,
    ) && orphans === 0
  )
}

/** Removes the spans, and all windows that they touch, from the coverage, so that the next sync lists and reads them again. */
export async function uncover(
  db: Db,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  spans: readonly IsoSpan[],
): Promise<void> {
  if (spans.length === 0) return
  const key = sql`rooftop_id = ${rooftop.id} and stream = ${stream.name}`
  await sql`
    with span as (
      select tstzrange("from", until) as range
      from jsonb_to_recordset(${JSON.stringify(spans)}::jsonb) as span ("from" timestamptz, until timestamptz)
      union all
      select touched from ops.window_certificate, tstzrange(window_from, window_until) as touched
      where ${key} and exists (
        select from jsonb_to_recordset(${JSON.stringify(spans)}::jsonb) as span ("from" timestamptz, until timestamptz)
        where touched && tstzrange("from", until))
    )
    update ops.coverage set covered = covered - (select range_agg(range) from span)
    where ${key} and covered && (select range_agg(range) from span)`.execute(db)
}

/**
 * Compares what certificates list with what is stored, record by record.
 *
 * A stored record must be listed, under the rooftop that owns it, in a window that contains its time: by a certificate of that
 * rooftop, or of another in its group whose list covers the group. Records that a webhook or a retry loaded since are in
 * ops.unlisted_record. A listed record must be stored, marked as gone, in quarantine, or recorded as vanished.
 */
async function mismatches(
  db: Db,
  stream: WindowedRecords,
  rooftop: RooftopRow,
): Promise<Mismatch[]> {
  const entity = sql.table(stream.tables[0]!)
  const id = sql.ref(stream.idColumn)
  const { rows } = await sql<{
    from: Date
    until: Date
    isCertified: boolean
    missing: number[]
    unexpected: number[]
  }>`
    with certificate as (
      -- The newest window ends at its listing. That second was not over, so records created in it were listed too.
      select rooftop_id, window_from, window_until,
        window_until + case when listed_at - window_until < interval '1 s' then interval '1 s' else interval '0' end as holds_until
      from ops.window_certificate where stream = ${stream.name}
    ), expected as (
      select window_from, holds_until, id from ops.certified_ids
      join certificate using (rooftop_id, window_from) cross join unnest(ids) as id
      where stream = ${stream.name} and owner_id = ${rooftop.id} and outcome in ('loaded', 'outdated')
      union all
      select entry_at, entry_at + interval '1 microsecond', record_id from ops.unlisted_record
      where stream = ${stream.name} and rooftop_id = ${rooftop.id}
    ), unexpected as (
      select ${id} as id, entry_at from ${entity} as stored
      where rooftop_id = ${rooftop.id} and gone_at is null and not exists (
        select from expected where expected.id = stored.${id} and entry_at >= window_from and entry_at < holds_until
      )
    ), listed as (
      select window_from, outcome, owner.group_id, id from ops.certified_ids
      join core.rooftop as owner on owner.rooftop_id = owner_id cross join unnest(ids) as id
      where certified_ids.rooftop_id = ${rooftop.id} and stream = ${stream.name}
      union all
      select entry_at, 'loaded', owner.group_id, record_id from ops.unlisted_record
      join core.rooftop as owner using (rooftop_id)
      where stream = ${stream.name} and rooftop_id = ${rooftop.id}
    ), missing as (
      select window_from as entry_at, id from listed
      left join ${entity} as stored on stored.group_id = listed.group_id and stored.${id} = id
      where case when outcome in ('loaded', 'outdated') then
        stored.${id} is null or (stored.gone_at is not null and not exists (
          select from ops.vanished as mark
          where mark.rooftop_id = stored.rooftop_id and mark.stream = ${stream.name} and natural_key = id::text))
        or (stored.rooftop_id = ${rooftop.id} and id in (select id from unexpected))
      else
        stored.${id} is null and not exists (
          select from ops.vanished as mark
          where mark.rooftop_id = ${rooftop.id} and mark.stream = ${stream.name} and natural_key = id::text
        ) and not exists (
          select from ops.quarantine as entry
          where entry.rooftop_id = ${rooftop.id} and entry.stream = ${stream.name} and natural_key = id::text
            and resolved_at is null
        )
      end
    ), found as (
      select entry_at, id, true as is_missing from missing union select entry_at, id, false from unexpected
    )
    select coalesce(window_from, date_trunc('second', entry_at)) as "from",
      coalesce(window_until, date_trunc('second', entry_at) + interval '1 s') as "until",
      window_from is not null as "isCertified",
      coalesce(array_agg(distinct id order by id) filter (where is_missing), '{}')::float8[] as missing,
      coalesce(array_agg(distinct id order by id) filter (where not is_missing), '{}')::float8[] as unexpected
    from found
    left join certificate on certificate.rooftop_id = ${rooftop.id} and entry_at >= window_from and entry_at < window_until
    -- Spans that were never listed are reported as gaps already.
    where window_from is not null or not entry_at <@ coalesce((
      select wanted from ops.coverage where rooftop_id = ${rooftop.id} and stream = ${stream.name}), '{}')
    group by 1, 2, 3 order by 1`.execute(db)
  return rows.map(({ from, until, ...records }) => ({
    from: from.toISOString(),
    until: until.toISOString(),
    ...records,
  }))
}

/** Counts child rows without their record, those of other streams too; child tables have no foreign key. */
async function orphans(db: Db, stream: WindowedRecords, rooftop: RooftopRow): Promise<number> {
  const [entity, ...own] = stream.tables
  const children = [...own, ...stream.dependentTables]
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

/** Records stored under two rooftops. This happens when two keys read lists that cover the whole group. */
export async function duplicateIds(db: Db): Promise<{ evalId: number; rooftops: string[] }[]> {
  const { rows } = await sql<{ evalId: number; rooftops: string[] }>`
    select eval_id as "evalId", array_agg(rooftop_uid::text order by rooftop_uid) as rooftops
    from core.evaluation join core.rooftop using (rooftop_id)
    group by eval_id, region, created_at having count(*) > 1
    order by eval_id limit 100`.execute(db)
  return rows
}

function asSpan({ from, until }: { from: Date; until: Date }): IsoSpan {
  return { from: from.toISOString(), until: until.toISOString() }
}
