import { scrubber } from '../../log.ts'
import type { AppraisalWire } from '../../values/wire.ts'

// A payload as the console may show it. Customers can be anywhere in a record that does not fit, so what is hidden goes by the paths of
// the config, by the names of fields wherever they are, and by the form of the texts.

/** A value that the console does not show. */
export class Hidden {
  /** `text`, `number` and so on: what was there. */
  readonly kind: string

  constructor(value: unknown) {
    this.kind = kindOf(value)
  }

  toJSON(): string {
    return `[hidden: ${this.kind}]`
  }
}

/** What a JSON value is, in a word. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  const kinds: Readonly<Record<string, string>> = { string: 'text', object: 'object' }
  return kinds[typeof value] ?? typeof value
}

/** Fields that hold a person, whatever they are part of. */
const personalNames =
  /customer|e-?mail|phone|mobile|address|suburb|post_?code|zip_?code|^notes?$|comment|contact|owner|buyer|seller|first_?name|last_?name|full_?name|surname|birth/i

const customerFields = [
  ...(['customerName', 'customerPhone', 'customerEmail', 'customerPostcode'] as const),
  ...(['customerState', 'customerAddress', 'customerSuburb', 'notes'] as const),
]

/** Whether the console hides what is at a path: names of fields, without the positions in lists. */
export function isPersonalPath(path: readonly string[], { evaluation }: AppraisalWire): boolean {
  const name = path.at(-1) ?? ''
  // The values of custom fields may be about anyone.
  const isCustomValue = path.at(-2) === 'customFields' || path.at(-3) === 'customFields'
  if (personalNames.test(name) || (isCustomValue && !/^(name|type)$/i.test(name))) return true
  const dotted = `.${path.join('.')}`.toLowerCase()
  return customerFields
    .flatMap((field) => evaluation[field])
    .some((known) => known !== '' && dotted.endsWith(`.${known.toLowerCase()}`))
}

const withoutQueries = scrubber([])
const emails = /[^\s@<>"',;:()]+@[^\s@<>"',;:()]+/g
const phone = /^\s*(\+|0|\()[\d\s().-]{7,}\s*$/

/** The body with `Hidden` for what is a person's, and links without what they are signed with. */
export function maskBody(
  body: unknown,
  wire: AppraisalWire,
  path: readonly string[] = [],
): unknown {
  if (Array.isArray(body)) return body.map((item: unknown) => maskBody(item, wire, path))
  if (body !== null && typeof body === 'object')
    return Object.fromEntries(
      Object.entries(body).map(([name, value]: [string, unknown]) => {
        const below = [...path, name]
        return [name, isPersonalPath(below, wire) ? hidden(value) : maskBody(value, wire, below)]
      }),
    )
  if (typeof body !== 'string') return body
  return phone.test(body) ? new Hidden(body) : withoutQueries(body).replaceAll(emails, '[hidden]')
}

/** An empty value is no secret, and may be why a record does not fit. */
function hidden(value: unknown): unknown {
  const isEmpty = value === null || value === '' || (Array.isArray(value) && value.length === 0)
  return isEmpty ? value : new Hidden(value)
}
