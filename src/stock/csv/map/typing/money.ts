import { isCurrencyCode } from '../../../../values/currency-codes.ts'
import {
  decimalText,
  type NumberStyle,
  readQuantity,
  thousandWords,
  type WrittenNumber,
  writtenDigits,
  writtenNumber,
} from './number.ts'
import { type Finding, noValue, type Typed, typed, unreadable } from './typed-row.ts'

/** An amount as written: its digits, and the currency in the cell. */
interface AmountText extends WrittenNumber {
  /** ISO 4217; null when the cell names none, or only a `$`. */
  readonly currency: string | null
}

/** An amount with its currency. */
export interface Money {
  /** Decimal text as `numeric(15,3)` writes it. */
  readonly amount: string
  /** As the cell itself names it; null for none. */
  readonly currency: string | null
}

const currencyWords = new Map([
  ...names('AED', 'aed dhs dh د.إ درهم dirhams'),
  ...names('SAR', 'sar sr ر.س ريال ریال'),
  ...names('QAR', 'qar qr ر.ق'),
  ...names('KWD', 'kwd kd د.ك'),
  ...names('BHD', 'bhd bd د.ب'),
  ...names('OMR', 'omr ro ر.ع'),
  ...names('AUD', 'aud au$ a$ aud$'),
  ...names('USD', 'usd us$ usd$'),
  ...names('NZD', 'nzd nz$'),
  ...names('CAD', 'cad c$ ca$'),
  ...names('GBP', 'gbp £'),
  ...names('EUR', 'eur €'),
  ...names('ZAR', 'zar r'),
  ...names('BRL', 'brl r$'),
  ...names('INR', 'inr rs ₹'),
  ...names('SGD', 's$'),
  ...names('HKD', 'hk$'),
  ...names('MYR', 'rm'),
  ...names('PLN', 'zł'),
  ...names('CZK', 'kč'),
  ...names('TRY', '₺'),
  ...names('KRW', '₩'),
  ...names('THB', '฿'),
  ...names('PHP', '₱'),
])
/** Words beside a price that do not change it. */
const beside = new Set(
  names(
    '',
    `drive away driveaway d a dap egc ono neg negotiable firm only orc on road roads govt charges
     ex excl excluding inc incl including plus gst vat tax $`,
  ).map(([word]) => word),
)
const threeDecimals = new Set(['KWD', 'BHD', 'OMR', 'JOD', 'TND'])

function names(currency: string, words: string): [string, string][] {
  return words.split(/\s+/).map((word) => [word, currency])
}

/** Longer texts are not currencys. */
const longestCurrency = 20

/** The currency that a word or cell names, by ISO code or by a common name; null for none. */
export function findCurrency(text: string): string | null {
  if (text.length > longestCurrency) return null
  const word = text.toLowerCase().trim().replace(/\.$/, '')
  const code = word.toUpperCase()
  return currencyWords.get(word) ?? (isCurrencyCode(code) ? code : null)
}

/** The currency that a common name or code names; null for none. Unlike `currencyOf` it takes no rare code, which may be a word. */
export function usualCurrency(text: string): string | null {
  return text.length > longestCurrency ? null : (currencyWords.get(text.toLowerCase()) ?? null)
}

/** Whether it is a word beside an amount that does not change it. */
export function isBesideAmount(word: string): boolean {
  return beside.has(word) || findCurrency(word) !== null
}

/** Splits an amount; null when the cell has no single number, or words that may change the amount. */
export function readAmount(text: string): AmountText | null {
  const quantity = readQuantity(text)
  if (!quantity) return null
  let currency: string | null = null
  let isThousands = false
  for (const word of quantity.words) {
    if (beside.has(word)) continue
    const named = findCurrency(word)
    if (named !== null) currency = named
    else if (thousandWords.has(word)) isThousands = true
    else return null
  }
  return { ...writtenNumber(quantity, isThousands), currency }
}

/** Whether the currency has three decimals, as those of Kuwait, Bahrain and Oman do. */
export function hasThreeDecimals(currency: string): boolean {
  return threeDecimals.has(currency)
}

/** An amount of money from a cell's plain text, never through a float. Zero stays zero here. */
export function typeMoney(text: string, style: NumberStyle): Typed<Money> {
  const amount = readAmount(text)
  if (!amount) return unreadable(text, 'an amount of money')
  if (amount.isNegative) return noValue(belowZero)
  const value = decimalText(writtenDigits(amount, style))
  if (value === null) return noValue(tooLarge)
  return typed({ amount: value, currency: amount.currency })
}

export const belowZero: Finding = {
  code: 'constraint-error',
  severity: 'error',
  hint: 'the number is below zero: correct the cell or leave it empty',
}
const tooLarge: Finding = {
  code: 'constraint-error',
  severity: 'error',
  hint: 'the amount has more than 12 digits: correct the cell or leave it empty',
}
