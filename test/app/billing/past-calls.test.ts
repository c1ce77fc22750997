import { expect, test } from 'vitest'
import { allOperations } from '#src/api/contract/operations.ts'
import {
  checkInAnswer,
  checkMadeBy,
  endedAfterMs,
  listedKind,
  longestWait,
  mayStillRun,
  type PastList,
  type UnknownCall,
} from '#src/app/billing/past-calls.ts'

const reserved = new Date('2026-03-10T02:00:00Z')
const after = (seconds: number) => new Date(reserved.getTime() + seconds * 1000)
const check = (ref: string, seconds: number | null) => ({
  ref,
  searchedAt: seconds === null ? null : after(seconds),
})
const list = (checks: PastList['checks'], seconds = 300): PastList => ({
  checks,
  at: after(seconds),
  isDated: true,
})
const listedBefore: UnknownCall = { knownRefs: ['1'], sourceAt: reserved, ageMs: 300_000 }
const unread: UnknownCall = { knownRefs: null, sourceAt: null, ageMs: 300_000 }
const noneTaken = new Set<string>()

test.each([
  ['nothing new', [check('1', -9000)], null],
  ['one that was not there', [check('2', 5), check('1', -9000)], '2'],
  ['of two, the older one', [check('3', 250), check('2', 5), check('1', -9000)], '2'],
  ['one without a time', [check('2', null), check('1', null)], '2'],
  ['one whose time is of another zone', [check('2', -36_000), check('1', -9000)], '2'],
])('with a list from before, the call made the new check: %s', (_, checks, expected) => {
  expect(checkMadeBy(listedBefore, list(checks), noneTaken)).toBe(expected)
})

test.each([
  ['older ones alone', [check('1', -9000)], null],
  ['the first since the reservation', [check('3', 250), check('2', 5), check('1', -9000)], '2'],
  ['within what clocks may differ', [check('2', -240)], '2'],
  ['one without a time', [check('2', null)], '2'],
])('without a list from before, the times decide: %s', (_, checks, expected) => {
  expect(checkMadeBy(unread, list(checks), noneTaken)).toBe(expected)
})

test('a check that another call has made is never counted twice', () => {
  const past = list([check('3', 250), check('2', 5)])

  expect(checkMadeBy(listedBefore, past, new Set(['2']))).toBe('3')
  expect(checkMadeBy(listedBefore, past, new Set(['2', '3']))).toBeNull()
})

test.each([
  ['after a minute', 60, 60_000, true],
  ['when the clock of the source is frozen', 0, 121_000, true],
  ['where the source has jumped ahead', 9000, 60_000, true],
  ['where our clock has jumped ahead', 60, 9_000_000, true],
  ['after two minutes by both clocks', 120, 120_000, false],
])('of two clocks, the shorter time counts: %s', (_, seconds, ageMs, is) => {
  const doubt = { ...listedBefore, ageMs }

  expect(mayStillRun(doubt, list([], seconds), 120_000)).toBe(is)
})

test('for an answer without a date only our own clock counts', () => {
  const undated = { ...list([], 9000), isDated: false }

  expect(mayStillRun({ ...listedBefore, ageMs: 119_000 }, undated, 120_000)).toBe(true)
  expect(mayStillRun({ ...listedBefore, ageMs: 120_000 }, undated, 120_000)).toBe(false)
  expect(mayStillRun({ ...unread, ageMs: 119_000 }, list([], 9000), 120_000)).toBe(true)
})

test.each([
  ['cut off after 5 s', { waitedMs: 5000, hasTimedOut: false }, 5 + 120 + 30],
  ['cut off after 100 s', { waitedMs: 100_000, hasTimedOut: false }, 100 + 120 + 30],
  ['timed out after 120 s', { waitedMs: 120_000, hasTimedOut: true }, 120 + 600],
  ['unseen', longestWait('ppsr', 30), 120 + 600],
  ['unseen, with a longer time-out in the config', longestWait('ppsr', 300), 300 + 600],
])('a call without a listed check had no effect after this time: %s', (_, wait, seconds) => {
  expect(endedAfterMs('ppsr', wait)).toBe(seconds * 1000)
})

test('the checks of two billable operations are listed', () => {
  const billable = allOperations.filter(({ effect }) => effect === 'bill')

  const listed = billable.map(({ name }) => [name, listedKind(name)])

  expect(Object.fromEntries(listed)).toEqual({
    ppsrsearch: 'ppsr',
    carhistory: 'car_history',
    historyCheck: null,
    ppsrNewSearch: null,
    prediction: null,
  })
})

const paidAt = new Date('2026-03-10T02:00:00Z')
const listed = (ref: string, certificateNumber: string | null = null, isOfVehicle = false) => ({
  ...{ ref, certificateNumber, isOfVehicle, searchedAt: null },
  ...{ watchStatus: null, pdfUrl: null, searchNumber: null },
})
const before = { checks: [listed('1', 'C1')], at: paidAt, isDated: true }
const anonymous = { ref: null, certificateNumber: null }

test.each([
  ['the id of the answer', { ref: '3', certificateNumber: null }, ['3', '2', '1'], before, '3'],
  ['the id, without a list from before', { ref: '1', certificateNumber: null }, ['1'], null, '1'],
  ['an id that is not listed yet', { ref: '3', certificateNumber: null }, ['2', '1'], before, null],
  ['no id, one new check', anonymous, ['2', '1'], before, '2'],
  ['no id, nothing new', anonymous, ['1'], before, null],
  ['no id, two new checks', anonymous, ['3', '2', '1'], before, null],
  ['no id, the new check of another call', anonymous, ['other', '1'], before, null],
  ['no id, a new one beside that', anonymous, ['2', 'other', '1'], before, '2'],
  ['no id, without a list from before', anonymous, ['1'], null, null],
  ['a number', { ref: null, certificateNumber: 'C3' }, ['3 C3', '2 C2', '1 C1'], before, '3'],
  [
    'a number, beside an id of another kind',
    { ref: 'x', certificateNumber: 'C3' },
    ['3 C3', '2'],
    before,
    '3',
  ],
  [
    'a number that is not listed yet',
    { ref: null, certificateNumber: 'C3' },
    ['2 C2'],
    before,
    null,
  ],
  [
    'an id, in a list without ids',
    { ref: 'x', certificateNumber: null },
    ['2 - vehicle', '1'],
    before,
    '2',
  ],
] as const)('the check of an answered call: %s', (_, answer, refs, known, expected) => {
  const checks = refs.map((text) => {
    const [ref, number = '-', vehicle] = text.split(' ')
    return listed(ref!, number === '-' ? null : number, vehicle !== undefined)
  })

  const check = checkInAnswer(answer, checks, known, new Set(['other']))

  expect(check?.ref ?? null).toBe(expected)
})
