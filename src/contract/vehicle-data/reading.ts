import { type JsonPath, valueAt } from '../../values/json-path.ts'

// Answers whose field names are not shown: the wire settings give the paths, the readers our own names.

/** The number at the path, also from a text; null when there is none. */
export function numberAt(body: unknown, path: JsonPath): number | null {
  const value = valueAt(body, path)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  return typeof value === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : null
}

/** The text at the path, also from a number; null when there is none. */
export function textAt(body: unknown, path: JsonPath): string | null {
  const value = valueAt(body, path)
  if (typeof value === 'string') return value === '' ? null : value
  return typeof value === 'number' ? String(value) : null
}

/** The array at the path; null when there is none. */
export function listAt(body: unknown, path: JsonPath): readonly unknown[] | null {
  const value = valueAt(body, path)
  return Array.isArray(value) ? value : null
}
