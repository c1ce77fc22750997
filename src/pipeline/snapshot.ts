import { inTransaction } from '../db/transaction.ts'
import type { SnapshotStream } from '../streams/snapshot-stream.ts'
import { bodyHash } from '../values/content-hash.ts'
import { addCounts, zeroCounts } from './ledger.ts'
import { keepPayloads, newestHashes } from './load.ts'
import { putAside, releaseAllBut } from './quarantine.ts'
import { type SliceJob, sourcesOf } from './slice.ts'
import type { Finish, SliceResult } from './windowed.ts'

/** The one slice of a snapshot stream: the whole list, brought into the tables in one transaction. An unchanged list writes nothing. */
export async function snapshotSlice(
  job: SliceJob<SnapshotStream>,
  finish: Finish,
): Promise<SliceResult> {
  const { context, stream, rooftop, run, traffic } = job
  const options = { signal: context.signal, onAttempt: traffic.onAttempt }
  const payloads = await stream.read(sourcesOf(context), rooftop, options)
  const hashed = payloads.map((payload) => ({ ...payload, hash: bodyHash(payload.text) }))
  const stored = await newestHashes(
    context.db,
    stream.endpoint,
    rooftop,
    payloads.map(({ naturalKey }) => naturalKey),
  )
  const changed = hashed.filter(({ naturalKey, hash }) => !stored.get(naturalKey)?.equals(hash))
  context.crashPoint('before-commit')
  const result = await inTransaction(context.pool, async (tx) => {
    const loaded = await stream.load(tx.db, rooftop, payloads, context.config.wire.appraisal)
    await keepPayloads(tx, stream.endpoint, rooftop, run.runId, changed)
    const quarantine = { stream: stream.name, rooftopId: rooftop.id, runId: run.runId }
    await putAside(
      tx,
      quarantine,
      loaded.rejected.map((record) => ({ ...record, window: null })),
    )
    const misfits = loaded.rejected.map(({ naturalKey }) => naturalKey)
    await releaseAllBut(tx, quarantine, misfits)
    context.crashPoint('rows-written')
    const counts = {
      ...loaded.counts,
      quarantined: loaded.rejected.length,
      hydrated: payloads.length,
    }
    const outcome = { counts: addCounts(addCounts(zeroCounts, traffic), counts), more: false }
    await finish(tx, outcome)
    context.crashPoint('ledger-written')
    return outcome
  })
  context.crashPoint('committed')
  return result
}
