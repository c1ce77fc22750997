import { setImmediate } from 'node:timers/promises'
import { scrubPayload } from '../erasure/scrub-payload.ts'
import type { Suppressions } from '../erasure/suppression.ts'
import { SyncError } from '../errors.ts'
import type { FetchedEvaluation } from '../sources/appraisal/client.ts'
import { UnreadableBody } from '../sources/appraisal/evaluation-body.ts'
import type { WhileWaiting } from '../sources/http-request.ts'
import type { Issue } from '../streams/record.ts'
import type { WindowedStream } from '../streams/windowed-stream.ts'
import { bodyHash } from '../values/content-hash.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { AppraisalWire } from '../values/wire.ts'
import { isDataFault, issuesOf, parsePayload } from './record-fault.ts'
import { type SliceJob, sourcesOf, sourceTimeAt } from './slice.ts'

/** A record that was read: as it was before, new or changed, not fitting, or no longer there. */
export type Hydrated =
  | { readonly kind: 'same'; readonly id: number }
  | { readonly kind: 'vanished'; readonly id: number }
  | {
      readonly kind: 'record'
      readonly id: number
      readonly record: unknown
      readonly payload: Payload
      /** The rooftop that it belongs to. */
      readonly owner: RooftopRow
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
  /** The newest kept payload is the same. */
  readonly isStored: boolean
}

/** What is known of the records before they are read. */
interface BeforeReading {
  readonly storedHash: ReadonlyMap<number, Buffer>
  /** Also merged when their body is the same as the kept one. */
  readonly merged: ReadonlySet<number>
  readonly aside: ReadonlySet<number>
  /** Those whose customer was erased are scrubbed before their body is compared. */
  readonly suppressed: Suppressions
}

/** So many refusals with no answer among them are a refusal of the rooftop, not of records. */
const refusalsTolerated = 3
/** More records than this that the source will not give are a source that is down, not broken records. */
const tolerated = 10

/**
 * Reads records one by one, as many at once as the key's limiter allows, after those of the slices that came before. A record
 * that cannot be read or does not fit is rejected alone; a fault of the source ends the slice. One that was aside already tells
 * nothing new of the source, so that a few that stay broken for ever hold up nothing. A 403, a redirect or a 404 while the list
 * and other records answer concerns that record. `storedHash` saves parsing what has not changed. Once the bodies that are held
 * reach the limit of a slice, the other records are left unread: they are not among the results.
 */
export async function hydrate(
  job: SliceJob<WindowedStream>,
  ids: readonly number[],
  before: BeforeReading,
): Promise<Hydrated[]> {
  const { aside } = before
  const { context, stream, rooftop } = job
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  let faults = 0
  const refusals: { id: number; error: SyncError }[] = []
  let answers = 0
  let held = 0
  const readOne = async (id: number, whileWaiting: WhileWaiting): Promise<Hydrated | null> => {
    signal.throwIfAborted()
    if (held >= context.sliceLimits.bodies) return null
    try {
      const fetched = await stream.hydrate(sourcesOf(context), rooftop, id, {
        signal,
        onAttempt: job.traffic.onAttempt,
        whileWaiting,
      })
      context.crashPoint('record-read')
      answers++
      // Answers come in bursts: each of them makes room for the next request before any is worked on.
      await setImmediate()
      const read = digest(job, id, fetched, before)
      held += bodyLength(read)
      return read
    } catch (error) {
      if (isRefusal(error) && (answers > 0 || refusals.length < refusalsTolerated)) {
        if (!aside.has(id)) refusals.push({ id, error })
        return refused(id, error)
      }
      const rejected = asRejected(id, error)
      if (rejected && error instanceof SyncError && error.errorAction === 'skip') return rejected
      if (rejected && (aside.has(id) || ++faults <= Math.max(tolerated, ids.length / 5)))
        return rejected
      stop.abort(error)
      throw error
    }
  }
  const results = await context.readQueue.readAll(turnOf(job), ids, readOne)
  if (stop.signal.aborted) throw stop.signal.reason
  context.signal.throwIfAborted()
  if (answers === 0 && refusals.length >= refusalsTolerated) throw refusals[0]!.error
  return results.flatMap((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value ?? []
  })
}

function bodyLength(read: Hydrated): number {
  if (read.kind === 'record') return read.payload.text.length
  return read.kind === 'rejected' ? read.text.length : 0
}

function turnOf({ context: { config }, rooftop, run: { lane } }: SliceJob) {
  return { key: config.rooftops.find(({ uid }) => uid === rooftop.uid)?.key ?? '', lane }
}

function digest(
  job: SliceJob<WindowedStream>,
  id: number,
  fetched: FetchedEvaluation,
  { storedHash, merged, suppressed }: BeforeReading,
): Hydrated {
  if (fetched.kind === 'vanished') return { kind: 'vanished', id }
  const { fetchedAt } = fetched
  const wire = job.context.config.wire.appraisal
  const erased = suppressed.get(id)
  let text = ''
  try {
    text = erased ? scrubPayload(job.stream, id, fetched.text, wire, erased) : fetched.text
    const hash = bodyHash(text)
    const isKept = storedHash.get(id)?.equals(hash) ?? false
    if (isKept && !merged.has(id)) return { kind: 'same', id }
    const ownerOf = (body: unknown) => owner(job, job.stream.dealerOf(body, id, wire))
    const readAt = sourceTimeAt(job.run, fetchedAt)
    const read = readRecord(job.stream, ownerOf, wire, { id, text, readAt })
    return read.kind === 'record'
      ? { ...read, payload: { text, hash, fetchedAt, isStored: isKept } }
      : { ...read, text }
  } catch (error) {
    return { kind: 'rejected', id, issues: issuesOf(error), text }
  }
}

/** A filtered list says itself whose its records are; one that answers for the whole group leaves it to the payload. */
function owner({ rooftop, siblings }: SliceJob, dealerId: number | null): RooftopRow {
  if (rooftop.dealerId !== null || dealerId === null) return rooftop
  return siblings.find((sibling) => sibling.dealerId === dealerId) ?? rooftop
}

/** A payload of a record, and the source's clock when it was read. */
interface RecordPayload {
  readonly id: number
  readonly text: string
  readonly readAt: Date
}

/** Parses and normalises a payload; used by the replay too, which has no source. Whatever it throws is this record's own. */
export function readRecord(
  stream: WindowedStream,
  ownerOf: (body: unknown) => RooftopRow,
  wire: AppraisalWire,
  { id, text, readAt }: RecordPayload,
):
  | { kind: 'record'; id: number; record: unknown; drift: unknown; owner: RooftopRow }
  | { kind: 'rejected'; id: number; issues: readonly Issue[] } {
  try {
    const body = parsePayload(text)
    const owner = ownerOf(body)
    const record = stream.normalise(body, id, owner, wire, readAt)
    return { kind: 'record', id, record, drift: stream.recordOf(body, id), owner }
  } catch (error) {
    return { kind: 'rejected', id, issues: issuesOf(error) }
  }
}

/** A status that is about this record while the list and other records answer: the list would have had a wrong address or key
 *  too. 400 is about the key's user, 401 about the key. */
function isRefusal(error: unknown): error is SyncError {
  if (!(error instanceof SyncError) || error.status === undefined) return false
  const { status } = error
  return (
    status === 403 ||
    (error.errorAction === 'abort' && status >= 300 && ![400, 401].includes(status))
  )
}

function refused(id: number, error: SyncError): Hydrated {
  return { kind: 'rejected', id, issues: [{ path: '$', message: error.message }], text: '' }
}

/** A fault that concerns this record alone; null when it concerns the source, the key or us. */
function asRejected(id: number, error: unknown): Hydrated | null {
  if (isDataFault(error)) return { kind: 'rejected', id, issues: issuesOf(error), text: '' }
  if (
    !(error instanceof SyncError) ||
    (error.errorAction !== 'skip' && error.errorAction !== 'retry')
  )
    return null
  const text = error.cause instanceof UnreadableBody ? error.cause.text : ''
  return { kind: 'rejected', id, issues: [{ path: '$', message: error.message }], text }
}
