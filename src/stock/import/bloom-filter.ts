import { hash32 } from '../../values/hash32.ts'

const words = 2 ** 19

/** Names that may have been seen, in 2 MB however many they are: a Bloom filter of two bits a name, both in one word. */
export class BloomFilter {
  readonly #words = new Uint32Array(words)

  /** False: certainly not added before; true: it was, or (once in a thousand, of 200,000 names) others look like it. Adds it. */
  testAndAdd(name: string): boolean {
    const hash = hash32(name)
    const at = hash >>> 13
    const bits = (1 << (hash & 31)) | (1 << ((hash >>> 5) & 31))
    const word = this.#words[at]!
    this.#words[at] = word | bits
    return (word & bits) === bits
  }
}
