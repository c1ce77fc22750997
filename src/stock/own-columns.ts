import type { RememberedMapping } from './csv/map/column-mapping.ts'
import { headerFingerprint } from './csv/map/header-name.ts'
import { type Field, fields } from './csv/map/stock-fields.ts'
import type { StoredIssue, TypedRow } from './csv/map/typing/typed-row.ts'
import type { CsvRecord, ProblemCode } from './csv/read/csv-file.ts'

// The columns that Forecourt adds to a file, and how an import recognises them. Their names are stable.

/** The columns of the priced list that describe a unit. */
export const listColumns = {
  stock_number: 'stock_number',
  vin: 'vin',
  adcode: 'adcode',
  plate: 'plate',
  make: 'make',
  model: 'model',
  variant: 'variant',
  year: 'model_year',
  odometer_km: 'odometer',
  asking_price: 'price_asking',
  cost: 'cost',
  currency: 'price_currency',
  acquired_on: 'received_date',
} as const satisfies Readonly<Record<string, Field>>

const sixPrices = (prefix: string) =>
  ['retail', 'retail_low', 'retail_high', 'wholesale', 'wholesale_low', 'wholesale_high'].map(
    (name) => prefix + name,
  )

/** The columns of the priced list with the unit's price. */
export const priceColumns: readonly string[] = [
  ...sixPrices('price_'),
  ...['price_currency', 'priced_at', 'eval_id', 'status', 'message'],
]

/** The columns that an export appends to an uploaded file. */
export const appendedColumns: readonly string[] = [
  ...sixPrices(''),
  ...['currency', 'priced_at', 'adcode', 'eval_id', 'problem', 'status', 'message'],
]

/** The columns that a rejects file has after the dealer's columns: the import that it corrects, and of each row its line and errors. */
export const rejectColumns: readonly string[] = ['_import', '_line', '_problem', '_errors']

/** The columns as they are written now, and as earlier versions wrote them: with the code of a problem in the text of the errors. */
const formsOf = (written: readonly string[]) => [
  written,
  written.filter((name) => !/^_?problem$/.test(name)),
]
const rejectForms = [rejectColumns, ...formsOf(rejectColumns.slice(1))]
const appendedForms = formsOf(appendedColumns)

/** Prefix of a dealer's column whose name the priced list uses itself. */
const dealerPrefix = 'dealer_'

/** The priced list's name of a dealer's field that has no column in the warehouse. */
export function extraColumn(field: string): string {
  return priceColumns.includes(field) ? dealerPrefix + field : field
}

/** The appended names, without those that the file already has: a name occurs once in a file. */
export function appendedNames(names: readonly string[]): readonly string[] {
  const taken = new Set(names.map((name) => name.trim().toLowerCase()))
  return appendedColumns.map((column) => {
    let name = column
    for (let copy = 1; taken.has(name); copy += 1)
      name = `forecourt_${column}${copy === 1 ? '' : `_${copy}`}`
    return name
  })
}

function appendedForm(names: readonly string[]): readonly string[] | undefined {
  return appendedForms.find((form) => {
    const last = names.slice(-form.length)
    return form.every((column, at) =>
      new RegExp(`^(forecourt_)?${column}(_\\d+)?$`).test(last[at]?.trim() ?? ''),
    )
  })
}

/** How many columns at the end of a file are prices appended by an export: all of them, or 0. */
export function countAppended(names: readonly string[]): number {
  return appendedForm(names)?.length ?? 0
}

function rejectForm(names: readonly string[]): readonly string[] | undefined {
  return rejectForms.find((form) => countAtEnd(names, form) > 0)
}

/** Whether a file has the columns of a rejects file: corrected rows, not the whole stock. */
export function isRejectsFile(names: readonly string[]): boolean {
  return rejectForm(names) !== undefined
}

function countAtEnd(names: readonly string[], expected: readonly string[]): number {
  const last = names.slice(-expected.length)
  return expected.every((name, index) => last[index]?.trim() === name) ? expected.length : 0
}

/** How many columns at the end of a file Forecourt added. They are ignored, so the file maps like the dealer's original. */
export function countOwnColumns(names: readonly string[]): number {
  const rejects = rejectForm(names)?.length ?? 0
  const before = names.slice(0, names.length - rejects)
  return rejects + (countAppended(before) || countAtEnd(before, priceColumns))
}

/** The names that a rejects file uses when the dealer's file has no header. */
export function placeholderNames(
  columns: readonly { readonly index: number; readonly field: Field | null }[],
): readonly string[] {
  return columns.map(({ field, index }) => field ?? `column ${index + 1}`)
}

/** The mapping of a file that Forecourt wrote, by all its names: certain for any values. null for a dealer's file. */
export function mappingForAppended(all: readonly string[]): RememberedMapping | null {
  const names = all.slice(0, all.length - countOwnColumns(all))
  const list = listFields(names.map((name) => name.trim()))
  if (list !== null) return exactMapping(names, list)
  if (rejectForm(all) === undefined) return null
  const columns = names.map((name) => fields.find((field) => field === name) ?? null)
  const made = placeholderNames(columns.map((field, index) => ({ field, index })))
  return made.every((name, index) => name === names[index]) ? exactMapping(names, columns) : null
}

/** The fields of a priced list's columns; null: it is not one. A list in miles has the original reading in `odometer`. */
function listFields(names: readonly string[]): (Field | null)[] | null {
  const units = Object.entries(listColumns)
  if (!units.every(([name], at) => names[at] === name)) return null
  const hasReading = names.includes('odometer', units.length)
  const known = units.map(([, field]) => (field === 'odometer' && hasReading ? null : field))
  const extras = names.slice(units.length).map((name) => {
    const bare = name.startsWith(dealerPrefix) ? name.slice(dealerPrefix.length) : name
    return fields.find((field) => field === bare) ?? null
  })
  return [...known, ...extras]
}

function exactMapping(
  names: readonly string[],
  columns: readonly (Field | null)[],
): RememberedMapping {
  const absent = fields.filter((field) => !columns.includes(field))
  return { fingerprint: headerFingerprint(names, names.length), columns, absent }
}

/** Problems of a record that its cells no longer show once they were exported, one in each column. */
const hiddenProblems: readonly ProblemCode[] = [
  'missing-cell',
  'extra-cell',
  'truncated-value',
  'stray-quote',
  'encoding-error',
]

/** The cell of `_problem` and `problem`: the code and the number of cells, `missing-cell:3`; empty where the cells show what is
 *  wrong. A row with it is accepted again only after its cells are completed or its error cell is emptied. */
export function problemCell(issues: readonly StoredIssue[]): string {
  const issue = issues.find(
    ({ code, severity }) => severity === 'error' && hiddenProblems.some((known) => known === code),
  )
  return issue ? withCount(issue.code, issue.hint) : ''
}

/** With the number of cells of the dealer's row, from the text: a row of a rejects file has all cells. */
function withCount(code: string, text: string): string {
  const count = /(\d{1,9}) cells? where the file has/.exec(text)?.[1]
  return count === undefined ? code : `${code}:${count}`
}

/** The problem of a file without a column for it. */
function problemIn(errors: string): string {
  const code = hiddenProblems.find((known) => errors.includes(`(${known})`))
  return code === undefined ? '' : withCount(code, errors)
}

/** The result of an earlier import or export, read from the columns that Forecourt added to the file. */
export interface EarlierResult {
  /** The record with the problem of the earlier import, until it is corrected. */
  withEarlierProblem(record: CsvRecord): CsvRecord
  /** The import that the row corrects; null: not known. */
  importOf(record: CsvRecord): number | null
  /** The skipped row of a vehicle that was not in stock when the list was exported; null: it was. */
  notInStock(record: CsvRecord): TypedRow | null
}

/** null: the file has no columns that Forecourt added. `width`: number of the dealer's columns. */
export function earlierResult(names: readonly string[], width: number): EarlierResult | null {
  const appended = rejectForm(names) ?? appendedForm(names)
  if (appended !== undefined) {
    const fromEnd = appended.length - appended.findIndex((name) => /^_?problem$/.test(name))
    const problem = fromEnd > appended.length ? null : names.length - fromEnd
    return {
      withEarlierProblem: (record) => withProblem(record, names, problem, width),
      importOf: (record) => (appended === rejectColumns ? importIn(record, names.length) : null),
      notInStock: () => null,
    }
  }
  if (countAtEnd(names, priceColumns) === 0) return null
  const status = names.length - priceColumns.length + priceColumns.indexOf('status')
  return {
    withEarlierProblem: (record) => record,
    importOf: () => null,
    notInStock: (record) => notInStock(record, status),
  }
}

/** Excel may have written the number with decimals. */
function importIn({ cells }: CsvRecord, width: number): number | null {
  const [, id] =
    /^(\d{1,15})(?:[.,]0+)?$/.exec(cells[width - rejectColumns.length]?.trim() ?? '') ?? []
  return id === undefined ? null : Number(id)
}

/** The user confirms that the cells are right by emptying the text of the errors, in the last column. */
function withProblem(
  record: CsvRecord,
  names: readonly string[],
  column: number | null,
  width: number,
): CsvRecord {
  const errors = record.cells[names.length - 1]?.trim() ?? ''
  const problem = column === null ? problemIn(errors) : (record.cells[column] ?? '').trim()
  const [name, count = ''] = problem.split(':')
  const code = hiddenProblems.find((known) => known === name)
  const isConfirmed = errors === ''
  if (record.problem?.repaired === false || code === undefined || isConfirmed) return record
  const cells = record.cells.slice(0, width)
  const isCompleted = count !== '' && cells.slice(Number(count)).some((cell) => cell.trim() !== '')
  if (code === 'missing-cell' && isCompleted) return record
  if (code === 'encoding-error' && !cells.some((cell) => cell.includes('\uFFFD'))) return record
  const isWidth = code === 'missing-cell' || code === 'extra-cell'
  const found = isWidth
    ? `${count} ${count === '1' ? 'cell' : 'cells'} where the file has ${width} columns`
    : 'an error that its cells no longer show'
  const message = `an earlier import rejected the row for ${found}: complete its cells, then empty its cell of "${names.at(-1)!.trim()}"`
  return { ...record, problem: { code, message, repaired: false } }
}

function notInStock({ line, cells }: CsvRecord, column: number): TypedRow | null {
  const text = cells[column]?.trim() ?? ''
  if (text !== 'off_stock' && text !== 'missing') return null
  const hint = 'not in stock when the list was exported: empty the cell if it is now'
  const severity = 'info' as const
  const issue = { code: 'not-in-stock', severity, line, column: 'status', text, hint }
  return { status: 'skipped', unit: null, key: { stockNo: null, vin: null }, issues: [issue] }
}
