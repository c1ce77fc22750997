import { setImmediate } from 'node:timers/promises'
import { UnreadableBody } from '../../api/sources/appraisal/answers.ts'
import type { WhileWaiting } from '../../api/sources/http.ts'
import { isPerhapsOfRecord } from '../../api/sources/status-rules.ts'
import { SyncError } from '../../errors.ts'
import { bodyHash } from '../../values/content-hash.ts'
import type { Issue } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { pickSources } from '../run/sources.ts'
import { callOptions, type SliceJob, sourceTimeAt } from '../run/stream.ts'
import type { FetchedRecord, WindowedRecords } from '../windows/windowed-records.ts'
import { errorIssues, isDataFault, parsePayload } from './record-fault.ts'

/** A record that was read: unchanged, new or changed, invalid, or no longer at the source. */
export type Hydrated =
  | { readonly kind: 'unchanged'; readonly id: number }
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
      /** Left out: something else than its text is why it is rejected. */
      readonly fetchedAt?: Date
    }

/** The body of a record. */
interface Payload {
  readonly text: string
  readonly hash: Buffer
  readonly fetchedAt: Date
  /** The newest stored payload is equal. */
  readonly isStored: boolean
}

/** What is known about the records before they are read. */
interface BeforeReading {
  readonly storedHash: ReadonlyMap<number, Buffer>
  /** Records to merge even if their body equals the stored one. */
  readonly merged: ReadonlySet<number>
  readonly quarantined: ReadonlySet<number>
}

/** After this many refusals without an answer, the rooftop is refused, not single records. */
const maxRefusals = 3
/** With more unreadable records than this (or a fifth of all), the source is down. */
const maxFaults = 10

/**
 * Reads single records, as many at once as the key's limiter allows, after the records of earlier slices.
 *
 * A record that cannot be read or does not fit is rejected alone; a fault of the source ends the slice. The fault of a record
 * that was in quarantine before is not counted, so that permanently broken records do not end every slice. A 403, a redirect or
 * a 404 concerns only its record as long as the list and other records are answered. With `storedHash` an unchanged body is not
 * parsed. When the bodies in memory reach the limit of a slice, the other records stay unread and are not among the results.
 */
export async function hydrate(
  job: SliceJob<WindowedRecords>,
  ids: readonly number[],
  before: BeforeReading,
): Promise<Hydrated[]> {
  const { quarantined } = before
  const { context, stream, rooftop } = job
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  let faults = 0
  const refusals: { id: number; error: SyncError }[] = []
  let answers = 0
  let heldCharacters = 0
  const readOne = async (id: number, whileWaiting: WhileWaiting): Promise<Hydrated | null> => {
    signal.throwIfAborted()
    if (heldCharacters >= context.sliceLimits.bodies) return null
    try {
      const fetched = await stream.hydrate(pickSources(context), rooftop, id, {
        ...callOptions(job),
        signal,
        whileWaiting,
      })
      context.crashPoint('record-read')
      answers++
      // Answers come in bursts. Yield first, so that the next requests are sent before an answer is processed.
      await setImmediate()
      const read = digest(job, id, fetched, before)
      heldCharacters += bodyLength(read)
      return read
    } catch (error) {
      if (isPerhapsOfRecord(error) && (answers > 0 || refusals.length < maxRefusals)) {
        if (!quarantined.has(id)) refusals.push({ id, error })
        return refused(id, error)
      }
      const rejected = asRejected(id, error)
      if (rejected && error instanceof SyncError && error.errorAction === 'skip') return rejected
      if (rejected && (quarantined.has(id) || ++faults <= Math.max(maxFaults, ids.length / 5)))
        return rejected
      stop.abort(error)
      throw error
    }
  }
  const results = await context.readQueue.readAll(readQueue(job), ids, readOne)
  if (stop.signal.aborted) throw stop.signal.reason
  context.signal.throwIfAborted()
  if (answers === 0 && refusals.length >= maxRefusals) throw refusals[0]!.error
  return results.flatMap((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value ?? []
  })
}

function bodyLength(read: Hydrated): number {
  if (read.kind === 'record') return read.payload.text.length
  return read.kind === 'rejected' ? read.text.length : 0
}

/** The queue for a slice's reads: one per key and lane. */
function readQueue({ context: { config }, rooftop, run: { lane } }: SliceJob) {
  return { key: config.rooftops.find(({ uid }) => uid === rooftop.uid)?.key ?? '', lane }
}

/** Turns an answer into a result: parses and normalises it, unless its body is stored already. */
function digest(
  job: SliceJob<WindowedRecords>,
  id: number,
  fetched: FetchedRecord,
  { storedHash, merged }: BeforeReading,
): Hydrated {
  if (fetched.kind === 'vanished') return { kind: 'vanished', id }
  const { text, fetchedAt } = fetched
  const hash = bodyHash(text)
  const isStored = storedHash.get(id)?.equals(hash) ?? false
  if (isStored && !merged.has(id)) return { kind: 'unchanged', id }
  return receive(job, id, { text, hash, fetchedAt, isStored })
}

/** Reads a body as a record. `ownedBy`: the rooftop that it belongs to, where that is known. */
export function receive(
  job: SliceJob<WindowedRecords>,
  id: number,
  payload: Payload,
  ownedBy?: RooftopRow,
): Hydrated {
  const { stream, run } = job
  const { text, fetchedAt } = payload
  const wire = job.context.config.wire.appraisal
  const ownerOf = (body: unknown) => ownedBy ?? owner(job, stream.readDealer(body, id, wire))
  const readAt = sourceTimeAt(run, fetchedAt)
  const read = readRecord(stream, ownerOf, wire, { id, text, readAt })
  return read.kind === 'record' ? { ...read, payload } : { ...read, text, fetchedAt }
}

/** A list filtered by dealership belongs to its rooftop. Where one list covers the group, the payload names the dealership. */
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

/** Parses and normalises a payload; the replay uses it too. Any exception is a fault of this record. */
export function readRecord(
  stream: WindowedRecords,
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
    return { kind: 'record', id, record, drift: stream.findRecord(body, id), owner }
  } catch (error) {
    return { kind: 'rejected', id, issues: errorIssues(error) }
  }
}

function refused(id: number, error: SyncError): Hydrated {
  return { kind: 'rejected', id, issues: [{ path: '$', message: error.message }], text: '' }
}

/** The record as rejected where the fault concerns it alone; null where it concerns the source, the key or this program. */
function asRejected(id: number, error: unknown): Hydrated | null {
  if (isDataFault(error)) return { kind: 'rejected', id, issues: errorIssues(error), text: '' }
  if (
    !(error instanceof SyncError) ||
    (error.errorAction !== 'skip' && error.errorAction !== 'retry')
  )
    return null
  const text = error.cause instanceof UnreadableBody ? error.cause.text : ''
  return { kind: 'rejected', id, issues: [{ path: '$', message: error.message }], text }
}
