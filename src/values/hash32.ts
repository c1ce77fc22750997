/** FNV-1a with a final avalanche: 32 bits that do not follow the order of the inputs. */
export function hash32(text: string, seed = 0): number {
  let hash = 0x811c9dc5 ^ seed
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  return avalanche(hash)
}

/** The hash as eight hexadecimal digits. */
export function hashHex(text: string, seed?: number): string {
  return hash32(text, seed).toString(16).padStart(8, '0')
}

/** Spreads a number over 32 bits. */
export function avalanche(value: number): number {
  let hash = value | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
