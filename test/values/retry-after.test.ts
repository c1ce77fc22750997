import { expect, test } from 'vitest'
import { parseHttpDate, parseRetryAfter } from '#src/values/http-date.ts'

const now = new Date('2026-03-01T12:00:00Z')

test('seconds are seconds', () => {
  expect(parseRetryAfter('0', undefined, now)).toBe(0)
  expect(parseRetryAfter(' 120 ', undefined, now)).toBe(120_000)
  expect(parseRetryAfter('1.5', undefined, now)).toBe(1500)
})

test('a date is measured from the Date header of the same answer, not from our clock', () => {
  const until = 'Wed, 04 Mar 2026 12:00:30 GMT'

  expect(parseRetryAfter(until, 'Wed, 04 Mar 2026 12:00:00 GMT', now)).toBe(30_000)
})

test('a date is measured from our clock when the answer has no Date header', () => {
  const until = 'Sun, 01 Mar 2026 12:00:45 GMT'

  expect(parseRetryAfter(until, undefined, now)).toBe(45_000)
  expect(parseRetryAfter(until, 'nonsense', now)).toBe(45_000)
})

test('a date that has passed asks for no wait', () => {
  expect(parseRetryAfter('Sun, 01 Mar 2026 11:00:00 GMT', undefined, now)).toBe(0)
})

test('an absent or unreadable header asks for no wait', () => {
  for (const header of [undefined, '', 'soon', '-5', '2026-03-01', '1e3', 'Infinity'])
    expect(parseRetryAfter(header, undefined, now)).toBeNull()
})

test('the three forms of an HTTP date are the same instant in any zone', () => {
  const instant = new Date('1994-11-06T08:49:37Z')

  expect(parseHttpDate('Sun, 06 Nov 1994 08:49:37 GMT')).toEqual(instant)
  expect(parseHttpDate('Sunday, 06-Nov-94 08:49:37 GMT')).toEqual(instant)
  expect(parseHttpDate('Sun Nov  6 08:49:37 1994')).toEqual(instant)
})

test('a text that is not a date is null', () => {
  for (const text of [
    '',
    'yesterday',
    '0',
    'Sun, 06 Foo 1994 08:49:37 GMT',
    '1994-11-06T08:49:37Z',
  ])
    expect(parseHttpDate(text)).toBeNull()
  expect(parseHttpDate('Sun, 06 Nov 1994 25:49:37 GMT')).toBeNull()
})
