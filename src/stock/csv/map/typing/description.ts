import type { ColumnMapping } from '../column-mapping.ts'
import { leadingMake } from '../vehicle-words.ts'
import { possibleSerials } from './date.ts'
import { isPlaceholder, plainText } from './plain-text.ts'
import type { RowNotes } from './row-notes.ts'
import { noValue, type StockDraft, type Typed, typed } from './typed-row.ts'
import { lastModelYear, type TypingOptions } from './typing-options.ts'
import { isCheckDigitLaw, possibleModelYears, typePlate } from './vehicle-keys.ts'

/** Fills in make, model, variant, year, plate and catalogue code. */
export function typeVehicle(draft: StockDraft, notes: RowNotes, options: TypingOptions): void {
  draft.make = notes.name('make')
  draft.model = notes.name('model')
  draft.variant = notes.name('variant')
  draft.adcode = notes.name('adcode')
  const plate = notes.name('plate')
  draft.plate = plate === null ? null : normalPlate(notes.take('plate', typePlate(plate)))
  const year = notes.text('model_year')
  if (year !== null) {
    const isStored = notes.place('model_year')!.column.readings?.includes('numbers')
    const stored = isStored ? yearBehindDate(year, options) : null
    draft.model_year = notes.take('model_year', typeModelYear(stored ?? year, options.today))
  }
  if (draft.make === null || draft.model === null) fillFromTitle(draft, notes, options)
  if (draft.make === null && draft.model !== null && notes.place('make'))
    notes.cell('make', emptyMake)
  splitColours(draft)
  if (options.market === 'US' && !notes.hasError()) compareYear(draft, notes)
}

/** Upper case, without blanks and punctuation. A result that is a placeholder is dropped: a re-imported export would read it as empty. */
function normalPlate(text: string | null): string | null {
  const plate = text?.toUpperCase().replace(/[\s.·•-]/g, '') ?? ''
  return isPlaceholder(plate, 'plate') ? null : plate
}

/** Fills fields from an advertisement's title where the file has no column for them. */
function fillFromTitle(draft: StockDraft, notes: RowNotes, { today }: TypingOptions): void {
  const text = notes.text('title_combined')
  if (text === null) return
  const title = splitTitle(text)
  if (!title) {
    if (!notes.place('make') && !notes.place('model')) notes.cell('title_combined', noMake)
    return
  }
  draft.make ??= title.make
  if (draft.model === null) {
    draft.model = title.model
    draft.variant ??= title.variant
  }
  if (title.year !== null) draft.model_year ??= typeModelYear(title.year, today).value
}

const emptyMake = {
  code: 'NO_MAKE',
  severity: 'warning',
  hint: 'the row has a model and no make; if its make is that of the row above, write it into each row',
} as const

const noMake = {
  code: 'type-error',
  severity: 'warning',
  hint: 'it does not begin with a known make, so make and model are not known',
} as const

/** `White / Black` */
function splitColours({ extras }: StockDraft): void {
  const both = extras['colour_combined']?.split('/')
  if (both?.length !== 2) return
  extras['colour_exterior'] ??= both[0]!.trim()
  extras['colour_interior'] ??= both[1]!.trim()
}

/** Compares with the VIN: its tenth character names the model year on nearly all US vehicles. The dealer's year stays. */
function compareYear(draft: StockDraft, notes: RowNotes): void {
  const { vin, model_year: year } = draft
  if (vin === null || year === null || year < 1981 || !isCheckDigitLaw(vin)) return
  const years = possibleModelYears(vin)
  if (years.includes(year)) return
  notes.cell('vin', {
    code: 'VIN_YEAR',
    severity: 'warning',
    hint: `the VIN is of model year ${years.join(' or ') || 'unknown'}, the row has ${year}: check the vehicle`,
  })
}

/** The parts of an advertisement's title: `2015 Ford Kuga 2.0 TDCi Trend AWD Auto`. */
interface Title {
  readonly year: string | null
  readonly make: string | null
  readonly model: string | null
  readonly variant: string | null
}

/** The column whose titles give the model year, because no column has it; null: none. A title is read only where make or model is missing. */
export function findYearTitle(columns: readonly ColumnMapping[]): ColumnMapping | null {
  const has = (field: ColumnMapping['field']) => columns.some((column) => column.field === field)
  if (has('model_year') || (has('make') && has('model'))) return null
  const title = columns.find(({ field }) => field === 'title_combined')
  return title?.samples.some((text) => splitTitle(plainText(text))?.year) ? title : null
}

/** Names of models that are two words: Land Cruiser, Model 3, 3 Series, Corolla Cross. */
const firstOfTwo = /^(?:land|grand|santa|range|model|x)$/i
const secondOfTwo = /^(?:series|class|klasse|cross)$/i
const lastYear = /^\(?((?:19|20)\d{2})\)?$/

/** Splits a title after its year and its make; null without a known make, because the rest would be a guess. The year may be at its end. */
function splitTitle(text: string): Title | null {
  const words = text
    .replace(/^[^\p{L}\p{N}]+/u, '')
    .split(/,? /)
    .filter((word) => word !== '')
  const first = readModelYear(words[0] ?? '') === null ? null : words.shift()!
  const count = leadingMake(words)
  if (count === 0) return null
  const rest = words.slice(count)
  // Alone it is the model: Peugeot 2008.
  const last = first === null && rest.length > 1 ? lastYear.exec(rest.at(-1)!) : null
  if (last !== null) rest.pop()
  const isTwo = firstOfTwo.test(rest[0] ?? '') || secondOfTwo.test(rest[1] ?? '')
  const model = rest.splice(0, isTwo ? 2 : 1)
  return {
    year: first ?? last?.[1] ?? null,
    make: words.slice(0, count).join(' '),
    model: model.join(' ') || null,
    variant: rest.join(' ') || null,
  }
}

/** Whether a text is the title of a vehicle, not prose about it. */
export function isTitle(text: string): boolean {
  return text.length <= longestTitle && splitTitle(text)?.model != null
}

const longestTitle = 80

const year = /^((?:19|20)\d{2})(?:[.,]0+)?$/
/** A year that a spreadsheet wrote with a thousands separator: 2,012. */
const separated = /^([12])[., ](\d{3})$/
const modelYearCode = /\bMY ?((?:19|20)?\d{2})(?:\.\d)?(?![\d/-])/i
const codeBehind = /^((?:19|20)?\d{2}) ?MY$/i
const withinDate = /^(?:\D*\d{1,2}\D+){0,2}((?:19|20)\d{2})(?:\D.*)?$/
/** 2025/26: two years, or a month. */
const yearRange = /^\d{4}[/-]\d{2}$/
const fullYears = /(?<!\d)(?:19|20)\d{2}(?!\d)/g
const longest = 40

/** The year in a text: as a number, as a model year code (MY12), or in a date; null for none, or for two. */
export function readModelYear(text: string): number | null {
  if (text.length > longest) return null
  const plain = year.exec(text)?.[1] ?? separated.exec(text)?.slice(1).join('')
  if (plain !== undefined) return Number(plain)
  const code = modelYearCode.exec(text)?.[1] ?? codeBehind.exec(text)?.[1]
  if (code !== undefined) return code.length === 2 ? 2000 + Number(code) : Number(code)
  const named = new Set(text.match(fullYears))
  if (named.size > 1 || yearRange.test(text)) return null
  const inDate = withinDate.exec(text)?.[1]
  return inDate === undefined ? null : Number(inDate)
}

/** The year that a spreadsheet shows as a day of 1905, because its cell is formatted as a date; null: the text is none. */
export function yearBehindDate(text: string, options: TypingOptions): string | null {
  const isYear = (serial: number) => serial >= 1950 && serial <= lastModelYear(options)
  const serials = (['day-first', 'month-first'] as const).flatMap((order) =>
    possibleSerials(text, { order, isMixed: false }),
  )
  return serials.find(isYear)?.toString() ?? null
}

/** A model year from a cell's plain text, or the year of a date. Two digits alone, or two years, give none. */
function typeModelYear(text: string, today: string): Typed<number> {
  const value = readModelYear(text)
  if (value !== null && value >= 1900 && value <= lastModelYear({ today })) return typed(value)
  return noValue({
    code: value === null ? 'type-error' : 'constraint-error',
    severity: 'warning',
    hint: 'this is not one model year from 1900 to the year after next; it was left out',
  })
}
