import { firstCandidate, type JsonPath, valueAt } from '../../values/json-path.ts'
import { moneyText } from '../../values/money.ts'
import type { Issue } from '../../values/record.ts'
import { storable } from '../../values/text.ts'

/** Reads typed values from one record and collects what does not fit, with its JSON path. */
export class Reader {
  readonly issues: Issue[] = []
  readonly #record: unknown
  constructor(record: unknown) {
    this.#record = record
  }

  /** Text of at most `max` characters; numbers and booleans are written out; null when absent or empty. */
  text(path: JsonPath, max: number): string | null {
    return this.textOf(valueAt(this.#record, path), path, max)
  }

  /** The same for a given value; `path` is for the message. */
  textOf(value: unknown, path: JsonPath, max: number): string | null {
    if (value === undefined || value === null || value === '') return null
    if (typeof value === 'object') return this.#misfit(path, 'is not text')
    const text = storable(String(value))
    if (text.length <= max) return text
    return this.#misfit(
      path,
      `has ${text.length} characters, more than the ${max} that its column holds`,
    )
  }

  /** An amount of money or a cost, with three decimals. */
  money(path: JsonPath): string | null {
    return this.moneyOf(valueAt(this.#record, path), path)
  }

  moneyOf(value: unknown, path: JsonPath): string | null {
    if (value === undefined || value === null) return null
    const text = typeof value === 'number' ? moneyText(value) : null
    return text ?? this.#misfit(path, 'is not an amount that numeric(15,3) holds')
  }

  /** A whole number within the range; text that spells a number is accepted. */
  integer(path: JsonPath, least: number, greatest: number): number | null {
    const value = valueAt(this.#record, path)
    if (value === undefined || value === null || value === '') return null
    const number = typeof value === 'string' ? Number(value.replaceAll(/[\s,]/g, '')) : value
    if (typeof number === 'number' && number >= least && number <= greatest)
      return Math.round(number)
    return this.#misfit(path, `is not a number from ${least} to ${greatest}`)
  }

  /** A position in an order, within the range of a Postgres `integer`. */
  orderOf(value: number | null | undefined, path: JsonPath): number | null {
    if (value === undefined || value === null) return null
    if (Math.abs(value) <= 2_147_483_647) return value
    return this.#misfit(path, 'is not a position in an order: its column holds an integer')
  }

  fail(path: JsonPath, message: string): null {
    return this.#misfit(path, message)
  }

  #misfit(path: JsonPath, message: string): null {
    this.issues.push({ path: typeof path === 'string' ? path : firstCandidate(path), message })
    return null
  }
}
