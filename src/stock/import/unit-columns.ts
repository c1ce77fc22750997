import type { CellIssue, StockRow, TypedRow } from '../csv/map/typing/typed-row.ts'

/** The columns of core.stock_unit that a list fills. */
export const unitColumns = [
  'stock_no',
  'vin',
  'adcode',
  'plate',
  'make',
  'model',
  'variant',
  'model_year',
  'odometer_km',
  'asking_price',
  'cost',
  'currency_code',
  'price_on_application',
  'acquired_on',
  'extras',
] as const satisfies readonly (keyof StockRow)[]

const codes = { adcode: 40, plate: 40 } as const
const texts = { make: 120, model: 200, variant: 255 } as const
const longestStockNo = 80

/** Fits a typed row to the columns: long texts are cut, long codes are left out, and a key that is too long
 *  rejects the row. */
export function fitToColumns(row: TypedRow, line: number): TypedRow {
  const { unit } = row
  if (unit === null || !isTooLong(unit)) return row
  const issues = [...row.issues]
  const addIssue = (severity: CellIssue['severity'], text: string, hint: string) =>
    issues.push({ code: 'constraint-error', severity, line, column: null, text, hint })
  if (unit.stock_no.length > longestStockNo) {
    const hint = `a stock number has at most ${longestStockNo} characters: is this the right column?`
    addIssue('error', unit.stock_no, hint)
    return { ...row, status: 'rejected', unit: null, issues }
  }
  const changed: { -readonly [Key in keyof StockRow]?: StockRow[Key] } = {}
  for (const [name, most] of Object.entries(codes) as [keyof typeof codes, number][]) {
    const value = unit[name]
    if (value === null || value.length <= most) continue
    changed[name] = null
    addIssue('warning', value, `the ${name} has at most ${most} characters; it was left out`)
  }
  for (const [name, most] of Object.entries(texts) as [keyof typeof texts, number][]) {
    const value = unit[name]
    if (value === null || value.length <= most) continue
    changed[name] = value.slice(0, most).toWellFormed()
    addIssue('warning', value, `the ${name} has at most ${most} characters; the rest was cut off`)
  }
  return { ...row, unit: { ...unit, ...changed }, issues }
}

function isTooLong({ stock_no, adcode, plate, make, model, variant }: StockRow): boolean {
  return (
    stock_no.length > longestStockNo ||
    (adcode?.length ?? 0) > codes.adcode ||
    (plate?.length ?? 0) > codes.plate ||
    (make?.length ?? 0) > texts.make ||
    (model?.length ?? 0) > texts.model ||
    (variant?.length ?? 0) > texts.variant
  )
}
