import { type Typed, typed } from './issue.ts'

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

/** A model year from a cell's plain text, or the year of a date. Two digits alone, or two years, give none. */
export function typeModelYear(text: string, today: string): Typed<number> {
  const value = readModelYear(text)
  if (value !== null && value >= 1900 && value <= Number(today.slice(0, 4)) + 2) return typed(value)
  return typed<number>(null, {
    code: value === null ? 'type-error' : 'constraint-error',
    severity: 'warning',
    hint: 'this is not one model year from 1900 to the year after next; it was left out',
  })
}
