// biome-ignore-all lint/suspicious/noTemplateCurlyInString: config texts with references are tested here.
import { expect, test } from 'vitest'
import { configOf, oneRooftop, problemsOf } from './config-support.ts'

const marketOf = (text: string, variables: Record<string, string> = {}) =>
  configOf(`prices: { market: ${text} }`, variables).prices.market

test('a variable may be the whole value, or a part of it', () => {
  expect(marketOf('${M}', { M: 'AU' })).toBe('AU')
  expect(marketOf('"a ${M}-${N} b"', { M: 'x', N: 'y' })).toBe('a x-y b')
  expect(marketOf("'${M}'", { M: 'x' })).toBe('x')
})

test('the text of a variable is not parsed as YAML', () => {
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

test('a default applies when the variable is not set or empty, and may itself be empty', () => {
  expect(marketOf('${M:-AU}')).toBe('AU')
  expect(marketOf('${M:-AU}', { M: '' })).toBe('AU')
  expect(marketOf('${M:-AU}', { M: 'US' })).toBe('US')
  expect(marketOf('${M:-}')).toBe(null)
})

test('a doubled dollar sign gives a plain ${', () => {
  expect(marketOf('$${M}')).toBe('${M}')
})

test('numbers, booleans and the warehouse may come from the environment', () => {
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

test('a variable that is not set is an error in a value, not in a comment', () => {
  expect(problemsOf('# ${NOT_SET}\nprices: {} # ${NOT_SET}\n')).toEqual([])
  expect(problemsOf('prices:\n  batchSize: ${SIZE}\n  market: "${A}${B}"\n')).toEqual([
    'forecourt.yaml:2: prices.batchSize needs the environment variable SIZE, which is not set: set it or add it to .env beside the config, or give a default with ${SIZE:-default}.',
    'forecourt.yaml:3: prices.market needs the environment variable A, which is not set: set it or add it to .env beside the config, or give a default with ${A:-default}.',
    'forecourt.yaml:3: prices.market needs the environment variable B, which is not set: set it or add it to .env beside the config, or give a default with ${B:-default}.',
  ])
})

test('a ${ without a valid reference is an error', () => {
  expect(problemsOf('prices:\n  market: "${not-a-name}"\n')).toEqual([
    'forecourt.yaml:2: prices.market has a "${" that does not begin ${NAME} or ${NAME:-default}: correct it, or write "$${" for a plain "${".',
  ])
})

test('a reference does not change line numbers', () => {
  const text = 'prices: { market: ${M} }\n# ${A:-\n# }\nhttp: { concurrency: 0 }\n'

  expect(problemsOf(text, { M: 'a\nb\nc' })).toEqual([
    'forecourt.yaml:4: http.concurrency must be 1 or more.',
  ])
})
