import { expect, test } from 'vitest'
import { normaliseStockPrice } from '#src/streams/stock-prices/normalise.ts'

const none = {
  reference: 'S-1',
  retail: null,
  retailLow: null,
  retailHigh: null,
  wholesale: null,
  wholesaleLow: null,
  wholesaleHigh: null,
  currency: null,
  error: null,
}
const noPrices = {
  retail: null,
  retail_low: null,
  retail_high: null,
  wholesale: null,
  wholesale_low: null,
  wholesale_high: null,
}

test('0 is a price of 0, what is left out is none, and three decimals are stored', () => {
  const record = normaliseStockPrice({ ...none, retail: 0, wholesaleLow: 7.1255, currency: 'KWD' })

  expect(record).toEqual({
    prices: { ...noPrices, retail: '0.000', wholesale_low: '7.125' },
    currency: 'KWD',
    strangeCurrency: null,
    error: null,
  })
})

test('an error leaves no prices, even if the result holds some', () => {
  const error = `not priced\0 ${'x'.repeat(300)}`

  const record = normaliseStockPrice({ ...none, retail: 5, error })

  expect(record.prices).toEqual(noPrices)
  expect(record.error).toMatch(/^not priced\uFFFD x+$/)
  expect(record.error).toHaveLength(200)
})

test('a result without price and error is an error, and so is a price that does not fit', () => {
  expect(normaliseStockPrice(none).error).toBe('the result holds neither a price nor an error')
  expect(normaliseStockPrice({ ...none, retail: 1, wholesale: 1e15 })).toMatchObject({
    prices: noPrices,
    error: 'wholesale is larger than numeric(15,3) holds',
  })
})

test('a currency is three letters, upper or lower case; a symbol is none', () => {
  expect(normaliseStockPrice({ ...none, currency: ' aud ' })).toMatchObject({
    currency: 'AUD',
    strangeCurrency: null,
  })
  expect(normaliseStockPrice({ ...none, currency: 'A$' })).toMatchObject({
    currency: null,
    strangeCurrency: 'A$',
  })
})
