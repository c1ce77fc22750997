import { isEmpty } from '../../api/learn/answers.ts'
import { type DistanceUnit, splitDistance } from '../../values/distance-unit.ts'
import { firstCandidate, type JsonPath, valueAt } from '../../values/json-path.ts'
import { moneyText } from '../../values/money.ts'
import type { Issue } from '../../values/record.ts'
import { saysNothing, storable } from '../../values/text.ts'

/** Reads typed values from one record and collects what does not fit, with its JSON path. */
export class Reader {
  readonly issues: Issue[] = []
  readonly #record: unknown
  constructor(record: unknown) {
    this.#record = record
  }

  /** Text of at most `max` characters; numbers and booleans are written out; null when absent, empty, or a word for that. */
  text(path: JsonPath, max: number): string | null {
    const value = valueAt(this.#record, path)
    return typeof value === 'string' && saysNothing(value) ? null : this.textOf(value, path, max)
  }

  /** The same for a given value, whose words all count; `path` is for the message. */
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

  /** A whole number within the range; text that spells a number is accepted, and one that says that it is not known is null. */
  integer(path: JsonPath, least: number, greatest: number): number | null {
    return this.#integerOf(valueAt(this.#record, path), path, least, greatest)
  }

  /** A reading in `unit`, which a text may name behind the number: `48,000 km`. A reading in another unit is not converted. */
  odometer(path: JsonPath, unit: DistanceUnit): number | null {
    const distance = splitDistance(valueAt(this.#record, path))
    if (distance.unit !== null && distance.unit !== unit)
      return this.#misfit(
        path,
        `is in ${distance.unit}, but odometers of the rooftop are in ${unit}`,
      )
    // In kilometres too it has to be an integer of Postgres.
    return this.#integerOf(distance.number, path, 0, 1_000_000_000)
  }

  #integerOf(value: unknown, path: JsonPath, least: number, greatest: number): number | null {
    if (value === undefined || value === null || (typeof value === 'string' && isEmpty(value)))
      return null
    const number = typeof value === 'string' ? numberIn(value) : value
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

/** A text's number, where commas and spaces group its digits. `48.000` is not one: it may mean 48 or 48,000. */
function numberIn(text: string): number {
  return /^-?\d[\d\s,]*(\.\d{1,2})?$/.test(text.trim())
    ? Number(text.replaceAll(/[\s,]/g, ''))
    : Number.NaN
}
