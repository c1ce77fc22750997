import { commitRecords, withoutWindows } from '../records/commit-records.ts'
import { isOwnedByOther, storedRecords } from '../records/stored-records.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import { readRecords } from '../windows/windowed-slice.ts'
import type { SliceJob, SliceResult } from './stream.ts'

const recordsPerSlice = 500

/**
 * One slice of a retry: quarantined records that this run has not tried yet are read again, and loaded by the same code as in a
 * nightly slice. A record that still does not fit counts another attempt.
 */
export async function retryRecords(job: SliceJob<WindowedRecords>): Promise<SliceResult> {
  const { context, stream } = job
  const open = await untried(job)
  const known = new Map(
    (await storedRecords(context.db, stream, job.rooftop, open)).map((entry) => [entry.id, entry]),
  )
  const loadedByOther = open.filter((id) => isOwnedByOther(known.get(id), job.rooftop))
  const ids = open.filter((id) => !loadedByOther.includes(id))
  const chosen = { ...withoutWindows, ids, known, loadedByOther, quarantined: new Set(ids) }
  const records = await readRecords(job, chosen)
  const more = open.length >= recordsPerSlice || records.length < ids.length
  return await commitRecords(job, { ...chosen, records }, async () => ({ more }))
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
