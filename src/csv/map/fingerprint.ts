import { createHash } from 'node:crypto'
import { headerKey } from './header-name.ts'

/**
 * sha256 (hex) of the normalised headers in their order, by which a mapping is remembered for a rooftop. A file
 * without a header is identified by its number of columns alone.
 */
export function headerFingerprint(names: readonly string[] | null, width: number): string {
  const shape = names === null ? { columns: width } : names.map(headerKey)
  return createHash('sha256').update(JSON.stringify(shape)).digest('hex')
}
