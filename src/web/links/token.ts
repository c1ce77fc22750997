import { createHash, timingSafeEqual } from 'node:crypto'

/** Makes a check whether a given token is the right one, in a time that shows nothing about it. */
export function tokenCheck(right: string): (given: string | null) => boolean {
  const wanted = digestText(right)
  return (given) => timingSafeEqual(digestText(given ?? ''), wanted) && given !== null
}

/** The token of a request: `Authorization: Bearer …`, else `?token=`; null when there is none, or several. */
export function findToken(authorization: string | undefined, query: unknown): string | null {
  const bearer = /^Bearer +(\S.*)$/i.exec(authorization ?? '')?.[1]
  if (bearer !== undefined) return bearer.trimEnd()
  return typeof query === 'string' ? query : null
}

function digestText(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
