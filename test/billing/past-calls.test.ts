import { expect, test } from 'vitest'
import {
  checkMadeBy,
  type Doubt,
  listedKindOf,
  mayStillRun,
  type PastList,
} from '#src/billing/past-calls.ts'
import { allOperations } from '#src/contract/operations.ts'

const reserved = new Date('2026-03-10T02:00:00Z')
const after = (seconds: number) => new Date(reserved.getTime() + seconds * 1000)
const check = (ref: string, seconds: number | null) => ({
  ref,
  searchedAt: seconds === null ? null : after(seconds),
})
const list = (checks: PastList['checks'], seconds = 300): PastList => ({
  checks,
  at: after(seconds),
})
const listedBefore: Doubt = { knownRefs: ['1'], sourceAt: reserved, ageMs: 300_000 }
const unread: Doubt = { knownRefs: null, sourceAt: null, ageMs: 300_000 }
const nobody = new Set<string>()

test.each([
  ['nothing new', [check('1', -9000)], null],
  ['one that was not there', [check('2', 5), check('1', -9000)], '2'],
  ['of two, the older one', [check('3', 250), check('2', 5), check('1', -9000)], '2'],
  ['one without a time', [check('2', null), check('1', null)], '2'],
  ['one whose time is of another zone', [check('2', -36_000), check('1', -9000)], '2'],
])('with a list from before, what is new was made by the call: %s', (_, checks, expected) => {
  expect(checkMadeBy(listedBefore, list(checks), nobody)).toBe(expected)
})

test.each([
  ['older ones alone', [check('1', -9000)], null],
  ['the first since the reservation', [check('3', 250), check('2', 5), check('1', -9000)], '2'],
  ['within what clocks may differ', [check('2', -240)], '2'],
  ['one without a time', [check('2', null)], '2'],
])('without a list from before, the times tell: %s', (_, checks, expected) => {
  expect(checkMadeBy(unread, list(checks), nobody)).toBe(expected)
})

test('a check that another call has made is never counted twice', () => {
  const past = list([check('3', 250), check('2', 5)])

  expect(checkMadeBy(listedBefore, past, new Set(['2']))).toBe('3')
  expect(checkMadeBy(listedBefore, past, new Set(['2', '3']))).toBeNull()
})

test.each([
  ['after a minute', 60, 60_000, true],
  ['after two minutes by our clock, where the source stands still', 0, 121_000, false],
  ['after two minutes by the clock of the source', 121, 1000, false],
])('a call may be at work for two minutes: %s', (_, seconds, ageMs, expected) => {
  const doubt = { ...listedBefore, ageMs }

  expect(mayStillRun(doubt, list([], seconds), 'ppsr')).toBe(expected)
})

test('without a time of the source the age of the reservation tells', () => {
  expect(mayStillRun({ ...unread, ageMs: 60_000 }, list([]), 'car_history')).toBe(true)
  expect(mayStillRun({ ...unread, ageMs: 121_000 }, list([]), 'car_history')).toBe(false)
})

test('two of the billable operations leave a list of what they made', () => {
  const billable = allOperations.filter(({ effect }) => effect === 'bill')

  const listed = billable.map(({ name }) => [name, listedKindOf(name)])

  expect(Object.fromEntries(listed)).toEqual({
    ppsrsearch: 'ppsr',
    carhistory: 'car_history',
    historyCheck: null,
    ppsrNewSearch: null,
    prediction: null,
  })
})
