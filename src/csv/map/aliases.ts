import { aliasTable } from './alias-table.ts'
import { type Field, fields } from './fields.ts'
import { headerKey, readHeader } from './header-name.ts'

/** A field that a header may mean, and how much its name alone is worth. */
export interface Meaning {
  readonly field: Field
  /** 0..1 */
  readonly worth: number
}

const plain = 0.95
/** Headers that name a field in some files and something else in others: the values decide. */
const ambiguous: Readonly<Record<string, readonly (readonly [Field, number])[]>> = {
  type: [
    ['condition', 0.6],
    ['body', 0.6],
    ['model', 0.55],
  ],
  typemodel: [
    ['model', 0.9],
    ['make', 0.55],
  ],
  make: [
    ['make', plain],
    ['model', 0.6],
  ],
  model: [
    ['model', plain],
    ['make', 0.55],
  ],
  status: [
    ['status', 0.85],
    ['condition', 0.7],
  ],
  title: [
    ['title_combined', 0.7],
    ['condition', 0.6],
  ],
  specification: [
    ['variant', 0.75],
    ['gcc_spec', 0.7],
  ],
  specs: [
    ['gcc_spec', 0.75],
    ['variant', 0.55],
  ],
  spec: [
    ['gcc_spec', 0.75],
    ['variant', 0.55],
  ],
  series: [
    ['series', 0.85],
    ['variant', 0.65],
  ],
  registration: [
    ['plate', 0.85],
    ['registration_date', 0.7],
  ],
  state: [
    ['plate_state', 0.7],
    ['location', 0.65],
    ['condition', 0.6],
  ],
  vehicletype: [
    ['body', 0.75],
    ['condition', 0.6],
  ],
  الموديل: [
    ['model', 0.75],
    ['model_year', 0.7],
  ],
  موديل: [
    ['model', 0.75],
    ['model_year', 0.7],
  ],
  النوع: [
    ['model', 0.7],
    ['body', 0.6],
    ['make', 0.55],
  ],
  unit: [
    ['title_combined', 0.6],
    ['stock_number', 0.6],
  ],
  no: [
    ['row_index', 0.6],
    ['stock_number', 0.3],
  ],
  id: [
    ['row_index', 0.6],
    ['stock_number', 0.3],
  ],
  vehicleid: [
    ['stock_number', 0.3],
    ['row_index', 0.6],
  ],
  serial: [
    ['row_index', 0.6],
    ['stock_number', 0.3],
  ],
}

/** Names that a file uses when it has no better one: the better one wins where both are there. */
const weak: Readonly<Record<number, string>> = {
  0.8: `inventory # | inv # | inventory number | inventory id | unit number | unit no | vehicle reference |
    vehicle number | fleet # | fleet no | sku | stock id | chassis | chassis no | chassis number |
    identification | age | days | internet price | list price | drive away price | price formatted |
    license | reg | الرقم المرجعي | رقم السيارة`,
  0.72: `unit id | reference | reference no | ref | ref no | lot# | lot number | frame no | frame number |
    retail | retail price | egc price | price egc | dap | الرقم التسلسلي | رقم السيارة للحسابات |
    purchase date | stock date | invoice | invoice price | registration year`,
  0.65: `regular price | stand in value | acv | book | create date | list date | invoice date | date added |
    origin | name | heading | header | vehicle | tag | region | city`,
}

const meanings = buildMeanings()

function buildMeanings(): ReadonlyMap<string, readonly Meaning[]> {
  const worthOf = new Map<string, number>()
  for (const [worth, names] of Object.entries(weak))
    for (const name of split(names)) worthOf.set(headerKey(name), Number(worth))
  const found = new Map<string, Meaning[]>()
  for (const field of fields)
    for (const alias of split(aliasTable[field])) {
      const { key } = readHeader(alias)
      if (!found.has(key)) found.set(key, [{ field, worth: worthOf.get(key) ?? plain }])
    }
  for (const [key, entries] of Object.entries(ambiguous))
    found.set(
      headerKey(key),
      entries.map(([field, worth]) => ({ field, worth })),
    )
  return found
}

function split(names: string): string[] {
  return names.split('|').map((name) => name.trim())
}

/** What a header may mean, the likelier first; empty for an unknown one. Exact keys only, of the whole or of each side of a `/`. */
export function meaningsOf(header: string): readonly Meaning[] {
  const { key, shortKey } = readHeader(header)
  const whole = meanings.get(key) ?? (shortKey === null ? undefined : meanings.get(shortKey))
  if (whole) return whole
  if (/^(unnamed|column)?\d*$/.test(key)) return [{ field: 'row_index', worth: 0.5 }]
  const sides = header.split(/[/|\n]/).map((side) => meanings.get(readHeader(side).key))
  const known = sides.filter((side) => side !== undefined)
  const [first] = known
  if (!first || header.split(/[/|\n]/).length < 2) return []
  const agreed = first.filter(({ field }) =>
    known.every((side) => side.some((meaning) => meaning.field === field)),
  )
  return agreed.map(({ field, worth }) => ({ field, worth: Math.min(worth, 0.9) }))
}

/** Does any dealer's system write this header? For finding the header row of a file. */
export function isKnownHeader(text: string): boolean {
  return meaningsOf(text).some(({ field }) => field !== 'row_index')
}
