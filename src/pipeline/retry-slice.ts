import type { WindowedStream } from '../streams/windowed-stream.ts'
import { isOwnedByOther } from './record-owner.ts'
import type { ProvenPart } from './prove.ts'
import type { SliceJob } from './slice.ts'
import {
  type FinishSlice,
  readRecords,
  recordWrites,
  reportDrift,
  type SliceResult,
} from './windowed-slice.ts'
import { writeIsolated } from './write-isolated.ts'
import { writeSlice } from './write-slice.ts'

const recordsPerSlice = 500

/**
 * One slice of a retry: quarantined records that this run has not tried yet are read again, and loaded by the same code as in a
 * nightly slice. A record that still does not fit counts another attempt.
 */
export async function retrySlice(
  job: SliceJob<WindowedStream>,
  finish: FinishSlice,
): Promise<SliceResult> {
  const { context, stream } = job
  const open = await untried(job)
  const known = new Map(
    (await stream.storedRecords(context.db, job.rooftop, open)).map((entry) => [entry.id, entry]),
  )
  const loadedByOther = open.filter((id) => isOwnedByOther(known.get(id), job.rooftop))
  const ids = open.filter((id) => !loadedByOther.includes(id))
  const chosen = {
    ids,
    known,
    loadedByOther,
    quarantined: new Set(ids),
    changed: new Set<number>(),
  }
  const records = await readRecords(job, chosen)
  const nothing = new Map<ProvenPart, never>()
  const content = {
    ...chosen,
    ...{ parts: [], rereadAt: nothing, unlisted: nothing, moved: new Map<number, Date>() },
  }
  context.crashPoint('before-commit')
  const { outcome, drift } = await writeIsolated(job, records, {
    ...recordWrites(job, content),
    write: async (tx, final) => {
      const { counts, drift } = await writeSlice(tx, job, { ...content, records: final })
      context.crashPoint('rows-written')
      const more = open.length >= recordsPerSlice || records.length < ids.length
      const outcome = { counts, more }
      await finish(tx, outcome)
      context.crashPoint('ledger-written')
      return { outcome, drift }
    },
  })
  context.crashPoint('committed')
  await reportDrift(job, drift)
  return outcome
}

async function untried(job: SliceJob): Promise<number[]> {
  return (await untriedKeys(job)).map(Number).filter(Number.isSafeInteger)
}

/** Natural keys of quarantined records of the stream and rooftop that this run has not tried yet. */
export async function untriedKeys({ context, run, stream, rooftop }: SliceJob): Promise<string[]> {
  const chosen = run.only ?? []
  const rows = await context.db
    .selectFrom('ops.quarantine')
    .select('natural_key')
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .where('resolved_at', 'is', null)
    .where('run_id', '<>', run.runId)
    .$if(chosen.length > 0, (query) => query.where('quarantine_id', 'in', [...chosen]))
    .orderBy('quarantine_id')
    .limit(recordsPerSlice)
    .execute()
  return rows.map((row) => row.natural_key)
}
