import type { Tx } from '../db/transaction.ts'
import { awaitErasures, erasedAt, type Suppressions } from '../erasure/suppression.ts'
import type { Known, WindowedStream } from '../streams/windowed-stream.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import { fromUnixSeconds } from '../values/unix-seconds.ts'
import { adopt } from './adopt.ts'
import type { Certificate } from './certificate.ts'
import type { Reading } from './choose-records.ts'
import { type CertifiedIds, expectUnlisted, type RecordOutcome } from './certified-ids.ts'
import { recordWarnings } from './data-quality.ts'
import { Drift } from './drift.ts'
import type { Hydrated } from './hydrate.ts'
import { addCounts, type Counts, zeroCounts } from './ledger.ts'
import { keepPayloads, type LoadOutcome, loadRecords } from './load.ts'
import type { ProvenPart } from './prove.ts'
import { itemKey, putAside, type QuarantineScope, release, releaseItems } from './quarantine.ts'
import { screen } from './screen.ts'
import { type SliceJob, sourceTimeAt } from './slice.ts'
import { clearVanished, markVanished } from './vanished.ts'

/** Everything that a slice read, ready to be written. */
export interface SliceContent extends Reading {
  /** Parts whose records are all read: they are certified. */
  readonly parts: readonly ProvenPart[]
  /** Parts of which some records are left to the next slice. */
  readonly begun?: readonly ProvenPart[]
  /** Results of records of these parts that earlier slices have written. */
  readonly readBefore?: ReadonlyMap<number, Hydrated['kind']>
  readonly records: readonly Hydrated[]
}

/** What a slice did. */
export interface Written {
  readonly counts: Counts
  readonly certificates: Certificate[]
  /** Of each record that was read whole and differed from what is kept. */
  readonly outcomes: readonly LoadOutcome[]
  /** Of the records that were loaded. */
  readonly drift: Drift
}

/** Rows, payloads, quarantine and marks of a slice, without the customers that were erased. */
export async function writeSlice(
  tx: Tx,
  job: SliceJob<WindowedStream>,
  read: SliceContent,
): Promise<Written> {
  // A slice that writes of no record has nothing that an erasure could miss, or wait for.
  if (!isIdle(read)) await awaitErasures(tx)
  const { records, suppressed } = await screen(tx, job, read.records)
  return await writeScreened(tx, job, { ...read, records }, suppressed)
}

/** Nothing was received, nothing is marked and nothing moves: its windows are certified anew, no more. */
function isIdle({ records, parts, unlisted, moved, landed }: SliceContent): boolean {
  return (
    records.length + moved.size + landed.length === 0 &&
    parts.every(({ malformed }) => malformed.length === 0) &&
    [...unlisted.values()].every((ids) => ids.length === 0)
  )
}

async function writeScreened(
  tx: Tx,
  job: SliceJob<WindowedStream>,
  content: SliceContent,
  suppressed: Suppressions,
): Promise<Written> {
  const { stream, rooftop, run } = job
  const fresh = content.records.filter((entry) => entry.kind === 'record')
  const rejected = content.records.filter((entry) => entry.kind === 'rejected')
  const vanished = content.records.filter((entry) => entry.kind === 'vanished').map(({ id }) => id)
  const windowOf = partOf([...content.parts, ...(content.begun ?? [])])
  const outcomes: LoadOutcome[] = []
  const loading = { known: content.known, windowOf, suppressed }
  for (const [owner, owned] of Map.groupBy(fresh, (entry) => entry.owner))
    outcomes.push(...(await loadOwned(tx, job, owner, owned, loading)))
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
  const read = content.records.filter((entry) => entry.kind !== 'rejected').map(({ id }) => id)
  await release(tx, quarantine, [...read, ...content.landed].map(String))
  const unlisted = content.parts.flatMap((part) => content.unlisted.get(part) ?? [])
  await markVanished(tx, stream, rooftop, run.runId, [
    { reason: 'not found', ids: vanished, at: fromUnixSeconds(run.sourceStart) },
    { reason: 'not listed', ids: unlisted, at: fromUnixSeconds(run.sourceStart) },
  ])
  await stream.place(tx.db, rooftop, content.moved)
  await expectOthers(tx, job, content, fresh)
  await putItemsAside(tx, quarantine, content.parts)
  const counts = countSlice(job, content, outcomes, unlisted.length)
  const drift = new Drift(stream.documented)
  for (const { drift: record } of fresh) drift.add(record)
  return { counts, certificates: certificatesOf(job, content, fresh, outcomes), outcomes, drift }
}

/** List items that name no record; those that a window showed earlier and shows no more are closed. */
async function putItemsAside(
  tx: Tx,
  scope: QuarantineScope,
  parts: readonly ProvenPart[],
): Promise<void> {
  const items = parts.flatMap(({ malformed, window }) =>
    malformed.map(({ issue, text }) => ({
      naturalKey: itemKey(text),
      issues: [{ path: '$', message: issue }],
      payload: text,
      window,
    })),
  )
  const windows = parts.map(({ window }) => window)
  await releaseItems(
    tx,
    scope,
    windows,
    items.map(({ naturalKey }) => naturalKey),
  )
  await putAside(tx, scope, items)
}

type Fresh = Extract<Hydrated, { kind: 'record' }>

interface Loading extends Pick<Reading, 'known'> {
  readonly windowOf: ReturnType<typeof partOf>
  readonly suppressed: Suppressions
}

/** Rows, payloads and warnings of the records that belong to one rooftop. */
async function loadOwned(
  tx: Tx,
  { context, stream, run }: SliceJob<WindowedStream>,
  owner: RooftopRow,
  owned: readonly Fresh[],
  { known, windowOf, suppressed }: Loading,
): Promise<LoadOutcome[]> {
  const ids = owned.map(({ id }) => id)
  const entries = ids.map((id) => known.get(id))
  await adopt(tx, stream, owner, entries)
  const incoming = owned.map(({ id, record, payload }) => ({
    id,
    record,
    origin: {
      fetchedAt: payload.fetchedAt,
      runId: run.runId,
      readAt: sourceTimeAt(run, payload.fetchedAt),
      listedIn: windowOf(id),
      erasedAt: erasedAt(suppressed, id),
    },
  }))
  const outcomes = await loadRecords(tx, stream, owner, incoming, context.config.wire.appraisal)
  const stale = new Set(outcomes.filter(({ outcome }) => outcome === 'stale').map(({ id }) => id))
  const payloads = owned
    .filter(({ id, payload }) => !stale.has(id) && !payload.isKept)
    .map(({ id, payload }) => ({ naturalKey: String(id), ...payload }))
  await keepPayloads(tx, stream.endpoint, owner, run.runId, payloads)
  const warnings = owned.flatMap(({ id, record }) =>
    stream.warnings(record).map((warning) => ({ naturalKey: String(id), ...warning })),
  )
  await recordWarnings(
    tx,
    { stream: stream.name, runId: run.runId },
    owner,
    ids.map(String),
    warnings,
  )
  await clearVanished(tx, stream, owner, ids)
  return outcomes
}

function countSlice(
  job: SliceJob,
  content: SliceContent,
  outcomes: readonly LoadOutcome[],
  unlisted: number,
): Counts {
  const items = content.parts.reduce((sum, part) => sum + part.malformed.length, 0)
  const listed = items + countListed(job, content)
  const of = (kind: Hydrated['kind']) =>
    content.records.filter((entry) => entry.kind === kind).length
  const loaded = (outcome: LoadOutcome['outcome']) =>
    outcomes.filter((entry) => entry.outcome === outcome).length
  const [inserted, updated] = [loaded('inserted'), loaded('updated')]
  const rejected = of('rejected') + items
  return addCounts(zeroCounts, {
    listed,
    hydrated: content.records.length,
    inserted,
    updated,
    unchanged: Math.max(0, listed - inserted - updated - rejected - of('vanished')),
    quarantined: rejected,
    vanished: of('vanished') + unlisted,
    windows: content.parts.length,
    requests: job.traffic.requests,
    retries: job.traffic.retries,
  })
}

/** Each listed record counts once: of a part that is begun those that are read now, in the end all others. What this run wrote of
 *  it at this rooftop before a crash is counted already. */
function countListed(
  { run, rooftop }: SliceJob,
  { parts, begun = [], readBefore, records, known }: SliceContent,
): number {
  const ids = (some: readonly ProvenPart[]) =>
    some.flatMap(({ items }) => items.map(({ evalId }) => evalId))
  const isWritten = (entry: Known | undefined) =>
    entry?.runId === run.runId && entry.rooftopId === rooftop.id
  const isCounted = (id: number) => readBefore?.has(id) || isWritten(known.get(id))
  const rest = ids(parts).filter((id) => !isCounted(id))
  if (begun.length === 0) return rest.length
  const inBegun = new Set(ids(begun))
  return rest.length + records.filter(({ id }) => inBegun.has(id)).length
}

function partOf(parts: readonly ProvenPart[]) {
  const byId = new Map(
    parts.flatMap((part) => part.items.map((item) => [item.evalId, part.window] as const)),
  )
  return (id: number) => byId.get(id) ?? null
}

/** Records that came to where no certificate of this slice lists them: they were new, gone, another rooftop's, or have moved. */
async function expectOthers(
  tx: Tx,
  { stream, rooftop }: SliceJob<WindowedStream>,
  { known, parts, moved }: SliceContent,
  fresh: readonly Fresh[],
): Promise<void> {
  const windowOf = partOf(parts)
  const placed = fresh
    .filter(({ id, owner }) => {
      const before = known.get(id)
      return before === undefined || before.gone || before.rooftopId !== owner.id
    })
    .map(({ id, owner }) => ({ id, ownerId: owner.id }))
  const all = [...placed, ...[...moved.keys()].map((id) => ({ id, ownerId: rooftop.id }))]
  const unlisted = all.filter(({ id }) => windowOf(id) === null)
  for (const [ownerId, records] of Map.groupBy(unlisted, (record) => record.ownerId))
    await expectUnlisted(
      tx,
      stream,
      ownerId,
      records.map(({ id }) => id),
    )
}

function certificatesOf(
  job: SliceJob<WindowedStream>,
  content: SliceContent,
  fresh: readonly Fresh[],
  outcomes: readonly LoadOutcome[],
): Certificate[] {
  const entries = new Map([...content.known.values()].map((entry) => [entry.id, entry.entryAt]))
  for (const { id, record } of fresh) entries.set(id, job.stream.entryAt(record))
  const outcomeOf = outcomesOf(job, content, outcomes)
  return content.parts.map((part) => {
    const times = part.items.flatMap((item) => entries.get(item.evalId)?.getTime() ?? [])
    return {
      part,
      listed: byOutcome(part, outcomeOf),
      leastEntryAt: times.length > 0 ? new Date(Math.min(...times)) : null,
      greatestEntryAt: times.length > 0 ? new Date(Math.max(...times)) : null,
      rereadAt: content.lookedAt.get(part)!,
    }
  })
}

type OutcomeOf = (id: number) => Omit<CertifiedIds, 'ids'> | null

/** What came of a listed record, and whose it is; null: nothing did, which must not happen, and so must show. */
function outcomesOf(
  { rooftop }: SliceJob,
  { known, records, readBefore, aside, landed }: SliceContent,
  outcomes: readonly LoadOutcome[],
): OutcomeOf {
  const read = new Map(records.map((entry) => [entry.id, entry]))
  const loaded = new Set(outcomes.map(({ id }) => id))
  const held = new Set(landed)
  const at = (outcome: RecordOutcome, ownerId: number) => ({ outcome, ownerId })
  return (id) => {
    const entry = read.get(id)
    const before = known.get(id)
    const isStored = before !== undefined && !before.gone
    if (entry?.kind === 'record') return loaded.has(id) ? at('loaded', entry.owner.id) : null
    if ((entry?.kind ?? readBefore?.get(id)) === 'vanished') return at('vanished', rooftop.id)
    if (entry?.kind === 'rejected' || (entry === undefined && aside.has(id) && !held.has(id)))
      return isStored ? at('outdated', before.rooftopId) : at('quarantined', rooftop.id)
    return isStored ? at('loaded', before.rooftopId) : null
  }
}

function byOutcome({ items }: ProvenPart, outcomeOf: OutcomeOf): CertifiedIds[] {
  const groups = new Map<string, { ownerId: number; outcome: RecordOutcome; ids: number[] }>()
  const ids = [...new Set(items.map(({ evalId }) => evalId))].sort((a, b) => a - b)
  for (const id of ids) {
    const found = outcomeOf(id)
    if (found === null) continue
    const key = `${found.ownerId} ${found.outcome}`
    const group = groups.get(key) ?? { ...found, ids: [] }
    groups.set(key, group)
    group.ids.push(id)
  }
  return [...groups.values()]
}
