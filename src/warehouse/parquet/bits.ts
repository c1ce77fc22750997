import type { ByteWriter } from 'hyparquet-writer'

/** Bits that an index below `values` needs, at least one. */
export function bitsFor(values: number): number {
  return Math.max(1, 32 - Math.clz32(Math.max(0, values - 1)))
}

/** Appends numbers of `width` bits as one bit-packed run of Parquet's hybrid encoding (Encodings.md, RLE = 3). */
export function appendBitPacked(writer: ByteWriter, numbers: Uint32Array, width: number): void {
  const groups = Math.ceil(numbers.length / 8)
  writer.appendVarInt((groups << 1) | 1)
  const packed = new Uint8Array(groups * width)
  let at = 0
  let held = 0
  let bits = 0
  for (const number of numbers) {
    // At most 7 bits wait, and an index has at most 20.
    held |= number << bits
    bits += width
    while (bits >= 8) {
      packed[at++] = held & 255
      held >>>= 8
      bits -= 8
    }
  }
  if (bits > 0) packed[at] = held & 255
  writer.appendBytes(packed)
}
