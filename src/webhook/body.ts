/** No answer of the service is nested so deeply; Postgres and we could not walk it. */
const deepest = 100

/** The JSON value of a body, or why there is none. Never a part of the body: it may name a customer. */
export function parseBody(
  bytes: Buffer,
): { readonly body: unknown } | { readonly problem: string } {
  let body: unknown
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return { problem: 'the body is no JSON in UTF-8' }
  }
  return isTooDeep(body) ? { problem: `the body is nested more than ${deepest} deep` } : { body }
}

/** Without recursion: a body may be as deep as it is long. */
function isTooDeep(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return true
    level = level.flatMap((one) =>
      one !== null && typeof one === 'object' ? Object.values(one) : [],
    )
  }
  return false
}
