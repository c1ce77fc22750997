import { pastContent, pastOperations } from '../streams/vehicle-checks/past-checks.ts'
import type { AppraisalWire } from '../values/wire.ts'
import { withoutWholeTerms } from './search-terms.ts'
import { redactJson } from './redact.ts'
import type { Erased } from './scrub-payload.ts'

const listsOfLinks = Object.values(pastOperations).map(({ name }): string => name)

/** Pure. Removes the customer from the answer to another call about an evaluation; from the customer's own evaluation also
 *  the signed links of certificates. Returns the same object if nothing was removed. */
export function scrubAnswer(
  body: unknown,
  endpoint: string,
  wire: AppraisalWire,
  { scope, terms }: Erased,
): unknown {
  const redacted = redactJson(body, withoutWholeTerms(terms))
  if (scope !== 'customer' || !listsOfLinks.includes(endpoint)) return redacted
  const unlinked = pastContent(redacted, wire)
  return JSON.stringify(unlinked) === JSON.stringify(redacted) ? redacted : unlinked
}
