import type { Needle } from './needles.ts'
import { wordsOf } from './words.ts'

// Needles as LIKE patterns over text as it is stored, JSON with its escapes included. They find more than is meant, never
// less; redact.ts decides. Regular expressions would say more and take a hundred times as long.

/** What a search compares: `texts` with the text in lower case, `digits` with the text without what stands between digits. */
export interface Patterns {
  readonly texts: readonly string[]
  readonly digits: readonly string[]
}

/** Stands between the digits of a phone number, as JSON escapes it too. */
const betweenDigits = [
  ...[' ', '-', '(', ')', '.', '/', '\t', '\n', '\u00a0', '\u2010', '\u2013'],
  ...['\\t', '\\n'],
]

export function patternsOf(needles: readonly Needle[]): Patterns {
  const of = (kinds: readonly Needle['kind'][]) =>
    needles.filter(({ kind }) => kinds.includes(kind))
  return {
    texts: [...new Set(of(['email', 'phrase']).map(containing))],
    digits: [...new Set(of(['phone']).map(({ key }) => `%${key}%`))],
  }
}

/** Whether the column matches `$1` (texts) or `$2` (digits). Nested `replace` is several times quicker than `translate`. */
export function matching(column: string): string {
  const text = `${column}::text`
  const digits = betweenDigits.reduce((all, one) => `replace(${all}, '${one}', '')`, text)
  return `lower(${text} collate "C") like any($1::text[]) or ${digits} like any($2::text[])`
}

/** The parameters of `matching`. */
export function parametersOf({ texts, digits }: Patterns): unknown[] {
  return [texts, digits]
}

/** Words in their order, whatever is between them; what is not ASCII may be stored in many ways, and "C" lowers ASCII alone. */
function containing({ kind, key, spelling }: Needle): string {
  const words =
    kind === 'email'
      ? key.split('@')
      : wordsOf(spelling).map(({ start, end }) => spelling.slice(start, end))
  const parts = words.map((word) =>
    word
      .toLowerCase()
      .replaceAll(/[\\%_]/g, '_')
      .replaceAll(/[^\x20-\x7e]+/g, '%'),
  )
  return `%${parts.join('%')}%`
}
