import pLimit from 'p-limit'
import { messageOf, SyncError } from '../errors.ts'
import type { BatchStream, LookUp } from '../streams/batch-stream.ts'
import { type SliceJob, sourcesOf } from './slice.ts'

/** So many VINs without an answer are no longer about the VINs. */
const failuresAllowed = 8

/**
 * Looks the VINs up side by side. One without an answer is left for another night: its unit is asked about as it is. Rejects
 * with SyncError when the key is refused.
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

/** The key is refused: nothing else that is asked with it will be answered. */
export function isKeyRefused({ status }: SyncError): boolean {
  return status === 401 || status === 403
}
