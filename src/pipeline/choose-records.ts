import type { StoredRecord, WindowedStream } from '../streams/windowed-stream.ts'
import { isAhead, parseUtc } from '../values/instant.ts'
import { fromUnixSeconds, toUnixSeconds } from '../values/unix-seconds.ts'
import { isWithin, overlap } from '../values/window.ts'
import type { Backlog } from './backlog.ts'
import type { EarlierCertificate } from './certificate.ts'
import { isOwnedByOther } from './record-owner.ts'
import type { DueScope } from './due-windows.ts'
import type { ProvenPart } from './prove.ts'
import { type QuarantinedRecord, readQuarantinedRecords } from './quarantine.ts'
import type { ListedWindows } from './list-windows.ts'
import { isRereadDue, isUnchanged } from './reread.ts'
import { type SliceJob, sourcesOf } from './slice.ts'

export interface ReadPlan {
  /** Records to read. */
  readonly ids: readonly number[]
  readonly known: ReadonlyMap<number, StoredRecord>
  /** Known, and changed by the list's word. */
  readonly changed: ReadonlySet<number>
  /** In quarantine now. */
  readonly aside: ReadonlySet<number>
  /** In quarantine here, but landed meanwhile: another rooftop of the group holds it. */
  readonly landed: readonly number[]
  /** Parts whose known records were all looked at; the others keep their earlier mark. */
  readonly lookedAt: ReadonlyMap<ProvenPart, Date>
  /** Stored records of a part that the list no longer shows. */
  readonly unlisted: ReadonlyMap<ProvenPart, readonly number[]>
  /** Records that the list shows at another time than the one stored, with that time. */
  readonly moved: ReadonlyMap<number, Date>
}

type Chosen = Pick<ListedWindows, 'parts' | 'earlier'> & Pick<Backlog, 'readBefore'>

/** Which listed records are new, changed by the list's word, or due to be looked at again, and were not read before. */
export async function chooseRecords(
  job: SliceJob<WindowedStream>,
  scope: DueScope,
  { parts, earlier, readBefore }: Chosen,
): Promise<ReadPlan> {
  const { context, stream, rooftop } = job
  const listed = new Set(parts.flatMap((part) => part.items.map((item) => item.evalId)))
  const open = await readQuarantinedRecords(context.db, scope)
  const aside = new Set(open.map(({ id }) => id))
  // Aside and no longer listed: read once more, to learn whether it has vanished.
  const lost = open
    .filter((record) => !listed.has(record.id) && wasListedIn(parts, record))
    .map(({ id }) => id)
  const entries = await stream.storedRecords(context.db, rooftop, [...listed, ...lost])
  const known = new Map(entries.map((entry) => [entry.id, entry]))
  const stored = await storedOf(job, parts)
  let budget = known.size === 0 ? 0 : await rereadBudget(job)
  const ids = new Set(lost)
  const changed = new Set<number>()
  const lookedAt = new Map<ProvenPart, Date>()
  const unlisted = new Map<ProvenPart, readonly number[]>()
  const moved = new Map<number, Date>()
  for (const part of parts) {
    const since = earliestLook(part, earlier)
    const { first, again, told } = sortOut(job, part, { known, aside, since })
    for (const id of told) changed.add(id)
    const left = again.filter((id) => !readBefore.has(id))
    // A part is read whole or not at all, in however many slices; the last one may overdraw, so that no part is too large for ever.
    const affordable = budget > 0 || again.length === 0 || left.length < again.length
    if (affordable) budget -= left.length
    for (const id of affordable ? [...first, ...left] : first) ids.add(id)
    lookedAt.set(part, affordable ? part.listedAt : (since ?? new Date(0)))
    for (const [id, at] of misplaced(part, known, rooftop)) moved.set(id, at)
    const missing = await missingFrom(job, part, stored.get(part)!)
    const elsewhere = await shownElsewhere(
      job,
      missing.filter((id) => !listed.has(id)),
    )
    for (const [id, at] of elsewhere) moved.set(id, at)
    unlisted.set(
      part,
      missing.filter((id) => !listed.has(id) && !elsewhere.has(id)),
    )
  }
  const landed = [...aside].filter((id) => isOwnedByOther(known.get(id), rooftop))
  const unread = [...ids].filter((id) => !readBefore.has(id))
  return { ids: unread, known, changed, aside, landed, lookedAt, unlisted, moved }
}

/** Listed in a window that does not hold the stored time: EntryDate and the list's own time disagree. The list is right. */
function misplaced(
  { window, items }: ProvenPart,
  known: ReadonlyMap<number, StoredRecord>,
  rooftop: SliceJob['rooftop'],
): Map<number, Date> {
  const moved = new Map<number, Date>()
  for (const { evalId } of items) {
    const entry = known.get(evalId)
    if (!entry || entry.rooftopId !== rooftop.id || isWithin(window, entry.entryAt)) continue
    const created = isWithin(window, entry.createdAt)
    moved.set(evalId, created ? entry.createdAt : fromUnixSeconds(window.from))
  }
  return moved
}

/** Before a record counts as no longer listed: is it listed in the second of its CreatedAt? Then EntryDate misled us. */
async function shownElsewhere(
  job: SliceJob<WindowedStream>,
  ids: readonly number[],
): Promise<Map<number, Date>> {
  const { context, stream, rooftop } = job
  const shown = new Map<number, Date>()
  if (ids.length === 0) return shown
  for (const entry of await stream.storedRecords(context.db, rooftop, ids)) {
    const second = toUnixSeconds(entry.createdAt)
    if (second === toUnixSeconds(entry.entryAt)) continue
    const range = { from: second, until: second + 1 }
    const options = { signal: context.signal, onAttempt: job.traffic.onAttempt }
    const { items } = await stream.list(sourcesOf(context), rooftop, range, options)
    if (items.some(({ evalId }) => evalId === entry.id)) shown.set(entry.id, entry.createdAt)
  }
  return shown
}

/** Of a part: what has to be read in any case, and what is known and is to be read again, some of it by the list's word. */
function sortOut(
  { rooftop, run }: SliceJob,
  part: ProvenPart,
  {
    known,
    aside,
    since,
  }: { since: Date | null; known: ReadonlyMap<number, StoredRecord>; aside: ReadonlySet<number> },
): { first: number[]; again: number[]; told: number[] } {
  const first: number[] = []
  const again: number[] = []
  const told: number[] = []
  for (const { evalId, updatedAt } of part.items) {
    const entry = known.get(evalId)
    if (isOwnedByOther(entry, rooftop)) continue
    if (!entry || entry.gone || aside.has(evalId)) first.push(evalId)
    else {
      const isUnchanged = listSays(updatedAt, entry, run.sourceStart)
      if (isUnchanged === false) told.push(evalId)
      // A process that was killed in the middle of a window left what this run had written of it.
      const isOfRun = entry.runId === run.runId
      if (
        isUnchanged === false ||
        (!isOfRun && isRereadDue(entry, since, run.sourceStart, isUnchanged))
      )
        again.push(evalId)
    }
  }
  return { first, again, told }
}

/** Whether the list says that a record is as it is stored; null: it does not say, or tells a time that cannot be. */
function listSays(updatedAt: string | null, entry: StoredRecord, now: number): boolean | null {
  const listed = updatedAt === null ? null : parseUtc(updatedAt)
  const isUsable = listed !== null && !isAhead(listed, fromUnixSeconds(now))
  return isUnchanged(isUsable ? listed : null, entry.updatedAt)
}

function wasListedIn(parts: readonly ProvenPart[], { from, until }: QuarantinedRecord): boolean {
  if (!from || !until) return false
  return parts.some(
    ({ window }) => fromUnixSeconds(window.from) < until && fromUnixSeconds(window.until) > from,
  )
}

function earliestLook(part: ProvenPart, earlier: readonly EarlierCertificate[]): Date | null {
  const covered = earlier.filter((old) => overlap(old, part.window))
  if (covered.length === 0) return null
  return new Date(Math.min(...covered.map((old) => old.rereadAt.getTime())))
}

/** How many known records this run may still read again at the rooftop. */
async function rereadBudget({
  context: { db, config },
  run,
  rooftop,
  stream,
}: SliceJob<WindowedStream>): Promise<number> {
  const row = await db
    .selectFrom('ops.run_stream')
    .select(['hydrated', 'inserted'])
    .where('run_id', '=', run.runId)
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .executeTakeFirst()
  return config.sync.rereadBudget - (row ? row.hydrated - row.inserted : 0)
}

/** The records that are stored of each part's window. */
async function storedOf(
  { context, stream, rooftop }: SliceJob<WindowedStream>,
  parts: readonly ProvenPart[],
): Promise<Map<ProvenPart, number[]>> {
  const spans = parts.map(({ window }) => window)
  const entries = await stream.storedWithin(context.db, rooftop, spans)
  const ids = entries.map(({ id, entryAt }) => [toUnixSeconds(entryAt), id] as const)
  return new Map(
    parts.map((part) => {
      const { from, until } = part.window
      return [part, ids.filter(([at]) => at >= from && at < until).map(([, id]) => id)]
    }),
  )
}

/** Only a certified window may say that a record is no longer listed, and only when a second listing says so too. */
async function missingFrom(
  job: SliceJob<WindowedStream>,
  part: ProvenPart,
  stored: readonly number[],
): Promise<readonly number[]> {
  const { context, stream, rooftop } = job
  if (part.proof === 'unprovable') return []
  const { from, until, open } = part.window
  const listed = new Set(part.items.map((item) => item.evalId))
  const missing = stored.filter((id) => !listed.has(id))
  if (missing.length === 0) return []
  const again = await stream.list(
    sourcesOf(context),
    rooftop,
    { from, until: open ? null : until },
    { signal: context.signal, onAttempt: job.traffic.onAttempt },
  )
  const shown = new Set(again.items.map((item) => item.evalId))
  return missing.filter((id) => !shown.has(id))
}
