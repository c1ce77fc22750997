/** No answer of the services is nested so deeply. Recursion, `JSON.stringify` and Postgres fail only at a greater depth. */
export const maxJsonDepth = 100

/** Whether a JSON value is nested more than `maxJsonDepth` deep. Its own recursion ends there. */
export function isTooDeep(value: unknown, left = maxJsonDepth): boolean {
  return value !== null && typeof value === 'object' && isNestedDeeper(value, left)
}

/** Every record is checked: a text or a number costs no call, and no list of values is made. */
function isNestedDeeper(value: object, left: number): boolean {
  if (left === 0) return true
  if (Array.isArray(value)) {
    for (const item of value)
      if (item !== null && typeof item === 'object' && isNestedDeeper(item, left - 1)) return true
    return false
  }
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key]
    if (item !== null && typeof item === 'object' && isNestedDeeper(item, left - 1)) return true
  }
  return false
}

/** The value with a remark in place of what is nested too deeply; the same object when nothing is. */
export function prunedJson(value: unknown, left = maxJsonDepth): unknown {
  if (left === maxJsonDepth && !isTooDeep(value)) return value
  if (value === null || typeof value !== 'object') return value
  if (left === 0) return '[nested too deeply]'
  if (Array.isArray(value)) return value.map((item) => prunedJson(item, left - 1))
  const entries = Object.entries(value).map(([key, item]) => [key, prunedJson(item, left - 1)])
  return Object.fromEntries(entries)
}
