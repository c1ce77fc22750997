import { crc32, deflateRawSync } from 'node:zlib'

/** A file of a zip file that a test makes; the last fields are lies. */
export interface ZipMember {
  readonly name: string
  readonly data: Buffer | string
  readonly crc?: number
  /** The size that the table of contents claims. */
  readonly size?: number
  readonly isEncrypted?: boolean
  /** Packed bytes of the whole, instead of packing `data`. */
  readonly packed?: { readonly bytes: Buffer; readonly size: number; readonly crc: number }
}

/** A zip file with exactly these files, in this order. */
export function zipFile(members: readonly ZipMember[]): Buffer {
  const parts: Buffer[] = []
  const contents: Buffer[] = []
  let offset = 0
  for (const member of members) {
    const name = Buffer.from(member.name)
    const { bytes, ...rest } = member.packed ?? packedOf(Buffer.from(member.data))
    const head = headOf({ name, packed: bytes.length, ...rest, ...claimsOf(member) })
    const local = Buffer.concat([Buffer.from('504b0304', 'hex'), head, name, bytes])
    const place = Buffer.alloc(14)
    place.writeUInt32LE(offset, 10)
    // Made by version 20; then the same fields, and where the file is.
    const version = Buffer.from('504b01021400', 'hex')
    contents.push(Buffer.concat([version, head, place, name]))
    parts.push(local)
    offset += local.length
  }
  const table = Buffer.concat(contents)
  return Buffer.concat([...parts, table, endOf(members.length, table.length, offset)])
}

function packedOf(data: Buffer) {
  return { bytes: deflateRawSync(data), size: data.length, crc: crc32(data) }
}

function claimsOf({ crc, size, isEncrypted }: ZipMember) {
  return {
    ...(crc === undefined ? {} : { crc }),
    ...(size === undefined ? {} : { size }),
    isEncrypted: isEncrypted ?? false,
  }
}

interface Head {
  readonly name: Buffer
  readonly packed: number
  readonly size: number
  readonly crc: number
  readonly isEncrypted: boolean
}

function headOf({ name, packed, size, crc, isEncrypted }: Head): Buffer {
  const head = Buffer.alloc(26)
  head.writeUInt16LE(20, 0)
  head.writeUInt16LE(isEncrypted ? 1 : 0, 2)
  head.writeUInt16LE(8, 4)
  head.writeUInt32LE(crc, 10)
  head.writeUInt32LE(packed, 14)
  head.writeUInt32LE(size, 18)
  head.writeUInt16LE(name.length, 22)
  return head
}

function endOf(count: number, size: number, offset: number): Buffer {
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Math.min(count, 0xffff), 8)
  end.writeUInt16LE(Math.min(count, 0xffff), 10)
  end.writeUInt32LE(size, 12)
  end.writeUInt32LE(offset, 16)
  if (count <= 0xffff) return end
  return Buffer.concat([zip64End(count, size, offset), end])
}

/** The larger table of contents of zip64, and the record that leads to it. */
function zip64End(count: number, size: number, offset: number): Buffer {
  const record = Buffer.alloc(76)
  record.writeUInt32LE(0x06064b50, 0)
  record.writeBigUInt64LE(44n, 4)
  record.writeBigUInt64LE(BigInt(count), 24)
  record.writeBigUInt64LE(BigInt(count), 32)
  record.writeBigUInt64LE(BigInt(size), 40)
  record.writeBigUInt64LE(BigInt(offset), 48)
  record.writeUInt32LE(0x07064b50, 56)
  record.writeBigUInt64LE(BigInt(offset + size), 64)
  record.writeUInt32LE(1, 72)
  return record
}
