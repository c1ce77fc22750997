import { sql } from 'kysely'
import { assertSchemaKnown } from '../db/migrate.ts'
import type { Tx } from '../db/transaction.ts'
import {
  addCounts,
  advanceFence,
  type Counts,
  recordSlice,
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

/** Adds a slice to the run's ledger, completes its work under the fence, and enqueues the next work of its key. */
async function completeSlice(tx: Tx, job: SliceJob, result: SliceResult): Promise<void> {
  const { context, run, item } = job
  await assertSchemaKnown(tx.client, context.schemaVersion)
  await advanceFence(tx, run.runId)
  const status = result.more ? 'running' : (result.ended ?? (await finalStatus(tx, job, result)))
  await recordSlice(tx, ledgerKey(job), result.counts, status, result.error)
  if (run.lane === 'background') await recordPace(tx, run.runId, result.counts)
  if (result.more && result.delaySeconds)
    await postpone(tx, run.runId, item.key, result.delaySeconds)
  await completeWork(tx, context, item)
}

/** The status of a stream that has nothing left to do: ok, partial or failed. */
async function finalStatus({ db }: Tx, job: SliceJob, result: SliceResult): Promise<StreamStatus> {
  const key = ledgerKey(job)
  const unprovable = db
    .selectFrom('ops.window_certificate')
    .select('window_from')
    .where('rooftop_id', '=', key.rooftopId)
    .where('stream', '=', key.stream)
    .where(sql<boolean>`(proof = 'unprovable' or listed <> loaded + quarantined + vanished)`)
  const before = await db
    .selectFrom('ops.run_stream')
    .select(['quarantined', 'error', 'inserted', 'updated', 'unchanged', 'vanished'])
    .select(({ exists }) => exists(unprovable).as('isUnprovable'))
    .where('run_id', '=', key.runId)
    .where('rooftop_id', '=', key.rooftopId)
    .where('stream', '=', key.stream)
    .executeTakeFirst()
  if (result.error !== undefined || (before?.error ?? null) !== null) {
    const sum = addCounts(result.counts, before ?? {})
    return sum.inserted + sum.updated + sum.unchanged + sum.vanished > 0 ? 'partial' : 'failed'
  }
  const isQuarantined = (before?.quarantined ?? 0) + result.counts.quarantined > 0
  return !isQuarantined && !before?.isUnprovable ? 'ok' : 'partial'
}

export function ledgerKey({ run, rooftop, stream }: SliceJob) {
  return { runId: run.runId, rooftopId: rooftop.id, stream: stream.name }
}
