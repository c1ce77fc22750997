import { sql } from 'kysely'
import { isAhead } from '../../values/instant.ts'
import { cutIntoWindows } from '../../values/window.ts'
import { chooseRecords, confirmUnits, type ReadPlan } from '../records/choose-records.ts'
import { commitRecords } from '../records/commit-records.ts'
import { type Hydrated, hydrate } from '../records/hydrate.ts'
import { newestHashes } from '../records/load-records.ts'
import type { SliceContent } from '../run/slice-outcome.ts'
import {
  type CallPlan,
  type PlanScope,
  type SliceJob,
  type SliceResult,
  sourceTimeAt,
} from '../run/stream.ts'
import { type Backlog, firstUnits, groupUnits, saveBacklog, takeBacklog } from './backlog.ts'
import {
  certify,
  type EarlierCertificate,
  earlierCertificates,
  readListLimit,
  saveListLimit,
} from './certificate.ts'
import { type DueScope, type DueWindow, dueWindows } from './due-windows.ts'
import { listWindows, windowsPerSlice } from './list-windows.ts'
import type { ListLimit, ProvenPart } from './prove.ts'
import type { WindowedRecords } from './windowed-records.ts'

/**
 * One slice of a windowed stream: due windows → proven lists → records that must be read → one transaction with rows,
 * payloads, certificates, coverage and the fenced completion of the work. Before the commit nothing is visible. Windows that do
 * not fit in are left for the next slice. A certificate is written only when all records of its window are loaded.
 */
export async function readWindows(job: SliceJob<WindowedRecords>): Promise<SliceResult> {
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
  const hasNewCap = listed.listLimit.cap !== limitBefore.cap && listed.listLimit.cap !== null
  const more = listed.more || hasNewCap || work.left.units.length > 0
  const result = await commitRecords(job, work.content, async (tx, { certificates }) => {
    await saveListLimit(tx, scope, limitBefore, listed.listLimit)
    await certify(tx, scope, [{ rooftopId: rooftop.id, certificates }], context.config.sync)
    return { more, ...unknownIds(work.content) }
  })
  // The lists in the backlog may have been cut off by a cap that is known only now.
  if (!hasNewCap) saveBacklog(job, work.left)
  return result
}

/** The error of a slice most of whose listed ids do not exist: they are probably numbers of something else. A few are deleted records. */
function unknownIds({ parts, records, known, readBefore }: SliceContent): { error?: string } {
  const read = new Map([
    ...(readBefore ?? []),
    ...records.map(({ id, kind }) => [id, kind] as const),
  ])
  const listed = [...new Set(parts.flatMap(({ items }) => items.map(({ id }) => id)))]
  const lost = listed.filter((id) => read.get(id) === 'vanished' && !known.has(id))
  if (lost.length < 10 || lost.length * 2 <= listed.length) return {}
  return {
    error: `Of ${listed.length} listed ids, ${lost.length} do not exist: the lists may have the ids at another path. Run "forecourt wire check", and see wire.appraisal.evalList.id`,
  }
}

async function listUnits(
  job: SliceJob<WindowedRecords>,
  { due, earlier }: { due: readonly DueWindow[]; earlier: readonly EarlierCertificate[] },
  limitBefore: ListLimit,
): Promise<Listed> {
  const listed = await listWindows(job, due, earlier, limitBefore)
  return { ...listed, units: groupUnits(listed.parts, due), readBefore: new Map() }
}

/** Listed windows, and what is known about the source's list limit after listing them. */
interface Listed extends Backlog {
  readonly listLimit: ListLimit
  readonly more: boolean
}

/** Reads the records of the first units, as many as fit in. Units with an unread record are left for the next slice. */
async function readUnits(
  job: SliceJob<WindowedRecords>,
  scope: DueScope,
  { units, earlier, readBefore }: Listed,
): Promise<{
  content: SliceContent
  left: Backlog
}> {
  const { records: enough, recordsPerPart } = job.context.sliceLimits
  const { units: taken, missing } = await confirmUnits(job, firstUnits(units, enough))
  const parts = taken.flat()
  const reading = await chooseRecords(job, scope, { parts, missing, earlier, readBefore })
  const wanted = reading.ids
  const ids = wanted.slice(0, enough + recordsPerPart)
  const records = await readRecords(job, { ...reading, ids })
  const read = new Map([...readBefore, ...records.map(({ id, kind }) => [id, kind] as const)])
  const unread = new Set(wanted.filter((id) => !read.has(id)))
  const isUnread = ({ items }: ProvenPart) => items.some(({ id }) => unread.has(id))
  const incomplete = unread.size > 0 ? taken.filter((unit) => unit.some(isUnread)) : []
  const complete = parts.filter((part) => !incomplete.some((unit) => unit.includes(part)))
  const content = {
    ...{ ...reading, parts: complete, incomplete: incomplete.flat() },
    ...{ readBefore, records },
  }
  const left = [...incomplete, ...units.slice(taken.length)]
  return {
    content,
    left: { units: left, earlier, readBefore: incomplete.length > 0 ? read : new Map() },
  }
}

/** Reads the chosen records in order, as many as a slice has room for. A body whose hash is stored already is not parsed. */
export async function readRecords(
  job: SliceJob<WindowedRecords>,
  { ids, known, quarantined, changed }: Pick<ReadPlan, 'ids' | 'known' | 'quarantined' | 'changed'>,
): Promise<Hydrated[]> {
  const { context, stream, rooftop } = job
  const stored = ids.filter((id) => known.has(id))
  const hashes = await newestHashes(context.db, stream.endpoint, rooftop, stored.map(String))
  const storedHash = new Map([...hashes].map(([key, hash]) => [Number(key), hash]))
  // These are merged even with an equal body: their mark as gone, or a time in the future, must be removed.
  const now = sourceTimeAt(job.run, new Date())
  const merged = stored.filter((id) => {
    const { gone, updatedAt } = known.get(id)!
    return gone || changed.has(id) || isAhead(updatedAt, now)
  })
  return await hydrate(job, ids, { storedHash, merged: new Set(merged), quarantined })
}

const maxPlanned = 1_000_000

/** The windows that are due, and the records to expect in those that were never listed, as many as earlier windows held. */
export async function planWindows(
  { name }: WindowedRecords,
  { db, config: { sync }, run, rooftop }: PlanScope,
): Promise<CallPlan> {
  if (db === null) {
    // Nothing is covered: the whole range is a gap.
    const range = { from: run.from, until: run.until ?? run.sourceStart }
    const openUntil = run.until === null ? run.sourceStart : null
    const all = cutIntoWindows([range], sync.windowHours * 3600, openUntil, maxPlanned)
    const windows = all.map((window) => ({ ...window, reason: 'gap' as const }))
    return { lists: windows.length, reads: null, windows, unlisted: windows.length }
  }
  const scope = { rooftopId: rooftop?.id ?? 0, stream: name, run }
  const windows = await dueWindows(db, scope, sync, maxPlanned)
  const gaps = windows.filter(({ reason }) => reason === 'gap')
  const { rows } = await sql<{ average: number | null; unlisted: number }>`
    select avg(listed)::float8 as average,
      (select count(*)::int from unnest(${gaps.map(({ from }) => from)}::bigint[], ${gaps.map(({ until }) => until)}::bigint[])
        as due (from_seconds, until_seconds)
       where not exists (
         select from ops.certificates_over(${scope.rooftopId}, ${name}, to_timestamp(from_seconds), to_timestamp(until_seconds)))) as unlisted
    from ops.window_certificate where rooftop_id = ${scope.rooftopId} and stream = ${name}`.execute(
    db,
  )
  const { average, unlisted } = rows[0]!
  const reads = average === null ? null : Math.round(gaps.length * average)
  return { lists: windows.length, reads, windows, unlisted }
}
