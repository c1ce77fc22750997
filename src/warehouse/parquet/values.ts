import { ByteWriter } from 'hyparquet-writer'

/** The values of one column in one group of rows, ready for a page. */
interface EncodedValues {
  /** The values of a dictionary in the encoding PLAIN; `bytes` are then indexes of it. */
  readonly dictionary: { readonly bytes: Uint8Array; readonly values: number } | null
  readonly bytes: Uint8Array
}

const epochDays = 10_957
const epochMicros = epochDays * 86_400_000_000
const word = 4_294_967_296

/** Collects the values of one column from the binary format of COPY, a group of rows at a time. */
export abstract class ColumnValues {
  rows = 0
  nulls = 0
  /** The least and the greatest value; null: there is none, or one that a number does not hold exactly. */
  #least = Number.POSITIVE_INFINITY
  #greatest = Number.NEGATIVE_INFINITY
  #isExact = true
  /** A bit for each row: 1 when it has a value. */
  #present = new Uint8Array(1024)

  /** Adds the value of a row; `length` -1: null. */
  add(buffer: Buffer, at: number, length: number): void {
    const row = this.rows++
    if (row >> 3 >= this.#present.length) this.#present = doubled(this.#present)
    if (length >= 0 && this.read(buffer, at, length)) this.#present[row >> 3]! |= 1 << (row & 7)
    else this.nulls += 1
  }

  /** Whether the bytes are a value; it is collected then. */
  protected abstract read(buffer: Buffer, at: number, length: number): boolean

  /** The collected values without the nulls. */
  abstract encode(): EncodedValues

  protected compare(value: number): void {
    if (value < this.#least) this.#least = value
    if (value > this.#greatest) this.#greatest = value
  }

  /** A value that a number does not hold exactly: there are no statistics then. */
  protected giveUpComparing(): void {
    this.#isExact = false
  }

  get range(): { readonly least: number; readonly greatest: number } | null {
    if (!this.#isExact || this.#least > this.#greatest) return null
    return { least: this.#least, greatest: this.#greatest }
  }

  get isExact(): boolean {
    return this.#isExact
  }

  /** Which rows have a value, as Parquet writes definition levels of an optional column. */
  get levels(): Uint8Array {
    const writer = new ByteWriter()
    if (this.nulls === 0 || this.nulls === this.rows) {
      writer.appendVarInt(this.rows << 1)
      writer.appendUint8(this.nulls === 0 ? 1 : 0)
    } else {
      const bytes = (this.rows + 7) >> 3
      writer.appendVarInt((bytes << 1) | 1)
      writer.appendBytes(this.#present.subarray(0, bytes))
    }
    return writer.getBytes()
  }

  /** Begins the next group of rows. */
  clear(): void {
    this.rows = 0
    this.nulls = 0
    this.#least = Number.POSITIVE_INFINITY
    this.#greatest = Number.NEGATIVE_INFINITY
    this.#isExact = true
    this.#present.fill(0)
  }
}

/** Values of a fixed size, one after another. */
abstract class FixedValues extends ColumnValues {
  protected bytes = Buffer.allocUnsafe(8192)
  protected end = 0

  /** Where the next value goes. */
  protected next(size: number): number {
    const at = this.end
    this.end += size
    if (this.end > this.bytes.length) this.bytes = Buffer.from(doubled(this.bytes).buffer)
    return at
  }

  override encode(): EncodedValues {
    return { dictionary: null, bytes: this.bytes.subarray(0, this.end) }
  }

  override clear(): void {
    super.clear()
    this.end = 0
  }

  /** Writes eight bytes. `value`: a bigint where a number is not exact. */
  protected writeLong(value: number | bigint): void {
    const at = this.next(8)
    if (typeof value === 'bigint') {
      this.bytes.writeBigInt64LE(value, at)
      this.giveUpComparing()
      return
    }
    this.bytes.writeUInt32LE(value >>> 0, at)
    this.bytes.writeInt32LE(Math.floor(value / word) | 0, at + 4)
    this.compare(value)
  }
}

/** Integers of four bytes. */
export class IntegerValues extends FixedValues {
  protected override read(buffer: Buffer, at: number): boolean {
    const value = buffer.readInt32BE(at)
    const to = this.next(4)
    this.bytes.writeInt32LE(value, to)
    this.compare(value)
    return true
  }
}

/** Integers of eight bytes. */
export class LongValues extends FixedValues {
  protected override read(buffer: Buffer, at: number): boolean {
    const value = buffer.readInt32BE(at) * word + buffer.readUInt32BE(at + 4)
    this.writeLong(Number.isSafeInteger(value) ? value : buffer.readBigInt64BE(at))
    return true
  }
}

/** Instants: microseconds since 1970. Infinity is not a value. */
export class TimestampValues extends FixedValues {
  protected override read(buffer: Buffer, at: number): boolean {
    const high = buffer.readInt32BE(at)
    const low = buffer.readUInt32BE(at + 4)
    if ((high === 0x7fffffff && low === 0xffffffff) || (high === -0x80000000 && low === 0))
      return false
    const raw = high * word + low
    const value = raw + epochMicros
    const isExact = Number.isSafeInteger(raw) && Number.isSafeInteger(value)
    this.writeLong(isExact ? value : buffer.readBigInt64BE(at) + BigInt(epochMicros))
    return true
  }
}

/** Floats of eight bytes. There are no statistics of NaN and infinity. */
export class DoubleValues extends FixedValues {
  protected override read(buffer: Buffer, at: number): boolean {
    const value = buffer.readDoubleBE(at)
    const to = this.next(8)
    this.bytes.writeDoubleLE(value, to)
    if (Number.isFinite(value)) this.compare(value)
    else this.giveUpComparing()
    return true
  }
}

/** Numbers with up to 18 digits, as the number of their smallest units. NaN and infinity are not values. */
export class DecimalValues extends FixedValues {
  protected readonly scale: number

  constructor(scale: number) {
    super()
    this.scale = scale
  }

  protected override read(buffer: Buffer, at: number): boolean {
    const units = decimalUnits(buffer, at, this.scale)
    if (units === null) return false
    this.writeLong(units)
    return true
  }
}

/** Numbers with up to 38 digits: sixteen bytes, the highest first. */
export class WideDecimalValues extends DecimalValues {
  protected override read(buffer: Buffer, at: number): boolean {
    const units = decimalUnits(buffer, at, this.scale)
    if (units === null) return false
    const exact = BigInt(units)
    if (BigInt.asIntN(128, exact) !== exact || exact >= greatestUnits || exact <= -greatestUnits)
      throw new RangeError('has a number of more than 38 digits, which Parquet cannot express')
    const to = this.next(16)
    this.bytes.writeBigInt64BE(exact >> 64n, to)
    this.bytes.writeBigUInt64BE(BigInt.asUintN(64, exact), to + 8)
    return true
  }
}

const greatestUnits = 10n ** 38n
const negative = 0x4000

/** A numeric of Postgres times 10 to the power of `scale`; a bigint where a number is not exact; null: NaN or infinity. */
function decimalUnits(buffer: Buffer, at: number, scale: number): number | bigint | null {
  const digits = buffer.readInt16BE(at)
  const weight = buffer.readInt16BE(at + 2)
  const sign = buffer.readUInt16BE(at + 4)
  if (sign !== 0 && sign !== negative) return null
  // A digit is four decimal digits; the first one counts 10000 to the power of `weight`.
  let value = 0
  for (let no = 0; no < digits; no++) value = value * 10_000 + buffer.readUInt16BE(at + 8 + no * 2)
  const power = (weight - digits + 1) * 4 + scale
  const units = power >= 0 ? value * 10 ** power : value / 10 ** -power
  if (digits <= 3 && Number.isSafeInteger(units)) return sign === 0 ? units : -units
  let exact = 0n
  for (let no = 0; no < digits; no++)
    exact = exact * 10_000n + BigInt(buffer.readUInt16BE(at + 8 + no * 2))
  exact = power >= 0 ? exact * 10n ** BigInt(power) : exact / 10n ** BigInt(-power)
  const signed = sign === 0 ? exact : -exact
  return Number.isSafeInteger(Number(signed)) ? Number(signed) : signed
}

/** Flags: one bit each. */
export class BooleanValues extends ColumnValues {
  #bytes = new Uint8Array(1024)
  #count = 0

  protected override read(buffer: Buffer, at: number): boolean {
    const no = this.#count++
    if (no >> 3 >= this.#bytes.length) this.#bytes = doubled(this.#bytes)
    if (buffer[at] === 1) this.#bytes[no >> 3]! |= 1 << (no & 7)
    return true
  }

  override encode(): EncodedValues {
    return { dictionary: null, bytes: this.#bytes.slice(0, (this.#count + 7) >> 3) }
  }

  override clear(): void {
    super.clear()
    this.#bytes.fill(0)
    this.#count = 0
  }
}

/** From here on, texts that are mostly different are written one after another. */
const leastForPlain = 4096

/** Texts: indexes of the different ones, or one after another where most are different. */
export class TextValues extends ColumnValues {
  /** Each different text with its length before it; all texts once they are plain. */
  #bytes = Buffer.allocUnsafe(8192)
  #end = 0
  #indexes = new Uint32Array(1024)
  #count = 0
  /** By their bytes as Latin-1, which is as different as the text. */
  readonly #known = new Map<string, number>()
  #starts: number[] = []
  #isPlain = false

  protected override read(buffer: Buffer, at: number, length: number): boolean {
    if (this.#isPlain) this.#append(buffer, at, length)
    else this.#addKnown(buffer, at, length)
    return true
  }

  #addKnown(buffer: Buffer, at: number, length: number): void {
    const key = buffer.toString('latin1', at, at + length)
    let index = this.#known.get(key)
    if (index === undefined) {
      index = this.#known.size
      this.#known.set(key, index)
      this.#starts.push(this.#end)
      this.#append(buffer, at, length)
    }
    if (this.#count === this.#indexes.length) {
      const more = new Uint32Array(this.#count * 2)
      more.set(this.#indexes)
      this.#indexes = more
    }
    this.#indexes[this.#count++] = index
    if (index >= leastForPlain && index * 2 > this.#count) this.#makePlain()
  }

  #makePlain(): void {
    const starts = [...this.#starts, this.#end]
    const unique = Buffer.from(this.#bytes.subarray(0, this.#end))
    this.#end = 0
    for (let no = 0; no < this.#count; no++) {
      const index = this.#indexes[no]!
      const text = unique.subarray(starts[index]!, starts[index + 1]!)
      this.#ensure(text.length)
      this.#bytes.set(text, this.#end)
      this.#end += text.length
    }
    this.#isPlain = true
  }

  #append(buffer: Buffer, at: number, length: number): void {
    this.#ensure(length + 4)
    this.#bytes.writeUInt32LE(length, this.#end)
    buffer.copy(this.#bytes, this.#end + 4, at, at + length)
    this.#end += length + 4
  }

  #ensure(size: number): void {
    while (this.#end + size > this.#bytes.length)
      this.#bytes = Buffer.from(doubled(this.#bytes).buffer)
  }

  override encode(): EncodedValues {
    const bytes = this.#bytes.subarray(0, this.#end)
    if (this.#isPlain) return { dictionary: null, bytes }
    const values = this.#known.size
    const width = bitsFor(values)
    const writer = new ByteWriter()
    writer.appendUint8(width)
    appendBitPacked(writer, this.#indexes.subarray(0, this.#count), width)
    return { dictionary: { bytes, values }, bytes: writer.getBytes() }
  }

  override clear(): void {
    super.clear()
    this.#known.clear()
    this.#starts = []
    this.#end = 0
    this.#count = 0
    this.#isPlain = false
  }
}

function doubled(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array(bytes.length * 2)
  more.set(bytes)
  return more
}

/** Bits that an index below `values` needs, at least one. */
function bitsFor(values: number): number {
  return Math.max(1, 32 - Math.clz32(Math.max(0, values - 1)))
}

/** Appends numbers of `width` bits as one bit-packed run of Parquet's hybrid encoding (Encodings.md, RLE = 3). */
function appendBitPacked(writer: ByteWriter, numbers: Uint32Array, width: number): void {
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
