import { scramble } from '../../values/scramble.ts'

const words = 2 ** 19

/** Names that may have been seen, in 2 MB however many they are: a Bloom filter of two bits a name, both in one word. */
export class NamedBefore {
  readonly #words = new Uint32Array(words)

  /** False: certainly not added before; true: it was, or (once in a thousand, of 200,000 names) others look like it. Adds it. */
  mayHave(name: string): boolean {
    const hash = scramble(name)
    const at = hash >>> 13
    const bits = (1 << (hash & 31)) | (1 << ((hash >>> 5) & 31))
    const word = this.#words[at]!
    this.#words[at] = word | bits
    return (word & bits) === bits
  }
}
