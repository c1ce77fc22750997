const ascii = /^[\x20-\x7e]*$/
const [blank, apostrophe, equals] = [0x20, 0x27, 0x3d]
const marks = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
const controls = /[\u0000-\u001f\u007f-\u009f]/g
const arabicDigits = /[\u0660-\u0669\u06f0-\u06f9]/g
const hyperlink = /^=HYPERLINK\(\s*"(?:[^"]|"")*"\s*[,;]\s*"((?:[^"]|"")*)"\s*\)$/i
const quotedFormula = /^="((?:[^"]|"")*)"$/

/**
 * The text that a cell shows: one width of letters, Western digits, no direction marks, single blanks.
 * Excel's `="00123"`, `=HYPERLINK(…)` and the `'` before a formula sign are removed.
 */
export function plainText(cell: string): string {
  if (isPlain(cell)) return isWrapped(cell) ? withoutExcelWrapping(cell) : cell
  const text = ascii.test(cell) ? cell.trim() : westernText(cell)
  return isWrapped(text) ? withoutExcelWrapping(text) : text.replace(/ +/g, ' ')
}

function isWrapped(text: string): boolean {
  const first = text.charCodeAt(0)
  return first === equals || first === apostrophe
}

/** Whether it is printable ASCII with single blanks, as most cells are. A loop is faster than expressions here. */
function isPlain(cell: string): boolean {
  let before = blank
  for (let index = 0; index < cell.length; index++) {
    const code = cell.charCodeAt(index)
    if (code < blank || code > 0x7e || (code === blank && before === blank)) return false
    before = code
  }
  return before !== blank || cell === ''
}

function westernText(cell: string): string {
  return cell
    .toWellFormed()
    .normalize('NFKC')
    .replace(marks, '')
    .replace(controls, ' ')
    .replace(arabicDigits, (digit) => String(digit.charCodeAt(0) & 15))
    .replace(/\s+/g, ' ')
    .trim()
}

function withoutExcelWrapping(text: string): string {
  const inner = hyperlink.exec(text)?.[1] ?? quotedFormula.exec(text)?.[1]
  if (inner !== undefined) return inner.replaceAll('""', '"').trim()
  return /^'\s*[=+\-@]/.test(text) ? text.slice(1).trim() : text
}
