import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { joinSentences, plural } from '../../values/text.ts'
import { type RunSource, sourceOfRun } from '../../warehouse/db/run-source.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Lane } from '../run/run-ledger.ts'
import type { Stream } from '../run/stream.ts'
import { isProved, type Verification } from '../verify/verify.ts'
import {
  type Covered,
  factsKey,
  readFacts,
  readWindowed,
  type StreamFacts,
  type WindowedFacts,
} from './status-facts.ts'

/** Hours within which a stream must have had a good run: a night and some margin. As in core.is_late, which is the rule. */
export const freshWithinHours = 26

/** How a stream of a rooftop meets its objectives. */
export interface StreamHealth {
  readonly status: 'ok' | 'partial' | 'failed' | 'late' | 'never'
  /** By the source's clock: until when everything was listed without a gap. Without windows: when the last good run began. */
  readonly coveredTo: string | null
  readonly settledTo: string | null
  readonly lastGoodRunAt: string | null
  readonly quarantined: number
  readonly gaps: number
  /** Records that contradict themselves or the document; see ops.data_quality. */
  readonly warnings: number
  /** Whether a live run works on it. */
  readonly isAtWork: boolean
  /** Only for a windowed stream: records that the source may have deleted although its list shows them as unchanged. */
  readonly rereads?: Rereads
  /** What is missing and why: the texts of `reasons`. */
  readonly error?: string
  /** The first may be the cause of the others. */
  readonly reasons: readonly Reason[]
}

/** Why a stream misses an objective. */
export interface Reason {
  readonly cause: 'never' | 'failed' | 'late' | 'quarantine' | 'gaps' | 'unprovable' | 'ledger'
  readonly text: string
  /** failed: the refused key that is the cause, as in `ops.rate_budget`. */
  readonly key?: string
  /** gaps: one begins before `sync.start`, where no sync reads. */
  readonly needsBackfill?: true
}

/** Records that only their list shows to exist; each is read again at intervals. */
export interface Rereads {
  /** At most this many may be gone. */
  readonly records: number
  /** A record that is gone is found within this many nights. */
  readonly withinNights: number
  /** Records not read again within those nights: sync.rereadBudget is too small, or nights were missed. */
  readonly overdue: number
}

/** A run that has not ended. */
export interface RunningRun {
  readonly runId: number
  readonly command: string
  readonly lane: Lane
  readonly startedAt: string
  readonly host: string | null
  readonly processId: number | null
  /** No process waits for it: workers of its source do its work. */
  readonly isDetached: boolean
  /** Whether a process was at work for it within the last minute. */
  readonly isAtWork: boolean
  /** The services that it reads; null: a run of an earlier version. */
  readonly source: RunSource | null
}

/** A new time zone of a rooftop within the last 30 days: its local days and sums were calculated again. */
interface ZoneChange {
  readonly from: string
  readonly to: string
  readonly at: string
}

/** What `status` shows of the streams. */
export interface WarehouseStatus {
  readonly status: 'ok' | 'missed'
  readonly rooftops: Readonly<
    Record<
      string,
      {
        readonly name: string
        readonly streams: Readonly<Record<string, StreamHealth>>
        readonly zoneChange: ZoneChange | null
      }
    >
  >
  /** Runs that have not ended: they run now, or were killed, and then the next run takes their work over. */
  readonly running: readonly RunningRun[]
}

/** Compares the warehouse with its objectives: fresh, covered, nothing in quarantine. All queries use one database snapshot, so
 *  that no slice commits between them; their number does not grow with the rooftops. */
export async function readStatus(
  db: Db,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  config: Config,
): Promise<WarehouseStatus> {
  const snapshot = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return await snapshot.execute((tx) => statusOf(tx, streams, rooftops, config))
}

async function statusOf(
  db: Db,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  config: Config,
): Promise<WarehouseStatus> {
  const zoneChanges = await readZoneChanges(db)
  const facts = await readFacts(db, streams, rooftops)
  const windowed = new Map<string, WindowedFacts>()
  for (const { records } of streams)
    if (records !== undefined)
      windowed.set(records.name, await readWindowed(db, records, rooftops, facts, config))
  const rooftopStatus: Record<string, WarehouseStatus['rooftops'][string]> = {}
  for (const { id, uid, name } of rooftops) {
    const byStream = streams.map((stream) => [
      stream.name,
      streamHealth(facts.get(factsKey(stream.name, id))!, windowed.get(stream.name) ?? null, {
        id,
        syncStart: config.sync.start,
      }),
    ])
    const zoneChange = zoneChanges.get(id) ?? null
    rooftopStatus[uid] = { name, streams: Object.fromEntries(byStream), zoneChange }
  }
  const good = Object.values(rooftopStatus).every(({ streams: byStream }) =>
    Object.values(byStream).every(({ status }) => status === 'ok'),
  )
  const running = await runningRuns(db)
  const status = good ? 'ok' : 'missed'
  return { status, rooftops: rooftopStatus, running }
}

async function readZoneChanges(db: Db): Promise<Map<number, ZoneChange>> {
  const { rows } = await sql<{ id: number; from: string; to: string; at: Date }>`
    select rooftop_id as id, previous_time_zone as from, time_zone as to, time_zone_changed_at as at
    from core.rooftop where time_zone_changed_at > now() - interval '30 days'`.execute(db)
  return new Map(rows.map(({ id, from, to, at }) => [id, { from, to, at: at.toISOString() }]))
}

async function runningRuns(db: Db): Promise<RunningRun[]> {
  const { rows } = await sql<Omit<RunningRun, 'startedAt'> & { startedAt: Date }>`
    select run_id as "runId", command, lane, started_at as "startedAt", host, process_id as "processId", is_detached as "isDetached",
      heartbeat_at > now() - interval '1 minute' as "isAtWork", ${sql.raw(sourceOfRun)} as source
    from ops.run where status = 'running' order by run_id`.execute(db)
  return rows.map((row) => ({ ...row, startedAt: row.startedAt.toISOString() }))
}

function streamHealth(
  facts: StreamFacts,
  windowed: WindowedFacts | null,
  { id, syncStart }: { readonly id: number; readonly syncStart: Date },
): StreamHealth {
  const verification = windowed?.verifications.get(id) ?? null
  const covered = windowed?.covered.get(id) ?? null
  const reasons = whatIsWrong(facts, verification, syncStart)
  const coveredAt = windowed === null ? facts.readTo : covered?.listed
  return {
    status: facts.health === 'ok' && reasons.length > 0 ? 'partial' : facts.health,
    coveredTo: coveredAt?.toISOString() ?? null,
    settledTo: covered?.settled?.toISOString() ?? null,
    lastGoodRunAt: facts.lastGoodAt?.toISOString() ?? null,
    quarantined: facts.quarantined,
    gaps: verification?.gaps.length ?? 0,
    warnings: facts.warnings,
    isAtWork: facts.isAtWork,
    ...(windowed === null ? {} : { rereads: rereadsOf(covered, windowed.withinNights) }),
    ...(reasons.length > 0 ? { error: joinSentences(reasons.map(({ text }) => text)) } : {}),
    reasons,
  }
}

function rereadsOf(covered: Covered | null, withinNights: number): Rereads {
  const { records, overdue } = covered ?? { records: 0, overdue: 0 }
  return { records, overdue, withinNights }
}

function whatIsWrong(
  facts: StreamFacts,
  verification: Verification | null,
  syncStart: Date,
): Reason[] {
  const { lastStatus, lastError, refusedKey, isLate, quarantined } = facts
  const reasons: Reason[] = []
  const add = (cause: Reason['cause'], text: string) => reasons.push({ cause, text })
  if (lastStatus === null)
    return [{ cause: 'never', text: 'no run has finished yet: run "forecourt sync"' }]
  if (lastError !== null) {
    const key = refusedKey === null ? {} : { key: refusedKey }
    reasons.push({ cause: 'failed', text: lastError, ...key })
  }
  if (isLate) add('late', `no good run within ${freshWithinHours} h`)
  if (quarantined > 0)
    add('quarantine', `${quarantined} in quarantine: see "forecourt quarantine list"`)
  if (facts.differing > 0)
    add(
      'ledger',
      `the values of ${plural(facts.differing, 'record')} differ from the payloads: see "forecourt verify"`,
    )
  if (verification === null || isProved(verification)) return reasons
  if (verification.gaps.length > 0) {
    const isHistory = verification.gaps.some(({ from }) => new Date(from) < syncStart)
    reasons.push({
      ...{ cause: 'gaps', text: `not listed: ${spans(verification.gaps)}` },
      ...(isHistory ? { needsBackfill: true } : {}),
    })
  }
  if (verification.unprovable.length > 0)
    add('unprovable', `cannot be proved complete: ${spans(verification.unprovable)}`)
  const { overlaps, brokenSums, uncertified, notStored, orphans } = verification
  const other = [overlaps, brokenSums, uncertified, notStored].some((list) => list.length > 0)
  if (other || orphans > 0) add('ledger', 'the ledger and the rows differ: see "forecourt verify"')
  return reasons
}

function spans(list: readonly { from: string; until: string }[]): string {
  const shown = list.slice(0, 3).map(({ from, until }) => `${from} to ${until}`)
  return `${shown.join(', ')}${list.length > 3 ? ` and ${list.length - 3} more` : ''}`
}
