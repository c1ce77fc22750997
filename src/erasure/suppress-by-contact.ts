import type { Db } from '../db/transaction.ts'
import type { Person } from '../values/person.ts'
import { eventLoopYielder } from '../values/event-loop-yielder.ts'
import { digester, digestOf, type Secret } from './digests.ts'
import { emailsIn, type SearchTerm, termsForOwnEvaluation } from './search-terms.ts'
import { phonesIn } from './phone.ts'
import { contactDigests, readContacts, suppress } from './suppression.ts'

/** An evaluation as received, with its customer. */
export interface ReceivedEvaluation {
  readonly evalId: number
  readonly person: Person
  readonly text: string
}

/** Puts evaluations on the suppression list whose customer or texts have an erased contact. Returns whether
 *  there were any. Reads the whole list of contacts, which has a few entries for each erased customer. */
export async function suppressByContact(
  db: Db,
  secret: Secret,
  groupId: number,
  carriers: readonly ReceivedEvaluation[],
): Promise<boolean> {
  const erased = carriers.length === 0 ? new Map<string, number>() : await readContacts(db)
  if (erased.size === 0) return false
  const erasureOf = (digest: Buffer) => erased.get(digest.toString('hex'))
  let found = false
  for (const { evalId, person, text } of carriers) {
    const [own] = contactDigests(secret, person).flatMap((digest) => erasureOf(digest) ?? [])
    const named = await contactsIn(text, (contact) =>
      erased.has(digestOf(secret, contact).toString('hex')),
    )
    const erasureId = own ?? (named[0] && erasureOf(digestOf(secret, named[0])))
    if (erasureId === undefined) continue
    const scope = own === undefined ? 'mention' : 'customer'
    const terms = own === undefined ? named : [...named, ...termsForOwnEvaluation(person)]
    await suppress(db, digester(secret), groupId, { evalId, scope, erasureId, terms })
    found = true
  }
  return found
}

/** The e-mails and phone numbers of a text that are on the list. The digests of a megabyte of text take most of a second. */
export async function contactsIn(
  text: string,
  isListed: (contact: SearchTerm) => boolean,
): Promise<SearchTerm[]> {
  const giveWay = eventLoopYielder()
  const listed: SearchTerm[] = []
  for (const { kind, key } of contactsOfText(text)) {
    await giveWay()
    const contact = { kind, key, spelling: key }
    if (isListed(contact)) listed.push(contact)
  }
  return listed
}

function* contactsOfText(text: string): Generator<Pick<SearchTerm, 'kind' | 'key'>> {
  for (const { key } of emailsIn(text)) yield { kind: 'email', key }
  for (const { key } of phonesIn(text)) yield { kind: 'phone', key }
}
