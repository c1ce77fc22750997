import { expect, test } from 'vitest'
import { normalisePrice, pricingContent } from '#src/streams/pricing/normalise.ts'
import { daysUntilDue } from '#src/streams/pricing/pricing.ts'
import { contentHash } from '#src/values/content-hash.ts'
import { sydneyRooftop } from '../../support/golden-evaluation.ts'

const body = {
  confidence: 'high',
  prediction_date: '2026-03-10',
  prices: { retail: 25_000, wholesale: 0, wholesale_low: null },
  currency_symbol: '$',
  evalId: 4711,
}
const record = (changes: object = {}, currency = 'AUD') =>
  normalisePrice({ ...body, ...changes }, 4711, { ...sydneyRooftop, currency })

test('a price of 0 is 0, one that is null or left out is null', () => {
  expect(record().prices).toEqual({
    retail: '25000.000',
    wholesale: '0.000',
    wholesale_low: null,
    wholesale_high: null,
    buy_to_retail: null,
    quick_sale: null,
    sweet_spot: null,
  })
})

test('prices, currency and confidence make another observation; the day and the reasoning do not', () => {
  const { valueHash } = record()
  const same = [
    record({ prediction_date: '2026-03-11' }),
    record({ reasoning: { status: 'completed', dealer: ['a'], customer: [] } }),
    record({ another: 'field' }),
  ]
  const others = [
    record({ prices: { ...body.prices, retail: 25_001 } }),
    record({ prices: { ...body.prices, wholesale: null } }),
    record({ confidence: 'low' }),
    record({}, 'USD'),
  ]

  for (const one of same) expect(one.valueHash.equals(valueHash)).toBe(true)
  for (const one of others) expect(one.valueHash.equals(valueHash)).toBe(false)
})

test.for([
  ['AUD', '$', null],
  ['AUD', 'A$', null],
  ['AUD', 'AUD', null],
  ['USD', '$', null],
  ['KWD', 'KWD', null],
  ['KWD', 'د.ك.‏', null],
  ['AED', '$', '$'],
  ['AUD', '€', '€'],
] as const)('%s written as %s: strange is %s', ([currency, symbol, strange]) => {
  expect(record({ currency_symbol: symbol }, currency).strangeSymbol).toBe(strange)
})

test('insights may be a list of texts, one text, or of an undocumented shape', () => {
  const insights = (dealer: unknown) =>
    record({ reasoning: { status: 'completed', dealer, customer: null } }).insights

  expect(insights(['one', 'two']).dealer).toEqual(['one', 'two'])
  expect(insights('one').dealer).toEqual(['one'])
  expect(insights([{ text: 'one' }]).dealer).toEqual(['{"text":"one"}'])
  expect(insights(null)).toEqual({ dealer: [], customer: [] })
})

test('a payload is stored again when it has changed, not when a day has passed or reasoning begins', () => {
  const hash = (changes: object) => contentHash(pricingContent({ ...body, ...changes }))
  const stored = hash({})

  expect(hash({ prediction_date: '2026-03-11' }).equals(stored)).toBe(true)
  expect(hash({ reasoning: { status: 'processing' } }).equals(stored)).toBe(true)
  expect(hash({ reasoning: { status: 'completed', dealer: ['a'] } }).equals(stored)).toBe(false)
  expect(hash({ extra: 1 }).equals(stored)).toBe(false)
})

test('an older appraisal is priced less often, and after a year not at all', () => {
  const days = [0, 7, 7.1, 30, 31, 90, 91, 365, 366].map(daysUntilDue)

  expect(days).toEqual([1, 1, 3, 3, 7, 7, 28, 28, null])
})
