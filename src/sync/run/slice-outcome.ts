import type { ReadPlan } from '../records/choose-records.ts'
import type { Hydrated } from '../records/hydrate.ts'
import type { LoadResult } from '../records/load-records.ts'
import type { Certificate } from '../windows/certificate.ts'
import type { CertifiedIds, RecordOutcome } from '../windows/certified-ids.ts'
import type { ProvenPart } from '../windows/prove.ts'
import type { StoredRecord, WindowedRecords } from '../windows/windowed-records.ts'
import { addCounts, type Counts, zeroCounts } from './run-ledger.ts'
import type { SliceJob } from './stream.ts'

// The outcome of a slice, counted record by record: for the run's report and for the certificates.

/** Everything that a slice has read and will write. */
export interface SliceContent extends ReadPlan {
  /** Parts whose records are all read; these are certified. */
  readonly parts: readonly ProvenPart[]
  /** Parts with records that are left for the next slice. */
  readonly incomplete?: readonly ProvenPart[]
  /** Results of records of these parts that earlier slices wrote. */
  readonly readBefore?: ReadonlyMap<number, Hydrated['kind']>
  readonly records: readonly Hydrated[]
}

/** A record that was read and fits. */
export type FreshRecord = Extract<Hydrated, { kind: 'record' }>

/** The counts of a slice for its run, each counted from what happened to its records: together they can differ from `listed`.
 *  `unlisted`: known records that its lists no longer show. */
export function countSlice(
  job: SliceJob,
  content: SliceContent,
  outcomes: readonly LoadResult[],
  unlisted: number,
): Counts {
  const items = content.parts.reduce((sum, part) => sum + part.malformed.length, 0)
  const listed = listedIds(job, content)
  const outcomeOf = recordOutcomes(job, content, outcomes)
  const readIds = new Set(content.records.map(({ id }) => id))
  const notRead = listed.filter((id) => !readIds.has(id) && outcomeOf(id)?.outcome === 'loaded')
  const of = (kind: Hydrated['kind']) =>
    content.records.filter((entry) => entry.kind === kind).length
  const loaded = (outcome: LoadResult['outcome']) =>
    outcomes.filter((entry) => entry.outcome === outcome).length
  return addCounts(zeroCounts, {
    listed: items + listed.length,
    hydrated: content.records.length,
    inserted: loaded('inserted'),
    updated: loaded('updated'),
    unchanged: notRead.length + of('unchanged') + loaded('unchanged') + loaded('stale'),
    quarantined: of('rejected') + items,
    vanished: of('vanished') + unlisted,
    windows: content.parts.length,
  })
}

/** The listed records, each counted once. Of an incomplete part, those that are read now; the last slice of the part counts the
 *  rest. What this run wrote at this rooftop before a crash is counted already. */
function listedIds(
  { run, rooftop }: SliceJob,
  { parts, incomplete = [], readBefore, records, known }: SliceContent,
): number[] {
  const ids = (some: readonly ProvenPart[]) =>
    some.flatMap(({ items }) => items.map(({ id }) => id))
  const isWritten = (entry: StoredRecord | undefined) =>
    entry?.runId === run.runId && entry.rooftopId === rooftop.id
  const isCounted = (id: number) => readBefore?.has(id) || isWritten(known.get(id))
  const inIncomplete = new Set(ids(incomplete))
  const readNow = records.flatMap(({ id }) => (inIncomplete.has(id) ? [id] : []))
  return [...new Set([...ids(parts).filter((id) => !isCounted(id)), ...readNow])]
}

/** The certificates of the parts whose records are all read. */
export function buildCertificates(
  job: SliceJob<WindowedRecords>,
  content: SliceContent,
  fresh: readonly FreshRecord[],
  outcomes: readonly LoadResult[],
): Certificate[] {
  const entries = new Map([...content.known.values()].map((entry) => [entry.id, entry.entryAt]))
  for (const { id, record } of fresh) entries.set(id, job.stream.entryAt(record))
  const outcomeOf = recordOutcomes(job, content, outcomes)
  return content.parts.map((part) => {
    const times = part.items.flatMap((item) => entries.get(item.id)?.getTime() ?? [])
    return {
      part,
      listed: byOutcome(part, outcomeOf),
      leastEntryAt: times.length > 0 ? new Date(Math.min(...times)) : null,
      greatestEntryAt: times.length > 0 ? new Date(Math.max(...times)) : null,
      rereadAt: content.rereadAt.get(part)!,
    }
  })
}

type OutcomeOf = (id: number) => Omit<CertifiedIds, 'ids'> | null

/** The outcome and owner of a listed record. null: it has none; this is a fault, and it keeps the window from being settled. */
function recordOutcomes(
  { rooftop }: SliceJob,
  { known, records, readBefore, quarantined, loadedByOther }: SliceContent,
  outcomes: readonly LoadResult[],
): OutcomeOf {
  const read = new Map(records.map((entry) => [entry.id, entry]))
  const loaded = new Set(outcomes.map(({ id }) => id))
  const ownedByOther = new Set(loadedByOther)
  const at = (outcome: RecordOutcome, ownerId: number) => ({ outcome, ownerId })
  return (id) => {
    const entry = read.get(id)
    const before = known.get(id)
    const isStored = before !== undefined && !before.gone
    if (entry?.kind === 'record') return loaded.has(id) ? at('loaded', entry.owner.id) : null
    if ((entry?.kind ?? readBefore?.get(id)) === 'vanished') return at('vanished', rooftop.id)
    if (
      entry?.kind === 'rejected' ||
      (entry === undefined && quarantined.has(id) && !ownedByOther.has(id))
    )
      return isStored ? at('outdated', before.rooftopId) : at('quarantined', rooftop.id)
    return isStored ? at('loaded', before.rooftopId) : null
  }
}

/** The ids of a part, grouped by owner and outcome. */
function byOutcome({ items }: ProvenPart, outcomeOf: OutcomeOf): CertifiedIds[] {
  const groups = new Map<string, { ownerId: number; outcome: RecordOutcome; ids: number[] }>()
  const ids = [...new Set(items.map(({ id }) => id))].sort((a, b) => a - b)
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
