import type { Db } from '../db/transaction.ts'
import type { AppraisalWire } from '../values/wire.ts'
import { scrubAnswer } from './scrub-answer.ts'
import { digestOf, readSecret } from './digests.ts'
import type { SearchTerms } from './search-terms.ts'
import { redactJson, redactText } from './redact.ts'
import { parseJson } from './scrub-payload.ts'
import { readContacts, suppressedAmong } from './suppression.ts'

/** Every erased e-mail and phone number, for texts that belong to no evaluation; null for none. The caller holds
 *  the lock of `holdErasureLock`. */
export async function erasedContacts(db: Db): Promise<SearchTerms | null> {
  const secret = await readSecret(db)
  const contacts = secret === null ? null : await readContacts(db)
  if (secret === null || contacts === null || contacts.size === 0) return null
  const isErased = (kind: 'email' | 'phone', key: string) =>
    contacts.has(digestOf(secret, { kind, key }).toString('hex'))
  return {
    has: (kind, key) => (kind === 'email' || kind === 'phone') && isErased(kind, key),
    phraseWords: [],
  }
}

/** Removes erased customers from an answer that no load has screened. It may belong to an evaluation of the dealer group. */
export async function screenAnswer(
  db: Db,
  answer: { readonly text: string; readonly endpoint: string },
  about: { readonly groupId: number; readonly evalId: number | null },
  wire: AppraisalWire,
): Promise<string> {
  const ids = about.evalId === null ? [] : [about.evalId]
  const erased = (await suppressedAmong(db, about.groupId, ids)).get(about.evalId ?? 0)
  const contacts = await erasedContacts(db)
  const body = parseJson(answer.text)
  if (body === undefined) return contacts === null ? answer.text : redactText(answer.text, contacts)
  const own = erased === undefined ? body : scrubAnswer(body, answer.endpoint, wire, erased)
  const screened = contacts === null ? own : redactJson(own, contacts)
  return screened === body ? answer.text : JSON.stringify(screened)
}
