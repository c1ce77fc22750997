import type { PersonRedaction, WindowedStream } from '../streams/windowed-stream.ts'
import { isTooDeep } from '../values/json-depth.ts'
import type { AppraisalWire } from '../values/wire.ts'
import { erasedMark } from './redaction-mark.ts'
import {
  unionOfTerms,
  type SearchTerms,
  termsForOwnEvaluation,
  plainTerms,
} from './search-terms.ts'
import { redactNumber, redactText } from './redact.ts'

/** What is taken out of the payloads of a record. */
export interface Erased {
  /** mention: its customer is another one, and stays. */
  readonly scope: 'customer' | 'mention'
  readonly needles: SearchTerms
}

type PersonStream = Pick<WindowedStream, 'personOf' | 'withoutPerson'>

const toNull: NonNullable<PersonRedaction['blank']> = (_, value) =>
  value === undefined ? undefined : null

/**
 * The payload without the person: the very text when there is nothing to take out, so that doing it twice changes nothing
 * more. A source that sends the same gets the same. What is no JSON and names somebody is not kept at all.
 */
export function scrubPayload(
  stream: PersonStream,
  id: number,
  text: string,
  wire: AppraisalWire,
  { scope, needles: given }: Erased,
  blank = toNull,
): string {
  const body = parseJson(text)
  if (body === undefined) return scrubBroken(text, scope, given)
  const isOwn = scope === 'customer'
  const own = isOwn ? termsForOwnEvaluation(stream.personOf(body, id, wire)) : []
  const needles = unionOfTerms(given, plainTerms(own))
  const scrub = { redact: redactWith(needles), blank: isOwn ? blank : null }
  const scrubbed = JSON.stringify(stream.withoutPerson(body, id, wire, scrub))
  // A key that is there twice is seen once by whoever parses it.
  const isClean = scrubbed === JSON.stringify(body) && redactText(text, needles) === text
  return isClean ? text : scrubbed
}

function redactWith(needles: SearchTerms): PersonRedaction['redact'] {
  return ((value: string | number) =>
    typeof value === 'string'
      ? redactText(value, needles)
      : redactNumber(value, needles)) as PersonRedaction['redact']
}

/** In what is cut off or broken nobody can tell whose the rest is. */
function scrubBroken(text: string, scope: Erased['scope'], needles: SearchTerms): string {
  const isNamed = scope === 'customer' || redactText(text, needles) !== text
  return isNamed && text !== '' ? erasedMark : text
}

/** undefined: it is no JSON, or is nested too deeply to be walked. */
export function parseJson(text: string): unknown {
  try {
    const body = JSON.parse(text) as unknown
    return isTooDeep(body) ? undefined : body
  } catch {
    return undefined
  }
}
