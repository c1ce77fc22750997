import { aliasLanguages, aliasTable, ambiguousLanguages, weakLanguages } from './alias-table.ts'
import { headerKey, readHeader, withoutAccents } from './header-name.ts'
import { type Field, fields } from './stock-fields.ts'

/** A field that a header may mean, and the confidence that the name alone gives. */
export interface Meaning {
  readonly field: Field
  /** 0..1 */
  readonly confidence: number
}

const plain = 0.95
/** Headers that name this field in some files and another in others: the values decide. */
const ambiguous: Readonly<Record<string, Partial<Record<Field, number>>>> = {
  type: { condition: 0.6, body: 0.6, model: 0.55 },
  typemodel: { model: 0.9, make: 0.55 },
  make: { make: plain, model: 0.6 },
  model: { model: plain, make: 0.55 },
  status: { status: 0.85, condition: 0.7 },
  title: { title_combined: 0.7, condition: 0.6 },
  description: { notes: 0.75, title_combined: 0.6 },
  vehicledescription: { notes: 0.75, title_combined: 0.6 },
  specification: { variant: 0.75, gcc_spec: 0.7 },
  specs: { gcc_spec: 0.75, variant: 0.55 },
  spec: { gcc_spec: 0.75, variant: 0.55 },
  series: { series: 0.85, variant: 0.65 },
  registration: { plate: 0.85, registration_date: 0.7 },
  state: { plate_state: 0.7, location: 0.65, condition: 0.6 },
  vehicletype: { body: 0.75, condition: 0.6 },
  الحالة: { condition: 0.8, status: 0.75 },
  الموديل: { model: 0.75, model_year: 0.7 },
  موديل: { model: 0.75, model_year: 0.7 },
  النوع: { model: 0.7, body: 0.6, make: 0.55 },
  unit: { title_combined: 0.6, stock_number: 0.6, odometer_unit: 0.6 },
  instock: { available: 0.8, received_date: 0.7 },
  no: { row_index: 0.6, stock_number: 0.3 },
  id: { row_index: 0.6, stock_number: 0.3 },
  vehicleid: { stock_number: 0.3, row_index: 0.6 },
  serial: { row_index: 0.6, stock_number: 0.3 },
}

/** Less specific names: where the file has a better name for the field too, the better one wins. */
const weak: Readonly<Record<number, string>> = {
  0.8: `inventory # | inv # | inventory number | inventory id | unit number | unit no | vehicle reference |
    vehicle number | fleet # | fleet no | sku | stock id | chassis | chassis no | chassis number |
    identification | age | days | internet price | list price | drive away price | price formatted |
    license | reg | الرقم المرجعي | رقم السيارة`,
  0.72: `unit id | reference | reference no | ref | ref no | lot# | lot number | frame no | frame number |
    retail | retail price | egc price | price egc | dap | الرقم التسلسلي | رقم السيارة للحسابات |
    purchase date | stock date | invoice | invoice price | registration year`,
  0.65: `regular price | stand in value | acv | book | create date | list date | invoice date | date added |
    origin | name | heading | header | vehicle | tag | region | city | added | added on | added date |
    created | created at | created on | created date | date created | listed date | date listed |
    listed on | listing date | delivered date | delivery date | inventory date | yard date |
    lot date | manufactured | compliance year | plate year | vintage | distance | travelled |
    special | ask | market price | final price | received | stocked | book cost | plates | family`,
  0.55: `now`,
  0.3: `was/now price | was now | was price | was | old price | previous price | original price |
    dealer price | min price | max price | price from | price to | price range`,
}

interface Lookup {
  readonly meanings: ReadonlyMap<string, readonly Meaning[]>
  /** By the words of the header, in any order: `Dt In Stk` is `Date In Stock`. Words with two meanings are left out. */
  readonly byWords: ReadonlyMap<string, readonly Meaning[]>
}

let built: Lookup | undefined
/** Built for the first header: most commands read no list. */
const lookup = () => (built ??= buildLookup())

function buildLookup(): Lookup {
  const confidenceOf = new Map<string, number>()
  for (const lists of [weak, weakLanguages])
    for (const [confidence, names] of Object.entries(lists))
      for (const name of split(names)) confidenceOf.set(headerKey(name), Number(confidence))
  const meanings = new Map<string, readonly Meaning[]>()
  const aliases = fields.flatMap((field) =>
    split(`${aliasTable[field] ?? ''}|${aliasLanguages[field] ?? ''}`)
      .filter(Boolean)
      .map((alias) => ({ field, ...readHeader(alias) })),
  )
  for (const { field, key } of aliases) {
    const meaning = { field, confidence: confidenceOf.get(key) ?? plain }
    for (const form of [key, withoutAccents(key)])
      if (!meanings.has(form)) meanings.set(form, [meaning])
  }
  for (const [name, entries] of Object.entries({ ...ambiguousLanguages, ...ambiguous })) {
    const found = Object.entries(entries) as [Field, number][]
    const known = found.map(([field, confidence]) => ({ field, confidence }))
    const key = headerKey(name)
    for (const form of [key, withoutAccents(key)]) meanings.set(form, known)
  }
  const byWords = new Map<string, readonly Meaning[]>()
  const twice = new Set<string>()
  for (const alias of aliases) {
    const [known, words] = [meanings.get(alias.key)!, wordKey(alias.words)]
    const before = byWords.get(words)
    if (before && before[0]!.field !== known[0]!.field) twice.add(words)
    if (!before || known[0]!.confidence > before[0]!.confidence) byWords.set(words, known)
  }
  for (const words of twice) byWords.delete(words)
  return { meanings, byWords }
}

function wordKey(words: readonly string[]): string {
  return words
    .map(withoutAccents)
    .filter((word) => word !== 'of' && word !== 'the')
    .toSorted()
    .join(' ')
}

/** Without a word for "vehicle", which a list of vehicles need not repeat: `Veh Colour`. */
function withoutVehicle(words: readonly string[]): readonly Meaning[] {
  const rest = words.filter((word) => word !== 'vehicle' && word !== 'car')
  if (rest.length === 0 || rest.length === words.length) return []
  const known = lookup().byWords.get(wordKey(rest)) ?? []
  return known.some(({ field }) => field === 'row_index' || field === 'days_in_stock') ? [] : known
}

function split(names: string): string[] {
  return names.split('|').map((name) => name.trim())
}

/** By the whole key, with its accents or without. */
function findMeaning(key: string): readonly Meaning[] | undefined {
  const { meanings } = lookup()
  return meanings.get(key) ?? meanings.get(withoutAccents(key))
}

/** Fields that a header may mean, the likeliest first; empty for an unknown one. Compares whole names: the header, or each side of a `/`. */
export function findMeanings(header: string): readonly Meaning[] {
  const { key, shortKey, words } = readHeader(header)
  const whole = findMeaning(key) ?? (shortKey === null ? undefined : findMeaning(shortKey))
  if (whole) return whole
  const spelt = lookup().byWords.get(wordKey(words)) ?? withoutVehicle(words)
  if (spelt.length > 0) return spelt
  if (/^(unnamed|column)?\d*$/.test(key)) return [{ field: 'row_index', confidence: 0.5 }]
  const sides = header.split(/[/|\n]/).map((side) => findMeaning(readHeader(side).key))
  const known = sides.filter((side) => side !== undefined)
  const [first] = known
  if (!first || header.split(/[/|\n]/).length < 2) return []
  const agreed = first.filter(({ field }) =>
    known.every((side) => side.some((meaning) => meaning.field === field)),
  )
  if (agreed.length > 0)
    return agreed.map(({ field, confidence }) => ({ field, confidence: Math.min(confidence, 0.9) }))
  // `Stock/Rego`: without it the list would have another key. The values decide.
  const isKey = known.flat().some(({ field }) => field === 'stock_number')
  return isKey ? [{ field: 'stock_number', confidence: 0.4 }] : []
}

/** Whether some dealer system writes this header. Used to find the header row of a file. */
export function isKnownHeader(text: string): boolean {
  return findMeanings(text).some(({ field }) => field !== 'row_index')
}
