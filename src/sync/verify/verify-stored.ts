import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'

/** A time span with ISO times, as `--json` shows it. */
export interface IsoSpan {
  readonly from: string
  readonly until: string
}

/** A span of a rooftop. */
export interface SpanRow {
  readonly rooftopId: number
  readonly from: Date
  readonly until: Date
}

/** The span as text. */
export function asSpan({ from, until }: Omit<SpanRow, 'rooftopId'>): IsoSpan {
  return { from: from.toISOString(), until: until.toISOString() }
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

/** Times of a rooftop to which a comparison is limited, as ISO texts or infinite; none overlap. */
export interface Spans {
  readonly froms: readonly string[]
  readonly untils: readonly string[]
}

/** The rows of a table that fit, as a subquery; with `spans` only those in them, each span by index. */
function rowsWithin(
  table: string,
  column: string,
  fits: RawBuilder<unknown>,
  spans: Spans | null,
): RawBuilder<unknown> {
  if (spans === null) return sql`(select * from ${sql.table(table)} where ${fits})`
  const time = sql.ref(column)
  return sql`(
    select within.* from unnest(${[...spans.froms]}::timestamptz[], ${[...spans.untils]}::timestamptz[]) as span (start, stop)
    cross join lateral (
      select * from ${sql.table(table)} where ${fits} and ${time} >= start and ${time} < stop offset 0
    ) as within)`
}

/** The certificates of the spans at the rooftop and its group, whose lists may name its records; without spans all. */
function certificatesWithin(
  { name }: WindowedRecords,
  ids: readonly number[],
  spans: Spans | null,
): RawBuilder<unknown> {
  if (spans === null) return sql`(select * from ops.window_certificate where stream = ${name})`
  // The second after a window may belong to it, see below.
  return sql`(
    select distinct own.* from unnest(${[...spans.froms]}::timestamptz[], ${[...spans.untils]}::timestamptz[]) as span (start, stop)
    cross join core.rooftop as listing
    cross join lateral ops.certificates_over(listing.rooftop_id, ${name}, start - interval '1 s', stop) as own
    where listing.group_id in (select group_id from core.rooftop where rooftop_id = any(${[...ids]}::int[])))`
}

/**
 * Compares what certificates list with what is stored, record by record; with `spans`, of one rooftop, only what is in them.
 *
 * A stored record must be listed, under the rooftop that owns it, in a window that contains its time: by a certificate of that
 * rooftop, or of another in its group whose list covers the group. Records that a webhook or a retry loaded since are in
 * ops.unlisted_record. A listed record must be stored, marked as gone, in quarantine, or recorded as vanished.
 */
export async function mismatches(
  db: Db,
  stream: WindowedRecords,
  ids: readonly number[],
  spans: Spans | null = null,
): Promise<ReadonlyMap<number, readonly Mismatch[]>> {
  const entity = sql.table(stream.tables[0]!)
  const ofRooftops = sql`stream = ${stream.name} and rooftop_id = any(${[...ids]}::int[])`
  const unlisted = rowsWithin('ops.unlisted_record', 'entry_at', ofRooftops, spans)
  const stored = rowsWithin(
    stream.tables[0]!,
    'entry_at',
    sql`rooftop_id = any(${[...ids]}::int[]) and gone_at is null`,
    spans,
  )
  const id = sql.ref(stream.idColumn)
  const rooftopIds = sql`any(${[...ids]}::int[])`
  const { rows } = await sql<
    SpanRow & { isCertified: boolean; missing: number[]; unexpected: number[] }
  >`
    with certificate as (
      -- The newest window ends at its listing. That second was not over, so records created in it were listed too.
      select rooftop_id, window_from, window_until,
        window_until + case when listed_at - window_until < interval '1 s' then interval '1 s' else interval '0' end as holds_until
      from ${certificatesWithin(stream, ids, spans)} as own
    -- Materialized: before the tables have statistics, the planner would calculate it for each record.
    ), expected as materialized (
      select owner_id, window_from, holds_until, id from ops.certified_ids
      join certificate using (rooftop_id, window_from) cross join unnest(ids) as id
      where stream = ${stream.name} and owner_id = ${rooftopIds} and outcome in ('loaded', 'outdated')
      union all
      select rooftop_id, entry_at, entry_at + interval '1 microsecond', record_id from ${unlisted} as waiting
    ), unexpected as (
      select rooftop_id, ${id} as id, entry_at from ${stored} as stored
      where not exists (
        select from expected
        where owner_id = stored.rooftop_id and expected.id = stored.${id} and entry_at >= window_from and entry_at < holds_until
      )
    ), listed as (
      select own.rooftop_id, window_from, outcome, owner.group_id, id from ${rowsWithin('ops.certified_ids', 'window_from', ofRooftops, spans)} as own
      join core.rooftop as owner on owner.rooftop_id = owner_id cross join unnest(ids) as id
      union all
      select rooftop_id, entry_at, 'loaded', owner.group_id, record_id from ${unlisted} as waiting
      join core.rooftop as owner using (rooftop_id)
    ), missing as (
      select listed.rooftop_id, window_from as entry_at, id from listed
      -- By index for each record, whose number the planner cannot know: otherwise it would read the whole table for each part of the rooftops.
      left join lateral (
        select rooftop_id, ${id}, gone_at from ${entity} as own where own.group_id = listed.group_id and own.${id} = listed.id offset 0
      ) as stored on true
      where case when outcome in ('loaded', 'outdated') then
        stored.${id} is null or (stored.gone_at is not null and not exists (
          select from ops.vanished as mark
          where mark.rooftop_id = stored.rooftop_id and mark.stream = ${stream.name} and natural_key = id::text))
        or (stored.rooftop_id = listed.rooftop_id and (listed.rooftop_id, id) in (select rooftop_id, id from unexpected))
      else
        stored.${id} is null and not exists (
          select from ops.vanished as mark
          where mark.rooftop_id = listed.rooftop_id and mark.stream = ${stream.name} and natural_key = id::text
        ) and not exists (
          select from ops.quarantine as entry
          where entry.rooftop_id = listed.rooftop_id and entry.stream = ${stream.name} and natural_key = id::text
            and resolved_at is null
        )
      end
    ), found as (
      select rooftop_id, entry_at, id, true as is_missing from missing
      union
      select rooftop_id, entry_at, id, false from unexpected
    )
    select found.rooftop_id as "rooftopId", coalesce(window_from, date_trunc('second', entry_at)) as "from",
      coalesce(window_until, date_trunc('second', entry_at) + interval '1 s') as "until",
      window_from is not null as "isCertified",
      coalesce(array_agg(distinct id order by id) filter (where is_missing), '{}')::float8[] as missing,
      coalesce(array_agg(distinct id order by id) filter (where not is_missing), '{}')::float8[] as unexpected
    from found
    left join certificate on certificate.rooftop_id = found.rooftop_id and entry_at >= window_from and entry_at < window_until
    -- Spans that were never listed are reported as gaps already.
    where window_from is not null or not entry_at <@ coalesce((
      select wanted from ops.coverage where coverage.rooftop_id = found.rooftop_id and stream = ${stream.name}), '{}')
    group by 1, 2, 3, 4 order by 1, 2`.execute(db)
  const found = rows.map(({ rooftopId, from, until, ...records }) => ({
    rooftopId,
    mismatch: { ...asSpan({ from, until }), ...records },
  }))
  const byRooftop = Map.groupBy(found, ({ rooftopId }) => rooftopId)
  return new Map([...byRooftop].map(([key, all]) => [key, all.map(({ mismatch }) => mismatch)]))
}

/** Windows whose certificate has other counts than its ids; with `spans`, those that begin in them. */
export async function brokenSums(
  db: Db,
  { name }: WindowedRecords,
  ids: readonly number[],
  spans: Spans | null = null,
): Promise<SpanRow[]> {
  const { froms, untils } = spans ?? { froms: ['-infinity'], untils: ['infinity'] }
  const { rows } = await sql<SpanRow>`
    select rooftop_id as "rooftopId", window_from as "from", window_until as "until"
    from unnest(${[...froms]}::timestamptz[], ${[...untils]}::timestamptz[]) as span (start, stop)
    join ops.window_certificate as listing on window_from >= start and window_from < stop cross join lateral (
      select count(*) filter (where outcome = 'loaded') as stored, count(*) filter (where outcome = 'vanished') as missing,
        count(*) filter (where outcome in ('outdated', 'quarantined')) as quarantined_ids,
        sha256(coalesce(string_agg(id::text, ',' order by id), '')::bytea) as digest
      from ops.certified_ids as own cross join unnest(ids) as id
      where (own.rooftop_id, own.stream, own.window_from) = (listing.rooftop_id, listing.stream, listing.window_from)
    ) as counted
    where rooftop_id = any(${[...ids]}::int[]) and stream = ${name} and (listed <> loaded + quarantined + vanished or loaded <> stored
      or quarantined <> quarantined_ids + malformed or vanished <> missing or ids_digest <> digest)
    order by window_from`.execute(db)
  return rows
}

/** A record that is not stored, though child rows of it are. */
export interface Orphan {
  readonly record: string
  readonly rows: number
  readonly tables: readonly string[]
}

/** Child rows without their record, those of other streams too, by rooftop; child tables have no foreign key. `records`: only of these. */
export async function orphans(
  db: Db,
  stream: WindowedRecords,
  ids: readonly number[],
  records: readonly string[] | null = null,
): Promise<ReadonlyMap<number, readonly Orphan[]>> {
  const [entity, ...others] = stream.tables
  const id = sql.ref(stream.idColumn)
  // Those of a slice that are stored are left out first: nearly all.
  const isWanted = records === null ? sql`true` : sql`${id} in (select id from missing)`
  const ofTables = [...others, ...stream.dependentTables].map(
    (table) => sql`
      select rooftop_id, ${id} as id, ${table}::text as name from ${sql.table(table)} as child
      where rooftop_id = any(${[...ids]}::int[]) and ${isWanted} and not exists (
        select from ${sql.table(entity!)} as parent
        where parent.rooftop_id = child.rooftop_id and parent.${id} = child.${id}
      )`,
  )
  const { rows } = await sql<Orphan & { rooftopId: number }>`
    with missing as materialized (
      select id from unnest(${[...(records ?? [])]}::bigint[]) as id where not exists (
        select from ${sql.table(entity!)} as parent where rooftop_id = any(${[...ids]}::int[]) and parent.${id} = id)
    )
    select rooftop_id as "rooftopId", id::text as record, count(*)::int as rows, array_agg(distinct name order by name) as tables
    from (${sql.join(ofTables, sql` union all `)}) as child group by rooftop_id, id order by rooftop_id, id`.execute(
    db,
  )
  return Map.groupBy(rows, ({ rooftopId }) => rooftopId)
}
