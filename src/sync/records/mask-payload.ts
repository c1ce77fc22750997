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

/**
 * Pure. The payloads of one record, fit to be shown: the fields of its customer are hidden, and so is every text that names the
 * customer of any of them, or has an e-mail, or is at a path that neither the documents nor the config name. `showsUnknown`: the
 * last are shown, to be reduced to their form.
 */
export function maskPayloads(
  { people, id, wire }: MaskScope,
  payloads: readonly { readonly body: unknown; readonly isRecord: boolean }[],
  { showsUnknown = false } = {},
): unknown[] {
  const bodies = payloads.map(({ body, isRecord }) => ({ body: prunedJson(body), isRecord }))
  const terms = plainTerms(
    bodies
      .filter(({ isRecord }) => isRecord)
      .flatMap(({ body }) => termsForOwnEvaluation(people.readPerson(body, id, wire))),
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
    ...(showsUnknown ? { unknown: (_: string, value: string | number) => redact(value) } : {}),
  }
  const isContact = (text: string) => emailsIn(text).length > 0
  const redactAny = (text: string, path: string | null) => {
    const isUnknown = path !== null && !showsUnknown && !isAnswerText(path, wire)
    return isContact(text) || (isUnknown && text !== '') ? hide(text) : redact(text)
  }
  const redactKey = (key: string) =>
    isContact(key) || !(showsUnknown || isFieldName(key)) ? hide(key) : key
  return bodies.map(({ body, isRecord }) =>
    isRecord
      ? withTexts(people.withoutPerson(body, id, wire, redaction), (text, path) =>
          path === null ? redactKey(text) : isContact(text) ? hide(text) : text,
        )
      : withTexts(body, redactAny),
  )
}

/** Names of fields; another key may name a person. */
function isFieldName(key: string): boolean {
  return /^[A-Za-z_][\w-]{0,39}$/.test(key)
}

/** Texts in the answers about an evaluation whose names are documented. */
const documentedAnswerTexts = [
  ...['WatchStatus', 'SearchNumber', 'CertificateNumber', 'confidence', 'prediction_date'],
  ...['currency_symbol', 'reasoning.status', 'reasoning.dealer', 'reasoning.customer'],
]

/** Whether the documents or the config name the text at a path of an answer about an evaluation. */
function isAnswerText(path: string, wire: AppraisalWire): boolean {
  const { checks, ...ofCheck } = wire.watch
  const lists = [checks].flat().map((list) => (list === '' ? '' : `${list}.`))
  const known = [
    ...documentedAnswerTexts,
    ...[wire.pastCheck, wire.ppsrCertificate, wire.carHistory].flatMap((one) => Object.values(one)),
    ...Object.values(ofCheck).flatMap((part) =>
      lists.flatMap((list) => [part].flat().map((each) => `${list}${each}`)),
    ),
  ].flat()
  return known.some((each) => path === each || path.startsWith(`${each}.`))
}

/** `redact` is called with each text and its path without positions, and with each key and null. */
function withTexts(
  value: unknown,
  redact: (text: string, path: string | null) => unknown,
  path = '',
): unknown {
  if (typeof value === 'string') return redact(value, path)
  if (value === null || typeof value !== 'object' || value instanceof HiddenValue) return value
  if (Array.isArray(value)) return value.map((each) => withTexts(each, redact, path))
  const entries = Object.entries(value).map(([key, each]) => [
    path === 'customFields' ? key : String(redact(key, null)),
    withTexts(each, redact, path === '' ? key : `${path}.${key}`),
  ])
  return Object.fromEntries(entries)
}
