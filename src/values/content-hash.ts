import { hash } from 'node:crypto'

/** Query strings of links: they are signed at every read and expire [A §2]. A link without one matches too, so that no
 *  part of it is searched again: the time is linear. */
const signedPart = /(https?:\\?\/\\?\/[^"?\s]+)(?:\?[^"\s]*)?/g

/** A text without the query strings of its links, which would open what they lead to. */
export function withoutSignatures(text: string): string {
  return text.replaceAll(signedPart, '$1')
}

/** sha256 of a body without what changes at every read. Hashed before parsing: an unchanged body costs a hash and nothing else. */
export function bodyHash(text: string): Buffer {
  return hash('sha256', withoutSignatures(text), 'buffer')
}

/** sha256 of normalised content. The caller builds the value with its keys always in the same order. */
export function contentHash(content: unknown): Buffer {
  return hash('sha256', JSON.stringify(content), 'buffer')
}
