import { createHmac, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { eventLoopYielder } from '../../values/event-loop-yielder.ts'
import type { Person } from '../../values/person.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { emailsIn } from './email.ts'
import { phonesIn } from './phone.ts'
import { redactJson, redactText } from './redact.ts'
import { type Erased, parseJson, scrubAnswer } from './scrub-payload.ts'
import {
  personTerms,
  phraseLengths,
  possibleContactTerms,
  type SearchTerm,
  type SearchTerms,
  termId,
  termsForOwnEvaluation,
  unionOfTerms,
} from './search-terms.ts'

// The suppression list: evaluations and contacts that were erased, as digests under the key in pii.erasure_secret. Anyone who
// has the key can test a guess against them.

/** An evaluation on the suppression list. */
export interface Suppressed extends Erased {
  readonly erasureId: number
  readonly at: Date
}

/** Evaluations of one dealer group on the suppression list, by EvalID. */
export type Suppressions = ReadonlyMap<number, Suppressed>

/** The evaluations of a dealer group that are on the list; null: of any group, when it is unknown whose they are. */
export async function suppressedAmong(
  db: Db,
  groupId: number | null,
  evalIds: readonly number[],
): Promise<Suppressions> {
  if (evalIds.length === 0) return new Map()
  const { rows } = await sql<{
    eval_id: number
    scope: Suppressed['scope']
    erasure_id: number
    suppressed_at: Date
    digests: Buffer[]
    phrase_words: number[]
    secret: Buffer
  }>`
    select eval_id, scope, erasure_id, suppressed_at, digests, phrase_words, secret
    from pii.suppressed_evaluation cross join pii.erasure_secret
    where group_id = coalesce(${groupId}::int, group_id) and eval_id = any(${[...evalIds]}::bigint[])`.execute(
    db,
  )
  const found = new Map<number, Suppressed>()
  for (const { scope, secret, ...row } of rows) {
    const known = new Set(row.digests.map((digest) => digest.toString('hex')))
    const has: SearchTerms['has'] = (kind, key) =>
      known.has(digestTerm(secret, { kind, key }).toString('hex'))
    const contacts = { has, phraseWords: row.phrase_words }
    const other = found.get(row.eval_id)
    const terms = other === undefined ? contacts : unionOfTerms(other.terms, contacts)
    const ofBoth = other?.scope === 'customer' ? other.scope : scope
    found.set(row.eval_id, {
      scope: ofBoth,
      erasureId: row.erasure_id,
      at: row.suppressed_at,
      terms,
    })
  }
  return found
}

/** When the customer of an evaluation was erased; null: never. */
export function erasedAt(suppressed: Suppressions, evalId: number): Date | null {
  const found = suppressed.get(evalId)
  return found?.scope === 'customer' ? found.at : null
}

/** Every erased e-mail and phone number: the terms for texts that belong to no evaluation. */
export interface ErasedContacts extends SearchTerms {
  /** The erasure that listed a contact; undefined: none. */
  readonly erasureOf: (contact: Pick<SearchTerm, 'kind' | 'key'>) => number | undefined
  /** The erasure that listed one of a person's contacts, or a name together with a contact. */
  readonly erasureOfPerson: (person: Person) => number | undefined
  readonly secret: Buffer
  /** Whether another reading of the list found the same. */
  readonly isSameAs: (other: ErasedContacts) => boolean
  /** Each digest, and the erasure that listed it. */
  readonly listed: ReadonlyMap<string, number>
}

/** Reads the whole list of contacts, which has a few entries for each erased customer. null: no one was erased. A load holds the lock of
 *  `holdErasureLock`. */
export async function erasedContacts(db: Db): Promise<ErasedContacts | null> {
  const rows = await db
    .selectFrom('pii.erasure_secret')
    .leftJoin('pii.suppressed_contact', (join) => join.onTrue())
    .select(['secret', 'digest', 'erasure_id'])
    .execute()
  const secret = rows[0]?.secret
  if (secret === undefined) return null
  const listed = new Map(
    rows.flatMap(({ digest, erasure_id }) =>
      digest === null || erasure_id === null ? [] : [[digest.toString('hex'), erasure_id] as const],
    ),
  )
  const find = (digest: Buffer) => listed.get(digest.toString('hex'))
  const erasureOf: ErasedContacts['erasureOf'] = (contact) => find(digestTerm(secret, contact))
  return {
    secret,
    listed,
    isSameAs: (other) =>
      other.listed.size === listed.size &&
      [...listed].every(([digest, id]) => other.listed.get(digest) === id),
    erasureOf,
    erasureOfPerson: (person) =>
      possibleContactTerms(person).map(erasureOf).find(isListed) ??
      namedContacts(person)
        .map((pair) => find(digestOfPair(secret, pair)))
        .find(isListed),
    has: (kind, key) =>
      listed.size > 0 &&
      (kind === 'email' || kind === 'phone') &&
      isListed(erasureOf({ kind, key })),
    phraseWords: [],
  }
}

function isListed(erasureId: number | undefined): erasureId is number {
  return erasureId !== undefined
}

/** A text with more e-mails and phone numbers is not compared: their digests would take seconds, and no record has as many. */
export const maxCompared = 100_000

/** The e-mails and phone numbers of a text that are on the list; null: it has too many to compare them. `giveWay` is called between
 *  the digests, which take most of a second at most. */
export async function contactsIn(
  text: string,
  erased: ErasedContacts,
  giveWay = eventLoopYielder(),
): Promise<readonly SearchTerm[] | null> {
  const listed: SearchTerm[] = []
  let compared = 0
  for (const [kind, found] of [
    ['email', emailsIn(text)],
    ['phone', phonesIn(text)],
  ] as const)
    for (const { key } of found) {
      await giveWay()
      if (++compared > maxCompared) return null
      if (erased.has(kind, key)) listed.push({ kind, key, spelling: key })
    }
  return listed
}

/** Puts evaluations on the list whose customer or texts have an erased contact; `named`: those of the texts. Returns whether there
 *  were any. */
export async function suppressByContact(
  db: Db,
  erased: ErasedContacts,
  groupId: number,
  received: readonly {
    readonly evalId: number
    readonly person: Person
    readonly named: readonly SearchTerm[]
  }[],
): Promise<boolean> {
  let found = false
  for (const { evalId, person, named } of received) {
    const erasure = erased.erasureOfPerson(person)
    const erasureId = erasure ?? (named[0] && erased.erasureOf(named[0]))
    if (erasureId === undefined) continue
    const scope = erasure === undefined ? 'mention' : 'customer'
    const terms = erasure === undefined ? named : [...named, ...termsForOwnEvaluation(person)]
    await suppress(db, digester(erased.secret), groupId, { evalId, scope, erasureId, terms })
    found = true
  }
  return found
}

/** Removes erased customers from an answer that no load has screened. It may belong to an evaluation of the dealer group. */
export async function screenAnswer(
  db: Db,
  answer: { readonly text: string; readonly endpoint: string },
  about: { readonly groupId: number; readonly evalId: number | null },
  wire: AppraisalWire,
): Promise<string> {
  const contacts = await erasedContacts(db)
  if (contacts === null) return answer.text
  const ids = about.evalId === null ? [] : [about.evalId]
  const erased = (await suppressedAmong(db, about.groupId, ids)).get(about.evalId ?? 0)
  const body = parseJson(answer.text)
  if (body === undefined) return redactText(answer.text, contacts)
  const scrubbed = erased === undefined ? body : scrubAnswer(body, answer.endpoint, wire, erased)
  const screened = redactJson(scrubbed, contacts)
  return screened === body ? answer.text : JSON.stringify(screened)
}

/** The key of all digests; made by the first erasure. */
export async function ensureSecret(db: Db): Promise<Buffer> {
  await sql`insert into pii.erasure_secret (secret) values (${randomBytes(32)}) on conflict do nothing`.execute(
    db,
  )
  return (await db.selectFrom('pii.erasure_secret').select('secret').executeTakeFirstOrThrow())
    .secret
}

/** Digests of terms, cached: an erasure lists the same terms with every evaluation. */
type Digester = (term: Pick<SearchTerm, 'kind' | 'key'>) => Buffer

export function digester(secret: Buffer): Digester {
  const known = new Map<string, Buffer>()
  return (term) => {
    const name = termId(term)
    const digest = known.get(name) ?? digestTerm(secret, term)
    known.set(name, digest)
    return digest
  }
}

/** In milliseconds, the precision of JavaScript: a value that is read and written back must not change. */
const thisMoment = sql`date_trunc('milliseconds', now())`

/** Puts an evaluation on the list, or extends its entry; false: nothing was new. */
export async function suppress(
  db: Db,
  digest: Digester,
  groupId: number,
  evaluation: {
    readonly evalId: number
    readonly scope: Suppressed['scope']
    readonly erasureId: number
    readonly terms: readonly SearchTerm[]
  },
): Promise<boolean> {
  const { evalId, scope, erasureId, terms } = evaluation
  const digests = terms.map(digest)
  const { numAffectedRows } = await sql`
    insert into pii.suppressed_evaluation as known
      (group_id, eval_id, scope, erasure_id, suppressed_at, digests, phrase_words)
    values (${groupId}, ${evalId}, ${scope}, ${erasureId}, ${thisMoment}, ${digests}::bytea[], ${phraseLengths(terms)}::smallint[])
    on conflict (group_id, eval_id) do update set
      scope = case when known.scope = 'customer' then known.scope else excluded.scope end,
      suppressed_at = case when known.scope in ('customer', excluded.scope) then known.suppressed_at else excluded.suppressed_at end,
      digests = array(select distinct unnest(known.digests || excluded.digests)),
      phrase_words = array(select distinct unnest(known.phrase_words || excluded.phrase_words))
    where not (known.digests @> excluded.digests and (known.scope = excluded.scope or known.scope = 'customer'))`.execute(
    db,
  )
  return numAffectedRows === 1n
}

/** Lists the contacts of an erased customer; those that others share only together with the name. Returns how many were new. */
export async function suppressContacts(
  db: Db,
  secret: Buffer,
  erasureId: number,
  {
    persons,
    terms,
  }: { readonly persons: readonly Person[]; readonly terms: readonly SearchTerm[] },
): Promise<number> {
  const contacts = terms.filter(({ kind }) => kind === 'email' || kind === 'phone')
  const alone = new Set(contacts.map(termId))
  const pairs = persons.flatMap(namedContacts).filter(({ contact }) => !alone.has(termId(contact)))
  const kinds = [...contacts.map(({ kind }): string => kind), ...pairs.map(() => 'person')]
  const digests = [
    ...contacts.map((contact) => digestTerm(secret, contact)),
    ...pairs.map((pair) => digestOfPair(secret, pair)),
  ]
  const { numAffectedRows } = await sql`
    insert into pii.suppressed_contact (kind, digest, erasure_id)
    select kind, digest, ${erasureId}::bigint from unnest(${kinds}::text[], ${digests}::bytea[]) as entry (kind, digest)
    on conflict do nothing`.execute(db)
  return Number(numAffectedRows ?? 0)
}

interface NamedContact {
  readonly name: string
  readonly contact: SearchTerm
}

/** Pairs of each name with each contact and address line of the person. */
function namedContacts(person: Person): NamedContact[] {
  const names = personTerms({ ...person, email: null, phone: null, address: null })
  const contacts = personTerms({ ...person, name: null })
  return names.flatMap(({ key: name }) => contacts.map((contact) => ({ name, contact })))
}

function digestTerm(secret: Buffer, term: Pick<SearchTerm, 'kind' | 'key'>): Buffer {
  return digestText(secret, termId(term))
}

function digestOfPair(secret: Buffer, { name, contact }: NamedContact): Buffer {
  return digestText(secret, `person:${name}:${termId(contact)}`)
}

function digestText(secret: Buffer, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest()
}
