import { sql } from 'kysely'
import { contentHash } from '../../values/content-hash.ts'
import type { Issue } from '../../values/record.ts'
import { storable } from '../../values/text.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import type { Window } from '../../values/window.ts'
import type { Db, Tx } from '../../warehouse/db/transaction.ts'
import { screenRejected } from './privacy-gate.ts'
import { truncatedPayload } from './record-fault.ts'

/** A record that cannot be loaded. */
interface RejectedRecord {
  readonly naturalKey: string
  readonly issues: readonly Issue[]
  /** As received, as far as Postgres can store it. */
  readonly payload: string
  /** The window that listed it. */
  readonly window: Omit<Window, 'open'> | null
}

/** The stream of a rooftop, and the run that writes. */
export interface QuarantineScope {
  readonly stream: string
  readonly rooftopId: number
  readonly runId: number
}

/** Issues that are stored per record; more add no information. */
const maxIssues = 100

/** Truncates both: a path may contain a name that the source chose. */
function storableIssue({ path, message }: Issue): Issue {
  return { path: storable(path.slice(0, 300)), message: storable(message.slice(0, 1000)) }
}

/** Quarantines records with their payload and issues; a record that is there already counts another attempt. Erased customers
 *  must have been removed from records of evaluations. */
export async function quarantineRecords(
  tx: Tx,
  scope: QuarantineScope,
  rejected: readonly RejectedRecord[],
): Promise<void> {
  const truncated = rejected.map((raw) => ({ ...raw, payload: truncatedPayload(raw.payload) }))
  for (const record of await screenRejected(tx, truncated)) {
    const issues = JSON.stringify(record.issues.slice(0, maxIssues).map(storableIssue))
    await sql`
      insert into ops.quarantine as open
        (stream, rooftop_id, natural_key, issues, payload, window_from, window_until, run_id)
      values (${scope.stream}, ${scope.rooftopId}, ${record.naturalKey.slice(0, 80)}, ${issues}::jsonb,
        ${storable(record.payload)}, ${record.window && fromUnixSeconds(record.window.from)}, ${record.window && fromUnixSeconds(record.window.until)}, ${scope.runId})
      on conflict (rooftop_id, stream, natural_key) where resolved_at is null
      do update set issues = excluded.issues, payload = excluded.payload, attempts = open.attempts + 1,
        window_from = coalesce(excluded.window_from, open.window_from), window_until = coalesce(excluded.window_until, open.window_until),
        run_id = excluded.run_id, last_seen_at = now()`.execute(tx.db)
  }
}

/** Counts an attempt for quarantined records without an answer, so that a retry does not try them twice. */
export async function countAttempts(
  tx: Tx,
  scope: QuarantineScope,
  naturalKeys: readonly string[],
): Promise<void> {
  if (naturalKeys.length === 0) return
  await sql`
    update ops.quarantine set run_id = ${scope.runId}, attempts = attempts + 1
    where rooftop_id = ${scope.rooftopId} and stream = ${scope.stream} and natural_key = any(${naturalKeys})
      and resolved_at is null`.execute(tx.db)
}

/** Closes entries of records that were loaded, or are no longer at the source. */
export async function release(
  tx: Tx,
  scope: QuarantineScope,
  naturalKeys: readonly string[],
): Promise<void> {
  if (naturalKeys.length === 0) return
  await sql`
    update ops.quarantine set resolved_at = now()
    where rooftop_id = ${scope.rooftopId} and stream = ${scope.stream} and natural_key = any(${naturalKeys})
      and resolved_at is null`.execute(tx.db)
}

/** Closes all entries of the scope except these keys. The whole list was read and has no other invalid record. */
export async function releaseAllBut(
  tx: Tx,
  scope: QuarantineScope,
  naturalKeys: readonly string[],
): Promise<void> {
  await sql`
    update ops.quarantine set resolved_at = now()
    where rooftop_id = ${scope.rooftopId} and stream = ${scope.stream} and natural_key <> all(${naturalKeys})
      and resolved_at is null`.execute(tx.db)
}

/** Which of the keys are in quarantine now. */
export async function readQuarantinedKeys(
  db: Db,
  scope: Omit<QuarantineScope, 'runId'>,
  naturalKeys: readonly string[],
): Promise<Set<string>> {
  if (naturalKeys.length === 0) return new Set()
  const rows = await db
    .selectFrom('ops.quarantine')
    .select('natural_key')
    .where('rooftop_id', '=', scope.rooftopId)
    .where('stream', '=', scope.stream)
    .where('resolved_at', 'is', null)
    .where('natural_key', '=', sql<string>`any(${[...naturalKeys]}::text[])`)
    .execute()
  return new Set(rows.map((row) => row.natural_key))
}

/** A quarantined record, with the window that listed it last. */
export interface QuarantinedRecord {
  readonly id: number
  readonly from: Date | null
  readonly until: Date | null
}

/** The key of a list item that names no record: a hash of its content, so that equal items are one entry. */
export function listItemKey(text: string): string {
  return `item ${contentHash(text).toString('hex').slice(0, 16)}`
}

/** Closes list items that these windows no longer show. */
export async function releaseListItems(
  tx: Tx,
  scope: QuarantineScope,
  windows: readonly Omit<Window, 'open'>[],
  stillListed: readonly string[],
): Promise<void> {
  await sql`
    update ops.quarantine as entry set resolved_at = now()
    from unnest(${windows.map(({ from }) => fromUnixSeconds(from))}::timestamptz[],
      ${windows.map(({ until }) => fromUnixSeconds(until))}::timestamptz[]) as listed (start, stop)
    where entry.rooftop_id = ${scope.rooftopId} and entry.stream = ${scope.stream} and entry.resolved_at is null
      and entry.natural_key like 'item %' and entry.natural_key <> all(${stillListed})
      and entry.window_from < listed.stop and entry.window_until > listed.start`.execute(tx.db)
}

/** All records that are in quarantine now. */
export async function readQuarantinedRecords(
  db: Db,
  scope: Omit<QuarantineScope, 'runId'>,
): Promise<QuarantinedRecord[]> {
  const rows = await db
    .selectFrom('ops.quarantine')
    .select(['natural_key', 'window_from', 'window_until'])
    .where('rooftop_id', '=', scope.rooftopId)
    .where('stream', '=', scope.stream)
    .where('resolved_at', 'is', null)
    .execute()
  return rows
    .filter((row) => /^\d+$/.test(row.natural_key))
    .map((row) => ({
      id: Number(row.natural_key),
      from: row.window_from,
      until: row.window_until,
    }))
}
