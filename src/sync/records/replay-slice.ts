import { sql } from 'kysely'
import { holdErasureLock } from '../../warehouse/db/locks.ts'
import { refreshSums } from '../../warehouse/db/sums.ts'
import type { Db, Tx } from '../../warehouse/db/transaction.ts'
import { commitSlice } from '../run/commit-slice.ts'
import type { SliceJob, SliceResult, Stream } from '../run/stream.ts'
import { rebuildAggregates } from '../verify/verify-aggregates.ts'
import { forgetDifferences } from '../verify/verify-values.ts'
import { compareRows, nextKeys, recordsAtOnce, writeDifferences } from './derive-rows.ts'
import type { PayloadRows } from './payload-rows.ts'
import { screenStored } from './privacy-gate.ts'
import { quarantineRecords } from './quarantine.ts'

/**
 * One slice of a replay: the rows of the next records, derived from their stored payloads without a call; those that differ are
 * written. Its position is in ops.stream_state and is committed with the rows, so that a killed replay continues from there. The last
 * slice of a stream with sums compares them all with the facts, and rebuilds those that differ.
 */
export async function replaySlice(
  job: SliceJob<Stream>,
  payloadRows: PayloadRows,
): Promise<SliceResult> {
  const { context, stream, rooftop, run } = job
  const position = await readPosition(context.db, job)
  const write = async (tx: Tx) => {
    await holdErasureLock(tx)
    if (position.after === null) {
      await rebuildAggregates(tx.db, rooftop)
      return { more: false }
    }
    const { after } = position
    const keys = await nextKeys(tx.db, payloadRows.keysOf([rooftop.id]), after, recordsAtOnce)
    const { wire } = context.config
    if (stream.records) await screenStored(tx, stream.records, rooftop, keys, wire.appraisal)
    const options = { wire, mode: 'add' } as const
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
    await forgetDifferences(tx.db, stream.name, rooftop, keys)
    const isLast = keys.length < recordsAtOnce
    const isSummed = payloadRows.isSummed === true
    await markReplayed(tx, job, isLast && isSummed ? null : (keys.at(-1) ?? after))
    const rejected = new Set(unfit.map(({ naturalKey }) => naturalKey))
    const unchanged = keys.filter((key) => !updated.has(key) && !rejected.has(key)).length
    const counts = {
      listed: keys.length,
      updated: updated.size,
      unchanged,
      quarantined: unfit.length,
    }
    return { counts, more: !isLast || isSummed }
  }
  return await commitSlice(job, { write })
}

/** How far a replay is: the key of the last record, empty at the start; null: all records are replayed, and the sums are next. */
interface ReplayPosition {
  readonly after: string | null
}

async function readPosition(db: Db, { run, stream, rooftop }: SliceJob): Promise<ReplayPosition> {
  const row = await db
    .selectFrom('ops.stream_state')
    .select('state')
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .executeTakeFirst()
  const stored = (row?.state as { replay?: ReplayPosition & { runId: number } } | undefined)?.replay
  return stored?.runId === run.runId ? stored : { after: '' }
}

async function markReplayed(
  tx: Tx,
  { run, stream, rooftop }: SliceJob,
  after: string | null,
): Promise<void> {
  await sql`
    insert into ops.stream_state as old (rooftop_id, stream, state)
    values (${rooftop.id}, ${stream.name},
      jsonb_build_object('replay', ${JSON.stringify({ runId: run.runId, after })}::jsonb))
    on conflict (rooftop_id, stream) do update
    set state = old.state || excluded.state`.execute(tx.db)
}
