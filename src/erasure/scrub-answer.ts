import { pastContent, pastOperations } from '../streams/vehicle-checks/past-checks.ts'
import type { AppraisalWire } from '../values/wire.ts'
import { withoutWholeTerms } from './search-terms.ts'
import { redactJson } from './redact.ts'
import type { Erased } from './scrub-payload.ts'

const listsOfLinks = Object.values(pastOperations).map(({ name }): string => name)

/** Pure. The answer to another call about an evaluation, without the customer; of their own one the signed links of
 *  certificates go too. The very body when there is nothing to take out. */
export function scrubAnswer(
  body: unknown,
  endpoint: string,
  wire: AppraisalWire,
  { scope, needles }: Erased,
): unknown {
  const redacted = redactJson(body, withoutWholeTerms(needles))
  if (scope !== 'customer' || !listsOfLinks.includes(endpoint)) return redacted
  const unlinked = pastContent(redacted, wire)
  return JSON.stringify(unlinked) === JSON.stringify(redacted) ? redacted : unlinked
}
