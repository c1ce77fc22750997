import { type DistanceUnit, findDistanceUnit } from '../../../../values/distance-unit.ts'
import { belowZero } from './money.ts'
import {
  type NumberStyle,
  readQuantity,
  thousands,
  thousandWords,
  type WrittenNumber,
  writtenDigits,
  writtenNumber,
} from './number.ts'
import { noValue, type Typed, typed, unreadable } from './typed-row.ts'

/** A distance in kilometres, with the original reading. */
interface Odometer {
  readonly km: number
  /** As written, in `unit`. */
  readonly reading: number
  readonly unit: DistanceUnit
}

/** A distance as written: its digits, and the unit in the cell. */
interface DistanceText extends WrittenNumber {
  /** As the cell itself names it; null for none. */
  readonly unit: DistanceUnit | null
}

const kmPerMile = 1.609344
const greatest = 9_999_999
/** Hardly a vehicle for sale has run more kilometres: it is a sum, or a typing error. */
export const maxKm = 1_000_000
const thousandKm = new Set(['tkm', 'tkms', 'kkm', 'kkms'])
/** Words beside a reading that do not change it. */
const beside = new Set(['approx', 'approximately', 'showing', 'indicated'])

/** Splits a distance; null when the cell has no single number. */
export function readDistance(text: string): DistanceText | null {
  const quantity = readQuantity(text)
  if (!quantity) return null
  let unit: DistanceUnit | null = null
  let isThousands = false
  for (const word of quantity.words) {
    const named = findDistanceUnit(word)
    if (named !== null) unit = named
    else if (thousandWords.has(word)) isThousands = true
    else if (thousandKm.has(word)) [unit, isThousands] = ['km', true]
    else if (!beside.has(word)) return null
  }
  return { ...writtenNumber(quantity, isThousands), unit }
}

/** Kilometres from a cell's plain text; the cell's own unit wins over the column's. */
export function typeOdometer(
  text: string,
  unit: DistanceUnit,
  style: NumberStyle = thousands,
): Typed<Odometer> {
  const distance = readDistance(text)
  if (!distance) return unreadable(text, 'an odometer reading')
  if (distance.isNegative) return noValue(belowZero)
  const { whole, fraction } = writtenDigits(distance, style)
  const reading = Math.round(Number(`${whole}.${fraction || '0'}`))
  if (reading > greatest)
    return noValue({
      code: 'constraint-error',
      severity: 'error',
      hint: 'the distance is too large: correct the cell or leave it empty',
    })
  const cellUnit = distance.unit ?? unit
  return typed({
    km: cellUnit === 'km' ? reading : Math.round(reading * kmPerMile),
    reading,
    unit: cellUnit,
  })
}
