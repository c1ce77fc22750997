import { maxJsonDepth, isTooDeep } from '../values/json-depth.ts'

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
  return isTooDeep(body)
    ? { problem: `the body is nested more than ${maxJsonDepth} deep` }
    : { body }
}
