import { expect, onTestFinished, test, vi } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { FaultPlan, type FaultRule } from '#src/sandbox/faults.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { ask, listIds } from './ask.ts'

const start = (...faults: FaultRule[]) =>
  startSandbox({
    faults,
    clock: new VirtualClock({ start: new Date('2026-03-10T00:00:00Z'), frozen: true }),
    world: worldOf({
      evaluations: [1, 2, 3, 4, 5].map((id) =>
        anEvaluation({ evalId: id, createdAt: `2026-03-0${id}T00:00:00Z` }),
      ),
    }),
  })
const list = '/getevallist'

test('status sends the status, headers and body of the rule', async () => {
  await using sandbox = await start({
    fault: { kind: 'status', status: 503, body: { error: 'down' }, headers: { 'x-why': 'test' } },
  })

  const answer = await ask(sandbox, list)
  expect(answer).toMatchObject({ status: 503, json: { error: 'down' } })
  expect(answer.headers.get('x-why')).toBe('test')
})

test.each([
  ['seconds', 7, '7'],
  ['a date', new Date('2026-03-10T00:00:07Z'), 'Tue, 10 Mar 2026 00:00:07 GMT'],
  ['nothing', null, null],
])('tooMany sends %s in Retry-After', async (_name, retryAfter, header) => {
  await using sandbox = await start({ fault: { kind: 'tooMany', retryAfter } })

  const answer = await ask(sandbox, list)
  expect(answer.status).toBe(429)
  expect(answer.headers.get('retry-after')).toBe(header)
})

test('reset cuts the connection without an answer', async () => {
  await using sandbox = await start({ fault: { kind: 'reset' }, times: 1 })

  await expect(ask(sandbox, list)).rejects.toThrow('fetch failed')
  expect((await ask(sandbox, list)).status).toBe(200)
  expect(sandbox.requests.entries().map(({ status }) => status)).toEqual([0, 200])
})

test('slow answers after the wait, and does not hold up close', async () => {
  const sandbox = await start({ fault: { kind: 'slow', ms: 40 }, times: 1 })
  const startedAt = performance.now()

  expect(await listIds(sandbox)).toHaveLength(5)
  expect(performance.now() - startedAt).toBeGreaterThan(35)
  sandbox.faults.add({ fault: { kind: 'slow', ms: 60_000 } })
  const pending = ask(sandbox, list).catch(() => 'cut')
  while (sandbox.requests.inFlightMax() < 1) await new Promise(setImmediate)
  await new Promise((resolve) => setTimeout(resolve, 20))
  await sandbox.close()
  expect(await pending).toBe('cut')
})

test('a request delayed by slow is answered as soon as the rule is removed', async () => {
  await using sandbox = await start()
  for (const end of ['remove', 'clear'] as const) {
    const slow = sandbox.faults.add({ fault: { kind: 'slow', ms: 600_000 } })
    const pending = listIds(sandbox)
    while (slow.hits < 1) await new Promise(setImmediate)

    if (end === 'remove') slow.remove()
    else sandbox.faults.clear()

    expect(await pending).toHaveLength(5)
  }
})

test('truncate sends a valid start with its own content-length', async () => {
  await using sandbox = await start({ match: { nth: [2] }, fault: { kind: 'truncate' } })
  const whole = await ask(sandbox, list)
  const cut = await ask(sandbox, list)

  expect(cut.status).toBe(200)
  expect(cut.json).toBeUndefined()
  expect(whole.text.startsWith(cut.text)).toBe(true)
  expect(cut.headers.get('content-length')).toBe(String(cut.text.length))
})

test('html and empty are 200', async () => {
  await using sandbox = await start(
    { match: { path: '/getevallist' }, fault: { kind: 'html' } },
    { match: { path: '/v1/getuserlist' }, fault: { kind: 'empty' } },
  )

  const html = await ask(sandbox, '/getevallist')
  expect(html.status).toBe(200)
  expect(html.headers.get('content-type')).toContain('text/html')
  expect(await ask(sandbox, '/getuserlist')).toMatchObject({ status: 200, text: '' })
})

test('oversize pads the answer to the given size, and it is still JSON', async () => {
  await using sandbox = await start({ fault: { kind: 'oversize', bytes: 300_000 } })

  const { text, json } = await ask(sandbox, list)
  expect(text).toHaveLength(300_000)
  expect(json).toHaveLength(5)
})

test.each([
  ['newest', [4, 5]],
  ['oldest', [1, 2]],
] as const)('listCap keeps the %s and says nothing', async (order, expected) => {
  await using sandbox = await start({ fault: { kind: 'listCap', cap: 2, order } })

  expect(await listIds(sandbox)).toEqual(expected)
  expect((await ask(sandbox, '/geteval', { evalid: 3 })).status).toBe(200)
})

test('listCap arbitrary keeps some, always the same, and leaves short lists alone', async () => {
  await using sandbox = await start({ fault: { kind: 'listCap', cap: 3, order: 'arbitrary' } })

  const first = await listIds(sandbox)
  expect(first).toHaveLength(3)
  expect(await listIds(sandbox)).toEqual(first)
  expect(await listIds(sandbox, { enddate: Date.UTC(2026, 2, 3) / 1000 })).toEqual([1, 2])
})

test('a rule hits only the requests that it matches', async () => {
  await using sandbox = await start(
    { match: { path: '/geteval', evalId: 2 }, fault: { kind: 'status', status: 500 } },
    { match: { rooftopUid: 'other' }, fault: { kind: 'status', status: 501 } },
    { match: { key: 'other' }, fault: { kind: 'status', status: 502 } },
  )
  const read = async (evalid: number) => (await ask(sandbox, '/geteval', { evalid })).status

  expect([await read(1), await read(2), await read(3)]).toEqual([200, 500, 200])
  const other = await ask(sandbox, list, undefined, { rooftop: 'other' })
  expect(other.status).toBe(501)
})

test('nth and times count the requests that match', async () => {
  await using sandbox = await start(
    { match: { path: list, nth: [1, 3] }, fault: { kind: 'status', status: 500 } },
    { match: { path: list }, times: 1, fault: { kind: 'status', status: 429 } },
  )

  const statuses: number[] = []
  for (let i = 0; i < 5; i++) statuses.push((await ask(sandbox, list)).status)
  expect(statuses).toEqual([500, 429, 500, 200, 200])
})

test('a rule can be removed, and all can be cleared', async () => {
  await using sandbox = await start()
  const handle = sandbox.faults.add({ fault: { kind: 'status', status: 500 } })

  expect((await ask(sandbox, list)).status).toBe(500)
  expect(handle.hits).toBe(1)
  handle.remove()
  expect((await ask(sandbox, list)).status).toBe(200)
  sandbox.faults.add({ fault: { kind: 'status', status: 500 } })
  sandbox.faults.clear()
  expect((await ask(sandbox, list)).status).toBe(200)
})

test('probability is seeded', () => {
  const strikes = (seed: number) => {
    const plan = new FaultPlan([{ probability: 0.3, fault: { kind: 'empty' } }], seed)
    const target = { path: list, rooftopUid: null, key: null, evalId: undefined }
    return Array.from({ length: 200 }, () => plan.nextFault(target) !== undefined)
  }

  expect(strikes(1)).toEqual(strikes(1))
  expect(strikes(1)).not.toEqual(strikes(2))
  expect(strikes(1).filter(Boolean).length).toBeGreaterThan(35)
  expect(strikes(1).filter(Boolean).length).toBeLessThan(85)
})

test('a hard limit hits what exceeds it in any second', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const plan = new FaultPlan([{ beyondPerSecond: 3, fault: { kind: 'tooMany' } }])
  const target = { path: list, rooftopUid: null, key: null, evalId: undefined }
  const refusedOf = (requests: number) =>
    Array.from({ length: requests }, () => plan.nextFault(target)).filter(Boolean).length

  expect(refusedOf(2)).toBe(0)
  vi.advanceTimersByTime(500)
  expect(refusedOf(5)).toBe(4)
  vi.advanceTimersByTime(500)
  expect(refusedOf(3)).toBe(1)
})
