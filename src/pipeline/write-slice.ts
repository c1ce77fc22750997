import type { Tx } from '../db/transaction.ts'
import type { WindowedStream } from '../streams/stream.ts'
import { fromUnixSeconds } from '../values/unix-seconds.ts'
import type { Certificate } from './certificate.ts'
import type { Reading } from './choose-records.ts'
import type { Drift } from './drift.ts'
import type { Hydrated } from './hydrate.ts'
import { addCounts, type Counts, zeroCounts } from './ledger.ts'
import { keepPayloads, type LoadOutcome, loadRecords } from './load.ts'
import type { ProvenPart } from './prove.ts'
import { putAside, release } from './quarantine.ts'
import type { SliceJob, Traffic } from './slice.ts'
import { clearVanished, markVanished } from './vanished.ts'

/** Everything that a slice read, ready to be written. */
export interface SliceContent extends Reading {
  readonly parts: readonly ProvenPart[]
  readonly records: readonly Hydrated[]
  readonly drift: Drift
}

/** Rows, payloads, quarantine and marks of a slice. */
export async function writeSlice(
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
