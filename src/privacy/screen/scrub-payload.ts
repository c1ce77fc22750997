import { runCarHistory, searchPpsr } from '../../api/contract/appraisal/checks.ts'
import { pastOperations, withoutLinks } from '../../api/contract/appraisal/past-checks.ts'
import { isTooDeep } from '../../values/json-depth.ts'
import { jsonValue } from '../../values/json-value.ts'
import type { PeopleOfRecords, PersonRedaction } from '../../values/person.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { redactJson, redactNumber, redactText } from './redact.ts'
import {
  contactsOnly,
  erasedMark,
  plainTerms,
  type SearchTerms,
  termsForOwnEvaluation,
  unionOfTerms,
  withoutWholeTerms,
} from './search-terms.ts'

/** What to remove from the payloads of a record. */
export interface Erased {
  /** mention: its customer is another person, who stays. */
  readonly scope: 'customer' | 'mention'
  readonly terms: SearchTerms
}

const toNull: NonNullable<PersonRedaction['blank']> = (_, value) =>
  value === undefined ? undefined : null

/**
 * Removes the person from a payload. Returns the same text if there is nothing to remove, so a second call changes
 * nothing, and equal payloads give equal results. Text that is not JSON and names the person is dropped completely.
 */
export function scrubPayload(
  people: PeopleOfRecords,
  id: number,
  text: string,
  wire: AppraisalWire,
  { scope, terms: given }: Erased,
  blank = toNull,
): string {
  const body = parseJson(text)
  if (body === undefined) return scrubBroken(text, scope, given)
  const isOwn = scope === 'customer'
  const evaluationTerms = isOwn ? termsForOwnEvaluation(people.readPerson(body, id, wire)) : []
  const terms = unionOfTerms(given, plainTerms(evaluationTerms))
  const contacts = contactsOnly(terms)
  const redactFact = (fact: string) => redactText(fact, contacts)
  const scrub = { redact: redactWith(terms), redactFact, blank: isOwn ? blank : null }
  const scrubbed = JSON.stringify(people.withoutPerson(body, id, wire, scrub))
  // Parsing hides the first of two equal keys, so the text is checked too.
  const isClean = scrubbed === JSON.stringify(body) && redactText(text, terms) === text
  return isClean ? text : scrubbed
}

function redactWith(terms: SearchTerms): PersonRedaction['redact'] {
  return ((value: string | number) =>
    typeof value === 'string'
      ? redactText(value, terms)
      : redactNumber(value, terms)) as PersonRedaction['redact']
}

/** In broken JSON it is unknown whose data the rest is, so all of it is replaced. */
function scrubBroken(text: string, scope: Erased['scope'], terms: SearchTerms): string {
  const isNamed = scope === 'customer' || redactText(text, terms) !== text
  return isNamed && text !== '' ? erasedMark : text
}

const answersWithLinks = [...Object.values(pastOperations), searchPpsr, runCarHistory].map(
  ({ name }): string => name,
)

/** Pure. Removes the customer from the answer to another call about an evaluation; from the customer's own evaluation also
 *  the signed links of certificates. Returns the same object if nothing was removed. */
export function scrubAnswer(
  body: unknown,
  endpoint: string,
  wire: AppraisalWire,
  { scope, terms }: Erased,
): unknown {
  const redacted = redactJson(body, withoutWholeTerms(terms))
  if (scope !== 'customer' || !answersWithLinks.includes(endpoint)) return redacted
  const unlinked = withoutLinks(redacted, wire)
  return JSON.stringify(unlinked) === JSON.stringify(redacted) ? redacted : unlinked
}

/** Parses JSON; undefined for other text, or if it is nested too deeply. */
export function parseJson(text: string): unknown {
  const body = jsonValue(text)
  return isTooDeep(body) ? undefined : body
}
