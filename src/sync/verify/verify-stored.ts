import { sql } from 'kysely'
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

/**
 * Compares what certificates list with what is stored, record by record.
 *
 * A stored record must be listed, under the rooftop that owns it, in a window that contains its time: by a certificate of that
 * rooftop, or of another in its group whose list covers the group. Records that a webhook or a retry loaded since are in
 * ops.unlisted_record. A listed record must be stored, marked as gone, in quarantine, or recorded as vanished.
 */
export async function mismatches(
  db: Db,
  stream: WindowedRecords,
  ids: readonly number[],
): Promise<ReadonlyMap<number, readonly Mismatch[]>> {
  const entity = sql.table(stream.tables[0]!)
  const id = sql.ref(stream.idColumn)
  const rooftopIds = sql`any(${[...ids]}::int[])`
  const { rows } = await sql<
    SpanRow & { isCertified: boolean; missing: number[]; unexpected: number[] }
  >`
    with certificate as (
      -- The newest window ends at its listing. That second was not over, so records created in it were listed too.
      select rooftop_id, window_from, window_until,
        window_until + case when listed_at - window_until < interval '1 s' then interval '1 s' else interval '0' end as holds_until
      from ops.window_certificate where stream = ${stream.name}
    -- Materialized: before the tables have statistics, the planner would calculate it for each record.
    ), expected as materialized (
      select owner_id, window_from, holds_until, id from ops.certified_ids
      join certificate using (rooftop_id, window_from) cross join unnest(ids) as id
      where stream = ${stream.name} and owner_id = ${rooftopIds} and outcome in ('loaded', 'outdated')
      union all
      select rooftop_id, entry_at, entry_at + interval '1 microsecond', record_id from ops.unlisted_record
      where stream = ${stream.name} and rooftop_id = ${rooftopIds}
    ), unexpected as (
      select rooftop_id, ${id} as id, entry_at from ${entity} as stored
      where rooftop_id = ${rooftopIds} and gone_at is null and not exists (
        select from expected
        where owner_id = stored.rooftop_id and expected.id = stored.${id} and entry_at >= window_from and entry_at < holds_until
      )
    ), listed as (
      select certified_ids.rooftop_id, window_from, outcome, owner.group_id, id from ops.certified_ids
      join core.rooftop as owner on owner.rooftop_id = owner_id cross join unnest(ids) as id
      where certified_ids.rooftop_id = ${rooftopIds} and stream = ${stream.name}
      union all
      select rooftop_id, entry_at, 'loaded', owner.group_id, record_id from ops.unlisted_record
      join core.rooftop as owner using (rooftop_id)
      where stream = ${stream.name} and rooftop_id = ${rooftopIds}
    ), missing as (
      select listed.rooftop_id, window_from as entry_at, id from listed
      left join ${entity} as stored on stored.group_id = listed.group_id and stored.${id} = id
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

/** Counts child rows without their record, those of other streams too, by rooftop; child tables have no foreign key. */
export async function orphans(
  db: Db,
  stream: WindowedRecords,
  ids: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const [entity, ...others] = stream.tables
  const id = sql.ref(stream.idColumn)
  const ofTables = [...others, ...stream.dependentTables].map(
    (table) => sql`
      select rooftop_id from ${sql.table(table)} as child
      where rooftop_id = any(${[...ids]}::int[]) and not exists (
        select from ${sql.table(entity!)} as parent
        where parent.rooftop_id = child.rooftop_id and parent.${id} = child.${id}
      )`,
  )
  const { rows } = await sql<{ rooftopId: number; count: number }>`
    select rooftop_id as "rooftopId", count(*)::int as count
    from (${sql.join(ofTables, sql` union all `)}) as child group by 1`.execute(db)
  return new Map(rows.map(({ rooftopId, count }) => [rooftopId, count]))
}
