// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references of a config file are the matter here.
import { expect, test } from 'vitest'
import { configOf, oneRooftop, problemsOf } from './config-support.ts'

const marketOf = (text: string, variables: Record<string, string> = {}) =>
  configOf(`prices: { market: ${text} }`, variables).prices.market

test('a variable may be the whole value, or a part of it', () => {
  expect(marketOf('${M}', { M: 'AU' })).toBe('AU')
  expect(marketOf('"a ${M}-${N} b"', { M: 'x', N: 'y' })).toBe('a x-y b')
  expect(marketOf("'${M}'", { M: 'x' })).toBe('x')
})

test('what a variable holds is taken as it is, whatever YAML would make of it', () => {
  for (const value of [
    'a: b # c',
    '{x}',
    '- 1',
    '"',
    "it's",
    '*a',
    '0123',
    'null',
    '$' + '{OTHER}',
  ])
    expect(marketOf('${M}', { M: value })).toBe(value)
})

test('a default holds when the variable is not set or empty, and may be empty itself', () => {
  expect(marketOf('${M:-AU}')).toBe('AU')
  expect(marketOf('${M:-AU}', { M: '' })).toBe('AU')
  expect(marketOf('${M:-AU}', { M: 'US' })).toBe('US')
  expect(marketOf('${M:-}')).toBe(null)
})

test('a doubled dollar sign gives a plain ${', () => {
  expect(marketOf('$${M}')).toBe('${M}')
})

test('numbers, switches and the warehouse may come from the environment', () => {
  const text = `http: { concurrency: $\{N}, timeoutSeconds: $\{T} }
pricing: { reasoning: $\{R} }
links: { keepAliveDays: $\{K:-} }
warehouse: { url: $\{DATABASE_URL:-} }
${oneRooftop}    dealerId: $\{D}
`

  const config = configOf(text, { N: '3', T: '0.5', R: 'true', D: '101' })

  expect(config.http).toMatchObject({ concurrency: 3, timeoutSeconds: 0.5 })
  expect(config.pricing.reasoning).toBe(true)
  expect(config.links.keepAliveDays).toBe(null)
  expect(config.warehouse.url).toBe(null)
  expect(config.rooftops[0]?.dealerId).toBe(101)
})

test('a variable that is not set is an error in a value, and none in a comment', () => {
  expect(problemsOf('# ${NOT_SET}\nprices: {} # ${NOT_SET}\n')).toEqual([])
  expect(problemsOf('prices:\n  batchSize: ${SIZE}\n  market: "${A}${B}"\n')).toEqual([
    'forecourt.yaml:2: prices.batchSize takes the environment variable SIZE, which is not set: set it, or give a default with ${SIZE:-default}.',
    'forecourt.yaml:3: prices.market takes the environment variable A, which is not set: set it, or give a default with ${A:-default}.',
    'forecourt.yaml:3: prices.market takes the environment variable B, which is not set: set it, or give a default with ${B:-default}.',
  ])
})

test('a ${ that begins no reference is an error, not a strange value', () => {
  expect(problemsOf('prices:\n  market: "${not-a-name}"\n')).toEqual([
    'forecourt.yaml:2: prices.market has a "${" that begins no ${NAME} or ${NAME:-default}: mend it, or write "$${" for a plain "${".',
  ])
})

test('a reference moves no line', () => {
  const text = 'prices: { market: ${M} }\n# ${A:-\n# }\nhttp: { concurrency: 0 }\n'

  expect(problemsOf(text, { M: 'a\nb\nc' })).toEqual([
    'forecourt.yaml:4: http.concurrency must be 1 or more.',
  ])
})
