import { expect, test } from 'vitest'
import { findMarket, skipReason } from '#src/streams/stock-prices/stock-prices.ts'

const settings = (market: string | null = null, apiKey: string | null = 'key') => ({
  vehicleData: { apiKey },
  prices: { batchSize: 500, market },
})

test.for([
  ['AU', 'AUD', 'AU'],
  ['GCC', 'AED', 'AE'],
  ['GCC', 'SAR', 'SA'],
  ['GCC', 'QAR', 'QA'],
  ['GCC', 'KWD', 'KW'],
  ['GCC', 'BHD', 'BH'],
  ['GCC', 'OMR', 'OM'],
] as const)('a rooftop of %s that counts in %s is priced in %s', ([region, currency, country]) => {
  expect(findMarket({ region, currency }, settings().prices)).toBe(country)
  expect(skipReason({ region, currency }, settings())).toBeNull()
})

test('prices.market wins over the currency of the rooftop', () => {
  expect(findMarket({ region: 'GCC', currency: 'AED' }, settings(' sa ').prices)).toBe('SA')
})

test('a currency of no GCC country needs prices.market', () => {
  const place = { region: 'GCC', currency: 'USD' } as const

  expect(skipReason(place, settings())).toBe(
    'its stock is not priced: USD is not the currency of a GCC country, so set prices.market in the config',
  )
  expect(skipReason(place, settings('AE'))).toBeNull()
})

test('the US is not covered, whatever the config says', () => {
  const refusal = skipReason({ region: 'US', currency: 'USD' }, settings('AU'))

  expect(refusal).toMatch(/^its stock cannot be priced: the vehicle-data APIs cover Australia and/)
})

test('without a key nothing is priced', () => {
  expect(skipReason({ region: 'AU', currency: 'AUD' }, settings(null, null))).toBe(
    'its stock is not priced: set vehicleData.apiKey in the config',
  )
})
