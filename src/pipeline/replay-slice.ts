import { refreshSums } from '../db/sums.ts'
import type { Db, Tx } from '../db/transaction.ts'
import { holdErasureLock } from '../erasure/suppression.ts'
import { commitSlice } from './commit-slice.ts'
import { compareRows, nextKeys, writeDifferences } from './derive-rows.ts'
import { quarantineRecords } from './quarantine.ts'
import type { PayloadRows } from './payload-rows.ts'
import type { SliceJob, SliceResult } from './stream.ts'

/** Records that a slice of a replay or a verification reads the payloads of. */
export const recordsAtOnce = 500

/**
 * One slice of a replay: the rows of the next records, derived from their stored payloads without a call; those that differ are
 * written. Its position is in ops.stream_state and is committed with the rows, so that a killed replay continues from there.
 */
export async function replaySlice(job: SliceJob, payloadRows: PayloadRows): Promise<SliceResult> {
  const { context, stream, rooftop, run } = job
  const after = await replayedUpTo(context.db, job)
  const write = async (tx: Tx) => {
    await holdErasureLock(tx)
    const keys = await nextKeys(tx.db, payloadRows.keysOf([rooftop.id]), after, recordsAtOnce)
    const options = { wire: context.config.wire, mode: 'add' } as const
    const { tables, unfit } = await payloadRows.derive(tx.db, rooftop, keys, options)
    const differences = await compareRows(tx.db, tables)
    await writeDifferences(tx, differences)
    const updated = new Set(differences.map(({ record }) => record))
    if (payloadRows.isSummed) await refreshSums(tx.db, [rooftop.groupId], [...updated].map(Number))
    await quarantineRecords(
      tx,
      { stream: stream.name, rooftopId: rooftop.id, runId: run.runId },
      unfit.map((record) => ({ ...record, window: null })),
    )
    await markReplayed(tx, job, keys.at(-1) ?? after)
    const rejected = new Set(unfit.map(({ naturalKey }) => naturalKey))
    const unchanged = keys.filter((key) => !updated.has(key) && !rejected.has(key)).length
    const counts = {
      listed: keys.length,
      updated: updated.size,
      unchanged,
      quarantined: unfit.length,
    }
    return { counts, more: keys.length >= recordsAtOnce }
  }
  return await commitSlice(job, { write })
}

/** The key of the last record that this run has replayed; empty at its start. */
async function replayedUpTo(db: Db, { run, stream, rooftop }: SliceJob): Promise<string> {
  const row = await db
    .selectFrom('ops.stream_state')
    .select('state')
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .executeTakeFirst()
  const position = (row?.state as { replay?: { runId: number; after: string } } | undefined)?.replay
  return position?.runId === run.runId ? position.after : ''
}

async function markReplayed(
  tx: Tx,
  { run, stream, rooftop }: SliceJob,
  after: string,
): Promise<void> {
  await tx.client.query(
    `insert into ops.stream_state as old (rooftop_id, stream, state)
     values ($1, $2, jsonb_build_object('replay', $3::jsonb))
     on conflict (rooftop_id, stream) do update set state = old.state || excluded.state`,
    [rooftop.id, stream.name, JSON.stringify({ runId: run.runId, after })],
  )
}
