import type { Tx } from '../db/transaction.ts'
import type { Issue } from '../streams/record.ts'
import type { SnapshotStream } from '../streams/snapshot-stream.ts'
import { bodyHash } from '../values/content-hash.ts'
import { savePayloads, storableList, newestHashes } from './load-records.ts'
import { quarantineRecords, releaseAllBut } from './quarantine.ts'
import { type SliceJob, sourcesOf } from './slice.ts'
import { commitSlice, type SliceResult } from './commit-slice.ts'

/** A list item by its key; an item with issues is left out. */
interface Item {
  readonly key: string
  readonly issues: readonly Issue[] | null
}

/** The single slice of a snapshot stream: loads the whole list in one transaction. An unchanged list writes nothing. */
export async function snapshotSlice(job: SliceJob<SnapshotStream>): Promise<SliceResult> {
  const { context, stream, rooftop, run, traffic } = job
  const options = { signal: context.signal, onAttempt: traffic.onAttempt }
  const read = await stream.read(sourcesOf(context), rooftop, options)
  const payloads = read.map((payload) => ({ ...payload, text: storableList(payload.text) }))
  const hashed = payloads.map((payload) => ({ ...payload, hash: bodyHash(payload.text) }))
  const stored = await newestHashes(
    context.db,
    stream.endpoint,
    rooftop,
    payloads.map(({ naturalKey }) => naturalKey),
  )
  const changed = hashed.filter(({ naturalKey, hash }) => !stored.get(naturalKey)?.equals(hash))
  const keys = stream.keysOf(payloads)
  const load = async ({ db }: Tx, refused: ReadonlyMap<string, readonly Issue[]>) =>
    await stream.load(db, rooftop, payloads, context.config.wire.appraisal, refused)
  const items = keys.map((key): Item => ({ key, issues: null }))
  return await commitSlice(job, {
    items,
    store: async (tx, included) => {
      const includedKeys = new Set(included.map(({ key }) => key))
      const others = keys.filter((key) => !includedKeys.has(key))
      await load(tx, new Map(others.map((key) => [key, []])))
    },
    reject: ({ key }, issues) => ({ key, issues }),
    write: async (tx, stored) => {
      const refused = stored.flatMap(({ key, issues }) => (issues ? [[key, issues] as const] : []))
      const loaded = await load(tx, new Map(refused))
      await savePayloads(tx, stream.endpoint, rooftop, run.runId, changed)
      const quarantine = { stream: stream.name, rooftopId: rooftop.id, runId: run.runId }
      await quarantineRecords(
        tx,
        quarantine,
        loaded.rejected.map((record) => ({ ...record, window: null })),
      )
      const rejectedKeys = loaded.rejected.map(({ naturalKey }) => naturalKey)
      await releaseAllBut(tx, quarantine, rejectedKeys)
      const quarantined = rejectedKeys.length
      const counts = { ...loaded.counts, quarantined, hydrated: payloads.length }
      return { counts, more: false }
    },
  })
}
