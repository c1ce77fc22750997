import { documentedEvaluationPaths } from '../../api/contract/appraisal/shapes.ts'
import { parseUtc } from '../../values/instant.ts'
import { type JsonPath, valueAt } from '../../values/json-path.ts'
import type { PeopleOfRecords, Person, PersonRedaction } from '../../values/person.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { findEvaluation } from './normalise.ts'

// Finds the customer in the body of an evaluation, and removes them from it.

/** The customer of an evaluation. */
export const evaluationPeople: PeopleOfRecords = { readPerson, withoutPerson }

const customerFields = [
  ...(['customerName', 'customerPhone', 'customerEmail', 'customerAddress'] as const),
  ...(['customerSuburb', 'customerPostcode', 'customerState', 'registration', 'notes'] as const),
]
/** Facts that people type, so that a contact may be in them. */
const documentedTexts = [
  ...['VIN', 'reconditioning_list.type', 'reconditioning_list.source'],
  ...['Photos.angle', 'Photos.heroSource'],
]
const textFields = [
  ...(['make', 'model', 'variant', 'colour', 'condition', 'registrationState'] as const),
]
/** Facts about the vehicle and the dealer's staff, and what reports count by. They stay, even if the customer has the same name. */
const factFields = [...(['dealerId', 'year', 'odometer'] as const), ...textFields]
const documentedFacts = [
  ...['EvalID', 'CreatedAt', 'CompletedAt', 'UpdatedAt', 'EntryDate', 'FinalPrice'],
  ...['Reconditioning', 'UserName', 'UserEmail'],
]
/** Numbers in these parts are amounts, ids and positions, and stay; texts in them are searched. */
const documentedParts = new Set(['reconditioning_list', 'UserPrices', 'Photos', 'CarPics'])

const documentedTextPaths = documentedEvaluationPaths
  .map((path) => path.replaceAll('[]', ''))
  // A text in place of a list is not what the document names.
  .filter((path) => !documentedParts.has(path))

function pricePaths({ userPrice }: AppraisalWire): string[] {
  return [userPrice.amount, userPrice.currency].flat().map((path) => `UserPrices.${path}`)
}

/** An earlier time may be the date of birth of somebody who sells a car. */
const firstTime = Date.UTC(2010, 0, 1)

/** Whether a value at an unknown path can name no one: a recent time, a code, a number shorter than that of a phone. */
function isImpersonal(value: string | number): boolean {
  if (typeof value === 'number') return Math.abs(value) < 1_000_000
  return /^[A-Z]{0,3}$/.test(value) || (parseUtc(value)?.getTime() ?? 0) >= firstTime
}

/** The customer that the body names; all null when it names none. */
function readPerson(body: unknown, evalId: number, wire: AppraisalWire): Person {
  const item = findEvaluation(body, evalId)
  const names = wire.evaluation
  const text = (path: JsonPath) => asText(valueAt(item, path))
  const [email, phone] = [text(names.customerEmail), text(names.customerPhone)]
  const unnamed = textsAtUnknownPaths(item, wire).filter((value) =>
    value.includes('@') ? !email : !phone && /(\d\D*){7}/.test(value),
  )
  return {
    name: text(names.customerName),
    phone,
    email,
    address: text(names.customerAddress),
    suburb: text(names.customerSuburb),
    plate: text(names.registration),
    ...(unnamed.length > 0 ? { unnamed } : {}),
  }
}

function textsAtUnknownPaths(item: unknown, wire: AppraisalWire): string[] {
  const texts: string[] = []
  const same = <T>(value: T): T => value
  const unknown = (_: string, value: string | number) => texts.push(String(value))
  redactItem(item, { redact: same, redactFact: same, blank: null, unknown }, pathKinds(wire))
  return texts
}

/** Pure. The body without the person; every other fact is as it was. */
function withoutPerson(
  body: unknown,
  evalId: number,
  wire: AppraisalWire,
  redaction: PersonRedaction,
): unknown {
  const item = findEvaluation(body, evalId)
  const kindOf = pathKinds(wire)
  const clean = (part: unknown) => redactItem(part, redaction, kindOf)
  const redacted =
    redaction.blank === null ? clean(item) : blanked(item, clean(item), wire, redaction.blank)
  if (!Array.isArray(body)) return redacted
  return body.map((other: unknown) => (other === item ? redacted : clean(other)))
}

type PathKind = 'text fact' | 'fact' | 'searched' | 'unknown'

function withoutPositions(path: string): string {
  return path.replaceAll(/\.\d+(?=\.|$)/g, '')
}

/** What the paths of an evaluation hold, without positions in lists. */
function pathKinds(wire: AppraisalWire): (path: string) => PathKind {
  const pathsOf = (fields: readonly (keyof AppraisalWire['evaluation'])[]) =>
    fields.flatMap((field) => wire.evaluation[field]).map(withoutPositions)
  // What is at the name of a held column may be about a person.
  const held = new Set<string>(wire.held)
  const isLoaded = (field: string) => !held.has(field)
  const texts = new Set([...documentedTexts, ...pathsOf(textFields.filter(isLoaded))])
  const facts = new Set([...documentedFacts, ...pathsOf(factFields.filter(isLoaded))])
  const known = new Set([...documentedTextPaths, ...pathsOf(customerFields), ...pricePaths(wire)])
  return (path) => {
    if (texts.has(path)) return 'text fact'
    if (facts.has(path) || isFieldFact(path, wire)) return 'fact'
    return known.has(path) || /^customFields(\.|$)/.test(path) ? 'searched' : 'unknown'
  }
}

/** The name or the type of a custom field, in either of their shapes. */
function isFieldFact(path: string, { customField }: AppraisalWire): boolean {
  if (!path.startsWith('customFields.')) return false
  return [customField.name, customField.type]
    .flat(2)
    .some((part) => path === `customFields.${part}` || path.endsWith(`.${part}`))
}

function redactItem(
  item: unknown,
  redaction: PersonRedaction,
  kindOf: (path: string) => PathKind,
): unknown {
  const unknown = redaction.unknown ?? redaction.blank ?? ((_, value) => redaction.redact(value))
  /** `path` is without the positions in lists, which `place` has. */
  const walk = (value: unknown, path: string, place: string): unknown => {
    const kind = kindOf(path)
    if (kind === 'text fact' && typeof value === 'string') return redaction.redactFact(value)
    if (kind === 'text fact' || kind === 'fact') return value
    if (typeof value === 'string' || typeof value === 'number') {
      if (kind === 'unknown' && !isImpersonal(value)) return unknown(place, value)
      const isAmount = typeof value === 'number' && documentedParts.has(path.split('.')[0]!)
      return isAmount ? value : redaction.redact(value)
    }
    if (value === null || typeof value !== 'object') return value
    if (Array.isArray(value))
      return value.map((each, index) => walk(each, path, `${place}[${index}]`))
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [
        path === 'customFields' ? key : redaction.redact(key),
        walk(each, path === '' ? key : `${path}.${key}`, place === '' ? key : `${place}.${key}`),
      ]),
    )
  }
  return walk(item, '', '')
}

type Blank = NonNullable<PersonRedaction['blank']>

/** `clean`, with the customer's fields of `item` blanked. */
function blanked(item: unknown, clean: unknown, wire: AppraisalWire, blank: Blank): unknown {
  if (clean === null || typeof clean !== 'object' || Array.isArray(clean)) return clean
  let result = clean as object
  for (const field of customerFields) {
    for (const [index, path] of [wire.evaluation[field]].flat().entries()) {
      const value = valueAt(item, path)
      const next = value === undefined && index > 0 ? undefined : blank(path, value)
      if (next !== undefined) result = withValue(result, path.split('.'), next) as object
    }
  }
  const { customFields } = item as { readonly customFields?: unknown }
  if (customFields === null || typeof customFields !== 'object') return result
  return { ...result, customFields: blankedFields(customFields, wire, blank) }
}

/** Blanks the values of custom fields, which may hold anything about anyone; keeps names and types. The shapes are those of
 *  `normaliseEvaluation`. */
function blankedFields(fields: object, { customField }: AppraisalWire, blank: Blank): unknown {
  const factNames = [customField.name, customField.type].flat(2)
  const entries = Object.entries(fields).map(([key, field]: [string, unknown]) => {
    const fieldPath = `customFields.${key}`
    if (field === null || typeof field !== 'object' || Array.isArray(field))
      return [key, blank(fieldPath, field)] as const
    const parts = Object.entries(field).map(([part, value]: [string, unknown]) => [
      part,
      factNames.includes(part) ? value : blank(`${fieldPath}.${part}`, value),
    ])
    return [key, Object.fromEntries(parts)] as const
  })
  return Array.isArray(fields) ? entries.map(([, field]) => field) : Object.fromEntries(entries)
}

function withValue(holder: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value
  if (Array.isArray(holder))
    return holder.map((each: unknown, index) =>
      String(index) === key ? withValue(each, rest, value) : each,
    )
  const item = holder !== null && typeof holder === 'object' ? holder : {}
  return { ...item, [key]: withValue((item as Record<string, unknown>)[key], rest, value) }
}

function asText(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}
