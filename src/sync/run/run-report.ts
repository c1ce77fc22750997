import { sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import { joinSentences } from '../../values/text.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { KeyRefusal } from './key-states.ts'
import { addCounts, type Counts, zeroCounts } from './run-ledger.ts'

/** The outcome of a whole run. */
type RunStatus = 'ok' | 'partial' | 'failed'

/** What `sync --json` and `backfill --json` print. */
export interface RunReport {
  readonly runId: number
  readonly status: RunStatus
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly streams: Readonly<Record<string, Counts>>
  readonly rooftops: Readonly<Record<string, { readonly status: string; readonly error?: string }>>
  /** What is missing, one entry for each stream of a rooftop; left out: nothing. */
  readonly missing?: readonly Missing[]
  /** The refusals of the keys that `missing` names, by key; left out: it names none. */
  readonly refusals?: Readonly<Record<string, KeyRefusal>>
  /** The signal that stopped the run before its end; left out: none did. */
  readonly stoppedBy?: string
}

/** Why a stream of a rooftop is incomplete. */
interface Missing {
  /** Its uid. */
  readonly rooftop: string
  readonly stream: string
  readonly cause: string
  /** The key whose refusal that is, if it is refused now, as in `ops.rate_budget`. */
  readonly refusedKey: string | null
}

/** SQL: the outcome of rows of ops.run_stream. ok: all are ok. failed: all failed. Otherwise partial. Streams that had nothing to do
 *  are ignored. The only definition, whichever process ends the run. */
export const runStatus = sql<RunStatus>`case
  when coalesce(bool_and(run_stream.status = 'ok'), true) then 'ok'
  when bool_or(run_stream.status in ('ok', 'partial', 'waiting', 'running')
    and (run_stream.status <> 'ok' or run_stream.requests > 0 or run_stream.listed > 0)) then 'partial'
  else 'failed' end`

/** Reads a run's report from the ledger, so that it is complete whichever processes did the work. */
export async function reportRun(
  db: Db,
  runId: number,
  rooftops: readonly Pick<RooftopRow, 'id' | 'uid'>[],
): Promise<RunReport> {
  const run = await db
    .selectFrom('ops.run')
    .select(['started_at', 'finished_at'])
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow()
  const rows = await db
    .selectFrom('ops.run_stream')
    .leftJoin('core.rooftop', 'core.rooftop.rooftop_id', 'ops.run_stream.rooftop_id')
    .selectAll('ops.run_stream')
    .select(
      sql<
        string | null
      >`case when ops.is_refused(refused_key, rooftop_uid) then refused_key end`.as('refusedNow'),
    )
    .where('run_id', '=', runId)
    .orderBy('stream')
    .execute()
  const { rows: statuses } = await sql<{ rooftopId: number | null; status: RunStatus }>`
    select rooftop_id as "rooftopId", ${runStatus} as status
    from ops.run_stream where run_id = ${runId} group by grouping sets ((), (rooftop_id))`.execute(
    db,
  )
  const statusOf = new Map(statuses.map(({ rooftopId, status }) => [rooftopId, status]))
  const streams: Record<string, Counts> = {}
  const missing: Missing[] = []
  const byRooftop: Record<string, { status: string; error?: string }> = {}
  for (const row of rows) streams[row.stream] = addCounts(streams[row.stream] ?? zeroCounts, row)
  for (const rooftop of rooftops) {
    const ofRooftop = rows.filter((row) => row.rooftop_id === rooftop.id)
    const causes = ofRooftop.flatMap((row) =>
      whatIsMissing(row).map((cause) => {
        const { stream, refusedNow: refusedKey } = row
        return { rooftop: rooftop.uid, stream, cause, refusedKey }
      }),
    )
    missing.push(...causes)
    const errors = causes.map(({ stream, cause }) => `${stream}: ${cause}`)
    const status = statusOf.get(rooftop.id) ?? 'ok'
    byRooftop[rooftop.uid] =
      errors.length > 0 ? { status, error: joinSentences(errors) } : { status }
  }
  return {
    runId,
    status: statusOf.get(null)!,
    startedAt: run.started_at.toISOString(),
    finishedAt: run.finished_at?.toISOString() ?? null,
    streams,
    rooftops: byRooftop,
    ...(missing.length > 0 ? { missing } : {}),
  }
}

/** Why a stream is incomplete; empty when it is complete. */
export function whatIsMissing(row: {
  error: string | null
  status: string
  quarantined: number
}): string[] {
  if (row.error !== null) return [row.error]
  if (row.quarantined > 0)
    return [`${row.quarantined} in quarantine: see "forecourt quarantine list"`]
  return row.status === 'partial'
    ? ['a window cannot be proved complete: see "forecourt verify"']
    : []
}
