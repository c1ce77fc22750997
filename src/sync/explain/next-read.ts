import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import { erasedAt, suppressedAmong } from '../../privacy/screen/suppression.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { fromUnixSeconds, toUnixSeconds } from '../../values/unix-seconds.ts'
import {
  dayNumber,
  daySeconds,
  isWithin,
  nextRotationStart,
  type Span,
} from '../../values/window.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { isRereadDue, rereadWithinNights } from '../records/reread.ts'
import { isOwnedByOther, storedRecords } from '../records/stored-records.ts'
import type { Run } from '../run/run-ledger.ts'
import type { Stream } from '../run/stream.ts'
import { type DueReason, type DueWindow, dueWindows, recheckSince } from '../windows/due-windows.ts'
import type { StoredRecord, WindowedRecords } from '../windows/windowed-records.ts'
import { type NextRequest, readNextRequests } from './next-requests.ts'

// When a record was last read, why, and when it is read again. All times are those of the source's clock, which decides what is
// due. The rules are the pipeline's own functions, called for a run that has not started.

/** Whose record is explained, and by which settings. */
export interface ReadScope {
  readonly config: Config
  readonly streams: readonly Stream[]
  readonly stream: WindowedRecords
  /** Rooftops of the config that the warehouse knows. */
  readonly rooftops: readonly RooftopRow[]
  /** The source's time. */
  readonly now: Date
}

/** What the warehouse holds of the record. */
interface RecordFacts {
  readonly rooftopId: number
  readonly id: number
  /** Where the record is among the windows; null: not known. */
  readonly entryAt: Date | null
  readonly isQuarantined: boolean
  /** The certificate of its window. */
  readonly window: WindowFacts | null
}

export interface WindowFacts {
  readonly from: Date
  readonly until: Date
  readonly listedAt: Date
  readonly rereadAt: Date
  readonly quarantined: number
}

/** gap: not covered or not settled; recheck: younger than sync.recheckDays; deep: its turn of sync.deepRelistNights nights;
 *  quarantine: it holds a quarantined record. */
interface Listing {
  readonly at: Date
  readonly reason: DueReason | 'quarantine'
}

/** When the record is read again. `at` null: no date is known, or never. */
interface NextRead {
  readonly reason:
    | 'webhook'
    | 'retry'
    | 'reread'
    | 'gone'
    | 'other rooftop'
    | 'not listed'
    | 'not configured'
  readonly at: Date | null
}

export interface ReadTimes {
  readonly lastRead: LastRead | null
  /** Read again between these instants, and unchanged; null: not since `lastRead`. */
  readonly rereadBetween: { readonly after: Date; readonly before: Date } | null
  readonly nextListing: Listing | null
  readonly nextRead: NextRead
  /** The same where the list gives no update times; null: no earlier than `nextRead`. */
  readonly nextReadWithoutListTimes: Date | null
  /** A record whose turn it is, is read within this number of nights. */
  readonly withinNights: number
  /** The last listing had used up sync.rereadBudget: the re-reads of its window were put off. */
  readonly isPutOff: boolean
  /** Since when its customer is left out of whatever is read. */
  readonly customerErasedAt: Date | null
  /** The newest sync or backfill of the rooftop. */
  readonly lastRun: LastRun | null
  /** What the other streams ask about it. */
  readonly asks: readonly NextRequest[]
}

export async function readTimes(db: Db, scope: ReadScope, facts: RecordFacts): Promise<ReadTimes> {
  const { stream, rooftops, config } = scope
  const rooftop = rooftops.find(({ id }) => id === facts.rooftopId)
  const lastRead = await readLastRead(db, stream, facts)
  const shared = {
    lastRead,
    withinNights: rereadWithinNights(config.sync),
    lastRun: await readLastRun(db, stream, facts.rooftopId),
  }
  if (rooftop === undefined) {
    const nextRead = { reason: 'not configured', at: null } as const
    const nothing = { rereadBetween: null, nextListing: null, nextReadWithoutListTimes: null }
    return { ...shared, ...nothing, nextRead, isPutOff: false, customerErasedAt: null, asks: [] }
  }
  const [record] = await storedRecords(db, stream, rooftop, [facts.id])
  const ownedRecord = record === undefined || isOwnedByOther(record, rooftop) ? null : record
  const { window } = facts
  const plan = await planReads(db, { ...scope, rooftop }, facts, record)
  const suppressed = await suppressedAmong(db, rooftop.groupId, [facts.id])
  return {
    ...shared,
    ...plan,
    rereadBetween:
      ownedRecord === null || ownedRecord.gone ? null : lastTurn(ownedRecord, lastRead, window),
    isPutOff: window !== null && window.rereadAt < window.listedAt,
    customerErasedAt: erasedAt(suppressed, facts.id),
    asks: await readNextRequests(db, { ...scope, rooftop }, facts.id),
  }
}

/** The certificate says that whatever was due before `rereadAt` has been read, so that a turn between the last trace and then is
 *  a read that changed nothing. */
function lastTurn(
  record: StoredRecord,
  lastRead: LastRead | null,
  window: WindowFacts | null,
): ReadTimes['rereadBetween'] {
  if (lastRead === null || window === null) return null
  const before = window.rereadAt.getTime() / 1000
  const isDueSince = (seconds: number) =>
    isRereadDue(record, new Date(seconds * 1000 - 1), before, true)
  if (!isRereadDue(record, lastRead.at, before, true)) return null
  let day = dayNumber(before)
  while (!isDueSince(day * daySeconds)) day--
  return { after: fromUnixSeconds(day * daySeconds), before: window.rereadAt }
}

type PlanScope = ReadScope & { readonly rooftop: RooftopRow }

async function planReads(
  db: Db,
  scope: PlanScope,
  facts: RecordFacts,
  record: StoredRecord | undefined,
): Promise<Pick<ReadTimes, 'nextListing' | 'nextRead' | 'nextReadWithoutListTimes'>> {
  const { now, rooftop, config } = scope
  const start = toUnixSeconds(now)
  const due = await findDueWindow(db, scope, facts)
  const quarantined = facts.window?.quarantined ?? 0
  const listingFrom = (from: number): Listing | null => {
    if (from === start && due !== null)
      return {
        at: now,
        reason: due.reason === 'deep' && quarantined > 0 ? 'quarantine' : due.reason,
      }
    const window = facts.window === null ? due : windowSpan(facts.window)
    // What is not due now was listed on this day, or has its turn later.
    const since = from === start ? start + daySeconds : from
    return window && laterListing(window, quarantined, config.sync, since)
  }
  const nextListing = listingFrom(start)
  const plan = (reason: NextRead['reason'], at: Date | null) => ({
    nextListing,
    nextRead: { reason, at },
    nextReadWithoutListTimes: null,
  })
  const hintedAt = await readHintAt(db, facts, now)
  if (hintedAt !== null) return plan('webhook', hintedAt)
  if (isOwnedByOther(record, rooftop)) return plan('other rooftop', null)
  if (facts.isQuarantined) return plan('retry', nextListing?.at ?? null)
  if (nextListing === null) return plan('not listed', null)
  if (record === undefined) return plan('reread', nextListing.at)
  if (record.gone) return plan('gone', nextListing.at)
  const since = facts.window?.rereadAt ?? now
  const at = listingFrom(firstDue(record, since, start, true))!.at
  const withoutTimes = listingFrom(firstDue(record, since, start, null))!.at
  return {
    ...plan('reread', at),
    nextReadWithoutListTimes: withoutTimes < at ? withoutTimes : null,
  }
}

function windowSpan({ from, until }: WindowFacts): Span {
  return { from: toUnixSeconds(from), until: toUnixSeconds(until) }
}

/** The window of the record, where the next sync would list it if it began now. */
async function findDueWindow(
  db: Db,
  { stream, rooftop, config: { sync }, now }: PlanScope,
  { entryAt }: RecordFacts,
): Promise<DueWindow | null> {
  if (entryAt === null) return null
  const run: Run = {
    ...{ runId: 0, command: 'sync', mode: 'sync', lane: 'foreground', status: 'running' },
    ...{ from: toUnixSeconds(sync.start), until: null, startedAt: now },
    sourceStart: toUnixSeconds(now),
  }
  const scope = { rooftopId: rooftop.id, stream: stream.name, run }
  const due = await dueWindows(db, scope, sync, Number.MAX_SAFE_INTEGER)
  return due.find((window) => isWithin(window, entryAt)) ?? null
}

/** The first listing of a window from a later instant (Unix seconds) on, if a sync runs every night until then. */
function laterListing(
  window: Span,
  quarantined: number,
  sync: Config['sync'],
  from: number,
): Listing {
  const at = fromUnixSeconds(from)
  if (window.until > recheckSince(from, sync)) return { at, reason: 'recheck' }
  if (window.until > from - sync.settleDays * daySeconds) return { at, reason: 'gap' }
  if (quarantined > 0) return { at, reason: 'quarantine' }
  const turn = nextRotationStart(dayNumber(window.from), sync.deepRelistNights, from)
  return { at: fromUnixSeconds(turn), reason: 'deep' }
}

/** The start of the first day, this moment being the first, on which the record is due when its window is listed. */
function firstDue(
  record: StoredRecord,
  since: Date,
  now: number,
  isUnchanged: true | null,
): number {
  let at = now
  while (!isRereadDue(record, since, at, isUnchanged)) at = (dayNumber(at) + 1) * daySeconds
  return at
}

/** When a webhook that waits has the record read; null: none waits. */
async function readHintAt(db: Db, { rooftopId, id }: RecordFacts, now: Date): Promise<Date | null> {
  const { rows } = await sql<{ at: Date }>`
    select ${now}::timestamptz + greatest(min(due_at) - now(), '0') as at
    from ops.webhook_delivery where rooftop_id = ${rooftopId} and eval_id = ${id} and state = 'waiting'
    having count(*) > 0`.execute(db)
  return rows[0]?.at ?? null
}

// What has happened to a record: its last read, and the last run of its rooftop. Times are those of the source's clock.

/** The last read that left a trace. An unchanged record that is read again leaves none. */
interface LastRead {
  readonly at: Date
  readonly runId: number
  readonly reason: 'new' | 'changed' | 'again' | 'backfill' | 'retry' | 'webhook' | 'reread'
  readonly outcome: string
}

interface LastRun {
  readonly runId: number
  readonly command: string
  readonly status: string
  readonly finishedAt: Date | null
  readonly error: string | null
}

/** Reads that left a row. Our times are turned into the source's by the difference that their run measured. */
async function readLastRead(
  db: Db,
  { name, endpoint }: WindowedRecords,
  { rooftopId, id }: { readonly rooftopId: number; readonly id: number },
): Promise<LastRead | null> {
  const key = String(id)
  const { rows } = await sql<{
    at: Date
    runId: number
    outcome: string
    isRetry: boolean
    isNew: boolean
    mode: string
  }>`
    with read_again (at, run_id, outcome, is_retry, is_new) as (
      select fetched_at, run_id, 'stored', false, not exists (
        select from core.evaluation as stored
        where stored.rooftop_id = payload.rooftop_id and eval_id = ${id} and first_loaded_at < fetched_at)
      from raw.payload as payload where rooftop_id = ${rooftopId} and endpoint = ${endpoint} and natural_key = ${key}
      union all
      select started_at, run_id, 'stored', false, version_no = 1 and first_loaded_at >= started_at
      from core.evaluation join ops.run using (run_id) where rooftop_id = ${rooftopId} and eval_id = ${id}
      union all
      select last_seen_at, run_id, 'quarantined', attempts > 1, not exists (
        select from core.evaluation as stored
        where stored.rooftop_id = ${rooftopId} and eval_id = ${id} and first_loaded_at < last_seen_at)
      from ops.quarantine where rooftop_id = ${rooftopId} and stream = ${name} and natural_key = ${key}
        and split_part(natural_key, '/', 1) = ${key}
      union all
      select processed_at, run_id, outcome, false, false
      from ops.webhook_delivery where rooftop_id = ${rooftopId} and eval_id = ${id} and state = 'processed'
      union all
      select started_at, run_id, 'vanished', false, not exists (
        select from core.evaluation as stored where stored.rooftop_id = gone.rooftop_id and eval_id = ${id})
      from ops.vanished as gone join ops.run using (run_id)
      where rooftop_id = ${rooftopId} and gone.stream = ${name} and natural_key = ${key} and reason = 'not found'
    )
    select read_again.at + (source_started_at - started_at) as at, run_id as "runId", outcome, is_retry as "isRetry",
      is_new as "isNew", arguments ->> 'mode' as mode
    from read_again join ops.run using (run_id)
    where arguments ->> 'mode' <> 'replay' order by read_again.at desc limit 1`.execute(db)
  const [found] = rows
  if (found === undefined) return null
  const { at, runId, outcome } = found
  return { at, runId, reason: readReason(found), outcome }
}

function readReason(read: {
  mode: string
  outcome: string
  isRetry: boolean
  isNew: boolean
}): LastRead['reason'] {
  if (read.mode === 'hints') return 'webhook'
  if (read.mode === 'retry' || read.isRetry) return 'retry'
  if (read.mode === 'backfill') return 'backfill'
  if (read.isNew) return 'new'
  if (read.outcome === 'vanished') return 'reread'
  // Nothing was stored that would show whether it had changed.
  return read.outcome === 'quarantined' ? 'again' : 'changed'
}

/** The newest sync or backfill of the rooftop; null: there was none. */
async function readLastRun(
  db: Db,
  { name }: WindowedRecords,
  rooftopId: number,
): Promise<LastRun | null> {
  const { rows } = await sql<LastRun>`
    select run_id as "runId", command, part.status, part.finished_at + (source_started_at - started_at) as "finishedAt", error
    from ops.run_stream as part join ops.run using (run_id)
    where rooftop_id = ${rooftopId} and stream = ${name} and arguments ->> 'mode' in ('sync', 'backfill')
    order by run_id desc limit 1`.execute(db)
  return rows[0] ?? null
}
