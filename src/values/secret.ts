import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** Makes a check whether a given text is one of the valid secrets, in a time that shows nothing about them. */
export function secretCheck(valid: readonly string[]): (given: unknown) => boolean {
  const wanted = valid.map(digestText)
  return (given) => {
    const digest = digestText(typeof given === 'string' ? given : '')
    // All are compared, so that the time does not show which one it was.
    const matches = wanted.map((one) => timingSafeEqual(one, digest))
    return typeof given === 'string' && matches.includes(true)
  }
}

/** HMAC-SHA256: equal for equal texts, and without the key it says nothing about them. */
export function keyedHash(key: string, text: string | Buffer): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function digestText(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
