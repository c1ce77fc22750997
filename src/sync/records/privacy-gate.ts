import { sql } from 'kysely'
import { redactJson, redactText } from '../../privacy/screen/redact.ts'
import { parseJson, scrubAnswer, scrubPayload } from '../../privacy/screen/scrub-payload.ts'
import {
  erasedMark,
  type SearchTerm,
  termsForOwnEvaluation,
  withoutWholeTerms,
} from '../../privacy/screen/search-terms.ts'
import {
  contactsIn,
  digester,
  type ErasedContacts,
  erasedAt,
  erasedContacts,
  maxCompared,
  type Suppressed,
  type Suppressions,
  suppress,
  suppressByContact,
  suppressedAmong,
} from '../../privacy/screen/suppression.ts'
import { bodyHash } from '../../values/content-hash.ts'
import { eventLoopYielder } from '../../values/event-loop-yielder.ts'
import { prunedJson } from '../../values/json-depth.ts'
import type { PeopleOfRecords, Person } from '../../values/person.ts'
import type { Issue } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { holdErasureLock } from '../../warehouse/db/locks.ts'
import type { Db, Tx } from '../../warehouse/db/transaction.ts'
import type { Enrichment } from '../enrich/enrichment.ts'
import { type Answer, readAnswer } from '../enrich/request-all.ts'
import type { SliceJob } from '../run/stream.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import { type Hydrated, receive } from './hydrate.ts'
import { newestHashes } from './load-records.ts'

// The one gate between what is received and what is written. It is passed inside the slice's transaction and holds the erasure
// lock until the commit, so that it also knows who was erased after the read. The digests of large records take seconds, in which
// Postgres would end the session: they are compared before the transaction, and again only if someone was erased since.

/** Records without erased customers. */
export interface ScreenedRecords {
  readonly records: readonly Hydrated[]
  /** When the customer of a record was erased; null: never. */
  readonly erasedAt: (id: number) => Date | null
}

const notErased = () => null

/** The erased contacts in the texts of records, as of `erased`; null: a text has too many to compare. */
export interface ComparedContacts {
  readonly erased: ErasedContacts | null
  readonly found: ReadonlyMap<string, readonly SearchTerm[] | null>
}

/** Compares records with the erased contacts, before the transaction that writes them. */
export async function compareContacts(
  { context, stream }: SliceJob<WindowedRecords>,
  records: readonly Hydrated[],
): Promise<ComparedContacts> {
  const received = stream.people === undefined ? [] : records.filter(isReceived)
  const erased = received.length === 0 ? null : await erasedContacts(context.db)
  const found = new Map<string, readonly SearchTerm[] | null>()
  if (erased === null) return { erased, found }
  const giveWay = eventLoopYielder()
  for (const entry of received) {
    const text = payloadText(entry)
    found.set(text, await contactsIn(text, erased, giveWay))
  }
  return { erased, found }
}

/** Makes a function to call in every round of a long loop within a transaction: without a query, Postgres would end the session. */
function keepAlive({ db }: Tx): () => Promise<void> {
  const giveWay = eventLoopYielder()
  let since = performance.now()
  return async () => {
    await giveWay()
    if (performance.now() - since < keepAliveMs) return
    await sql`select 1`.execute(db)
    since = performance.now()
  }
}

const keepAliveMs = 1000
/** From a longer text an erased customer is not removed: that would take seconds. */
const maxRedacted = 500_000

/** Removes erased customers from records. A record that contains an erased contact is added to the suppression list here. */
export async function screenRecords(
  tx: Tx,
  job: SliceJob<WindowedRecords>,
  records: readonly Hydrated[],
  compared: ComparedContacts,
): Promise<ScreenedRecords> {
  await holdErasureLock(tx)
  const { people } = job.stream
  const contacts =
    people !== undefined && records.some(isReceived) ? await erasedContacts(tx.db) : null
  if (people === undefined || contacts === null) return { records, erasedAt: notErased }
  const giveWay = keepAlive(tx)
  const known = compared.erased?.isSameAs(contacts) ? compared.found : new Map()
  const named = new Map<Hydrated, readonly SearchTerm[]>()
  const searched: Hydrated[] = []
  for (const entry of records) {
    const text = isReceived(entry) ? payloadText(entry) : ''
    const found = known.has(text) ? known.get(text) : await contactsIn(text, contacts, giveWay)
    const searchable = found === null ? withheld(entry, tooManyContacts) : entry
    searched.push(searchable)
    named.set(searchable, found ?? [])
  }
  const suppressed = await findSuppressions(tx.db, job, { people, contacts, named }, searched)
  if (suppressed.size === 0) return { records: searched, erasedAt: notErased }
  const keys = [...suppressed.keys()].map(String)
  const stored = await newestHashes(tx.db, job.stream.endpoint, job.rooftop, keys)
  const screened: Hydrated[] = []
  for (const entry of searched) {
    await giveWay()
    const erased = suppressed.get(entry.id)
    const hash = stored.get(String(entry.id))
    screened.push(
      erased && isReceived(entry) ? screenRecord(job, people, entry, erased, hash) : entry,
    )
  }
  return { records: screened, erasedAt: (id) => erasedAt(suppressed, id) }
}

/**
 * Puts stored records on the suppression list whose customer only the settings of today name, and scrubs their payloads. While a
 * contact was at a path that nothing named, it was a mention: only the mark in its place shows that the customer had it. Called
 * before rows are derived from the payloads, with the lock of `holdErasureLock`.
 */
export async function screenStored(
  tx: Tx,
  { people, endpoint }: Pick<WindowedRecords, 'people' | 'endpoint'>,
  { id: rooftopId, groupId }: RooftopRow,
  keys: readonly string[],
  wire: AppraisalWire,
): Promise<void> {
  const contacts = people === undefined ? null : await erasedContacts(tx.db)
  if (people === undefined || contacts === null) return
  const ids = keys.map(Number)
  const before = await suppressedAmong(tx.db, groupId, ids)
  const open = keys.filter((key) => before.get(Number(key))?.scope !== 'customer')
  const { rows } = await sql<{ ctid: string; id: string; text: string }>`
    select ctid::text as ctid, natural_key as id, body::text as text from raw.payload
    where rooftop_id = ${rooftopId} and endpoint = ${endpoint} and natural_key = any(${open}::text[])
    order by fetched_at desc`.execute(tx.db)
  const giveWay = keepAlive(tx)
  // An older payload may name a former customer: the newest decides, as in a load.
  for (const [id, [newest]] of Map.groupBy(rows, (row) => row.id)) {
    await giveWay()
    const { text } = newest!
    const evalId = Number(id)
    const person = people.readPerson(parseJson(text), evalId, wire)
    const mention = before.get(evalId)
    if (mention !== undefined && hasErasedContact(person)) {
      const { erasureId } = mention
      const terms = termsForOwnEvaluation(person)
      const entry = { evalId, scope: 'customer', erasureId, terms } as const
      await suppress(tx.db, digester(contacts.secret), groupId, entry)
    } else await suppressByContact(tx.db, contacts, groupId, [{ evalId, person, named: [] }])
  }
  const after = await suppressedAmong(tx.db, groupId, open.map(Number))
  for (const { ctid, id, text } of rows) {
    const erased = after.get(Number(id))
    if (erased === undefined) continue
    await giveWay()
    const isTheirs =
      erased.scope === 'customer' ||
      hasErasedContact(people.readPerson(parseJson(text), Number(id), wire))
    const { terms } = erased
    const scope = isTheirs ? 'customer' : 'mention'
    const scrubbed = scrubPayload(people, Number(id), text, wire, { scope, terms })
    if (scrubbed !== text)
      await sql`
        update raw.payload set body = ${scrubbed}::json, content_hash = ${bodyHash(scrubbed)}
        where ctid = ${ctid}::tid`.execute(tx.db)
  }
}

function hasErasedContact({ email, phone }: Person): boolean {
  return [email, phone].some((contact) => contact?.includes(erasedMark))
}

/** A result with a payload that will be written. */
type Received = Extract<Hydrated, { kind: 'record' | 'rejected' }>

function isReceived(entry: Hydrated): entry is Received {
  return entry.kind === 'record' || entry.kind === 'rejected'
}

function payloadText(entry: Received): string {
  return entry.kind === 'record' ? entry.payload.text : entry.text
}

const tooManyContacts = `has more than ${maxCompared.toLocaleString('en')} e-mails and numbers like phone numbers, too many to compare them with those of erased customers`

/** A record that cannot be searched for erased customers, without its payload. */
function withheld({ id }: Hydrated, message: string): Hydrated {
  return { kind: 'rejected', id, issues: [{ path: '$', message }], text: erasedMark }
}

function tooLong(text: string): string {
  return `has ${text.length} characters, too many to remove an erased customer from them`
}

/** Those of the records that are on the suppression list. Those with an erased contact are put on it here. */
async function findSuppressions(
  db: Db,
  { context, rooftop: { groupId } }: SliceJob,
  search: {
    readonly people: PeopleOfRecords
    readonly contacts: ErasedContacts
    /** The erased contacts in the text of each record. */
    readonly named: ReadonlyMap<Hydrated, readonly SearchTerm[]>
  },
  records: readonly Hydrated[],
): Promise<Suppressions> {
  const { people, contacts } = search
  const received = records.filter(isReceived)
  const ids = received.map(({ id }) => id)
  const before = await suppressedAmong(db, groupId, ids)
  const wire = context.config.wire.appraisal
  const carriers = received
    .filter(({ id }) => before.get(id)?.scope !== 'customer')
    .map((entry) => {
      const body = parseJson(payloadText(entry))
      const person = people.readPerson(body, entry.id, wire)
      return { evalId: entry.id, named: search.named.get(entry) ?? [], person }
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
  const before = payloadText(entry)
  if (before.length > maxRedacted) return withheld(entry, tooLong(before))
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
  const giveWay = keepAlive(tx)
  const screened: Answer[] = []
  for (const answer of answers) {
    await giveWay()
    const erased = suppressed.get(answer.task.evalId)
    screened.push(erased === undefined ? answer : screenOne(job, answer, erased))
  }
  return screened
}

function screenOne(job: SliceJob<Enrichment>, answer: Answer, erased: Suppressed): Answer {
  const terms = withoutWholeTerms(erased.terms)
  if (!('body' in answer)) return { ...answer, reason: redactText(answer.reason, terms) }
  const { task, fetchedAt, at } = answer
  if (answer.text.length > maxRedacted) {
    const issues = [{ path: '$', message: tooLong(answer.text) }]
    return { kind: 'rejected', task, fetchedAt, at, issues, body: null, text: erasedMark }
  }
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

/** What is rejected, with a mark instead of a payload that contains an erased contact, or too many to compare: the rest of it may
 *  belong to anyone. */
export async function screenRejected<
  R extends { readonly payload: string; readonly issues: readonly Issue[] },
>(tx: Tx, rejected: readonly R[]): Promise<readonly R[]> {
  const erased = rejected.length === 0 ? null : await erasedContacts(tx.db)
  if (erased === null) return rejected
  const giveWay = keepAlive(tx)
  const screened: R[] = []
  for (const entry of rejected) {
    const found = await contactsIn(entry.payload, erased, giveWay)
    const isClean = found?.length === 0
    const redact = () => redactJson(entry.issues, erased) as Issue[]
    screened.push(isClean ? entry : { ...entry, issues: redact(), payload: erasedMark })
  }
  return screened
}
