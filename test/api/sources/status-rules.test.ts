import { expect, test } from 'vitest'
import { runCarHistory, searchPpsr } from '#src/api/contract/appraisal/checks.ts'
import { allOperations } from '#src/api/contract/operations.ts'
import { TransportFault } from '#src/api/sources/http-exchange.ts'
import { KeyBlocked } from '#src/api/sources/limiter.ts'
import {
  plainRead,
  RequestFault,
  rules,
  type StatusContract,
  statusMeaning,
  waitBeforeRepeat,
  wasAccepted,
} from '#src/api/sources/status-rules.ts'
import { type Meaning, SyncError } from '#src/errors.ts'

const answerOf = (
  status: number,
  text: string | null = null,
  retryAfterMs: number | null = null,
) => ({
  status,
  text,
  retryAfterMs,
})

/** `<meaning>: <error action>, repeated or once, what the key's limiter learns`. */
function ruleText(meaning: Meaning): string {
  const { errorAction, backoff, key } = rules[meaning]
  return `${meaning}: ${errorAction}, ${backoff === null ? 'once' : 'repeated'}, ${key ?? 'nothing of the key'}`
}

/** What an operation makes of its documented statuses, with the documented text. */
function tableOf({ name, ...operation }: StatusContract & { readonly name: string }): string[] {
  return Object.entries(operation.statuses).flatMap(([status, text]) => {
    if (Number(status) < 400) return []
    const meaning = statusMeaning(operation, answerOf(Number(status), text))
    return [`${name} ${status} ${ruleText(meaning)}`]
  })
}

test('what each status means where no document names it', () => {
  const statuses = [302, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 501, 502, 503, 504, 520]
  const lines = statuses.map(
    (status) => `${status} ${ruleText(statusMeaning(plainRead, answerOf(status)))}`,
  )

  expect(lines.join('\n')).toMatchInlineSnapshot(`
    "302 redirected: abort, once, works
    400 requestRefused: abort, once, works
    401 keyRefused: abort, once, works
    403 keyRefused: abort, once, works
    404 noSuchPath: abort, once, works
    408 busy: retry, repeated, fault
    409 requestRefused: abort, once, works
    413 requestRefused: abort, once, works
    422 requestRefused: abort, once, works
    429 throttled: retry, repeated, throttle
    500 busy: retry, repeated, fault
    501 failed: retry, once, fault
    502 busy: retry, repeated, fault
    503 unavailable: retry, repeated, fault
    504 busy: retry, repeated, fault
    520 failed: retry, once, fault"
  `)
})

test('what each documented status means at each operation', async () => {
  const table = allOperations.flatMap(tableOf).join('\n')

  await expect(`${table}\n`).toMatchFileSnapshot('status-table.txt')
})

test('what each failure without a status means', () => {
  const meanings: Meaning[] = [
    'noConnection',
    'noAnswer',
    'brokenRecord',
    'tooLarge',
    'invalidHeader',
    'keyBlocked',
  ]

  expect(meanings.map(ruleText).join('\n')).toMatchInlineSnapshot(`
    "noConnection: retry, repeated, fault
    noAnswer: retry, repeated, fault
    brokenRecord: retry, repeated, nothing of the key
    tooLarge: abort, once, nothing of the key
    invalidHeader: abort, once, nothing of the key
    keyBlocked: retry, once, nothing of the key"
  `)
})

test.each([
  ['a rate limit that names a wait of a minute', 60_000, 'throttled'],
  ['a quota that names tomorrow', 60_001, 'quotaUsed'],
  ['a quota that names no wait', null, 'quotaUsed'],
  ['a quota that names no time', 0, 'quotaUsed'],
] as const)('a documented 429: %s', (_, retryAfterMs, meaning) => {
  expect(statusMeaning(searchPpsr, answerOf(429, 'slow down', retryAfterMs))).toBe(meaning)
  expect(statusMeaning(plainRead, answerOf(429, 'slow down', retryAfterMs))).toBe('throttled')
})

test('a 503 with Retry-After throttles the key, whatever the operation', () => {
  for (const operation of [plainRead, runCarHistory])
    expect(statusMeaning(operation, answerOf(503, null, 0))).toBe('overloaded')
})

test.each([
  ['the text of a running report', 429, 'Request in progress, please wait', 'reportRunning'],
  ['the text of a daily throttle', 429, 'Daily throttle: no more today', 'quotaUsed'],
  ['a text that is not known', 429, 'Slow down', 'quotaUsed'],
  ['no text', 429, null, 'quotaUsed'],
  ['another status with that text', 400, 'Request in progress, please wait', 'recordRefused'],
] as const)('a 429 of a report is classified by its text: %s', (_, status, text, meaning) => {
  expect(statusMeaning(runCarHistory, answerOf(status, text))).toBe(meaning)
})

test('an undocumented 429 is neither the daily throttle nor a running report', () => {
  for (const text of ['Daily throttle', 'Request in progress, please wait'])
    expect(statusMeaning(plainRead, answerOf(429, text))).toBe('throttled')
})

test.each([
  ['the documented words', 'Failed to get vehicle history', 'no'],
  ['the same with more around them', "E12: failed to get the vehicle's history.", 'no'],
  ['other words', 'upstream request failed', 'unknown'],
  ['some of them', 'Failed to get vehicle', 'unknown'],
  ['none', null, 'unknown'],
] as const)(
  'a 500 of a report proves that it was not accepted only with the documented text: %s',
  (_, text, accepted) => {
    expect(rules[statusMeaning(runCarHistory, answerOf(500, text))].accepted).toBe(accepted)
    expect(rules[statusMeaning(searchPpsr, answerOf(500, text))].accepted).toBe('unknown')
  },
)

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
  ['a documented refusal', { meaning: statusMeaning(runCarHistory, answerOf(429)) }, 'no'],
  ['any other 4xx', { meaning: statusMeaning(runCarHistory, answerOf(422)) }, 'no'],
  ['an undocumented 502', { meaning: statusMeaning(runCarHistory, answerOf(502)) }, 'unknown'],
  [
    'a time-out of the other side',
    { meaning: statusMeaning(runCarHistory, answerOf(408)) },
    'unknown',
  ],
  ['a 2xx that cannot be read', { status: 200 }, 'yes'],
  ['a 2xx with a page instead of JSON', { meaning: 'noAnswer', status: 200 }, 'yes'],
  ['a 2xx that is too large', { meaning: 'tooLarge', status: 200 }, 'yes'],
  ['a redirect', { meaning: statusMeaning(runCarHistory, answerOf(303)) }, 'unknown'],
  ['a call that was never sent', {}, 'no'],
  ['a refused connection', transport('ECONNREFUSED', 'connect'), 'no'],
  ['a refusal at both addresses', twoAddresses('connect', 'connect'), 'no'],
  ['a name that is not known', transport('ENOTFOUND', 'getaddrinfo'), 'no'],
  ['no route to begin with', transport('EHOSTUNREACH', 'connect'), 'no'],
  ['a slow connection', transport('UND_ERR_CONNECT_TIMEOUT'), 'no'],
  ['a header that HTTP does not allow', transport('UND_ERR_INVALID_ARG'), 'no'],
  ['a route that is lost later', transport('EHOSTUNREACH', 'read'), 'unknown'],
  ['a network that is lost later', transport('ENETUNREACH', 'write'), 'unknown'],
  ['a transport fault without a system call', transport('ENETUNREACH'), 'unknown'],
  ['a cut connection', transport('ECONNRESET', 'read'), 'unknown'],
  ['our own deadline', new RequestFault('noAnswer', 'no whole answer'), 'unknown'],
  ['a blocked key', new KeyBlocked(new Date()), 'no'],
  ['an unknown cause', { cause: new Error('x') }, 'unknown'],
] as const)('whether a call was accepted: %s', (_, fault, expected) => {
  const details = fault instanceof RequestFault ? { cause: fault, meaning: fault.meaning } : fault

  expect(wasAccepted(new SyncError('abort', 'x', details))).toBe(expected)
})

test('an error that is not from a source shows nothing', () => {
  expect(wasAccepted(new Error('aborted'))).toBe('unknown')
})

test.each([
  ['throttled', 1000, 1000],
  ['throttled', 15 * 60_000, 15 * 60_000],
  ['throttled', 15 * 60_000 + 1, null],
  ['throttled', null, 1000],
  ['throttled', 0, 125],
  ['overloaded', 0, 125],
  ['unavailable', null, 1000],
  ['busy', null, 125],
  ['noAnswer', null, 125],
  ['quotaUsed', null, null],
  ['failed', null, null],
] as const)(
  '%s with a Retry-After of %s ms is repeated after %s ms',
  (meaning, retryAfterMs, waitMs) => {
    expect(waitBeforeRepeat({ meaning, retryAfterMs }, 1, () => 0.5)).toBe(waitMs)
  },
)
