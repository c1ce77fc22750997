import { emailsIn } from '../../privacy/screen/email.ts'
import { redactText } from '../../privacy/screen/redact.ts'
import { plainTerms, termsForOwnEvaluation } from '../../privacy/screen/search-terms.ts'
import { prunedJson } from '../../values/json-depth.ts'
import type { PeopleOfRecords, PersonRedaction } from '../../values/person.ts'
import type { AppraisalWire } from '../../values/wire.ts'

/** Replaces a value that names a customer, or may. Equal values have the same one, so that a comparison shows what changed. */
export class HiddenValue {
  toJSON(): string {
    return 'hidden'
  }

  /** Also a key may name a person. */
  toString(): string {
    return 'hidden'
  }
}

/** Whose payloads are shown, and where they name people. */
interface MaskScope {
  readonly people: PeopleOfRecords
  readonly id: number
  readonly wire: AppraisalWire
}

/** A parsed payload. `isRecord`: it is the record itself, not another answer about it. */
interface ShownPayload {
  readonly body: unknown
  readonly isRecord: boolean
}

/**
 * Pure. The payloads of one record, fit to be shown: the fields of its customer are hidden, and so is every text that names the
 * customer of any of them, or has an e-mail.
 */
export function maskPayloads(
  { people, id, wire }: MaskScope,
  payloads: readonly ShownPayload[],
): unknown[] {
  const bodies = payloads.map(({ body, isRecord }) => ({ body: prunedJson(body), isRecord }))
  const terms = plainTerms(
    bodies
      .filter(({ isRecord }) => isRecord)
      .flatMap(({ body }) => termsForOwnEvaluation(people.personOf(body, id, wire))),
  )
  const hidden = new Map<string, HiddenValue>()
  const hide = (value: unknown): HiddenValue => {
    const key = JSON.stringify(value)
    if (!hidden.has(key)) hidden.set(key, new HiddenValue())
    return hidden.get(key)!
  }
  const redact = (value: string | number) =>
    redactText(String(value), terms) === String(value) ? value : hide(value)
  // A hidden value takes the place of a text; what is made of it is shown and never read as a payload.
  const redaction = {
    redact: redact as unknown as PersonRedaction['redact'],
    redactFact: (fact: string) => fact,
    blank: (_: string, value: unknown) =>
      value === undefined || value === null ? value : hide(value),
  }
  const redactAny = (text: string) => (emailsIn(text).length > 0 ? hide(text) : redact(text))
  const redactEmail = (text: string) => (emailsIn(text).length > 0 ? hide(text) : text)
  return bodies.map(({ body, isRecord }) =>
    isRecord
      ? withTexts(people.withoutPerson(body, id, wire, redaction), redactEmail)
      : withTexts(body, redactAny),
  )
}

function withTexts(value: unknown, redact: (text: string) => unknown): unknown {
  if (typeof value === 'string') return redact(value)
  if (value === null || typeof value !== 'object' || value instanceof HiddenValue) return value
  if (Array.isArray(value)) return value.map((each) => withTexts(each, redact))
  const entries = Object.entries(value).map(([key, each]) => [
    String(redact(key)),
    withTexts(each, redact),
  ])
  return Object.fromEntries(entries)
}
