import { sql } from 'kysely'
import type { Config } from '../config/read.ts'
import type { Db } from '../db/transaction.ts'
import type { Stream } from './stream.ts'
import type { WindowedRecords } from './windowed-records.ts'
import { rereadWithinNights } from './reread.ts'
import { isProved, type Verification, verifyStream } from './verify.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import { joinSentences } from '../values/text.ts'

/** Hours within which a stream must have had a good run: a night and some margin. */
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
  readonly startedAt: string
  readonly host: string | null
  readonly processId: number | null
}

/** A new time zone of a rooftop within the last 30 days: its local days and sums were calculated again. */
export interface ZoneChange {
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
 *  that no slice commits between them. */
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
  const rooftopStatus: Record<string, WarehouseStatus['rooftops'][string]> = {}
  const zoneChanges = await readZoneChanges(db)
  for (const rooftop of rooftops) {
    const byStream: Record<string, StreamHealth> = {}
    for (const stream of streams)
      byStream[stream.name] = await streamHealth(db, stream, rooftop, config)
    const zoneChange = zoneChanges.get(rooftop.id) ?? null
    rooftopStatus[rooftop.uid] = { name: rooftop.name, streams: byStream, zoneChange }
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
  const rows = await db
    .selectFrom('ops.run')
    .select(['run_id', 'command', 'started_at', 'host', 'process_id'])
    .where('status', '=', 'running')
    .orderBy('run_id')
    .execute()
  return rows.map((row) => ({
    runId: row.run_id,
    command: row.command,
    startedAt: row.started_at.toISOString(),
    host: row.host,
    processId: row.process_id,
  }))
}

interface LastRuns {
  readonly lastStatus: string | null
  readonly lastError: string | null
  readonly lastGoodAt: Date | null
  /** When that run began, by the source's clock. */
  readonly readTo: Date | null
  /** Whether a live run works on the stream. */
  readonly isAtWork: boolean
}

async function streamHealth(
  db: Db,
  stream: Stream,
  rooftop: RooftopRow,
  config: Config,
): Promise<StreamHealth> {
  const { records } = stream
  const last = await lastRuns(db, stream, rooftop.id)
  const quarantined = await openQuarantine(db, stream.name, rooftop.id)
  const verification =
    records !== undefined && last.lastStatus !== null
      ? await verifyStream(db, records, rooftop, config.sync, new Date())
      : null
  const covered =
    records !== undefined ? await coveredTo(db, stream.name, rooftop.id, config.sync.start) : null
  const reasons = whatIsWrong(last, quarantined, verification)
  const coveredAt = records !== undefined ? covered?.listed : last.readTo
  return {
    status: healthOf(last, reasons),
    coveredTo: coveredAt?.toISOString() ?? null,
    settledTo: covered?.settled?.toISOString() ?? null,
    lastGoodRunAt: last.lastGoodAt?.toISOString() ?? null,
    quarantined,
    gaps: verification?.gaps.length ?? 0,
    warnings: await openWarnings(db, stream.name, rooftop.id),
    isAtWork: last.isAtWork,
    ...(records !== undefined ? { rereads: await rereadsOf(db, records, rooftop, config) } : {}),
    ...(reasons.length > 0 ? { error: joinSentences(reasons.map(({ text }) => text)) } : {}),
    reasons,
  }
}

function healthOf(last: LastRuns, reasons: readonly Reason[]): StreamHealth['status'] {
  if (last.lastStatus === null) return 'never'
  if (last.lastStatus === 'failed' || last.lastStatus === 'parked') return 'failed'
  if (isLate(last)) return 'late'
  return reasons.length > 0 ? 'partial' : 'ok'
}

/** Whether the last good run is too old; a stream that is being worked on is not late. */
function isLate({ lastGoodAt, isAtWork }: LastRuns): boolean {
  if (isAtWork) return false
  return lastGoodAt === null || Date.now() - lastGoodAt.getTime() > freshWithinHours * 3_600_000
}

function whatIsWrong(
  last: LastRuns,
  quarantined: number,
  verification: Verification | null,
): Reason[] {
  const reasons: Reason[] = []
  const add = (cause: Reason['cause'], text: string) => reasons.push({ cause, text })
  if (last.lastStatus === null)
    return [{ cause: 'never', text: 'no run has finished yet: run "forecourt sync"' }]
  if (last.lastError !== null) add('failed', last.lastError)
  if (isLate(last)) add('late', `no good run within ${freshWithinHours} h`)
  if (quarantined > 0)
    add('quarantine', `${quarantined} in quarantine: see "forecourt quarantine list"`)
  if (verification === null || isProved(verification)) return reasons
  if (verification.gaps.length > 0) add('gaps', `not listed: ${spans(verification.gaps)}`)
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

/**
 * The newest finished run of the stream for the rooftop, and the newest good one; partial counts as good. A backfill counts only
 * for streams with windows: for others it says nothing about what the nightly runs load.
 */
async function lastRuns(db: Db, { name, records }: Stream, rooftopId: number): Promise<LastRuns> {
  const { rows } = await sql<LastRuns>`
    select (array_agg(part.status order by run_id desc))[1] as "lastStatus",
      (array_agg(part.error order by run_id desc))[1] as "lastError",
      max(part.finished_at) filter (where part.status in ('ok', 'partial')) as "lastGoodAt",
      max(source_started_at) filter (where part.status in ('ok', 'partial')) as "readTo",
      exists (select from core.stream_at_work where stream = ${name} and rooftop_id = ${rooftopId}) as "isAtWork"
    from ops.run_stream as part join ops.run using (run_id)
    where part.stream = ${name} and part.rooftop_id = ${rooftopId} and part.finished_at is not null
      and arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
      and (${records !== undefined}::boolean or lane <> 'background')`.execute(db)
  return rows[0]!
}

/** Sums over the certificates how many records are known by the list alone, and how many are overdue. */
async function rereadsOf(
  db: Db,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  { sync }: Config,
): Promise<Rereads> {
  const withinNights = rereadWithinNights(sync)
  const { rows } = await sql<{ records: number; overdue: number }>`
    select coalesce(sum(loaded), 0)::int as records,
      coalesce(sum(loaded) filter (where reread_at < newest - make_interval(days => ${withinNights})), 0)::int as overdue
    from (
      select loaded, reread_at, max(listed_at) over () as newest from ops.window_certificate
      where rooftop_id = ${rooftop.id} and stream = ${stream.name}
    ) as certificate`.execute(db)
  return { ...rows[0]!, withinNights }
}

async function openWarnings(db: Db, stream: string, rooftopId: number): Promise<number> {
  const row = await db
    .selectFrom('ops.data_quality')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('stream', '=', stream)
    .where('rooftop_id', '=', rooftopId)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

async function openQuarantine(db: Db, stream: string, rooftopId: number): Promise<number> {
  const row = await db
    .selectFrom('ops.quarantine')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('stream', '=', stream)
    .where('rooftop_id', '=', rooftopId)
    .where('resolved_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** The end of the listed span, and of the settled span, that contains the start of the sync. */
async function coveredTo(
  db: Db,
  stream: string,
  rooftopId: number,
  start: Date,
): Promise<{ listed: Date | null; settled: Date | null }> {
  const { rows } = await sql<{ listed: Date | null; settled: Date | null }>`
    with certified as (
      select range_agg(tstzrange(window_from, window_until)) as listed,
        range_agg(tstzrange(window_from, window_until)) filter (where settled) as settled
      from ops.window_certificate where stream = ${stream} and rooftop_id = ${rooftopId}
    )
    select (select upper(range) from unnest(listed) as range where range @> ${start}::timestamptz) as listed,
      (select upper(range) from unnest(settled) as range where range @> ${start}::timestamptz) as settled
    from certified`.execute(db)
  return rows[0] ?? { listed: null, settled: null }
}
