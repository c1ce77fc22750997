/** Text that Postgres can hold: NUL and lone surrogates become U+FFFD, the rest is as it was. The raw payload keeps the original. */
export function storable(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed()
  return whole.includes('\0') ? whole.replaceAll('\0', '\uFFFD') : whole
}

/** Whether a text says that there is no value: `N/A`, or dashes. Any other, also `NULL` or blanks, may be one. */
export function saysNothing(text: string): boolean {
  return /^\s*(n\/a|-+)\s*$/i.test(text)
}

/** `1 record`, `2,000 records`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}

const wholePercent = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** A share in percent. One that is neither none nor all is not rounded to 0 or 100: `< 1 %`, `> 99 %`. */
export function shareText(share: number, format = wholePercent): string {
  const text = format.format(100 * share)
  const roundsToNone = share > 0 && text === '0'
  const roundsToAll = share < 1 && text === '100'
  if (!roundsToNone && !roundsToAll) return `${text} %`
  const least = 10 ** -format.resolvedOptions().maximumFractionDigits!
  return roundsToNone ? `< ${format.format(least)} %` : `> ${format.format(100 - least)} %`
}

/** Names as one text: `A`, `A and B`, `A, B and 3 more`. */
export function listText(names: readonly string[], most: number): string {
  if (names.length > most)
    return `${names.slice(0, most - 1).join(', ')} and ${names.length - most + 1} more`
  if (names.length < 2) return names[0] ?? ''
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/** The first of some texts, with a comma before the last one too: `A, B`, `A, B and 3 more`. */
export function firstText(texts: readonly unknown[], most: number): string {
  const left = texts.length - most
  return `${texts.slice(0, most).join(', ')}${left > 0 ? ` and ${left} more` : ''}`
}

/** The text of all where it is the same, else that of each: `A: 1 row; B: 2 rows; C: 1 row; and 3 more`. */
export function eachText(all: readonly (readonly [name: string, text: string])[]): string {
  const [[, text]] = all as [[string, string]]
  if (all.every((one) => one[1] === text)) return text
  const first = all.slice(0, 3).map((one) => one.join(': '))
  return [...first, ...(all.length > 3 ? [`and ${all.length - 3} more`] : [])].join('; ')
}

/** At most so long a text. */
export function shortened(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

/** Texts as one line: without the full stops before the semicolons. */
export function joinSentences(texts: readonly string[]): string {
  return texts
    .map((text, at) => (at < texts.length - 1 ? text.replace(/\.$/, '') : text))
    .join('; ')
}

/** A copy: a string that was cut out of a long text keeps all of that text in memory. */
export function copied(text: string): string {
  return Buffer.from(text).toString()
}

/** A part of a URL as plain text. One with a lone % sign is not encoded; pg too uses it unchanged. */
export function decodePart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** `storable` for every string of a JSON value, keys included. */
export function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value)
  if (Array.isArray(value)) return value.map(storableJson)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [storable(key), storableJson(item)]),
  )
}
