import type { Db } from '../db/transaction.ts'
import type { Person } from '../streams/windowed-stream.ts'
import { digestOf, type Secret } from './digests.ts'
import { emailsIn, type Needle, ownNeedlesOf } from './needles.ts'
import { phonesIn } from './phone.ts'
import { contactDigests, readContacts, suppress } from './suppression.ts'

/** An evaluation as it was read, with whom it names as its customer. */
export interface Carrier {
  readonly evalId: number
  readonly person: Person
  readonly text: string
}

/** Puts evaluations on the suppression list whose customer's contact was erased, or whose texts hold such a contact. Whether
 *  there were any. The list of contacts is read whole: it has a few entries for every customer that was ever erased. */
export async function suppressCarriers(
  db: Db,
  secret: Secret,
  groupId: number,
  carriers: readonly Carrier[],
): Promise<boolean> {
  const erased = carriers.length === 0 ? new Map<string, number>() : await readContacts(db)
  if (erased.size === 0) return false
  const erasureOf = (digest: Buffer) => erased.get(digest.toString('hex'))
  let found = false
  for (const { evalId, person, text } of carriers) {
    const [own] = contactDigests(secret, person).flatMap((digest) => erasureOf(digest) ?? [])
    const named = contactsIn(text).filter((contact) => erasureOf(digestOf(secret, contact)))
    const erasureId = own ?? (named[0] && erasureOf(digestOf(secret, named[0])))
    if (erasureId === undefined) continue
    const scope = own === undefined ? 'mention' : 'customer'
    const needles = own === undefined ? named : [...named, ...ownNeedlesOf(person)]
    await suppress(db, secret, groupId, { evalId, scope, erasureId, needles })
    found = true
  }
  return found
}

/** Every e-mail and phone number in a payload. */
function contactsIn(text: string): Needle[] {
  return [
    ...emailsIn(text).map(({ key }) => ({ kind: 'email' as const, key, spelling: key })),
    ...phonesIn(text).map(({ key }) => ({ kind: 'phone' as const, key, spelling: key })),
  ]
}
