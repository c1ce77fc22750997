import type { Tx } from '../db/transaction.ts'
import { redactJson } from '../erasure/redact.ts'
import {
  contactsIn,
  erasedContacts,
  holdErasureLock,
  suppressedAmong,
} from '../erasure/suppression.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { Hint } from './hint.ts'

/** The text of a body to store, without the customers that were erased. */
export async function screenBody(
  tx: Tx,
  rooftop: RooftopRow | null,
  { evalId, body }: Hint,
): Promise<string> {
  await holdErasureLock(tx)
  const contacts = await erasedContacts(tx.db)
  if (contacts === null) return textOf(body)
  const ids = evalId === null || rooftop === null ? [] : [evalId]
  const suppressed = await suppressedAmong(tx.db, rooftop?.groupId ?? 0, ids)
  const erased = suppressed.get(evalId ?? 0)
  const screened = erased === undefined ? body : redactJson(body, erased.terms)
  const text = textOf(screened)
  const found = await contactsIn(text, contacts)
  // It is unknown whose body this is: the names beside an erased contact may be in any field.
  return found.length === 0
    ? text
    : JSON.stringify({ withheld: 'names a customer that was erased' })
}

function textOf(body: unknown): string {
  return JSON.stringify(body ?? null)
}
