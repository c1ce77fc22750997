import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { firstText, joinSentences } from '../../values/text.ts'
import { sourceOfRun } from '../../warehouse/db/run-source.ts'
import { readSourceNow } from '../../warehouse/db/source-now.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { rereadWithinNights } from '../records/reread.ts'
import type { Stream } from '../run/stream.ts'
import type { IsoSpan } from '../verify/verify-stored.ts'
import type { RunSummary } from './run-history.ts'
import { type Covered, factsKey, readCovered, readFacts, type StreamFacts } from './status-facts.ts'

/** Hours within which a stream must have had a good run: a night and some margin. As in core.is_late, which is the rule. */
export const freshWithinHours = 26

/** Whether a verification is so old that the job `verify`, which runs each night, has missed a night. */
export function isOldProof(verifiedAt: string): boolean {
  return Date.now() - Date.parse(verifiedAt) > 48 * 3_600_000
}

/** How a stream of a rooftop meets its objectives. */
export interface StreamHealth {
  readonly status: 'ok' | 'partial' | 'failed' | 'late' | 'never'
  /** By the source's clock: until when everything was listed without a gap. Without windows: when the last good run began. */
  readonly coveredTo: string | null
  readonly settledTo: string | null
  readonly lastGoodRunAt: string | null
  /** When the stored rows were last compared with what was listed; null: never, or the stream has no windows. */
  readonly verifiedAt: string | null
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
  readonly cause:
    | 'never'
    | 'failed'
    | 'late'
    | 'verification'
    | 'quarantine'
    | 'gaps'
    | 'unprovable'
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
export interface RunningRun
  extends Pick<
    RunSummary,
    'runId' | 'command' | 'lane' | 'host' | 'processId' | 'isDetached' | 'isAtWork' | 'source'
  > {
  readonly startedAt: string
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

/** Compares the warehouse with its objectives: fresh, covered, nothing in quarantine, nothing found by the last verification. It compares no
 *  rows itself. All queries use one database snapshot, so
 *  that no slice commits between them; their number does not grow with the rooftops. */
export async function readStatus(
  db: Db,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  config: Config,
): Promise<WarehouseStatus> {
  const snapshot = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return await snapshot.execute((tx) => readWarehouseStatus(tx, streams, rooftops, config))
}

async function readWarehouseStatus(
  db: Db,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  config: Config,
): Promise<WarehouseStatus> {
  const zoneChanges = await readZoneChanges(db)
  const facts = await readFacts(db, streams, rooftops)
  const { start } = config.sync
  const missing = notListed(start, await readSourceNow(db))
  const withinNights = rereadWithinNights(config.sync)
  const covered = new Map<string, ReadonlyMap<number, Covered>>()
  for (const { records } of streams)
    if (records !== undefined)
      covered.set(records.name, await readCovered(db, records.name, rooftops, start, withinNights))
  const rooftopStatus: Record<string, WarehouseStatus['rooftops'][string]> = {}
  for (const { id, uid, name } of rooftops) {
    const byStream = streams.map((stream) => {
      const found = covered.get(stream.name)
      const windowed = found && { covered: found.get(id) ?? missing, withinNights }
      return [stream.name, streamHealth(facts.get(factsKey(stream.name, id))!, windowed, start)]
    })
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

/** Of a rooftop without coverage: everything since the start of the sync is missing. */
function notListed(start: Date, sourceNow: Date): Omit<Covered, 'rooftopId'> {
  const all = { from: start.toISOString(), until: sourceNow.toISOString() }
  const gaps = start < sourceNow ? [all] : []
  return { ...{ listed: null, settled: null, records: 0, overdue: 0 }, gaps, unprovable: [] }
}

function streamHealth(
  facts: StreamFacts,
  windowed:
    | { readonly covered: Omit<Covered, 'rooftopId'>; readonly withinNights: number }
    | undefined,
  syncStart: Date,
): StreamHealth {
  const reasons = whatIsWrong(facts, windowed?.covered, syncStart)
  const coveredAt = windowed === undefined ? facts.readTo : windowed.covered.listed
  return {
    status: facts.health === 'ok' && reasons.length > 0 ? 'partial' : facts.health,
    coveredTo: coveredAt?.toISOString() ?? null,
    settledTo: windowed?.covered.settled?.toISOString() ?? null,
    lastGoodRunAt: facts.lastGoodAt?.toISOString() ?? null,
    verifiedAt: facts.verifiedAt?.toISOString() ?? null,
    quarantined: facts.quarantined,
    gaps: facts.lastStatus === null ? 0 : (windowed?.covered.gaps.length ?? 0),
    warnings: facts.warnings,
    isAtWork: facts.isAtWork,
    ...(windowed === undefined ? {} : { rereads: countRereads(windowed) }),
    ...(reasons.length > 0 ? { error: joinSentences(reasons.map(({ text }) => text)) } : {}),
    reasons,
  }
}

function countRereads({
  covered: { records, overdue },
  withinNights,
}: {
  readonly covered: Omit<Covered, 'rooftopId'>
  readonly withinNights: number
}): Rereads {
  return { records, overdue, withinNights }
}

function whatIsWrong(
  facts: StreamFacts,
  covered: Omit<Covered, 'rooftopId'> | undefined,
  syncStart: Date,
): Reason[] {
  const { lastStatus, lastError, refusedKey, isLate, quarantined, fault } = facts
  const reasons: Reason[] = []
  const add = (cause: Reason['cause'], text: string) => reasons.push({ cause, text })
  if (lastStatus === null)
    return [{ cause: 'never', text: 'no run has finished yet: run "forecourt sync"' }]
  if (lastError !== null) {
    const key = refusedKey === null ? {} : { key: refusedKey }
    reasons.push({ cause: 'failed', text: lastError, ...key })
  }
  if (isLate) add('late', `no good run within ${freshWithinHours} h`)
  // It may be the cause of gaps: what it found is listed again.
  if (fault !== null) add('verification', `the last verification found: ${fault}`)
  if (quarantined > 0)
    add('quarantine', `${quarantined} in quarantine: see "forecourt quarantine list"`)
  if (covered === undefined) return reasons
  if (covered.gaps.length > 0) {
    const isHistory = covered.gaps.some(({ from }) => new Date(from) < syncStart)
    reasons.push({
      ...{ cause: 'gaps', text: `not listed: ${spans(covered.gaps)}` },
      ...(isHistory ? { needsBackfill: true } : {}),
    })
  }
  if (covered.unprovable.length > 0)
    add('unprovable', `cannot be proved complete: ${spans(covered.unprovable)}`)
  return reasons
}

/** The reasons that no other one explains: the first may be the cause of those after it, but not of rows that a verification found or
 *  records that did not fit, and these of no other. */
export function mainReasons(reasons: readonly Reason[]): Reason[] {
  const first = reasons.find(({ cause }) => cause !== 'quarantine')
  return reasons.filter(
    (reason) => reason === first || ['verification', 'quarantine'].includes(reason.cause),
  )
}

function spans(list: readonly IsoSpan[]): string {
  return firstText(
    list.map(({ from, until }) => `${from} to ${until}`),
    3,
  )
}
