import { inTransaction, type Tx } from '../db/transaction.ts'
import type { Known, WindowedStream } from '../streams/stream.ts'
import { parseUtc } from '../values/instant.ts'
import { fromUnixSeconds } from '../values/unix-seconds.ts'
import {
  type Certificate,
  capKnowledge,
  certify,
  type EarlierCertificate,
  earlierCertificates,
  idsDigest,
  learnCap,
} from './certificate.ts'
import { Drift } from './drift.ts'
import { type DueScope, type DueWindow, dueWindows } from './due.ts'
import { asideKeys, putAside, release } from './quarantine.ts'
import { type Hydrated, hydrate } from './hydrate.ts'
import { addCounts, type Counts, zeroCounts } from './ledger.ts'
import { keepPayloads, type LoadOutcome, loadRecords, newestHashes } from './load.ts'
import { type CapKnowledge, type Listing, type ProvenPart, proveWindow } from './prove.ts'
import { isRereadDue, saysUnchanged } from './reread.ts'
import { type SliceJob, sourcesOf, Traffic } from './slice.ts'
import { clearVanished, markVanished } from './vanished.ts'

/** A slice holds about so many records: bounds memory, the length of its transaction, and what a crash costs. */
const recordsPerSlice = 500
/** A part never holds more than so many; larger windows are halved, with a certificate for each part. */
const recordsPerPart = 1000
const windowsPerSlice = 64

export interface SliceResult {
  readonly counts: Counts
  /** More windows are due in this run. */
  readonly more: boolean
}

/** Writes the ends of a slice inside its transaction: the ledger's counts and the fenced completion of the work. */
export type Finish = (tx: Tx, result: SliceResult) => Promise<void>

/**
 * One slice of a windowed stream: due windows → proven lists → records that must be read → one transaction with rows,
 * payloads, certificates, coverage and the fenced completion of the work. Until it commits, nothing has happened.
 */
export async function windowedSlice(
  job: SliceJob<WindowedStream>,
  finish: Finish,
): Promise<SliceResult> {
  const { context, run, stream, rooftop } = job
  const traffic = new Traffic()
  const scope: DueScope = { rooftopId: rooftop.id, stream: stream.name, run }
  const due = await dueWindows(context.db, scope, context.config.sync, windowsPerSlice)
  const before = await capKnowledge(context.db, scope)
  const listed = await listWindows(job, scope, due, before, traffic)
  const reading = await chooseRecords(job, scope, listed.parts)
  const records = await readRecords(job, reading.ids, reading.known, traffic)
  context.crashPoint('before-commit')
  const more = listed.more || (listed.knowledge.cap !== before.cap && listed.knowledge.cap !== null)
  const drift = new Drift(stream.documented)
  const result = await inTransaction(context.pool, async (tx) => {
    const counts = await write(
      tx,
      job,
      { ...reading, parts: listed.parts, records, drift },
      traffic,
    )
    await learnCap(tx, scope, before, listed.knowledge)
    await certify(tx, scope, counts.certificates, context.config.sync.settleDays)
    context.crashPoint('rows-written')
    const outcome = { counts: counts.counts, more }
    await finish(tx, outcome)
    context.crashPoint('ledger-written')
    return outcome
  })
  context.crashPoint('committed')
  await drift.write(context.db, stream.name)
  return result
}

interface ListedWindows {
  readonly parts: readonly ProvenPart[]
  readonly knowledge: CapKnowledge
  readonly more: boolean
}

/** Lists due windows in waves until the slice is full. A wave is as wide as the records seen so far let expect. */
async function listWindows(
  job: SliceJob<WindowedStream>,
  scope: DueScope,
  due: readonly DueWindow[],
  before: CapKnowledge,
  traffic: Traffic,
): Promise<ListedWindows> {
  const parts: ProvenPart[] = []
  let knowledge = before
  let next = 0
  let records = 0
  while (next < due.length && records < recordsPerSlice) {
    const average = next === 0 ? recordsPerSlice / 4 : Math.max(records / next, 1)
    const width = Math.max(
      1,
      Math.min(Math.ceil((recordsPerSlice - records) / average), 16, due.length - next),
    )
    const wave = due.slice(next, next + width)
    const proofs = await Promise.all(
      wave.map((window) => listOne(job, scope, window, knowledge, traffic)),
    )
    for (const proof of proofs) {
      parts.push(...proof.parts)
      knowledge = combine(knowledge, proof.knowledge)
    }
    next += width
    records = parts.reduce((sum, part) => sum + part.items.length, 0)
    job.context.crashPoint('window-listed')
  }
  return { parts, knowledge, more: next < due.length || due.length >= windowsPerSlice }
}

async function listOne(
  job: SliceJob<WindowedStream>,
  scope: DueScope,
  window: DueWindow,
  knowledge: CapKnowledge,
  traffic: Traffic,
) {
  const { context, stream, rooftop } = job
  const earlier = await earlierCertificates(context.db, scope, window)
  const vouching = earlier.find(
    (old) => old.from === window.from && old.until === window.until && old.proof === 'halved',
  )
  const options = { signal: context.signal, onAttempt: traffic.onAttempt }
  const list = async ({
    from,
    until,
    open,
  }: {
    from: number
    until: number
    open: boolean
  }): Promise<Listing> =>
    await stream.list(sourcesOf(context), rooftop, { from, until: open ? null : until }, options)
  const vouched = (items: Listing['items']) =>
    vouching?.idsDigest.equals(idsDigest(items.map((item) => item.evalId))) ?? false
  return await proveWindow(window, { list, knowledge, vouched, maxItems: recordsPerPart })
}

/** Windows of a wave are proved side by side: the largest answer and the least cap of them count. */
function combine(left: CapKnowledge, right: CapKnowledge): CapKnowledge {
  const caps = [left.cap, right.cap].filter((cap) => cap !== null)
  const largest = Math.max(left.largest, right.largest)
  const cap = caps.length > 0 ? Math.min(...caps) : null
  return { largest, cap: cap !== null && largest > cap && right.cap === null ? null : cap }
}

interface Reading {
  /** Records to read. */
  readonly ids: readonly number[]
  readonly known: ReadonlyMap<number, Known>
  /** Parts whose known records were all looked at; the others keep their earlier mark. */
  readonly lookedAt: ReadonlyMap<ProvenPart, Date>
  /** Stored records of a part that the list no longer shows. */
  readonly unlisted: ReadonlyMap<ProvenPart, readonly number[]>
}

/** Which listed records are new, changed by the list's word, or due to be looked at again. */
async function chooseRecords(
  job: SliceJob<WindowedStream>,
  scope: DueScope,
  parts: readonly ProvenPart[],
): Promise<Reading> {
  const { context, stream, rooftop, run } = job
  const all = [...new Set(parts.flatMap((part) => part.items.map((item) => item.evalId)))]
  const known = new Map(
    (await stream.known(context.db, rooftop, all)).map((entry) => [entry.id, entry]),
  )
  const aside = await asideKeys(context.db, scope, all.map(String))
  let budget = context.config.sync.rereadBudget - (await rereadSoFar(job))
  const ids = new Set<number>()
  const lookedAt = new Map<ProvenPart, Date>()
  const unlisted = new Map<ProvenPart, readonly number[]>()
  for (const part of parts) {
    const earlier = await earlierCertificates(context.db, scope, part.window)
    const since = earliestLook(part, earlier)
    const again = part.items.filter(({ evalId, updatedAt }) => {
      const entry = known.get(evalId)
      if (!entry || entry.gone || aside.has(String(evalId))) ids.add(evalId)
      else if (entry.rooftopId === rooftop.id)
        return isDue(entry, updatedAt, since, run.sourceStart)
      return false
    })
    const affordable = again.length <= budget
    if (affordable) {
      budget -= again.length
      for (const item of again) ids.add(item.evalId)
    }
    lookedAt.set(part, affordable ? part.listedAt : (since ?? new Date(0)))
    unlisted.set(part, await missingFrom(job, part))
  }
  return { ids: [...ids], known, lookedAt, unlisted }
}

function isDue(entry: Known, updatedAt: string | null, since: Date | null, now: number): boolean {
  const unchanged = saysUnchanged(updatedAt === null ? null : parseUtc(updatedAt), entry.updatedAt)
  return unchanged === null ? isRereadDue(entry, since, now) : !unchanged
}

function earliestLook(part: ProvenPart, earlier: readonly EarlierCertificate[]): Date | null {
  const covered = earlier.filter(
    (old) => old.from < part.window.until && old.until > part.window.from,
  )
  if (covered.length === 0) return null
  return new Date(Math.min(...covered.map((old) => old.rereadAt.getTime())))
}

async function rereadSoFar({
  context,
  run,
  rooftop,
  stream,
}: SliceJob<WindowedStream>): Promise<number> {
  const row = await context.db
    .selectFrom('ops.run_stream')
    .select(['hydrated', 'inserted'])
    .where('run_id', '=', run.runId)
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .executeTakeFirst()
  return row ? row.hydrated - row.inserted : 0
}

/** Only a certified window may say that a record is no longer listed, and only when a second listing says so too. */
async function missingFrom(
  job: SliceJob<WindowedStream>,
  part: ProvenPart,
): Promise<readonly number[]> {
  const { context, stream, rooftop } = job
  if (part.proof === 'unprovable') return []
  const { from, until, open } = part.window
  const stored = await stream.knownWithin(
    context.db,
    rooftop,
    fromUnixSeconds(from),
    fromUnixSeconds(until),
  )
  const listed = new Set(part.items.map((item) => item.evalId))
  const missing = stored.filter((id) => !listed.has(id))
  if (missing.length === 0) return []
  const again = await stream.list(
    sourcesOf(context),
    rooftop,
    { from, until: open ? null : until },
    { signal: context.signal },
  )
  const shown = new Set(again.items.map((item) => item.evalId))
  return missing.filter((id) => !shown.has(id))
}

async function readRecords(
  job: SliceJob<WindowedStream>,
  ids: readonly number[],
  known: ReadonlyMap<number, Known>,
  traffic: Traffic,
): Promise<Hydrated[]> {
  const { context, stream, rooftop } = job
  // A record that was gone is merged again even when its body is the same: its mark must go.
  const comparable = ids.filter((id) => known.has(id) && !known.get(id)!.gone)
  const hashes = await newestHashes(context.db, stream.endpoint, rooftop, comparable.map(String))
  return await hydrate(
    job,
    ids,
    new Map([...hashes].map(([key, hash]) => [Number(key), hash])),
    traffic,
  )
}

interface SliceContent extends Reading {
  readonly parts: readonly ProvenPart[]
  readonly records: readonly Hydrated[]
  readonly drift: Drift
}

/** Rows, payloads, quarantine and marks of a slice. */
async function write(
  tx: Tx,
  job: SliceJob<WindowedStream>,
  content: SliceContent,
  traffic: Traffic,
): Promise<{ counts: Counts; certificates: Certificate[] }> {
  const { context, stream, rooftop, run } = job
  const fresh = content.records.filter((entry) => entry.kind === 'record')
  const rejected = content.records.filter((entry) => entry.kind === 'rejected')
  const vanished = content.records.filter((entry) => entry.kind === 'vanished').map(({ id }) => id)
  const windowOf = partOf(content.parts)
  const outcomes = await loadRecords(
    tx,
    stream,
    rooftop,
    fresh.map(({ id, record, payload }) => ({
      id,
      record,
      origin: { fetchedAt: payload.fetchedAt, runId: run.runId, listedIn: windowOf(id) },
    })),
    context.config.wire.appraisal,
  )
  const stale = new Set(outcomes.filter(({ outcome }) => outcome === 'stale').map(({ id }) => id))
  const kept = fresh.filter(({ id }) => !stale.has(id))
  await keepPayloads(
    tx,
    stream.endpoint,
    rooftop,
    run.runId,
    kept.map(({ id, payload }) => ({ naturalKey: String(id), ...payload })),
  )
  for (const { drift } of fresh) content.drift.add(drift)
  const quarantine = { stream: stream.name, rooftopId: rooftop.id, runId: run.runId }
  await putAside(
    tx,
    quarantine,
    rejected.map(({ id, issues, text }) => ({
      naturalKey: String(id),
      issues,
      payload: text,
      window: windowOf(id),
    })),
  )
  await release(tx, quarantine, [...fresh.map(({ id }) => String(id)), ...vanished.map(String)])
  const unlisted = [...content.unlisted.values()].flat()
  await markVanished(tx, stream, rooftop, run.runId, [
    { reason: 'not found', ids: vanished, at: fromUnixSeconds(run.sourceStart) },
    { reason: 'not listed', ids: unlisted, at: fromUnixSeconds(run.sourceStart) },
  ])
  await clearVanished(
    tx,
    stream,
    rooftop,
    fresh.map(({ id }) => id),
  )
  const counts = countSlice(content, outcomes, traffic, unlisted.length)
  return { counts, certificates: certificatesOf(content, stream, fresh) }
}

function countSlice(
  content: SliceContent,
  outcomes: readonly LoadOutcome[],
  traffic: Traffic,
  unlisted: number,
): Counts {
  const listed = content.parts.reduce((sum, part) => sum + part.items.length, 0)
  const of = (kind: Hydrated['kind']) =>
    content.records.filter((entry) => entry.kind === kind).length
  const loaded = (outcome: LoadOutcome['outcome']) =>
    outcomes.filter((entry) => entry.outcome === outcome).length
  const [inserted, updated] = [loaded('inserted'), loaded('updated')]
  return addCounts(zeroCounts, {
    listed,
    hydrated: content.records.length,
    inserted,
    updated,
    unchanged: listed - inserted - updated - of('rejected') - of('vanished'),
    quarantined: of('rejected'),
    vanished: of('vanished') + unlisted,
    windows: content.parts.length,
    requests: traffic.requests,
    retries: traffic.retries,
  })
}

function partOf(parts: readonly ProvenPart[]) {
  const byId = new Map(
    parts.flatMap((part) => part.items.map((item) => [item.evalId, part.window] as const)),
  )
  return (id: number) => byId.get(id) ?? null
}

function certificatesOf(
  content: SliceContent,
  stream: WindowedStream,
  fresh: readonly Extract<Hydrated, { kind: 'record' }>[],
): Certificate[] {
  const entries = new Map([...content.known.values()].map((entry) => [entry.id, entry.entryAt]))
  for (const { id, record } of fresh) entries.set(id, stream.entryAt(record))
  const kinds = new Map(content.records.map((entry) => [entry.id, entry.kind]))
  return content.parts.map((part) => {
    const times = part.items.flatMap((item) => entries.get(item.evalId)?.getTime() ?? [])
    const of = (kind: Hydrated['kind']) =>
      part.items.filter((item) => kinds.get(item.evalId) === kind).length
    return {
      part,
      quarantined: of('rejected'),
      vanished: of('vanished'),
      leastEntryAt: times.length > 0 ? new Date(Math.min(...times)) : null,
      greatestEntryAt: times.length > 0 ? new Date(Math.max(...times)) : null,
      rereadAt: content.lookedAt.get(part)!,
    }
  })
}
