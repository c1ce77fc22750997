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

/** What is in quarantine now, oldest first; without the payloads, which hold customers. */
export async function listQuarantine(db: Db): Promise<QuarantineEntry[]> {
  const rows = await read(db, 'resolved_at is null')
  return rows.map(
    ({ id, stream, rooftop, naturalKey, issues, attempts, firstSeenAt, lastSeenAt }) => ({
      id,
      stream,
      rooftop,
      naturalKey,
      issues,
      attempts,
      firstSeenAt,
      lastSeenAt,
    }),
  )
}

/** One record with its payload; null when there is none. */
export async function showQuarantine(db: Db, id: number): Promise<QuarantineDetail | null> {
  return (await read(db, 'quarantine_id', id))[0] ?? null
}

async function read(
  db: Db,
  by: 'resolved_at is null' | 'quarantine_id',
  id = 0,
): Promise<QuarantineDetail[]> {
  const condition = by === 'quarantine_id' ? sql`quarantine_id = ${id}` : sql`resolved_at is null`
  const { rows } = await sql<Record<string, unknown>>`
    select quarantine_id, stream, rooftop_uid, natural_key, issues, attempts, first_seen_at, last_seen_at,
      payload, window_from, window_until, run_id, resolved_at
    from ops.quarantine join core.rooftop using (rooftop_id)
    where ${condition} order by quarantine_id`.execute(db)
  const at = (value: unknown) => (value as Date | null)?.toISOString() ?? null
  return rows.map((row) => ({
    id: Number(row['quarantine_id']),
    stream: row['stream'] as string,
    rooftop: row['rooftop_uid'] as string,
    naturalKey: row['natural_key'] as string,
    issues: row['issues'] as Issue[],
    attempts: row['attempts'] as number,
    firstSeenAt: at(row['first_seen_at'])!,
    lastSeenAt: at(row['last_seen_at'])!,
    payload: row['payload'] as string | null,
    windowFrom: at(row['window_from']),
    windowUntil: at(row['window_until']),
    runId: Number(row['run_id']),
    resolvedAt: at(row['resolved_at']),
  }))
}
