import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { ask } from './ask.ts'
import { startReceiver } from './receiver.ts'

const now = new Date('2026-03-10T00:00:00Z')

function start() {
  const evaluations = [anEvaluation(), anEvaluation({ evalId: 2, completedAt: null })]
  const clock = new VirtualClock({ start: now, frozen: true })
  return startSandbox({ world: worldOf({ evaluations }), clock })
}

/** Calls a control: `GET /clock`; without any key. */
async function control(sandbox: Sandbox, call: string, body?: unknown) {
  const [method, path] = call.split(' ')
  const response = await fetch(`${new URL(sandbox.baseUrl).origin}/sandbox${path}`, {
    method: method!,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  })
  return { status: response.status, json: await response.json() }
}

test('the clock can be read, advanced and set', async () => {
  await using sandbox = await start()
  const at = (iso: string) => ({ status: 200, json: { now: iso } })

  expect(await control(sandbox, 'GET /clock')).toEqual(at('2026-03-10T00:00:00.000Z'))
  expect(await control(sandbox, 'POST /clock', { advanceSeconds: 90.5 })).toEqual(
    at('2026-03-10T00:01:30.500Z'),
  )
  expect(await control(sandbox, 'POST /clock', { set: '2027-01-01T02:00:00+02:00' })).toEqual(
    at('2027-01-01T00:00:00.000Z'),
  )
  expect(sandbox.clock.now()).toEqual(new Date('2027-01-01T00:00:00Z'))
})

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['neither', {}],
  ['both', { advanceSeconds: 1, set: '2027-01-01T00:00:00Z' }],
  ['a text for a number', { advanceSeconds: '1' }],
  ['an instant without a zone', { set: '2027-01-01T00:00:00' }],
  ['more than a date can hold', { advanceSeconds: 1e15 }],
])('a move of the clock by %s is a 400 that moves nothing', async (_name, body) => {
  await using sandbox = await start()

  expect(await control(sandbox, 'POST /clock', body)).toEqual({
    status: 400,
    json: { error: expect.any(String) },
  })
  expect(sandbox.clock.now()).toEqual(now)
})

test.each([
  ['export', 'eval', 'ON_EXPORT'],
  ['drive', 'drive', 'ON_DRIVE_COMPLETED'],
] as const)('an %s is delivered to its subscribers', async (name, type, event) => {
  await using receiver = await startReceiver()
  await using sandbox = await start()
  await ask(sandbox, '/partner/webhooks', { type, trigger_event: event, webhook: receiver.url })

  const sent = await control(sandbox, `POST /${name}`, { evalid: 1001 })
  await sandbox.webhooks.idle()
  const { json } = await control(sandbox, 'GET /deliveries')

  const delivery = { id: 1, subscriptionId: 1, event, evalId: 1001, url: receiver.url }
  expect(sent).toMatchObject({ status: 200, json: { deliveries: [delivery] } })
  expect(receiver.received).toMatchObject([{ json: { EvalID: 1001 } }])
  expect(json).toEqual({
    deliveries: [{ ...delivery, at: now.toISOString(), status: 200, error: null }],
  })
})

test('an export without a subscription delivers nothing', async () => {
  await using sandbox = await start()

  expect(await control(sandbox, 'POST /export', { evalid: 1001 })).toEqual({
    status: 200,
    json: { deliveries: [] },
  })
})

test.each([
  ['unknown', { evalid: 5 }],
  ['in progress', { evalid: 2 }],
  ['a text', { evalid: '1001' }],
  ['missing', {}],
])('an export of an evaluation that is %s is a 400', async (_name, body) => {
  await using sandbox = await start()

  const { status, json } = await control(sandbox, 'POST /export', body)
  expect(status).toBe(400)
  expect(json).toEqual({ error: expect.any(String) })
})

test('a fault of an unknown kind is answered with the kinds there are', async () => {
  await using sandbox = await start()

  const { status, json } = await control(sandbox, 'POST /faults', { fault: { kind: 'teapot' } })

  expect(status).toBe(400)
  expect(json).toEqual({
    error:
      'fault.kind: has to be one of status, tooMany, reset, slow, truncate, html, empty, listCap, oversize',
  })
})

test('requests are counted by path, and controls are not among them', async () => {
  await using sandbox = await start()
  await ask(sandbox, '/getevallist')
  await ask(sandbox, '/getevallist')
  await ask(sandbox, '/entervim')
  await control(sandbox, 'GET /clock')
  await control(sandbox, 'GET /nothing')

  expect((await control(sandbox, 'GET /requests')).json).toEqual({
    total: 3,
    paths: { '/entervim': 1, '/getevallist': 2 },
  })
})

test('a fault can be added and all can be cleared', async () => {
  await using sandbox = await start()
  const rule = {
    match: { path: '/getevallist' },
    times: 5,
    fault: { kind: 'tooMany', retryAfter: '2026-03-10T00:05:00Z' },
  }

  expect((await control(sandbox, 'POST /faults', rule)).status).toBe(200)
  const struck = await ask(sandbox, '/getevallist')
  const untouched = await ask(sandbox, '/getuserlist')
  await control(sandbox, 'DELETE /faults')
  const after = await ask(sandbox, '/getevallist')

  expect([struck.status, untouched.status, after.status]).toEqual([429, 200, 200])
  expect(struck.headers.get('retry-after')).toBe('Tue, 10 Mar 2026 00:05:00 GMT')
})

test.each<[string, unknown, RegExp]>([
  ['no fault', {}, /fault/],
  ['an unknown kind', { fault: { kind: 'flood' } }, /fault/],
  ['a status that is none', { fault: { kind: 'status', status: 42 } }, /fault\.status/],
  ['a misspelt match', { match: { paths: '/x' }, fault: { kind: 'html' } }, /match.*paths/],
  ['a probability above 1', { probability: 2, fault: { kind: 'html' } }, /probability/],
])('a fault rule with %s is a 400 that names it', async (_name, rule, says) => {
  await using sandbox = await start()

  const { status, json } = await control(sandbox, 'POST /faults', rule)
  expect(status).toBe(400)
  expect(json).toEqual({ error: expect.stringMatching(says) })
  expect((await ask(sandbox, '/getevallist')).status).toBe(200)
})

test('an unknown control is a 404 in JSON', async () => {
  await using sandbox = await start()

  expect(await control(sandbox, 'PUT /clock', {})).toEqual({
    status: 404,
    json: { error: expect.stringContaining('PUT /sandbox/clock') },
  })
})
