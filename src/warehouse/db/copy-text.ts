const leastBytes = 65_536
/** UTF-8 bytes of one UTF-16 unit, at most. */
const bytesPerChar = 3

/** Lines in COPY's text format, encoded at once: as strings, the many small pieces of a batch would burden the garbage collector. */
export class CopyText {
  #bytes = Buffer.allocUnsafeSlow(leastBytes)
  #length = 0

  /** In bytes. */
  get length(): number {
    return this.#length
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  append(text: string): void {
    this.#reserve(text.length * bytesPerChar)
    this.#length += this.#bytes.write(text, this.#length)
  }

  /** Appends the bytes of another text from `start` to before `end`. */
  appendFrom(other: CopyText, start: number, end: number): void {
    this.#reserve(end - start)
    this.#length += other.#bytes.copy(this.#bytes, this.#length, start, end)
  }

  #reserve(more: number): void {
    const least = this.#length + more
    if (least <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(least, 2 * this.#bytes.length))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
