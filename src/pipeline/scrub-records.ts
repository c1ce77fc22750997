import type { Tx } from '../db/transaction.ts'
import { redactJson } from '../erasure/redact.ts'
import { parseJson, scrubPayload } from '../erasure/scrub-payload.ts'
import {
  erasedContacts,
  suppressByContact,
  suppressedAmong,
  type Suppressions,
} from '../erasure/suppression.ts'
import type { WindowedRecords } from './windowed-records.ts'
import { bodyHash } from '../values/content-hash.ts'
import { eventLoopYielder } from '../values/event-loop-yielder.ts'
import { type Hydrated, readRecord } from './hydrate.ts'
import { type SliceJob, sourceTimeAt } from './stream.ts'

type Job = Pick<SliceJob<WindowedRecords>, 'context' | 'stream' | 'rooftop' | 'run'>
/** Results with a payload that will be written. */
type Received = Extract<Hydrated, { kind: 'record' | 'rejected' }>

/** Records without erased customers, and the suppressions that apply to them. */
export interface ScrubbedRecords {
  readonly records: readonly Hydrated[]
  readonly suppressed: Suppressions
}

/**
 * Removes erased customers from records, also those erased after the read; the caller holds the lock of `holdErasureLock`. A record
 * that contains an erased contact is added to the suppression list here.
 */
export async function scrubRecords(
  tx: Tx,
  job: Job,
  records: readonly Hydrated[],
): Promise<ScrubbedRecords> {
  const received = records.filter(isReceived)
  const contacts = received.length === 0 ? null : await erasedContacts(tx.db)
  if (contacts === null) return { records, suppressed: new Map() }
  const { stream, rooftop } = job
  const wire = job.context.config.wire.appraisal
  const ids = received.map(({ id }) => id)
  const before = await suppressedAmong(tx.db, rooftop.groupId, ids)
  const carriers = received
    .filter(({ id }) => before.get(id)?.scope !== 'customer')
    .map((entry) => {
      const text = textOf(entry)
      return { evalId: entry.id, text, person: stream.personOf(parseJson(text), entry.id, wire) }
    })
  const isNew = await suppressByContact(tx.db, contacts, rooftop.groupId, carriers)
  const suppressed = isNew ? await suppressedAmong(tx.db, rooftop.groupId, ids) : before
  const giveWay = eventLoopYielder()
  const clean: Hydrated[] = []
  for (const entry of records) {
    await giveWay()
    clean.push(scrubbed(job, entry, suppressed))
  }
  return { records: clean, suppressed }
}

function isReceived(entry: Hydrated): entry is Received {
  return entry.kind === 'record' || entry.kind === 'rejected'
}

function textOf(entry: Received): string {
  return entry.kind === 'record' ? entry.payload.text : entry.text
}

function scrubbed(job: Job, entry: Hydrated, suppressed: Suppressions): Hydrated {
  const erased = suppressed.get(entry.id)
  if (erased === undefined || !isReceived(entry)) return entry
  const { stream } = job
  const wire = job.context.config.wire.appraisal
  const text = scrubPayload(stream, entry.id, textOf(entry), wire, erased)
  if (entry.kind === 'rejected') {
    const issues = redactJson(entry.issues, erased.terms) as typeof entry.issues
    return { ...entry, text, issues }
  }
  if (text === entry.payload.text) return entry
  const readAt = sourceTimeAt(job.run, entry.payload.fetchedAt)
  const read = readRecord(stream, () => entry.owner, wire, { id: entry.id, text, readAt })
  return read.kind === 'record'
    ? { ...read, payload: { ...entry.payload, text, hash: bodyHash(text), isStored: false } }
    : { ...read, text }
}
