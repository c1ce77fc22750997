import { expect, test } from 'vitest'
import { prefersJson } from '#src/values/accept.ts'
import { secretCheck } from '#src/values/secret.ts'
import { findToken } from '#src/web/links/routes.ts'

test.each([
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['application/json', true],
  ['application/json, text/plain, */*', false],
  ['application/*', true],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', false],
  ['text/html;q=0.5, application/json', true],
  ['application/json;q=0.2, text/html', false],
  ['application/json;q=nonsense', false],
] as const)('Accept %s: JSON %s', (accept, isJson) => {
  expect(prefersJson(accept)).toBe(isJson)
})

test('only the exact token is right', () => {
  const isRight = secretCheck(['the token'])

  expect(isRight('the token')).toBe(true)
  for (const wrong of [null, '', 'the toke', 'the tokenn', 'THE TOKEN'])
    expect(isRight(wrong)).toBe(false)
})

test('a token is a bearer, else the one in the query', () => {
  expect(findToken('Bearer a b ', 'c')).toBe('a b')
  expect(findToken('Basic abc', 'c')).toBe('c')
  expect(findToken(undefined, ['c', 'd'])).toBe(null)
  expect(findToken(undefined, undefined)).toBe(null)
})
