import { typeModelYear } from './model-year.ts'
import { isPlaceholder } from './placeholders.ts'
import type { RowNotes } from './row-notes.ts'
import type { StockDraft } from './stock-row.ts'
import type { TypingOptions } from './column-styles.ts'
import { splitTitle } from './title.ts'
import { isCheckDigitLaw, modelYearsOf } from './vin.ts'

/** Fills in make, model, variant, year, plate and catalogue code. */
export function typeVehicle(draft: StockDraft, notes: RowNotes, options: TypingOptions): void {
  draft.make = notes.name('make')
  draft.model = notes.name('model')
  draft.variant = notes.name('variant')
  draft.adcode = notes.name('adcode')
  draft.plate = plateOf(notes.name('plate'))
  const year = notes.text('model_year')
  if (year !== null) draft.model_year = notes.take('model_year', typeModelYear(year, options.today))
  if (draft.make === null || draft.model === null) fillFromTitle(draft, notes, options)
  splitColours(draft)
  if (options.market === 'US' && !notes.hasError()) compareYear(draft, notes)
}

/** Upper case, without blanks and punctuation. A result that is a placeholder is dropped: a re-imported export would read it as empty. */
function plateOf(text: string | null): string | null {
  const plate = text?.toUpperCase().replace(/[\s.·•-]/g, '') ?? ''
  return isPlaceholder(plate, 'plate') ? null : plate
}

/** Fills fields from an advertisement's title where the file has no column for them. */
function fillFromTitle(draft: StockDraft, notes: RowNotes, { today }: TypingOptions): void {
  const text = notes.text('title_combined')
  const title = text === null ? null : splitTitle(text)
  if (!title) return
  draft.make ??= title.make
  if (draft.model === null) {
    draft.model = title.model
    draft.variant ??= title.variant
  }
  if (title.year !== null) draft.model_year ??= typeModelYear(title.year, today).value
}

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
  const years = modelYearsOf(vin)
  if (years.includes(year)) return
  notes.cell('vin', {
    code: 'VIN_YEAR',
    severity: 'warning',
    hint: `the VIN is of model year ${years.join(' or ') || 'unknown'}, the row has ${year}: check the vehicle`,
  })
}
