import { type RawBuilder, sql } from 'kysely'
import type { Issue } from '../../values/record.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** An entry as `quarantine list` shows it. */
export interface QuarantineEntry {
  readonly id: number
  readonly stream: string
  readonly rooftop: string
  readonly naturalKey: string
  readonly issues: readonly Issue[]
  readonly attempts: number
  readonly firstSeenAt: string
  readonly lastSeenAt: string
}

/** An entry as `quarantine show` shows it, with its payload. */
export interface QuarantineDetail extends QuarantineEntry {
  /** null: none was received, or it is longer than what was asked for. */
  readonly payload: string | null
  readonly characters: number
  readonly windowFrom: string | null
  readonly windowUntil: string | null
  readonly runId: number
  readonly resolvedAt: string | null
}

/** Which entries; left out: all that are open. */
export interface QuarantineFilter {
  /** Instead of those that are open: those that were closed at this instant or later. */
  readonly resolvedSince?: Date
  readonly stream?: string
  /** By uid. */
  readonly rooftop?: string
  /** Of these alone, by uid. */
  readonly rooftops?: readonly string[]
  /** The id of a cause, see `readCauses`. */
  readonly cause?: string
  readonly ids?: readonly number[]
}

/** A page of a list: `limit` entries that follow the last one of the page before. */
interface QuarantinePage {
  readonly order: 'oldest' | 'newest'
  readonly beyond?: number
  readonly limit: number
}

const columns = sql`
  quarantine_id::float8 as id, stream, rooftop_uid as rooftop, natural_key as "naturalKey", issues, attempts,
  ${isoTime('first_seen_at')} as "firstSeenAt", ${isoTime('last_seen_at')} as "lastSeenAt"`

function isoTime(column: string) {
  return sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

/** The conditions of a filter, on `ops.quarantine join core.rooftop using (rooftop_id)`. */
export function quarantineConditions(filter: QuarantineFilter): RawBuilder<unknown> {
  const { resolvedSince, stream, rooftop, rooftops, cause, ids } = filter
  return sql.join(
    [
      resolvedSince === undefined
        ? sql`resolved_at is null`
        : sql`resolved_at is not null and resolved_at >= ${resolvedSince}`,
      ...(stream === undefined ? [] : [sql`stream = ${stream}`]),
      ...(rooftop === undefined ? [] : [sql`rooftop_uid = ${rooftop}`]),
      ...(rooftops === undefined ? [] : [sql`rooftop_uid = any(${[...rooftops]}::text[])`]),
      ...(cause === undefined ? [] : [sql`cause = ${cause}`]),
      ...(ids === undefined ? [] : [sql`quarantine_id = any(${[...ids]}::bigint[])`]),
    ],
    sql` and `,
  )
}

/** A page of entries; without the payloads, which hold customers. */
export async function listQuarantine(
  db: Db,
  filter: QuarantineFilter,
  { order, beyond, limit }: QuarantinePage,
): Promise<{ readonly entries: readonly QuarantineEntry[]; readonly hasMore: boolean }> {
  const isNewest = order === 'newest'
  const start = beyond ?? (isNewest ? Number.MAX_SAFE_INTEGER : 0)
  const { rows } = await sql<QuarantineEntry>`
    select ${columns} from ops.quarantine join core.rooftop using (rooftop_id)
    where ${quarantineConditions(filter)} and quarantine_id ${isNewest ? sql`<` : sql`>`} ${start}::bigint
    order by quarantine_id ${isNewest ? sql`desc` : sql`asc`} limit ${limit + 1}`.execute(db)
  return { entries: rows.slice(0, limit), hasMore: rows.length > limit }
}

/** Records that do not fit for one reason. */
export interface QuarantineCause {
  readonly cause: string
  readonly path: string
  readonly message: string
  readonly records: number
  /** Those of them that can be read again. */
  readonly retriable: number
  /** The id of the newest. */
  readonly newest: number
  readonly streams: readonly string[]
  readonly rooftops: readonly string[]
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
}

/** Entries that are grouped at most: the newest. */
export const maxGrouped = 10_000

/** What can be read again: of these streams and rooftops (by uid). */
export interface RetriableBy {
  readonly streams: readonly string[]
  readonly rooftops: readonly string[]
}

/** Whether a row can be read again. An item of a list that names no record is read again with the window that lists it. */
export function isRetriable({ streams, rooftops }: RetriableBy): RawBuilder<unknown> {
  return sql`(natural_key not like 'item %' and stream = any(${[...streams]}::text[]) and rooftop_uid = any(${[...rooftops]}::text[]))`
}

/** The causes of what is in quarantine, the most frequent first. */
export async function readCauses(
  db: Db,
  filter: QuarantineFilter,
  by: RetriableBy,
): Promise<{ readonly causes: readonly QuarantineCause[]; readonly isCapped: boolean }> {
  const { rows } = await sql<QuarantineCause & { readonly isCapped: boolean }>`
    with newest as materialized (
      select cause, quarantine_id, stream, rooftop_uid, first_seen_at, last_seen_at, ${isRetriable(by)} as is_retriable
      from ops.quarantine join core.rooftop using (rooftop_id) where ${quarantineConditions(filter)}
      order by quarantine_id desc limit ${maxGrouped + 1}
    ), of_cause as (
      select count(*)::int as records, count(*) filter (where is_retriable)::int as retriable, max(quarantine_id) as newest,
        array_agg(distinct stream::text) as streams, array_agg(distinct rooftop_uid::text) as rooftops,
        min(first_seen_at) as "firstSeenAt", max(last_seen_at) as "lastSeenAt"
      from newest group by cause
    )
    select cause, ops.issue_path(issues) as path, ops.issue_text(issues) as message, of_cause.*,
      (select count(*) from newest) > ${maxGrouped} as "isCapped"
    from of_cause join ops.quarantine on quarantine_id = newest
    order by records desc, "lastSeenAt" desc, cause`.execute(db)
  const causes = rows.map(({ isCapped: _, ...cause }) => cause)
  return { causes, isCapped: rows[0]?.isCapped ?? false }
}

/** One record with its payload, if that is not longer than `mostCharacters`; null when there is none. */
export async function showQuarantine(
  db: Db,
  id: number,
  maxCharacters: number | null = null,
): Promise<QuarantineDetail | null> {
  const { rows } = await sql<QuarantineDetail>`
    select ${columns}, coalesce(length(payload), 0) as characters,
      case when length(payload) <= coalesce(${maxCharacters}::int, length(payload)) then payload end as payload, ${isoTime('window_from')} as "windowFrom", ${isoTime('window_until')} as "windowUntil",
      run_id::float8 as "runId", ${isoTime('resolved_at')} as "resolvedAt"
    from ops.quarantine join core.rooftop using (rooftop_id) where quarantine_id = ${id}`.execute(
    db,
  )
  return rows[0] ?? null
}
