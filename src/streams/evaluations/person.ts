import { type JsonPath, valueAt } from '../../values/json-path.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Person, PersonRedaction } from '../windowed-stream.ts'
import { evaluationOf } from './normalise.ts'

// The customer in the body of an evaluation: where it stands, and the body without it.

const customerFields = [
  ...(['customerName', 'customerPhone', 'customerEmail', 'customerAddress'] as const),
  ...(['customerSuburb', 'customerPostcode', 'customerState', 'registration', 'notes'] as const),
]
/** Facts of the vehicle and of our own people, and what is counted by: a customer who is called the same changes none. */
const factFields = [
  ...(['dealerId', 'make', 'model', 'variant', 'year', 'odometer', 'colour'] as const),
  ...(['condition', 'registrationState'] as const),
]
const documentedFacts = [
  ...['EvalID', 'VIN', 'CreatedAt', 'CompletedAt', 'UpdatedAt', 'EntryDate', 'FinalPrice'],
  ...['Reconditioning', 'UserName', 'UserEmail'],
  ...[
    'reconditioning_list.type',
    'reconditioning_list.source',
    'Photos.angle',
    'Photos.heroSource',
  ],
]
/** Numbers below these are amounts, ids and places; their texts are searched. */
const documentedParts = new Set(['reconditioning_list', 'UserPrices', 'Photos', 'CarPics'])

/** The customer as the body names them; all null when it names none. */
export function personOf(body: unknown, evalId: number, wire: AppraisalWire): Person {
  const item = evaluationOf(body, evalId)
  const names = wire.evaluation
  const text = (path: JsonPath) => asText(valueAt(item, path))
  return {
    name: text(names.customerName),
    phone: text(names.customerPhone),
    email: text(names.customerEmail),
    address: text(names.customerAddress),
    suburb: text(names.customerSuburb),
    plate: text(names.registration),
  }
}

/** Pure. The body without the person; every other fact is as it was. */
export function withoutPerson(
  body: unknown,
  evalId: number,
  wire: AppraisalWire,
  scrub: PersonRedaction,
): unknown {
  const item = evaluationOf(body, evalId)
  const facts = new Set([
    ...documentedFacts,
    ...factFields.flatMap((field) => wire.evaluation[field]),
  ])
  const clean = (part: unknown) =>
    redactItem(part, scrub, (path) => facts.has(path) || isFieldFact(path, wire))
  const scrubbed =
    scrub.blank === null ? clean(item) : blanked(item, clean(item), wire, scrub.blank)
  if (!Array.isArray(body)) return scrubbed
  return body.map((other: unknown) => (other === item ? scrubbed : clean(other)))
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
  scrub: PersonRedaction,
  isFact: (path: string) => boolean,
): unknown {
  const walk = (value: unknown, path: string): unknown => {
    if (isFact(path)) return value
    if (typeof value === 'string') return scrub.redact(value)
    if (typeof value === 'number')
      return documentedParts.has(path.split('.')[0]!) ? value : scrub.redact(value)
    if (value === null || typeof value !== 'object') return value
    if (Array.isArray(value)) return value.map((each) => walk(each, path))
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [
        path === 'customFields' ? key : scrub.redact(key),
        walk(each, path === '' ? key : `${path}.${key}`),
      ]),
    )
  }
  return walk(item, '')
}

type Blank = NonNullable<PersonRedaction['blank']>

/** `clean` with the customer's own fields blanked, as they stood in `item`. */
function blanked(item: unknown, clean: unknown, wire: AppraisalWire, blank: Blank): unknown {
  if (clean === null || typeof clean !== 'object' || Array.isArray(clean)) return clean
  let result = clean as Readonly<Record<string, unknown>>
  for (const field of customerFields) {
    for (const [index, path] of [wire.evaluation[field]].flat().entries()) {
      const value = valueAt(item, path)
      const next = value === undefined && index > 0 ? undefined : blank(path, value)
      if (next !== undefined) result = placed(result, path.split('.'), next)
    }
  }
  const { customFields } = item as { readonly customFields?: unknown }
  if (customFields === null || typeof customFields !== 'object') return result
  return { ...result, customFields: blankedFields(customFields, wire, blank) }
}

/** Their values may be anything about anybody; names and types stay. The shapes are those of `normaliseEvaluation`. */
function blankedFields(fields: object, { customField }: AppraisalWire, blank: Blank): unknown {
  const kept = [customField.name, customField.type].flat(2)
  const entries = Object.entries(fields).map(([key, field]: [string, unknown]) => {
    const place = `customFields.${key}`
    if (field === null || typeof field !== 'object' || Array.isArray(field))
      return [key, blank(place, field)] as const
    const parts = Object.entries(field).map(([part, value]: [string, unknown]) => [
      part,
      kept.includes(part) ? value : blank(`${place}.${part}`, value),
    ])
    return [key, Object.fromEntries(parts)] as const
  })
  return Array.isArray(fields) ? entries.map(([, field]) => field) : Object.fromEntries(entries)
}

function placed(
  item: Readonly<Record<string, unknown>>,
  [key = '', ...rest]: readonly string[],
  value: unknown,
): Readonly<Record<string, unknown>> {
  if (rest.length === 0) return { ...item, [key]: value }
  const held = item[key]
  const below = held !== null && typeof held === 'object' && !Array.isArray(held) ? held : {}
  return { ...item, [key]: placed(below as Readonly<Record<string, unknown>>, rest, value) }
}

function asText(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}
