import pLimit from 'p-limit'
import { messageOf, SyncError } from '../errors.ts'
import { isKeyRefused } from '../sources/status-rules.ts'
import type { BatchStream, LookUp } from '../streams/batch-stream.ts'
import { type SliceJob, sourcesOf } from './slice.ts'

/** After this many VINs without an answer, the fault is the service's, not the VINs'. */
const failuresAllowed = 8

/**
 * Looks up the VINs concurrently. A VIN without an answer is tried again another night; its unit is priced without the lookup.
 * Rejects with SyncError when the key is refused.
 */
export async function lookUpAll(
  job: SliceJob<BatchStream>,
  vins: readonly string[],
): Promise<LookUp[]> {
  const { context, stream, rooftop, traffic } = job
  const options = { signal: context.signal, onAttempt: traffic.onAttempt }
  const limit = pLimit(context.config.http.concurrency)
  const found: LookUp[] = []
  const reasons: string[] = []
  const one = async (vin: string): Promise<void> => {
    if (reasons.length >= failuresAllowed) return
    try {
      found.push(await stream.lookUp(sourcesOf(context), rooftop, vin, options))
    } catch (error) {
      if (!(error instanceof SyncError) || isKeyRefused(error)) throw error
      reasons.push(messageOf(error))
    }
  }
  const settled = await Promise.allSettled(vins.map((vin) => limit(one, vin)))
  for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason
  if (reasons.length > 0) {
    const about = { stream: stream.name, rooftop: rooftop.uid, runId: job.run.runId }
    const left = vins.length - found.length
    context.log.warn(about, `${left} VINs could not be looked up, e.g.: ${reasons[0]}`)
  }
  return found
}
