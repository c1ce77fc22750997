import { type NormalisedText, normaliseText, replaceIn } from './normalise-text.ts'

/** An e-mail within a text. Several may have the same place: where it begins and ends is not always certain. */
interface EmailFound {
  readonly key: string
  readonly start: number
  readonly end: number
}

/** An e-mail, normalised for comparison; null for another text. */
export function emailKey(text: string): string | null {
  const key = withSigns(text).text.trim().toLowerCase()
  return /^[^\s@]+@[^\s@]+$/.test(key) ? key : null
}

/** E-mails within a text: also inside links, written with (at) and (dot), or with a word before or behind without a space. */
export function emailsIn(text: string): EmailFound[] {
  const plain = withSigns(text)
  return addressesIn(plain.text).flatMap(({ start, at, end }) => {
    const local = plain.text.slice(start, at).toLowerCase()
    const locals = possibleStarts(local)
    const domains = possibleDomains(plain.text.slice(at + 1, end))
    return locals.flatMap((offset) =>
      domains.map((domain) => ({
        key: `${local.slice(offset)}@${domain.toLowerCase()}`,
        ...plain.rangeOf(start + offset, at + 1 + domain.length),
      })),
    )
  })
}

const atSign = /\s{0,3}(?:[([{<]\s{0,2}(?:at|@)\s{0,2}[)\]}>]|@)\s{0,3}/gi
const dotSign = /\s{0,3}[([{<]\s{0,2}(?:dot|\.)\s{0,2}[)\]}>]\s{0,3}/gi

/** The text in its plain form, with `@` and `.` as signs without spaces. */
function withSigns(text: string): NormalisedText {
  const plain = normaliseText(text)
  if (!/@|[([{<]\s{0,2}at/i.test(plain.text)) return plain
  const dots = replaceIn(plain, dotSign, () => '.')
  return replaceIn(dots, atSign, () => '@')
}

interface Address {
  readonly start: number
  /** The position of the `@`. */
  readonly at: number
  readonly end: number
}

/** Scans in parts: a single pattern for local part, `@` and domain would take quadratic time. */
function addressesIn(text: string): Address[] {
  if (!text.includes('@')) return []
  const localPart = /[\p{L}\p{M}\p{N}._%+'-]+/gu
  const domain = /[\p{L}\p{M}\p{N}-]+(?:\.[\p{L}\p{M}\p{N}-]+)*/uy
  const found: Address[] = []
  for (const { 0: local, index: start } of text.matchAll(localPart)) {
    const at = start + local.length
    if (text[at] !== '@') continue
    domain.lastIndex = at + 1
    if (domain.test(text)) found.push({ start, at, end: domain.lastIndex })
  }
  return found
}

/** Where the local part may begin: at once, behind punctuation, and behind a label, a phone number or a word of another script. */
function possibleStarts(local: string): number[] {
  const punctuation = /^[._%+'-]*/.exec(local)![0].length
  const label = /^(?:e-?mail|mailto)[._%+'-]*/.exec(local)?.[0].length ?? 0
  const phone = /^\d{7,15}(?=\p{L})/u.exec(local)?.[0].length ?? 0
  const script = foreignEnd(local)
  return [...new Set([0, punctuation, label, phone, script])].filter((at) => at < local.length)
}

/** The end of the last letter that is not Latin, in a local part that ends in Latin ones. */
function foreignEnd(local: string): number {
  for (let at = local.length; at > 0; at--)
    if (/[^\p{Script=Latin}\P{L}]/u.test(local[at - 1]!)) return at
  return 0
}

/** Common endings of domains; every other one has two letters. A word behind the domain is none of them. */
const endings = new Set(
  [
    'com net org edu gov mil int info biz name pro mobi asia tel jobs travel cat post coop aero museum arpa',
    'app dev cloud online site store shop tech xyz club email live life world today group company ltd llc inc',
    'agency auto autos car cars dealer motors media digital network solutions services global',
    'example test invalid localhost local internal lan',
  ].flatMap((line) => line.split(' ')),
)

function isEnding(label: string): boolean {
  return /^(?:[a-z]{2}|xn--[a-z0-9-]+)$/i.test(label) || endings.has(label.toLowerCase())
}

/** The domain, and its beginnings where words may follow without a space, e.g. `b.example` of `b.example.Please`. */
function possibleDomains(domain: string): string[] {
  const found = new Set([domain])
  let labels = domain.split('.').slice(0, maxLabels)
  while (labels.length > 1 && isWord(labels)) {
    labels = labels.slice(0, -1)
    found.add(labels.join('.'))
  }
  const last = labels.at(-1)!
  const stem = /^(?:[A-Z]+|\p{Lu}?\p{Ll}+)(?=-|\d{7}|\p{Lu}|[^\p{Script=Latin}\P{L}])/u.exec(last)
  if (labels.length > 1 && stem !== null && isEnding(stem[0]))
    found.add([...labels.slice(0, -1), stem[0]].join('.'))
  return [...found]
}

/** Longer than any real domain: the rest of a hostile one is ignored. */
const maxLabels = 12

/** Whether the last label begins a sentence, or is not an ending of a domain while those before have one. */
function isWord(labels: readonly string[]): boolean {
  const [before, last] = labels.slice(-2) as [string, string]
  if (/^\p{Lu}\p{Ll}*$/u.test(last) && !/^\p{Lu}/u.test(before)) return true
  return !isEnding(last) && labels.slice(0, -1).some((label, at) => at > 0 && isEnding(label))
}
