import type { Tx } from '../db/transaction.ts'
import { suppressedAmong } from '../erasure/suppression.ts'
import type { WindowedStream } from '../streams/windowed-stream.ts'
import { isAhead } from '../values/instant.ts'
import { type Backlog, firstUnits, saveBacklog, takeBacklog, unitsOf } from './backlog.ts'
import {
  readListLimit,
  certify,
  type EarlierCertificate,
  earlierCertificates,
  saveListLimit,
} from './certificate.ts'
import { chooseRecords, type ReadPlan } from './choose-records.ts'
import type { Drift } from './drift.ts'
import { type DueScope, type DueWindow, dueWindows } from './due-windows.ts'
import { type Hydrated, hydrate } from './hydrate.ts'
import type { Counts, StreamStatus } from './run-ledger.ts'
import { listWindows, windowsPerSlice } from './list-windows.ts'
import { newestHashes } from './load-records.ts'
import type { ListLimit, ProvenPart } from './prove.ts'
import { type SliceJob, sourceTimeAt } from './slice.ts'
import { type IsolatedWrite, writeIsolated } from './write-isolated.ts'
import type { SliceContent } from './slice-outcome.ts'
import { writeSlice } from './write-slice.ts'

/** What a slice did, and what follows it. */
export interface SliceResult {
  readonly counts: Counts
  /** Whether more is due in this run. */
  readonly more: boolean
  /** With `more`: seconds until the next slice; no worker slot is held meanwhile. */
  readonly delaySeconds?: number
  /** Ends the stream for this run with this status, even if more is due. */
  readonly ended?: StreamStatus
  /** Why something is missing, although the rest was loaded. */
  readonly error?: string
}

/** Ends a slice inside its transaction: adds its counts to the ledger and completes its work under the fence. */
export type FinishSlice = (tx: Tx, result: SliceResult) => Promise<void>

/**
 * One slice of a windowed stream: due windows → proven lists → records that must be read → one transaction with rows,
 * payloads, certificates, coverage and the fenced completion of the work. Before the commit nothing is visible. Windows that do
 * not fit in are left for the next slice. A certificate is written only when all records of its window are loaded.
 */
export async function windowedSlice(
  job: SliceJob<WindowedStream>,
  finish: FinishSlice,
): Promise<SliceResult> {
  const { context, run, stream, rooftop } = job
  const scope: DueScope = { rooftopId: rooftop.id, stream: stream.name, run }
  const due = await dueWindows(context.db, scope, context.config.sync, windowsPerSlice)
  const limitBefore = await readListLimit(context.db, scope)
  const earlier = await earlierCertificates(context.db, scope, due)
  const backlog = takeBacklog(job, due, earlier)
  const listed = backlog
    ? { ...backlog, listLimit: limitBefore, more: true }
    : await listUnits(job, { due, earlier }, limitBefore)
  const work = await readUnits(job, scope, listed)
  context.crashPoint('before-commit')
  const hasNewCap = listed.listLimit.cap !== limitBefore.cap && listed.listLimit.cap !== null
  const more = listed.more || hasNewCap || work.left.units.length > 0
  const { outcome, drift } = await writeIsolated(job, work.records, {
    ...recordWrites(job, work.content),
    write: async (tx, records) => {
      const { counts, certificates, drift } = await writeSlice(tx, job, {
        ...work.content,
        records,
      })
      await saveListLimit(tx, scope, limitBefore, listed.listLimit)
      await certify(tx, scope, certificates, context.config.sync.settleDays)
      context.crashPoint('rows-written')
      const outcome = { counts, more }
      await finish(tx, outcome)
      context.crashPoint('ledger-written')
      return { outcome, drift }
    },
  })
  // The lists in the backlog may have been cut off by a cap that is known only now.
  if (!hasNewCap) saveBacklog(job, work.left)
  context.crashPoint('committed')
  await reportDrift(job, drift)
  return outcome
}

/** How the records of a slice are stored, and how those that cannot be stored are rejected. */
export function recordWrites(
  job: SliceJob<WindowedStream>,
  content: Omit<SliceContent, 'records'>,
): Omit<IsolatedWrite<Hydrated, unknown>, 'write'> {
  return {
    store: async (tx, records) => await writeSlice(tx, job, { ...content, records }),
    reject: (entry, issues) => {
      const text = entry.kind === 'record' ? entry.payload.text : ''
      return { kind: 'rejected', id: entry.id, issues, text }
    },
  }
}

async function listUnits(
  job: SliceJob<WindowedStream>,
  { due, earlier }: { due: readonly DueWindow[]; earlier: readonly EarlierCertificate[] },
  limitBefore: ListLimit,
): Promise<Listed> {
  const listed = await listWindows(job, due, earlier, limitBefore)
  return { ...listed, units: unitsOf(listed.parts, due), readBefore: new Map() }
}

/** Listed windows, and what is known about the source's list limit after listing them. */
interface Listed extends Backlog {
  readonly listLimit: ListLimit
  readonly more: boolean
}

/** Reads the records of the first units, as many as fit in. Units with an unread record are left for the next slice. */
async function readUnits(
  job: SliceJob<WindowedStream>,
  scope: DueScope,
  { units, earlier, readBefore }: Listed,
): Promise<{
  content: Omit<SliceContent, 'records'>
  records: readonly Hydrated[]
  left: Backlog
}> {
  const { records: enough, recordsPerPart } = job.context.sliceLimits
  const taken = firstUnits(units, enough)
  const parts = taken.flat()
  const reading = await chooseRecords(job, scope, { parts, earlier, readBefore })
  const wanted = reading.ids
  const ids = wanted.slice(0, enough + recordsPerPart)
  const records = await readRecords(job, { ...reading, ids })
  const read = new Map([...readBefore, ...records.map(({ id, kind }) => [id, kind] as const)])
  const unread = new Set(wanted.filter((id) => !read.has(id)))
  const isUnread = ({ items }: ProvenPart) => items.some(({ evalId }) => unread.has(evalId))
  const incomplete = unread.size > 0 ? taken.filter((unit) => unit.some(isUnread)) : []
  const complete = parts.filter((part) => !incomplete.some((unit) => unit.includes(part)))
  const content = { ...reading, parts: complete, incomplete: incomplete.flat(), readBefore }
  const left = [...incomplete, ...units.slice(taken.length)]
  return {
    content,
    records,
    left: { units: left, earlier, readBefore: incomplete.length > 0 ? read : new Map() },
  }
}

/** Reads the chosen records in order, as many as a slice has room for. A body whose hash is stored already is not parsed. */
export async function readRecords(
  job: SliceJob<WindowedStream>,
  { ids, known, quarantined, changed }: Pick<ReadPlan, 'ids' | 'known' | 'quarantined' | 'changed'>,
): Promise<Hydrated[]> {
  const { context, stream, rooftop } = job
  const stored = ids.filter((id) => known.has(id))
  const hashes = await newestHashes(context.db, stream.endpoint, rooftop, stored.map(String))
  const storedHash = new Map([...hashes].map(([key, hash]) => [Number(key), hash]))
  const suppressed = await suppressedAmong(context.db, rooftop.groupId, ids)
  // These are merged even with an equal body: their mark as gone, or a time in the future, must be removed.
  const now = sourceTimeAt(job.run, new Date())
  const merged = stored.filter((id) => {
    const { gone, updatedAt } = known.get(id)!
    return gone || changed.has(id) || isAhead(updatedAt, now)
  })
  return await hydrate(job, ids, { storedHash, merged: new Set(merged), quarantined, suppressed })
}

/** Writes the drift report. A failure is logged only, since the slice is committed already. */
export async function reportDrift({ context, stream }: SliceJob, drift: Drift): Promise<void> {
  try {
    await drift.write(context.db, stream.name)
  } catch (error) {
    context.log.warn({ err: error }, 'drift report not written')
  }
}
