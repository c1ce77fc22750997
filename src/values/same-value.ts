import { isObject } from './json-path.ts'

/** Whether a stored value and a normalised one that is to be stored are equal. */
export function isSameValue(stored: unknown, made: unknown): boolean {
  return comparable(stored) === comparable(made)
}

/** The same text for a stored value and for the normalised value that equals it. */
export function comparable(value: unknown): string {
  if (value === null || value === undefined) return '\u0000'
  if (value instanceof Date) return value.toISOString()
  if (Buffer.isBuffer(value)) return value.toString('hex')
  if (typeof value === 'object') return canonical(value)
  const text = String(value)
  return /^[{["]/.test(text) ? canonicalText(text) : text
}

function canonicalText(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : canonical(value)
  } catch {
    return text
  }
}

/** JSON with sorted keys: jsonb does not keep their order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    isObject(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}
