import { expect, test } from 'vitest'
import { outcomeOf } from '#src/billing/outcome.ts'
import { runCarHistory } from '#src/contract/appraisal/checks.ts'
import { SyncError } from '#src/errors.ts'
import { TransportFault } from '#src/sources/http-fault.ts'
import { KeyBlocked } from '#src/sources/limiter.ts'

const transport = (code: string) => new TransportFault(Object.assign(new Error('x'), { code }))

test.each([
  ['a documented refusal', { status: 429 }, 'released'],
  ['any other 4xx', { status: 422 }, 'released'],
  ['a documented 500', { status: 500 }, 'released'],
  ['an undocumented 502', { status: 502 }, 'unknown'],
  ['a time-out of the other side', { status: 408 }, 'unknown'],
  ['a 2xx that cannot be read', { status: 200 }, 'committed'],
  ['a refused connection', { cause: transport('ECONNREFUSED') }, 'released'],
  ['a cut connection', { cause: transport('ECONNRESET') }, 'unknown'],
  ['our own deadline', { cause: new Error('no whole answer') }, 'unknown'],
  ['a blocked key', { cause: new KeyBlocked(new Date()) }, 'released'],
])('%s', (_, details, expected) => {
  const error = new SyncError('abort', 'x', details)

  expect(outcomeOf(error, runCarHistory.statuses)).toBe(expected)
})

test('what is no fault of a source is not known to be unbilled', () => {
  expect(outcomeOf(new Error('aborted'), runCarHistory.statuses)).toBe('unknown')
})
