const day = /^(\d{4})-(\d{2})-(\d{2})$/
const instant = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2}(?:\.\d+)?)(Z|[+-]\d{2}(?::?\d{2})?)?$/
const dayMs = 86_400_000
const firstDay = Date.UTC(1899, 11, 30)
/** 1 March 1900: before it the calendar of Excel is another one. */
const firstCertain = 61
const lastSerial = 2_958_465

/** More characters are more digits than Excel has, or zeros. */
const longestNumber = 40

/** A decimal number that Excel stores exactly, without needless zeros; null for any other text. */
export function numberText(text: string): string | null {
  if (text.length > longestNumber || !/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text)) return null
  const plain = text.includes('.') ? text.replace(/\.?0+$/, '') : text
  return plain.replace(/[-.]/g, '').replace(/^0+/, '').length <= 15 ? plain : null
}

/** The serial number of `YYYY-MM-DD`, or of an instant in UTC; null for any other text. */
export function serialNumber(text: string): string | null {
  const parts = instant.exec(text)
  const date = parts ? `${parts[1]}T${parts[2]}${isoZone(parts[3])}` : day.test(text) ? text : ''
  const serial = (new Date(date).getTime() - firstDay) / dayMs
  if (!(serial >= firstCertain && serial < lastSerial + 1)) return null
  // 29 February of a common year would become 1 March.
  if (!parts && new Date(date).toISOString().slice(0, 10) !== text) return null
  return String(Number(serial.toFixed(9)))
}

/** `+02` and `+0200` as `+02:00`; without a zone it is UTC. */
function isoZone(zone: string | undefined): string {
  if (zone === undefined || zone === 'Z') return 'Z'
  return `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no way to write them
const impossible = /[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]/g
/** The start of a text that would be read as such a character; its last _ may be that of the next one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same characters
const likeOne = /_x(?=[0-9A-Fa-f]{4}(?:_|[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]))/g

/** The text for XML; characters that XML cannot hold are written as Excel does, `_x000D_`. */
export function escapeText(text: string): string {
  return text
    .toWellFormed()
    .replace(likeOne, '_x005F_x')
    .replace(impossible, (character) => `_x${hex(character)}_`)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
}
