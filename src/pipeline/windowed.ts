import { inTransaction, type Tx } from '../db/transaction.ts'
import { suppressedAmong } from '../erasure/suppression.ts'
import type { WindowedStream } from '../streams/windowed-stream.ts'
import { capKnowledge, certify, learnCap } from './certificate.ts'
import { chooseRecords, type Reading } from './choose-records.ts'
import { Drift } from './drift.ts'
import { type DueScope, dueWindows } from './due.ts'
import { type Hydrated, hydrate } from './hydrate.ts'
import type { Counts, StreamStatus } from './ledger.ts'
import { listWindows, windowsPerSlice } from './list-windows.ts'
import { newestHashes } from './load.ts'
import type { SliceJob } from './slice.ts'
import { writeSlice } from './write-slice.ts'

export interface SliceResult {
  readonly counts: Counts
  /** More is due in this run. */
  readonly more: boolean
  /** With `more`: not before so many seconds have passed; no slot is held meanwhile. */
  readonly delaySeconds?: number
  /** Ends the stream for this run in this status, whatever else there is to do. */
  readonly ended?: StreamStatus
  /** Why something of the slice is missing, though the rest landed. */
  readonly error?: string
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
  const scope: DueScope = { rooftopId: rooftop.id, stream: stream.name, run }
  const due = await dueWindows(context.db, scope, context.config.sync, windowsPerSlice)
  const before = await capKnowledge(context.db, scope)
  const listed = await listWindows(job, scope, due, before)
  const reading = await chooseRecords(job, scope, listed)
  const records = await readRecords(job, reading)
  context.crashPoint('before-commit')
  const more = listed.more || (listed.knowledge.cap !== before.cap && listed.knowledge.cap !== null)
  const drift = new Drift(stream.documented)
  const result = await inTransaction(context.pool, async (tx) => {
    const content = { ...reading, parts: listed.parts, records, drift }
    const { counts, certificates } = await writeSlice(tx, job, content)
    await learnCap(tx, scope, before, listed.knowledge)
    await certify(tx, scope, certificates, context.config.sync.settleDays)
    context.crashPoint('rows-written')
    const outcome = { counts, more }
    await finish(tx, outcome)
    context.crashPoint('ledger-written')
    return outcome
  })
  context.crashPoint('committed')
  await reportDrift(job, drift)
  return result
}

/** Reads the chosen records; the stored hash of a body saves parsing one that has not changed. */
export async function readRecords(
  job: SliceJob<WindowedStream>,
  { ids, known, aside }: Pick<Reading, 'ids' | 'known' | 'aside'>,
): Promise<Hydrated[]> {
  const { context, stream, rooftop } = job
  // A record that was gone is merged again even when its body is the same: its mark must go.
  const comparable = ids.filter((id) => known.has(id) && !known.get(id)!.gone)
  const hashes = await newestHashes(context.db, stream.endpoint, rooftop, comparable.map(String))
  const storedHash = new Map([...hashes].map(([key, hash]) => [Number(key), hash]))
  const suppressed = await suppressedAmong(context.db, rooftop.groupId, ids)
  return await hydrate(job, ids, { storedHash, aside, suppressed })
}

/** A report beside the data: the slice stands, whether or not it can be written. */
export async function reportDrift({ context, stream }: SliceJob, drift: Drift): Promise<void> {
  try {
    await drift.write(context.db, stream.name)
  } catch (error) {
    context.log.warn({ err: error }, 'the drift report could not be written')
  }
}
