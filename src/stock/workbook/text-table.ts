/** Texts by their number. They are outside the heap of V8, which would keep a multiple of them. */
export class TextTable {
  #bytes: Buffer = Buffer.allocUnsafe(64 * 1024)
  #ends = new Uint32Array(1024)
  #count = 0

  get count(): number {
    return this.#count
  }

  add(text: string): void {
    const start = this.#startOf(this.#count)
    const most = start + 3 * text.length
    if (most > this.#bytes.length) this.#bytes = grown(this.#bytes, Math.max(most, 2 * start))
    if (this.#count === this.#ends.length) {
      const more = new Uint32Array(2 * this.#count)
      more.set(this.#ends)
      this.#ends = more
    }
    this.#ends[this.#count] = start + this.#bytes.write(text, start)
    this.#count += 1
  }

  /** undefined: there is no such text. */
  at(index: number): string | undefined {
    if (!(index >= 0 && index < this.#count)) return undefined
    return this.#bytes.toString('utf8', this.#startOf(index), this.#ends[index])
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : this.#ends[index - 1]!
  }
}

function grown(bytes: Buffer, size: number): Buffer {
  const larger = Buffer.allocUnsafe(size)
  bytes.copy(larger)
  return larger
}
