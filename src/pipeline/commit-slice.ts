import { sql } from 'kysely'
import { assertSchemaKnown } from '../db/migrate.ts'
import type { Tx } from '../db/transaction.ts'
import {
  addCounts,
  advanceFence,
  type Counts,
  type RecordedSlice,
  recordSlices,
  type StreamStatus,
  zeroCounts,
} from './run-ledger.ts'
import { recordPace } from './run-pace.ts'
import type { SliceJob, SliceResult } from './stream.ts'
import { completeWork, postpone } from './work-queue.ts'
import { type IsolatedWrite, writeIsolated } from './write-isolated.ts'

/** A result before its requests are counted; a count that is left out is 0. */
export type SliceWritten = Omit<SliceResult, 'counts'> & { readonly counts?: Partial<Counts> }

/** What is special about a slice. `store` and `reject` only where single items may fail to be stored. */
export interface SliceWrites<Item> extends Partial<Omit<IsolatedWrite<Item, unknown>, 'write'>> {
  readonly items?: readonly Item[]
  /** Writes payloads, rows, certificates and coverage; may run several times. */
  write(tx: Tx, items: readonly Item[]): Promise<SliceWritten>
}

/**
 * The transaction of a slice, whatever its stream: what the slice writes, its counts, the next work of its key, and the fenced
 * completion of its work commit together, or not at all.
 */
export async function commitSlice<Item = never>(
  job: SliceJob,
  { items = [], store = async () => {}, reject = (item) => item, write }: SliceWrites<Item>,
): Promise<SliceResult> {
  const { context, traffic } = job
  context.crashPoint('before-commit')
  const result = await writeIsolated(job, items, {
    store,
    reject,
    write: async (tx, writable) => {
      const { counts = {}, ...next } = await write(tx, writable)
      context.crashPoint('rows-written')
      const written = { ...next, counts: addCounts(addCounts(zeroCounts, traffic), counts) }
      await completeSlice(tx, job, written)
      context.crashPoint('ledger-written')
      return written
    },
  })
  context.crashPoint('committed')
  return result
}

async function completeSlice(tx: Tx, job: SliceJob, result: SliceResult): Promise<void> {
  const { run, item } = job
  const { more, delaySeconds, counts, error } = result
  const status = more ? 'running' : (result.ended ?? (await finalStatus(tx, job, result)))
  if (run.lane === 'background') await recordPace(tx, run.runId, counts)
  if (more && delaySeconds) await postpone(tx, run.runId, item.key, delaySeconds)
  await completeSlices(tx, job, [{ job, counts, status, error }])
}

/** Adds slices of a run's stream to its ledger, completes their work under the fence, and enqueues the next work of their keys. */
export async function completeSlices(
  tx: Tx,
  { context, run, stream }: Pick<SliceJob, 'context' | 'run' | 'stream'>,
  slices: readonly (Omit<RecordedSlice, 'rooftopId'> & { readonly job: SliceJob })[],
): Promise<void> {
  await assertSchemaKnown(tx.client, context.schemaVersion)
  await advanceFence(tx, run.runId)
  await recordSlices(
    tx,
    { runId: run.runId, stream: stream.name },
    slices.map(({ job, ...slice }) => ({ ...slice, rooftopId: job.rooftop.id })),
  )
  await completeWork(
    tx,
    context,
    slices.map(({ job }) => job.item),
  )
}

/** The status of a stream that has nothing left to do: ok, partial or failed. */
async function finalStatus({ db }: Tx, job: SliceJob, result: SliceResult): Promise<StreamStatus> {
  const { run, rooftop, stream } = job
  const unprovable = db
    .selectFrom('ops.window_certificate')
    .select('window_from')
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .where(sql<boolean>`(proof = 'unprovable' or listed <> loaded + quarantined + vanished)`)
  const before = await db
    .selectFrom('ops.run_stream')
    .select(['quarantined', 'error', 'inserted', 'updated', 'unchanged', 'vanished'])
    .select(({ exists }) => exists(unprovable).as('isUnprovable'))
    .where('run_id', '=', run.runId)
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .executeTakeFirst()
  if (result.error !== undefined || (before?.error ?? null) !== null) {
    const sum = addCounts(result.counts, before ?? {})
    return sum.inserted + sum.updated + sum.unchanged + sum.vanished > 0 ? 'partial' : 'failed'
  }
  const isQuarantined = (before?.quarantined ?? 0) + result.counts.quarantined > 0
  return !isQuarantined && !before?.isUnprovable ? 'ok' : 'partial'
}
