import { isUtf8 } from 'node:buffer'

/** Names that programs give a file while they write it, and names that are not lists. */
const temporary =
  /^[.~]|\.(filepart|tmp|temp|part|partial|crdownload|download|swp|lock|done|ok|writing|inprogress)$|~$/i

/** Whether a program is still writing under this name, or means something else by it. */
export function isTemporary(name: string): boolean {
  return temporary.test(name)
}

/** A name as it is shown: bytes that are not UTF-8 as `\xNN`, line ends and other control characters escaped. */
export function shownName(name: Buffer): string {
  const text = isUtf8(name)
    ? name.toString()
    : name.toString('latin1').replaceAll(/[\x80-\xff]/g, hex)
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped).slice(0, 300)
}

function hex(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
}

function escaped(character: string): string {
  const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
  return named[character] ?? `\\u{${character.codePointAt(0)!.toString(16)}}`
}

const longest = 120

/**
 * The name of a taken file: time, number and what its own name had of letters, digits and simple signs. It is used once only, and fits
 * every file system and shell.
 */
export function takenName(name: string, fileId: number, now: Date): string {
  const stamp = now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
  const safe = name
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^[._-]+/, '')
    .replace(/[._]+$/, '')
  return `${stamp}-${fileId}-${lastBytes(safe) || 'list'}`
}

/** When a file of this name was taken; null: the name is not of `takenName`. */
export function takenAt(name: string): Date | null {
  const found = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-\d+-/.exec(name)
  if (found === null) return null
  const [year, month, day, hours, minutes, seconds] = found.slice(1)
  const at = new Date(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`)
  return Number.isNaN(at.getTime()) ? null : at
}

/** The end of a long name has its ending. A file system counts bytes. */
function lastBytes(name: string): string {
  let from = 0
  const characters = [...name]
  while (Buffer.byteLength(characters.slice(from).join('')) > longest) from += 1
  return characters.slice(from).join('')
}
