import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import type { WindowedRecords } from './windowed-records.ts'
import type { RooftopRow } from '../values/rooftop.ts'

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
