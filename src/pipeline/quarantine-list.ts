import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import type { Issue } from '../values/record.ts'

/** An open entry as `quarantine list` shows it. */
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
  readonly payload: string | null
  readonly windowFrom: string | null
  readonly windowUntil: string | null
  readonly runId: number
  readonly resolvedAt: string | null
}

const columns = sql`
  quarantine_id::float8 as id, stream, rooftop_uid as rooftop, natural_key as "naturalKey", issues, attempts,
  ${isoTime('first_seen_at')} as "firstSeenAt", ${isoTime('last_seen_at')} as "lastSeenAt"`

function isoTime(column: string) {
  return sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

/** What is in quarantine now, oldest first; without the payloads, which hold customers. */
export async function listQuarantine(db: Db): Promise<QuarantineEntry[]> {
  const { rows } = await sql<QuarantineEntry>`
    select ${columns} from ops.quarantine join core.rooftop using (rooftop_id)
    where resolved_at is null order by quarantine_id`.execute(db)
  return rows
}

/** One record with its payload; null when there is none. */
export async function showQuarantine(db: Db, id: number): Promise<QuarantineDetail | null> {
  const { rows } = await sql<QuarantineDetail>`
    select ${columns}, payload, ${isoTime('window_from')} as "windowFrom", ${isoTime('window_until')} as "windowUntil",
      run_id::float8 as "runId", ${isoTime('resolved_at')} as "resolvedAt"
    from ops.quarantine join core.rooftop using (rooftop_id) where quarantine_id = ${id}`.execute(
    db,
  )
  return rows[0] ?? null
}
