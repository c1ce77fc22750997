import { hash32 } from '../../values/hash32.ts'

const words = 2 ** 19

/** Names that may have been seen, in 2 MB for any number of names: two bits for each name, both in one word. */
export class BloomFilter {
  readonly #words = new Uint32Array(words)

  /** Adds the name. false: certainly not added before; true: added before, or (0.1 % at 200,000 names) a false positive. */
  testAndAdd(name: string): boolean {
    const hash = hash32(name)
    const at = hash >>> 13
    const bits = (1 << (hash & 31)) | (1 << ((hash >>> 5) & 31))
    const word = this.#words[at]!
    this.#words[at] = word | bits
    return (word & bits) === bits
  }
}
