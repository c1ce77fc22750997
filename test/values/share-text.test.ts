import { expect, test } from 'vitest'
import { shareText } from '#src/values/text.ts'

const percent = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

test.each([
  [0, '0 %'],
  [0.0004, '< 0.1 %'],
  [0.001, '0.1 %'],
  [0.3333, '33.3 %'],
  [0.9996, '> 99.9 %'],
  [1, '100 %'],
  [1.234, '123.4 %'],
  [-0.02, '-2 %'],
])('a share of %d is %s', (share, text) => {
  expect(shareText(share, percent)).toBe(text)
})
