import { expect, test } from 'vitest'
import { outcomeOf, throttleOf } from '#src/billing/outcome.ts'
import { runCarHistory, searchPpsr } from '#src/contract/appraisal/checks.ts'
import { SyncError } from '#src/errors.ts'
import { TransportFault } from '#src/sources/http-fault.ts'
import { KeyBlocked } from '#src/sources/limiter.ts'

const transport = (code: string, syscall?: string) =>
  new TransportFault(Object.assign(new Error('x'), { code, syscall }))
/** Of a host name with two addresses. */
const twoAddresses = (...syscalls: string[]) =>
  new TransportFault(
    Object.assign(
      new AggregateError(
        syscalls.map((syscall) => Object.assign(new Error('x'), { code: 'ECONNREFUSED', syscall })),
      ),
      { code: 'ECONNREFUSED' },
    ),
  )

test.each([
  ['a documented refusal', { status: 429 }, 'released'],
  ['any other 4xx', { status: 422 }, 'released'],
  ['an undocumented 502', { status: 502 }, 'unknown'],
  ['a time-out of the other side', { status: 408 }, 'unknown'],
  ['a 2xx that cannot be read', { status: 200 }, 'committed'],
  ['a refused connection', { cause: transport('ECONNREFUSED', 'connect') }, 'released'],
  ['a refusal at both addresses', { cause: twoAddresses('connect', 'connect') }, 'released'],
  ['a name that is not known', { cause: transport('ENOTFOUND', 'getaddrinfo') }, 'released'],
  ['no route to begin with', { cause: transport('EHOSTUNREACH', 'connect') }, 'released'],
  ['a slow connection', { cause: transport('UND_ERR_CONNECT_TIMEOUT') }, 'released'],
  ['a route that is lost later', { cause: transport('EHOSTUNREACH', 'read') }, 'unknown'],
  ['a network that is lost later', { cause: transport('ENETUNREACH', 'write') }, 'unknown'],
  ['a transport fault without a system call', { cause: transport('ENETUNREACH') }, 'unknown'],
  ['a cut connection', { cause: transport('ECONNRESET', 'read') }, 'unknown'],
  ['our own deadline', { cause: new Error('no whole answer') }, 'unknown'],
  ['a blocked key', { cause: new KeyBlocked(new Date()) }, 'released'],
])('%s', (_, details, expected) => {
  const error = new SyncError('abort', 'x', details)

  expect(outcomeOf(error, runCarHistory)).toBe(expected)
})

test.each([
  ['the documented words', '"Failed to get vehicle history"', 'released'],
  ['the same with more around them', '"E12: failed to get the vehicle\'s history."', 'released'],
  ['other words', '"upstream request failed"', 'unknown'],
  ['some of them', '"Failed to get vehicle"', 'unknown'],
  ['none, with the document quoted as advice', null, 'unknown'],
])(
  'a 500 of a report proves an outcome only with the documented text: %s',
  (_, message, expected) => {
    const answered = `POST /carhistory answered 500${message === null ? '' : `: ${message}`} (1 attempt).`
    const error = new SyncError(
      'skip',
      `${answered} Documented as: ${runCarHistory.statuses[500]}.`,
      {
        status: 500,
      },
    )

    expect(outcomeOf(error, runCarHistory)).toBe(expected)
    expect(outcomeOf(error, searchPpsr)).toBe('unknown')
  },
)

test('an error that is not from a source has an unknown outcome', () => {
  expect(outcomeOf(new Error('aborted'), runCarHistory)).toBe('unknown')
})

const answered = (status: number, message: string) =>
  new SyncError('park', `POST /carhistory answered ${status}${message} (1 attempt). ${advice}`, {
    status,
  })
// It quotes the document, which names both reasons.
const advice = `Documented as: ${runCarHistory.statuses[429]}.`

test.each([
  [
    'the text of a running report',
    answered(429, ': "Request in progress, please wait"'),
    'running',
  ],
  ['the text of a daily throttle', answered(429, ': "Daily throttle: no more today"'), 'daily'],
  ['a text that is not known', answered(429, ': "Slow down"'), 'daily'],
  ['no text', answered(429, ''), 'daily'],
  ['another status with that text', answered(400, ': "Request in progress, please wait"'), null],
  ['no answer', new SyncError('abort', 'cut off'), null],
])('a 429 is classified by its text: %s', (_, error, expected) => {
  expect(throttleOf(error, runCarHistory.statuses)).toBe(expected)
})

test('an undocumented 429 is not the daily throttle', () => {
  const error = answered(429, ': "Daily throttle"')

  expect([throttleOf(error, {}), throttleOf(error, searchPpsr.statuses)]).toEqual([null, 'daily'])
})
