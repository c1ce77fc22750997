import type { Field } from '../stock-fields.ts'

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
  received_date: words('0 | 00/00/0000 | 0000-00-00 | 00/01/1900'),
}
const onApplication = words(`
  poa | p.o.a | p.o.a. | price on application | price on request | on request | on application | por | negotiable |
  call | call us | call for price | call dealer | contact us | contact dealer | contact for price | ask |
  ask for price | enquire | please call | على السوم | السوم | قابل للتفاوض | اتصل | السعر عند الاتصال | عند الطلب`)
const excelError = /^#(N\/A|REF!|VALUE!|NAME\?|DIV\/0!|NUM!|NULL!|#+)$/i

function words(list: string): ReadonlySet<string> {
  return new Set(list.split('|').map((word) => word.trim()))
}

const longest = 20
/** First character and length of all placeholders, in both cases: a cheap test that most cells fail. */
const shapes = new Set(
  [everywhere, ...Object.values(byField)]
    .flatMap((list) => [...list])
    .flatMap((word) => [shapeOf(word), shapeOf(word.toUpperCase())]),
)

function shapeOf(text: string): number {
  return text.charCodeAt(0) * 32 + text.length
}

/** Whether a cell (plain text) is a placeholder for "empty" in a column of that field. */
export function isPlaceholder(text: string, field: Field | null): boolean {
  if (text === '') return true
  if (text.length > longest || !shapes.has(shapeOf(text))) return false
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
