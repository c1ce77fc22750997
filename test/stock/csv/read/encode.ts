/** Text in an encoding that TextDecoder knows; ` bom` after the name adds a BOM. */
export function encode(text: string, encoding: string): Buffer {
  const [name = '', bom] = encoding.split(' ')
  const whole = bom === undefined ? text : `\uFEFF${text}`
  if (name === 'utf-8') return Buffer.from(whole)
  if (name === 'utf-16le') return Buffer.from(whole, 'utf16le')
  if (name === 'utf-16be') return Buffer.from(whole, 'utf16le').swap16()
  return Buffer.from([...whole].map((character) => byteOf(character, name)))
}

const tables = new Map<string, ReadonlyMap<string, number>>()

function byteOf(character: string, encoding: string): number {
  const table = tables.get(encoding) ?? tableOf(encoding)
  tables.set(encoding, table)
  const byte = table.get(character)
  if (byte === undefined) throw new Error(`${encoding} has no ${character}`)
  return byte
}

/** The byte of each character, by TextDecoder for all 256 bytes. */
function tableOf(encoding: string): ReadonlyMap<string, number> {
  const decoder = new TextDecoder(encoding)
  return new Map(
    Array.from({ length: 256 }, (_, byte) => [decoder.decode(Uint8Array.of(byte)), byte]),
  )
}
