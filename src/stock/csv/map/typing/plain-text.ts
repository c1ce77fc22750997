import type { Field } from '../stock-fields.ts'

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

const everywhere = words(`
  null | (null) | n/a | na | n.a. | n.a | nan | none | nil | - | -- | --- | - / - | – | — | – / – | tba | tbc | tbd |
  ? | ?? | . | undefined | unknown | not available | not specified | unspecified | (blank) | blank |
  غير متوفر | غير محدد | لا يوجد | غير معروف`)
const byField: Partial<Record<Field, ReadonlySet<string>>> = {
  stock_number: words('0 | 00 | 000 | 0000 | no stock number | not assigned | pending'),
  vin: words('0 | pending | no vin | not assigned | vin tba | 00000000000000000'),
  plate: words('unreg | unregistered | no plate | no rego | no reg | unreg. | not registered | 0'),
  price_asking: words('not priced | no price | price tba | 0.00 | لا يوجد سعر'),
  model_year: words('0 | 0000'),
  received_date: words('0 | 00/00/0000 | 0000-00-00 | 00/01/1900 | 1900-01-00'),
}
const onApplication = words(`
  poa | p.o.a | p.o.a. | price on application | price on request | on request | on application | por | negotiable |
  call | call us | call for price | call dealer | contact us | contact dealer | contact for price | ask |
  ask for price | enquire | please call | sur demande | prix sur demande | nous consulter | auf anfrage | preis auf anfrage |
  a consultar | consultar | precio a consultar | على السوم | السوم | قابل للتفاوض | اتصل | السعر عند الاتصال | عند الطلب`)
/** The text of a workbook's cell whose formula has no value: it was written by a program that does not calculate. */
export const notCalculated = '#NOT-CALCULATED!'
const excelError =
  /^#(N\/A|REF!|VALUE!|NAME\?|DIV\/0!|NUM!|NULL!|SPILL!|CALC!|FIELD!|BLOCKED!|CONNECT!|BUSY!|UNKNOWN!|PYTHON!|GETTING_DATA|NOT-CALCULATED!|#+)$/i

function words(list: string): ReadonlySet<string> {
  return new Set(list.split('|').map((word) => word.trim()))
}

const longest = 20
/** First character and length of all placeholders, in both cases: a cheap test that most cells fail. */
const shapes = new Set(
  [everywhere, ...Object.values(byField)]
    .flatMap((list) => [...list])
    .flatMap((word) => [textShape(word), textShape(word.toUpperCase())]),
)

function textShape(text: string): number {
  return text.charCodeAt(0) * 32 + text.length
}

/** Whether a cell (plain text) is a placeholder for "empty" in a column of that field. */
export function isPlaceholder(text: string, field: Field | null): boolean {
  if (text === '') return true
  if (text.length > longest || !shapes.has(textShape(text))) return false
  const word = text.toLowerCase()
  return everywhere.has(word) || (field !== null && (byField[field]?.has(word) ?? false))
}

/** Whether the text means "ask us": for sale without a price. */
export function isOnApplication(text: string): boolean {
  return text.length <= 30 && !startsWithDigit(text) && onApplication.has(text.toLowerCase())
}

/** A cheap test: most amounts do, and no placeholder does. */
function startsWithDigit(text: string): boolean {
  const first = text.charCodeAt(0)
  return first >= 0x30 && first <= 0x39
}

/** `#N/A`, `#REF!`, `########`: Excel wrote an error instead of a value. */
export function isExcelError(text: string): boolean {
  return text.charCodeAt(0) === 0x23 && excelError.test(text)
}
