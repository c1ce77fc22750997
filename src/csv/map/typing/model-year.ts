import { type Typed, typed } from './issue.ts'

const year = /^(?:MY ?)?((?:19|20)\d{2})(?:\.0+)?$/i
const shortYear = /^MY ?(\d{2})$/i
const withinDate = /^(?:\D*\d{1,2}\D+){0,2}((?:19|20)\d{2})(?:\D.*)?$/

/** A model year from a cell's plain text, or the year of a date. Never guessed from two digits alone. */
export function typeModelYear(text: string, today: string): Typed<number> {
  const short = shortYear.exec(text)
  const full =
    year.exec(text) ?? (text.length > 40 || /[/-]\d{2}$/.test(text) ? null : withinDate.exec(text))
  const value = full ? Number(full[1]) : short ? 2000 + Number(short[1]) : null
  if (value !== null && value >= 1900 && value <= Number(today.slice(0, 4)) + 2) return typed(value)
  return typed<number>(null, {
    code: value === null ? 'type-error' : 'constraint-error',
    severity: 'warning',
    hint: 'this is not a model year from 1900 to the year after next; it was left out',
  })
}
