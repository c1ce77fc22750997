import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { Webhooks } from '#src/sandbox/webhooks.ts'
import { defaultWire, wireSettings } from '#src/values/wire.ts'
import { anEvaluation, aRooftop, aUser, worldOf } from '../support/build-world.ts'
import type { AskAs } from './ask.ts'
import { startReceiver } from './receiver.ts'

const now = new Date('2026-03-10T00:00:00Z')
const inOther: AskAs = { rooftop: 'rooftop-2' }

function start(options: SandboxOptions = {}) {
  const rooftops = [aRooftop(), aRooftop({ uid: 'rooftop-2', dealerId: 102 })]
  const evaluations = [
    anEvaluation({ userId: 1 }),
    anEvaluation({ evalId: 2, rooftopUid: 'rooftop-2' }),
  ]
  const world = worldOf({ rooftops, evaluations, users: [aUser()] })
  const clock = new VirtualClock({ start: now, frozen: true })
  return startSandbox({ world, clock, ...options })
}

/** Calls one of the webhook operations; `''` is the collection, else an id. */
async function call(
  sandbox: Sandbox,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  id: number | string,
  body?: object,
  { key = 'partner-au', rooftop = 'rooftop-1' }: AskAs = {},
) {
  const headers = { authorization: key!, 'x-dealer-id': rooftop! }
  const response = await fetch(`${sandbox.baseUrl}/partner/webhooks${id === '' ? '' : `/${id}`}`, {
    method,
    headers: body ? { ...headers, 'content-type': 'application/json' } : headers,
    body: body ? JSON.stringify(body) : null,
  })
  return { status: response.status, json: await response.json() }
}

const onComplete = { type: 'eval', trigger_event: 'ON_COMPLETE', webhook: 'https://example.com/a' }

test.each<[string, object, RegExp]>([
  [
    'a drive event of type eval',
    { trigger_event: 'ON_DRIVE_COMPLETED' },
    /of type drive, not eval/,
  ],
  ['plain http', { webhook: 'http://example.com/hook' }, /has to be an https URL/],
  ['a host that only begins like loopback', { webhook: 'http://127.0.0.1.example.com' }, /https/],
  ['another scheme', { webhook: 'ftp://localhost/hook' }, /https/],
  ['a password in the URL', { webhook: 'https://a:b@example.com' }, /user name or password/],
  ['a header name alone', { auth_header_name: 'X-Token' }, /belong together/],
  ['a header value alone', { auth_header_value: 'x' }, /belong together/],
  [
    'a blank in the name',
    { auth_header_name: 'X Token', auth_header_value: 'x' },
    /auth_header_name/,
  ],
  ['a header of HTTP itself', { auth_header_name: 'Host', auth_header_value: 'x' }, /of your own/],
  [
    'a line break in the value',
    { auth_header_name: 'A', auth_header_value: 'a\r\nb' },
    /valid value of an HTTP header/,
  ],
  [
    'a blank at the end',
    { auth_header_name: 'A', auth_header_value: 'a ' },
    /valid value of an HTTP header/,
  ],
])('%s is a 400 that says so, on create and on update', async (_name, wrong, says) => {
  await using sandbox = await start()
  const refused = await call(sandbox, 'POST', '', { ...onComplete, ...wrong })

  expect(refused).toEqual({ status: 400, json: { error: expect.stringMatching(says) } })
  await call(sandbox, 'POST', '', onComplete)
  expect((await call(sandbox, 'PUT', 1, wrong)).status).toBe(400)
  expect((await call(sandbox, 'GET', '')).json).toEqual([
    { id: 1, ...onComplete, auth_header_name: null },
  ])
})

test('names of records and bodies follow the wire settings', async () => {
  await using receiver = await startReceiver()
  const wire = wireSettings.parse({
    appraisal: {
      webhook: { items: 'data.webhooks', id: 'hookId', triggerEvent: 'event.name' },
      webhookBody: { evaluation: 'payload', driveId: 'drive.ref', driveEvalId: 'appraisal' },
    },
  })
  await using sandbox = await start({ wire })
  const { json } = await call(sandbox, 'POST', '', { ...onComplete, webhook: receiver.url })
  const drive = { type: 'drive', trigger_event: 'ON_DRIVE_COMPLETED', webhook: receiver.url }
  await call(sandbox, 'POST', '', drive)

  sandbox.webhooks.trigger('ON_COMPLETE', 1001)
  sandbox.webhooks.trigger('ON_DRIVE_COMPLETED', 1001)
  await sandbox.webhooks.idle()

  expect(json).toMatchObject({ hookId: 1, event: { name: 'ON_COMPLETE' } })
  expect((await call(sandbox, 'GET', '')).json).toEqual({
    data: { webhooks: [json, expect.anything()] },
  })
  const bodies = receiver.received.map((one) => one.json)
  expect(bodies).toContainEqual({ payload: expect.objectContaining({ EvalID: 1001 }) })
  expect(bodies).toContainEqual(
    expect.objectContaining({ drive: { ref: expect.any(Number) }, appraisal: 1001 }),
  )
})

test('what the receiver answers is logged, a redirect is not followed and nothing is sent twice', async () => {
  const closedPort = 'http://127.0.0.1:1/'
  await using broken = await startReceiver((response) => response.writeHead(500).end('no'))
  await using moved = await startReceiver((response) =>
    response.writeHead(307, { location: closedPort }).end(),
  )
  await using cut = await startReceiver((response) => response.destroy())
  await using sandbox = await start()
  for (const webhook of [`${broken.url}/in?a=1`, moved.url, cut.url, closedPort])
    await call(sandbox, 'POST', '', { ...onComplete, webhook })

  const begun = sandbox.webhooks.trigger('ON_COMPLETE', 1001)
  await sandbox.webhooks.idle()

  expect(begun.map(({ status, error }) => [status, error])).toEqual(Array(4).fill([null, null]))
  const about = { event: 'ON_COMPLETE', evalId: 1001, at: now }
  const some = expect.any(String)
  const refused = expect.stringContaining('ECONNREFUSED')
  expect(sandbox.webhooks.deliveries()).toEqual([
    { id: 1, subscriptionId: 1, ...about, url: `${broken.url}/in?a=1`, status: 500, error: null },
    { id: 2, subscriptionId: 2, ...about, url: moved.url, status: 307, error: null },
    { id: 3, subscriptionId: 3, ...about, url: cut.url, status: null, error: some },
    { id: 4, subscriptionId: 4, ...about, url: closedPort, status: null, error: refused },
  ])
  expect([broken, moved, cut].map(({ received }) => received.length)).toEqual([1, 1, 1])
  expect(broken.received[0]!.path).toBe('/in?a=1')
})

test('deliveries can be lost and doubled by plan', async () => {
  await using receiver = await startReceiver()
  await using sandbox = await start()
  await call(sandbox, 'POST', '', { ...onComplete, webhook: receiver.url })
  await call(sandbox, 'POST', '', { ...onComplete, webhook: receiver.url }, inOther)
  sandbox.webhooks.plan = ({ evalId }) => (evalId === 2 ? 'lose' : 'double')

  sandbox.webhooks.trigger('ON_COMPLETE', 2)
  sandbox.webhooks.trigger('ON_COMPLETE', 1001)
  await sandbox.webhooks.idle()

  expect(receiver.received.map(({ json }) => json)).toMatchObject([
    { EvalID: 1001 },
    { EvalID: 1001 },
  ])
  expect(sandbox.webhooks.deliveries()).toMatchObject([
    { evalId: 2, status: null, error: expect.stringContaining('Lost') },
    { evalId: 1001, status: 200, error: null },
    { evalId: 1001, status: 200, error: null },
  ])
})

test('a delivery has the evaluation as it was at the event', async () => {
  await using receiver = await startReceiver()
  await using sandbox = await start()
  await call(sandbox, 'POST', '', { ...onComplete, webhook: receiver.url })

  sandbox.webhooks.trigger('ON_COMPLETE', 1001)
  sandbox.world.edit(1001, now, { finalPrice: 1 })
  await sandbox.webhooks.idle()

  expect(receiver.received[0]!.json).toMatchObject({ FinalPrice: 23_500 })
})

test('closing ends a delivery to a receiver that never answers', async () => {
  await using receiver = await startReceiver(() => {})
  const sandbox = await start()
  await call(sandbox, 'POST', '', { ...onComplete, webhook: receiver.url })
  sandbox.webhooks.trigger('ON_COMPLETE', 1001)
  await expect.poll(() => receiver.received.length).toBe(1)

  await sandbox.close()

  expect(sandbox.webhooks.deliveries()).toMatchObject([
    { status: null, error: 'The sandbox was closed' },
  ])
})

test('a delivery to a slow receiver ends at the time-out', async () => {
  await using receiver = await startReceiver(() => {})
  const world = worldOf({ evaluations: [anEvaluation()] })
  const rendering = { wire: defaultWire.appraisal, photoBaseUrl: '', listCarriesUpdatedAt: true }
  const clock = new VirtualClock({ start: now, frozen: true })
  const webhooks = new Webhooks({ world, clock, rendering, timeoutMs: 50 })
  const auth = { authHeaderName: null, authHeaderValue: null }
  webhooks.add({
    rooftopUid: 'rooftop-1',
    type: 'eval',
    event: 'ON_COMPLETE',
    url: receiver.url,
    ...auth,
  })

  webhooks.trigger('ON_COMPLETE', 1001)
  await webhooks.idle()

  expect(webhooks.deliveries()).toMatchObject([{ error: 'The receiver took too long' }])
  await webhooks.close()
})

test('an event of an unknown evaluation is an error', async () => {
  await using sandbox = await start()

  expect(() => sandbox.webhooks.trigger('ON_COMPLETE', 5)).toThrow('no evaluation 5')
})
