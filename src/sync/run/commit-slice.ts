import { sql } from 'kysely'
import { assertSchemaKnown } from '../../warehouse/db/migrate.ts'
import type { Db, Tx } from '../../warehouse/db/transaction.ts'
import { type IsolatedWrite, writeIsolated } from '../records/write-isolated.ts'
import { firstFaulty } from '../windows/certificate.ts'
import {
  addCounts,
  advanceFence,
  type Counts,
  type RecordedSlice,
  recordSlices,
  type StreamStatus,
  zeroCounts,
} from './run-ledger.ts'
import type { SliceJob, SliceResult } from './stream.ts'
import { completeWork, postpone } from './work-queue.ts'

/** A result before its requests are counted; a count that is left out is 0. */
type SliceWritten = Omit<SliceResult, 'counts'> & { readonly counts?: Partial<Counts> }

/** What is special about a slice. `store` and `reject` only where single items may fail to be stored. */
interface SliceWrites<Item> extends Partial<Omit<IsolatedWrite<Item, unknown>, 'write'>> {
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
  const { more, delaySeconds, counts, error, refusedKey } = result
  const status = more ? 'running' : (result.ended ?? (await finalStatus(tx, job, result)))
  if (more && delaySeconds) await postpone(tx, run.runId, item.key, delaySeconds)
  await completeSlices(tx, job, [{ job, counts, status, error, refusedKey }])
  if (run.lane === 'background') await recordPace(tx, run.runId, counts)
}

/** Adds slices of a run's stream to its ledger, completes their work under the fence, and enqueues the next work of their keys. */
export async function completeSlices(
  tx: Tx,
  { context, run, stream }: Pick<SliceJob, 'context' | 'run' | 'stream'>,
  slices: readonly (Omit<RecordedSlice, 'rooftopId' | 'seconds'> & { readonly job: SliceJob })[],
): Promise<void> {
  await assertSchemaKnown(tx.client, context.schemaVersion)
  await recordSlices(
    tx,
    { runId: run.runId, stream: stream.name },
    slices.map(({ job: { rooftop, traffic }, ...slice }) => ({
      ...slice,
      rooftopId: rooftop.id,
      seconds: traffic.seconds,
    })),
  )
  await completeWork(
    tx,
    context,
    slices.map(({ job }) => job.item),
  )
  // Last: it locks the row of the run, where every other slice of the run waits until this one has committed.
  await advanceFence(tx, run.runId)
}

/** The stream's row in the run's ledger: what its earlier slices did, and the error of one of them. */
export async function readRunStream(db: Db, { run, rooftop, stream }: SliceJob) {
  return await db
    .selectFrom('ops.run_stream')
    .select(['hydrated', 'inserted', 'error'])
    .where('run_id', '=', run.runId)
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .executeTakeFirst()
}

/** The status of a stream that has nothing left to do: ok, partial or failed. */
async function finalStatus({ db }: Tx, job: SliceJob, result: SliceResult): Promise<StreamStatus> {
  const { run, rooftop, stream } = job
  const before = await db
    .selectFrom('ops.run_stream')
    .select(['quarantined', 'error', 'inserted', 'updated', 'unchanged', 'vanished'])
    .select(firstFaulty(rooftop.id, stream.name).as('unprovableFrom'))
    .where('run_id', '=', run.runId)
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .executeTakeFirst()
  if (result.error !== undefined || (before?.error ?? null) !== null) {
    const sum = addCounts(result.counts, before ?? {})
    return sum.inserted + sum.updated + sum.unchanged + sum.vanished > 0 ? 'partial' : 'failed'
  }
  const isQuarantined = (before?.quarantined ?? 0) + result.counts.quarantined > 0
  return !isQuarantined && !before?.unprovableFrom ? 'ok' : 'partial'
}

/** Adds a slice to its run's current minute, in the slice's transaction, and deletes minutes older than an hour. The fence has
 *  already locked the run's row, so this adds no wait. */
async function recordPace(
  { db }: Tx,
  runId: number,
  { windows, inserted, updated }: Pick<Counts, 'windows' | 'inserted' | 'updated'>,
): Promise<void> {
  await sql`
    with deleted as (delete from ops.run_pace where run_id = ${runId} and minute_at < now() - interval '1 hour')
    insert into ops.run_pace as pace (run_id, minute_at, windows, loaded)
    values (${runId}, date_trunc('minute', clock_timestamp()), ${windows}, ${inserted + updated})
    on conflict (run_id, minute_at)
    do update set windows = pace.windows + excluded.windows,
      loaded = pace.loaded + excluded.loaded`.execute(db)
}
