import type { Db, Tx } from '../db/transaction.ts'
import { redactJson, redactText } from '../erasure/redact.ts'
import { parseJson, scrubAnswer, scrubPayload } from '../erasure/scrub-payload.ts'
import { erasedMark, withoutWholeTerms } from '../erasure/search-terms.ts'
import {
  erasedAt,
  erasedContacts,
  holdErasureLock,
  suppressByContact,
  type Suppressed,
  suppressedAmong,
  type Suppressions,
} from '../erasure/suppression.ts'
import { bodyHash } from '../values/content-hash.ts'
import { eventLoopYielder } from '../values/event-loop-yielder.ts'
import { prunedJson } from '../values/json-depth.ts'
import type { PeopleOfRecords } from '../values/person.ts'
import type { Issue } from '../values/record.ts'
import { type Answer, readAnswer } from './ask-source.ts'
import type { Enrichment } from './enrichment.ts'
import { type Hydrated, receive } from './hydrate.ts'
import { newestHashes } from './load-records.ts'
import type { SliceJob } from './stream.ts'
import type { WindowedRecords } from './windowed-records.ts'

// The one gate between what is received and what is written. It is passed inside the slice's transaction and holds the erasure
// lock until the commit, so that it also knows who was erased after the read.

/** Records without erased customers. */
export interface ScreenedRecords {
  readonly records: readonly Hydrated[]
  /** When the customer of a record was erased; null: never. */
  readonly erasedAt: (id: number) => Date | null
}

const notErased = () => null

/** Removes erased customers from records. A record that contains an erased contact is added to the suppression list here. */
export async function screenRecords(
  tx: Tx,
  job: SliceJob<WindowedRecords>,
  records: readonly Hydrated[],
): Promise<ScreenedRecords> {
  await holdErasureLock(tx)
  const received = records.filter(isReceived)
  const { people } = job.stream
  if (received.length === 0 || people === undefined) return { records, erasedAt: notErased }
  const suppressed = await suppressionsOf(tx.db, job, people, received)
  if (suppressed.size === 0) return { records, erasedAt: notErased }
  const keys = [...suppressed.keys()].map(String)
  const stored = await newestHashes(tx.db, job.stream.endpoint, job.rooftop, keys)
  const giveWay = eventLoopYielder()
  const screened: Hydrated[] = []
  for (const entry of records) {
    await giveWay()
    const erased = suppressed.get(entry.id)
    const hash = stored.get(String(entry.id))
    screened.push(
      erased && isReceived(entry) ? screenRecord(job, people, entry, erased, hash) : entry,
    )
  }
  return { records: screened, erasedAt: (id) => erasedAt(suppressed, id) }
}

/** A result with a payload that will be written. */
type Received = Extract<Hydrated, { kind: 'record' | 'rejected' }>

function isReceived(entry: Hydrated): entry is Received {
  return entry.kind === 'record' || entry.kind === 'rejected'
}

function textOf(entry: Received): string {
  return entry.kind === 'record' ? entry.payload.text : entry.text
}

/** Those of the records that are on the suppression list, with those that an erased contact puts on it now. */
async function suppressionsOf(
  db: Db,
  { context, rooftop: { groupId } }: SliceJob,
  people: PeopleOfRecords,
  received: readonly Received[],
): Promise<Suppressions> {
  const contacts = await erasedContacts(db)
  if (contacts === null) return new Map()
  const ids = received.map(({ id }) => id)
  const before = await suppressedAmong(db, groupId, ids)
  const wire = context.config.wire.appraisal
  const carriers = received
    .filter(({ id }) => before.get(id)?.scope !== 'customer')
    .map((entry) => {
      const text = textOf(entry)
      return { evalId: entry.id, text, person: people.personOf(parseJson(text), entry.id, wire) }
    })
  const isNew = await suppressByContact(db, contacts, groupId, carriers)
  return isNew ? await suppressedAmong(db, groupId, ids) : before
}

function screenRecord(
  job: SliceJob<WindowedRecords>,
  people: PeopleOfRecords,
  entry: Received,
  erased: Suppressed,
  storedHash: Buffer | undefined,
): Hydrated {
  const before = textOf(entry)
  const text = scrubPayload(people, entry.id, before, job.context.config.wire.appraisal, erased)
  const isSame = text === before
  if (entry.kind === 'rejected' && (isSame || entry.fetchedAt === undefined)) {
    const issues = redactJson(entry.issues, erased.terms) as Issue[]
    return { ...entry, text, issues }
  }
  if (isSame) return entry
  // What is left of it may be stored already, or may fit now.
  const hash = bodyHash(text)
  const isStored = storedHash?.equals(hash) ?? false
  return entry.kind === 'record'
    ? receive(job, entry.id, { ...entry.payload, text, hash, isStored }, entry.owner)
    : receive(job, entry.id, { fetchedAt: entry.fetchedAt!, text, hash, isStored })
}

/** Removes erased customers from answers about evaluations. */
export async function screenAnswers(
  tx: Tx,
  job: SliceJob<Enrichment>,
  answers: readonly Answer[],
): Promise<readonly Answer[]> {
  await holdErasureLock(tx)
  const ids = answers.map(({ task }) => task.evalId)
  const suppressed = await suppressedAmong(tx.db, job.rooftop.groupId, ids)
  if (suppressed.size === 0) return answers
  return answers.map((answer) => {
    const erased = suppressed.get(answer.task.evalId)
    return erased === undefined ? answer : screenOne(job, answer, erased)
  })
}

function screenOne(job: SliceJob<Enrichment>, answer: Answer, erased: Suppressed): Answer {
  const terms = withoutWholeTerms(erased.terms)
  if (!('body' in answer)) return { ...answer, reason: redactText(answer.reason, terms) }
  const { task, fetchedAt, at } = answer
  const wire = job.context.config.wire.appraisal
  const body = scrubAnswer(prunedJson(answer.body), task.ask, wire, erased)
  if (answer.kind === 'rejected') {
    // Its issues may quote the body. It stays rejected, as Postgres may have refused it.
    const issues = redactJson(answer.issues, terms) as Issue[]
    const text = body === answer.body || answer.text === '' ? answer.text : JSON.stringify(body)
    return { ...answer, issues, body, text }
  }
  if (body === answer.body) return answer
  return readAnswer(job, { task, fetchedAt, at, body, text: JSON.stringify(body) })
}

/** What is rejected, with a mark instead of a payload that contains an erased contact: whose the rest of it is cannot be known. */
export async function screenRejected<
  R extends { readonly payload: string; readonly issues: readonly Issue[] },
>(tx: Tx, rejected: readonly R[]): Promise<readonly R[]> {
  const erased = rejected.length === 0 ? null : await erasedContacts(tx.db)
  if (erased === null) return rejected
  return rejected.map((one) => {
    if (redactText(one.payload, erased) === one.payload) return one
    return { ...one, issues: redactJson(one.issues, erased) as Issue[], payload: erasedMark }
  })
}
