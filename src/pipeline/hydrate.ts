import pLimit from 'p-limit'
import { SyncError } from '../errors.ts'
import { UnreadableBody } from '../sources/appraisal/evaluation-body.ts'
import type { FetchedEvaluation } from '../sources/appraisal/client.ts'
import { type Issue, RecordIssues, type WindowedStream } from '../streams/stream.ts'
import { bodyHash } from '../values/content-hash.ts'
import { type SliceJob, sourcesOf, type Traffic } from './slice.ts'

/** A record that was read: as it was before, new or changed, not fitting, or no longer there. */
export type Hydrated =
  | { readonly kind: 'same'; readonly id: number }
  | { readonly kind: 'vanished'; readonly id: number }
  | {
      readonly kind: 'record'
      readonly id: number
      readonly record: unknown
      readonly payload: Payload
      readonly drift: unknown
    }
  | {
      readonly kind: 'rejected'
      readonly id: number
      readonly issues: readonly Issue[]
      readonly text: string
    }

export interface Payload {
  readonly text: string
  readonly hash: Buffer
  readonly fetchedAt: Date
}

/** So many records in a row that the source will not give are a source that is down, not broken records. */
const tolerated = 10

/**
 * Reads records one by one, as many at once as the key's limiter allows. A record that cannot be read or does not fit is
 * rejected alone; a fault of the source ends the slice. `storedHash` saves parsing what has not changed.
 */
export async function hydrate(
  job: SliceJob<WindowedStream>,
  ids: readonly number[],
  storedHash: ReadonlyMap<number, Buffer>,
  traffic: Traffic,
): Promise<Hydrated[]> {
  const { context, stream, rooftop } = job
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  // The limiter of the key decides how many are under way; this bounds how many wait for it with a slot.
  const limit = pLimit(context.config.http.concurrency)
  let faults = 0
  const readOne = async (id: number): Promise<Hydrated> => {
    signal.throwIfAborted()
    try {
      const fetched = await stream.hydrate(sourcesOf(context), rooftop, id, {
        signal,
        onAttempt: traffic.onAttempt,
      })
      context.crashPoint('record-read')
      return digest(job, id, fetched, storedHash.get(id))
    } catch (error) {
      const rejected = asRejected(id, error)
      if (rejected && (error as SyncError).verdict === 'skip') return rejected
      if (rejected && ++faults <= Math.max(tolerated, ids.length / 5) && ids.length > 1)
        return rejected
      stop.abort(error)
      throw error
    }
  }
  const results = await Promise.allSettled(ids.map((id) => limit(() => readOne(id))))
  if (stop.signal.aborted) throw stop.signal.reason
  context.signal.throwIfAborted()
  const read = results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
  if (faults > 0 && faults >= ids.length) {
    throw new SyncError(
      'retry',
      `None of ${ids.length} ${stream.name} of ${rooftop.name} could be read; the next run tries again.`,
    )
  }
  return read
}

function digest(
  { stream, rooftop, context }: SliceJob<WindowedStream>,
  id: number,
  fetched: FetchedEvaluation,
  stored: Buffer | undefined,
): Hydrated {
  if (fetched.kind === 'vanished') return { kind: 'vanished', id }
  const { text, fetchedAt } = fetched
  const hash = bodyHash(text)
  if (stored?.equals(hash)) return { kind: 'same', id }
  const read = readRecord(stream, rooftop, context.config.wire.appraisal, id, text)
  return read.kind === 'record'
    ? { ...read, payload: { text, hash, fetchedAt } }
    : { ...read, text }
}

/** Parses and normalises a payload; used by the replay too, which has no source. */
export function readRecord(
  stream: WindowedStream,
  rooftop: SliceJob['rooftop'],
  wire: SliceJob['context']['config']['wire']['appraisal'],
  id: number,
  text: string,
):
  | { kind: 'record'; id: number; record: unknown; drift: unknown }
  | { kind: 'rejected'; id: number; issues: readonly Issue[] } {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (error) {
    return {
      kind: 'rejected',
      id,
      issues: [{ path: '$', message: `is not JSON: ${(error as Error).message}` }],
    }
  }
  try {
    const record = stream.normalise(body, id, rooftop, wire)
    return { kind: 'record', id, record, drift: stream.recordOf(body, id) }
  } catch (error) {
    if (error instanceof RecordIssues) return { kind: 'rejected', id, issues: error.issues }
    throw error
  }
}

/** A fault that concerns this record alone; null when it concerns the source, the key or us. */
function asRejected(id: number, error: unknown): Hydrated | null {
  if (!(error instanceof SyncError) || (error.verdict !== 'skip' && error.verdict !== 'retry'))
    return null
  const text = error.cause instanceof UnreadableBody ? error.cause.text : ''
  return { kind: 'rejected', id, issues: [{ path: '$', message: error.message }], text }
}
