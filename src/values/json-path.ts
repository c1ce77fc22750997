import { z } from 'zod'

/** A dotted path into a JSON answer (`""` is the body itself), or a list of candidates: the first that is present wins;
 *  null counts as present only where no other candidate is. */
export const jsonPath = z.union([z.string(), z.array(z.string()).min(1)])
export type JsonPath = z.infer<typeof jsonPath>

/** The value at the path; `undefined` when no candidate is present. Own properties only. */
export function valueAt(body: unknown, path: JsonPath): unknown {
  if (typeof path !== 'string') {
    let found: unknown
    for (const candidate of path) {
      const value = valueAt(body, candidate)
      if (value !== undefined && value !== null) return value
      if (value === null) found = null
    }
    return found
  }
  if (path === '') return body
  if (!path.includes('.')) return valueAtKey(body, path)
  let value: unknown = body
  for (const key of path.split('.')) {
    value = valueAtKey(value, key)
    if (value === undefined) return undefined
  }
  return value
}

/** Whether a JSON value is an object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** The value of a key; `undefined` when it is not there. */
export function valueAtKey(value: unknown, key: string): unknown {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined
  return (value as Record<string, unknown>)[key]
}

/** The first candidate: the path to use when such a body is written. */
export function firstCandidate(path: JsonPath): string {
  return typeof path === 'string' ? path : (path[0] ?? '')
}
