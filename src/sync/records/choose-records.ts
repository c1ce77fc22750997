import { isAhead, parseUtc } from '../../values/instant.ts'
import { fromUnixSeconds, toUnixSeconds } from '../../values/unix-seconds.ts'
import { isWithin, overlap } from '../../values/window.ts'
import { readRunStream } from '../run/commit-slice.ts'
import { isFirstOfRun } from '../run/first-of-run.ts'
import { pickSources } from '../run/sources.ts'
import { callOptions, type SliceJob } from '../run/stream.ts'
import type { Backlog, Unit } from '../windows/backlog.ts'
import type { EarlierCertificate } from '../windows/certificate.ts'
import type { DueScope } from '../windows/due-windows.ts'
import type { ListedWindows } from '../windows/list-windows.ts'
import type { ProvenPart } from '../windows/prove.ts'
import type { StoredRecord, WindowedRecords } from '../windows/windowed-records.ts'
import { type QuarantinedRecord, readQuarantinedRecords } from './quarantine.ts'
import { isRereadDue, isUnchanged } from './reread.ts'
import { isOwnedByOther, storedRecords, storedWithin } from './stored-records.ts'

/** Which listed records a slice reads, and what is known about them. */
export interface ReadPlan {
  /** Records to read. */
  readonly ids: readonly number[]
  readonly known: ReadonlyMap<number, StoredRecord>
  /** Known records that changed since, according to the list. */
  readonly changed: ReadonlySet<number>
  /** Records in quarantine now. */
  readonly quarantined: ReadonlySet<number>
  /** Records in quarantine here that another rooftop of the group has loaded meanwhile. */
  readonly loadedByOther: readonly number[]
  /** By part, when its known records were all read again; a part without room for them retains its earlier time. */
  readonly rereadAt: ReadonlyMap<ProvenPart, Date>
  /** Stored records of a part that the list no longer shows. */
  readonly unlisted: ReadonlyMap<ProvenPart, readonly number[]>
  /** Records that the list shows at another time than the stored one, with that time. */
  readonly moved: ReadonlyMap<number, Date>
}

type Chosen = Pick<ListedWindows, 'parts' | 'earlier'> &
  Pick<Backlog, 'readBefore'> &
  Pick<ConfirmedUnits, 'missing'>

/** Chooses the listed records to read: those that are new, changed or due to be read again, and not read already. */
export async function chooseRecords(
  job: SliceJob<WindowedRecords>,
  scope: DueScope,
  { parts, missing, earlier, readBefore }: Chosen,
): Promise<ReadPlan> {
  const { context, stream, rooftop } = job
  const listed = new Set(parts.flatMap((part) => part.items.map((item) => item.id)))
  const quarantinedRecords = await readQuarantinedRecords(context.db, scope)
  const quarantined = new Set(quarantinedRecords.map(({ id }) => id))
  // A quarantined record that is no longer listed is read once more, to learn whether it has vanished.
  const lost = quarantinedRecords
    .filter((record) => !listed.has(record.id) && wasListedIn(parts, record))
    .map(({ id }) => id)
  const entries = await storedRecords(context.db, stream, rooftop, [...listed, ...lost])
  const known = new Map(entries.map((entry) => [entry.id, entry]))
  const hasUpdateTimes = !showsCreation(parts, known)
  if (!hasUpdateTimes && isFirstOfRun(context, job.run.runId, `${stream.name} ${rooftop.uid}`))
    context.log.warn(
      { stream: stream.name, rooftop: rooftop.uid },
      `${rooftop.name}: the update times of the list of ${stream.name} are those of the creation, so they are not used. The list may have others under another name: see "forecourt wire check".`,
    )
  let budget = known.size === 0 ? 0 : await rereadBudget(job)
  const ids = new Set(lost)
  const changed = new Set<number>()
  const rereadAt = new Map<ProvenPart, Date>()
  const unlisted = new Map<ProvenPart, readonly number[]>()
  const moved = new Map<number, Date>()
  for (const part of parts) {
    const since = earliestReread(part, earlier)
    const { first, rereadIds, changedIds } = classify(job, part, {
      ...{ known, quarantined, since, hasUpdateTimes },
    })
    for (const id of changedIds) changed.add(id)
    const left = rereadIds.filter((id) => !readBefore.has(id))
    // A part is reread whole or not at all, over any number of slices. The last part may exceed the budget, so that none is too large.
    const affordable = budget > 0 || rereadIds.length === 0 || left.length < rereadIds.length
    if (affordable) budget -= left.length
    for (const id of affordable ? [...first, ...left] : first) ids.add(id)
    rereadAt.set(part, affordable ? part.listedAt : (since ?? new Date(0)))
    for (const [id, at] of misplaced(part, known, rooftop)) moved.set(id, at)
    const absent = missing.get(part)!.filter((id) => !listed.has(id))
    const atCreation = await listedAtCreation(job, absent)
    for (const [id, at] of atCreation) moved.set(id, at)
    unlisted.set(
      part,
      absent.filter((id) => !atCreation.has(id)),
    )
  }
  const loadedByOther = [...quarantined].filter((id) => isOwnedByOther(known.get(id), rooftop))
  const unread = [...ids].filter((id) => !readBefore.has(id))
  return { ids: unread, known, changed, quarantined, loadedByOther, rereadAt, unlisted, moved }
}

/** Records listed in a window that does not contain their stored time: EntryDate and the list disagree. The list is right. */
function misplaced(
  { window, items }: ProvenPart,
  known: ReadonlyMap<number, StoredRecord>,
  rooftop: SliceJob['rooftop'],
): Map<number, Date> {
  const moved = new Map<number, Date>()
  for (const { id } of items) {
    const entry = known.get(id)
    if (!entry || entry.rooftopId !== rooftop.id || isWithin(window, entry.entryAt)) continue
    const created = isWithin(window, entry.createdAt)
    moved.set(id, created ? entry.createdAt : fromUnixSeconds(window.from))
  }
  return moved
}

/** Records that seem unlisted, but are listed in the second of their CreatedAt. Their EntryDate was wrong. */
async function listedAtCreation(
  job: SliceJob<WindowedRecords>,
  ids: readonly number[],
): Promise<Map<number, Date>> {
  const { context, stream, rooftop } = job
  const shown = new Map<number, Date>()
  if (ids.length === 0) return shown
  for (const entry of await storedRecords(context.db, stream, rooftop, ids)) {
    const second = toUnixSeconds(entry.createdAt)
    if (second === toUnixSeconds(entry.entryAt)) continue
    const range = { from: second, until: second + 1 }
    const { items } = await stream.list(pickSources(context), rooftop, range, callOptions(job))
    if (items.some(({ id }) => id === entry.id)) shown.set(entry.id, entry.createdAt)
  }
  return shown
}

/** Divides a part into records to read in any case and known records to read again; the list says that some of these changed. */
function classify(
  { rooftop, run }: SliceJob,
  part: ProvenPart,
  {
    known,
    quarantined,
    since,
    hasUpdateTimes,
  }: {
    since: Date | null
    hasUpdateTimes: boolean
    known: ReadonlyMap<number, StoredRecord>
    quarantined: ReadonlySet<number>
  },
): { first: number[]; rereadIds: number[]; changedIds: number[] } {
  const first: number[] = []
  const rereadIds: number[] = []
  const changedIds: number[] = []
  for (const { id, updatedAt } of part.items) {
    const entry = known.get(id)
    if (isOwnedByOther(entry, rooftop)) continue
    if (!entry || entry.gone || quarantined.has(id)) first.push(id)
    else {
      const isUnchanged = hasUpdateTimes ? comparedToList(updatedAt, entry, run.sourceStart) : null
      if (isUnchanged === false) changedIds.push(id)
      // What this run itself wrote is current: a process was killed after it had written part of the window.
      const isOfRun = entry.runId === run.runId
      // Due by the time of the listing, up to which the certificate says that records were reread.
      const now = toUnixSeconds(part.listedAt)
      if (isUnchanged === false || (!isOfRun && isRereadDue(entry, since, now, isUnchanged)))
        rereadIds.push(id)
    }
  }
  return { first, rereadIds, changedIds }
}

/** Whether the list shows the time of the creation as that of the update: so for all of several records that have a later one. */
function showsCreation(
  parts: readonly ProvenPart[],
  known: ReadonlyMap<number, StoredRecord>,
): boolean {
  const later = parts
    .flatMap(({ items }) => items)
    .flatMap(({ id, updatedAt }) => {
      const listed = updatedAt === null ? null : parseUtc(updatedAt)
      const entry = known.get(id)
      if (listed === null || entry === undefined) return []
      const isOfUpdate = toUnixSeconds(entry.updatedAt) !== toUnixSeconds(entry.createdAt)
      return isOfUpdate ? [toUnixSeconds(listed) === toUnixSeconds(entry.createdAt)] : []
    })
  return later.length > 1 && later.every(Boolean)
}

/** Whether a record is unchanged according to the list. null: the list gives no update time, or an impossible one. */
function comparedToList(
  updatedAt: string | null,
  entry: StoredRecord,
  now: number,
): boolean | null {
  const listed = updatedAt === null ? null : parseUtc(updatedAt)
  const isUsable = listed !== null && !isAhead(listed, fromUnixSeconds(now))
  return isUnchanged(isUsable ? listed : null, entry.updatedAt)
}

/** Whether one of the parts covers the window that listed a quarantined record last. */
function wasListedIn(parts: readonly ProvenPart[], { from, until }: QuarantinedRecord): boolean {
  if (!from || !until) return false
  return parts.some(
    ({ window }) => fromUnixSeconds(window.from) < until && fromUnixSeconds(window.until) > from,
  )
}

/** The oldest reread time of the certificates that a part replaces; null: it was never certified. */
function earliestReread(part: ProvenPart, earlier: readonly EarlierCertificate[]): Date | null {
  const covered = earlier.filter((old) => overlap(old, part.window))
  if (covered.length === 0) return null
  return new Date(Math.min(...covered.map((old) => old.rereadAt.getTime())))
}

/** How many known records of the rooftop this run may still read again. */
async function rereadBudget(job: SliceJob<WindowedRecords>): Promise<number> {
  const { db, config } = job.context
  const { hydrated = 0, inserted = 0 } = (await readRunStream(db, job)) ?? {}
  return config.sync.rereadBudget - (hydrated - inserted)
}

/** The stored records of each part's window. */
async function readStored(
  { context, stream, rooftop }: SliceJob<WindowedRecords>,
  parts: readonly ProvenPart[],
): Promise<Map<ProvenPart, number[]>> {
  const spans = parts.map(({ window }) => window)
  const entries = await storedWithin(context.db, stream, rooftop, spans)
  const ids = entries.map(({ id, entryAt }) => [toUnixSeconds(entryAt), id] as const)
  return new Map(
    parts.map((part) => {
      const { from, until } = part.window
      return [part, ids.filter(([at]) => at >= from && at < until).map(([, id]) => id)]
    }),
  )
}

/** Units with what a second listing of their windows has shown. */
interface ConfirmedUnits {
  readonly units: readonly Unit[]
  /** By part, the stored records that neither listing shows. */
  readonly missing: ReadonlyMap<ProvenPart, readonly number[]>
}

/**
 * Lists the parts again that leave out a stored record. A record that the second listing shows belongs to its part, whose certificate
 * lists it then: a source may leave one out for a moment. An unprovable part says nothing of what it leaves out.
 */
export async function confirmUnits(
  job: SliceJob<WindowedRecords>,
  units: readonly Unit[],
): Promise<ConfirmedUnits> {
  const { context, stream, rooftop } = job
  const stored = await readStored(job, units.flat())
  const missing = new Map<ProvenPart, readonly number[]>()
  const confirm = async (part: ProvenPart): Promise<ProvenPart> => {
    const listed = new Set(part.items.map((item) => item.id))
    const absent =
      part.proof === 'unprovable' ? [] : stored.get(part)!.filter((id) => !listed.has(id))
    if (absent.length === 0) {
      missing.set(part, [])
      return part
    }
    const { from, until, open } = part.window
    const second = await stream.list(
      pickSources(context),
      rooftop,
      { from, until: open ? null : until },
      callOptions(job),
    )
    const shown = second.items.filter(({ id }) => absent.includes(id))
    const confirmed = { ...part, items: [...part.items, ...shown] }
    missing.set(
      confirmed,
      absent.filter((id) => shown.every((item) => item.id !== id)),
    )
    return confirmed
  }
  const confirmed: Unit[] = []
  for (const unit of units) {
    const parts: ProvenPart[] = []
    for (const part of unit) parts.push(await confirm(part))
    confirmed.push(parts)
  }
  return { units: confirmed, missing }
}
