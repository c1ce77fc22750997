import { type Kysely, sql } from 'kysely'
import type { RecordWarning } from '../../values/record.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import type { KnownCheck } from './known-checks.ts'

/** The watch status of a known check, from an answer. */
export interface StatusSeen {
  readonly check: KnownCheck
  readonly status: string
  /** The source's time of the answer. */
  readonly at: Date
}

/** Adds the statuses that the document does not name, so that they can be stored; returns them. */
export async function addUnknownStatuses(
  db: Kysely<Tables>,
  statuses: readonly string[],
): Promise<ReadonlySet<string>> {
  const names = [...new Set(statuses)].sort()
  if (names.length === 0) return new Set()
  const read = async () =>
    await db
      .selectFrom('core.ref_watch_status')
      .select(['watch_status', 'is_known'])
      .where('watch_status', 'in', names)
      .execute()
  const stored = await read()
  if (stored.length < names.length)
    await sql`
      insert into core.ref_watch_status (watch_status, noteworthiness, is_terminal, is_known)
      select status, 0, false, false from unnest(${names}::text[]) as status
      on conflict do nothing`.execute(db)
  const known = new Set(stored.filter(({ is_known }) => is_known).map((row) => row.watch_status))
  return new Set(names.filter((status) => !known.has(status)))
}

/** Whether an answer changes the status: a terminal one never changes [A §3], and an older answer changes nothing. */
export function changesStatus({
  check,
  status,
  at,
}: Pick<StatusSeen, 'status' | 'at'> & {
  readonly check: Pick<KnownCheck, 'status' | 'isTerminal' | 'statusSince'>
}): boolean {
  if (check.status === status || check.isTerminal) return false
  return check.statusSince === null || at >= check.statusSince
}

/** Warnings about a status that the document does not name, or that the check can no longer have. They stop nothing. */
export function statusWarnings(
  { check, status }: Pick<StatusSeen, 'check' | 'status'>,
  unknown: ReadonlySet<string>,
): RecordWarning[] {
  const warnings: RecordWarning[] = []
  if (unknown.has(status))
    warnings.push({
      check: 'watch-status-unknown',
      detail: `check ${check.ref} has the status "${status}", which the document does not name: stored as it is`,
    })
  if (check.isTerminal && check.status !== status)
    warnings.push({
      check: 'watch-status-terminal',
      detail: `check ${check.ref} was "${check.status}", which never changes, and is now "${status}": the first one stays`,
    })
  return warnings
}

/** Writes the statuses that have changed, each with its change. */
export async function updateStatuses(
  db: Kysely<Tables>,
  changed: readonly StatusSeen[],
): Promise<void> {
  if (changed.length === 0) return
  const seen = [...changed].sort((a, b) => compareKeys(a.check, b.check))
  const columns = keyColumns(seen.map(({ check }) => check))
  const statuses = seen.map(({ status }) => status)
  const times = seen.map(({ at }) => at)
  const before = seen.map(({ check }) => check.status)
  // Only if the status is still the one that was compared: another process may have changed it meanwhile.
  await sql`
    with changed as (
      update core.vehicle_check as known set watch_status = seen.status, watch_status_since = seen.at
      from unnest(${columns.rooftopIds}::int[], ${columns.evalIds}::bigint[], ${columns.kinds}::text[], ${columns.refs}::text[],
        ${statuses}::text[], ${times}::timestamptz[], ${before}::text[])
        as seen (rooftop_id, eval_id, kind, ref, status, at, before)
      where known.rooftop_id = seen.rooftop_id and known.eval_id = seen.eval_id
        and known.check_kind = seen.kind and known.check_ref = seen.ref
        and known.watch_status is not distinct from seen.before
      returning known.rooftop_id, known.eval_id, known.check_kind, known.check_ref, seen.at, seen.before, seen.status
    )
    insert into core.watch_status_change
      (rooftop_id, eval_id, check_kind, check_ref, observed_at, from_status, to_status)
    select * from changed
    on conflict do nothing`.execute(db)
}

type Key = Pick<KnownCheck, 'rooftopId' | 'evalId' | 'kind' | 'ref'>

/** The keys of checks, a list for each column. */
export function keyColumns(checks: readonly Key[]) {
  return {
    rooftopIds: checks.map(({ rooftopId }) => rooftopId),
    evalIds: checks.map(({ evalId }) => evalId),
    kinds: checks.map(({ kind }) => kind),
    refs: checks.map(({ ref }) => ref),
  }
}

/** One order for all writers, so that two of them never wait for each other. */
export function compareKeys(a: Key, b: Key): number {
  return a.rooftopId - b.rooftopId || a.evalId - b.evalId || (keyText(a) < keyText(b) ? -1 : 1)
}

function keyText({ kind, ref }: Key): string {
  return `${kind} ${ref}`
}
