import { allStreams } from '../../../streams/all.ts'
import { HiddenValue, maskPayloads } from '../../../sync/records/mask-payload.ts'
import { withoutSignatures } from '../../../values/content-hash.ts'
import type { AppraisalWire } from '../../../values/wire.ts'

// A record that does not fit, as the console may show it. Its customer can be anywhere in it, so what is hidden goes by the paths of the
// config, by the names of fields wherever they are, and by the form of the texts.

/** The parsed payload of a record with `HiddenValue` for what is a person's, or may be. `showsUnknown`: as in `maskPayloads`. */
export function maskRecord(
  body: unknown,
  { stream, naturalKey }: { readonly stream: string; readonly naturalKey: string },
  wire: AppraisalWire,
  options: { readonly showsUnknown?: boolean } = {},
): unknown {
  const found = allStreams.find(({ name }) => name === stream)
  const isRecord = found?.records?.people !== undefined
  // Other answers about an evaluation may name its customer too.
  const people = (isRecord ? found : allStreams.find(({ records }) => records?.people))?.records
    ?.people
  if (people === undefined || !(isRecord || found?.enrichment)) return maskFields(body, wire)
  // The key of a list item without an id is no number: no evaluation has the id 0.
  const id = Number(/^\d{1,15}(?=$|\/)/.exec(naturalKey)?.[0] ?? 0)
  const scope = { people, id, wire }
  return maskFields(maskPayloads(scope, [{ body, isRecord }], options)[0], wire)
}

/** Fields that hold a person, whatever they are part of. */
const personalNames =
  /customer|e-?mail|phone|mobile|address|suburb|post_?code|zip_?code|^notes?$|comment|contact|owner|buyer|seller|first_?name|last_?name|full_?name|surname|birth/i

const customerFields = [
  ...(['customerName', 'customerPhone', 'customerEmail', 'customerPostcode'] as const),
  ...(['customerState', 'customerAddress', 'customerSuburb', 'notes'] as const),
]

/** Whether the console hides what is at a path: names of fields, without the positions in lists. */
function isPersonal(path: readonly string[], { evaluation }: AppraisalWire): boolean {
  const name = path.at(-1) ?? ''
  // The values of custom fields may be about anyone.
  const isCustomValue = path.at(-2) === 'customFields' || path.at(-3) === 'customFields'
  if (personalNames.test(name) || (isCustomValue && !/^(name|type)$/i.test(name))) return true
  const dotted = `.${path.join('.')}`.toLowerCase()
  return customerFields
    .flatMap((field) => evaluation[field])
    .some((known) => known !== '' && dotted.endsWith(`.${known.toLowerCase()}`))
}

const email = /\S@\S/
const phone = /^(\+|0|\()[\d\s().-]{7,}$/

/** The body without the fields and texts that are a person's, and links without what they are signed with. */
export function maskFields(
  body: unknown,
  wire: AppraisalWire,
  path: readonly string[] = [],
): unknown {
  if (body instanceof HiddenValue) return body
  if (Array.isArray(body)) return body.map((item: unknown) => maskFields(item, wire, path))
  if (body !== null && typeof body === 'object')
    return Object.fromEntries(
      Object.entries(body).map(([name, value]: [string, unknown], at) => {
        const below = [...path, name]
        const shown = isContact(name) ? `hidden ${at + 1}` : name
        return [shown, isPersonal(below, wire) ? hidden(value) : maskFields(value, wire, below)]
      }),
    )
  if (typeof body !== 'string') return body
  return isContact(body) ? new HiddenValue() : withoutSignatures(body)
}

/** Whether a text has an e-mail, or is a phone number. */
function isContact(text: string): boolean {
  return phone.test(text.trim()) || email.test(text)
}

/** An empty value is not a secret, and may be why a record does not fit. */
function hidden(value: unknown): unknown {
  const isEmpty = value === null || value === '' || (Array.isArray(value) && value.length === 0)
  return isEmpty ? value : new HiddenValue()
}
