import { request } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { framings, statusesOfLargeBody } from '../../support/large-body.ts'
import { former, openWebhookFixture, secret, type WebhookFixture } from './webhook-fixture.ts'

const hint = {
  EvalID: 1001,
  DealerID: 101,
  UpdatedAt: '2026-03-09T22:00:00Z',
  Secret: 'Pat Example',
}

function open(
  webhooks: Parameters<typeof openWebhookFixture>[1] = {},
  requestTimeoutMs?: number,
): Promise<WebhookFixture> {
  const rooftops = [aRooftop(), aRooftop({ uid: 'rooftop-2', dealerId: 102 })]
  return openWebhookFixture(
    { world: worldOf({ rooftops, evaluations: [anEvaluation()] }) },
    webhooks,
    requestTimeoutMs,
  )
}

const inbox = ({ rows }: WebhookFixture) =>
  rows(`select event, rooftop_uid as rooftop, eval_id, state, duplicates, body is null as "isBare", issue
    from ops.webhook_delivery left join core.rooftop using (rooftop_id) order by delivery_id`)

/** Sends bytes as they are, and returns all that comes back. */
function sendRaw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(Number(port), hostname, () => socket.write(text))
    socket.on('data', (data) => {
      answer += String(data)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(answer))
  })
}

test('a delivery is answered once it is in the inbox, without its body, and its duplicate is counted', async () => {
  await using receiver = await open()

  const answers = [
    await receiver.post(hint, { path: '/webhooks/ON_COMPLETE/rooftop-1' }),
    await receiver.post(hint, { path: '/webhooks/ON_COMPLETE/rooftop-1' }),
    await receiver.post(
      { ...hint, UpdatedAt: '2026-03-09T22:00:01Z' },
      { path: '/webhooks/on_export' },
    ),
    await receiver.post([hint]),
  ]

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect(await Promise.all(answers.map((answer) => answer.json()))).toEqual([
    { status: 'accepted' },
    { status: 'duplicate' },
    { status: 'accepted' },
    { status: 'accepted' },
  ])
  const row = { rooftop: 'rooftop-1', eval_id: 1001, state: 'waiting', issue: null, isBare: true }
  expect(await inbox(receiver)).toEqual([
    { ...row, event: 'ON_COMPLETE', duplicates: 1 },
    { ...row, event: 'ON_EXPORT', duplicates: 0 },
    { ...row, event: 'not told', duplicates: 0 },
  ])
  expect(receiver.logged.join()).not.toMatch(/Pat Example|canary/)
})

test('a delivery that the sender cannot correct is stored with a reason, and answered 200', async () => {
  await using receiver = await open()

  await receiver.post({ ...hint, DealerID: 999 })
  await receiver.post({ DealerID: 101, note: 'no id' })
  await receiver.post('"text"', { path: '/webhooks/ON_COMPLETE/rooftop-2' })
  await receiver.post({ ...hint, DealerID: 102 }, { path: '/webhooks/ON_COMPLETE/rooftop-1' })
  const drive = { DriveID: 5, EvalID: 1001, at: 'any shape' }
  await receiver.post(drive, { path: '/webhooks/ON_DRIVE_COMPLETED/rooftop-1' })

  expect(await inbox(receiver)).toMatchObject(
    [
      { rooftop: null, eval_id: 1001, state: 'unusable', issue: /DealerID 999/, isBare: false },
      { rooftop: 'rooftop-1', eval_id: null, state: 'unusable', issue: /names no evaluation/ },
      { rooftop: 'rooftop-2', eval_id: null, state: 'unusable', isBare: false },
      // The dealership in the body wins over the address.
      { rooftop: 'rooftop-2', eval_id: 1001, state: 'waiting', issue: null, isBare: true },
      { rooftop: 'rooftop-1', eval_id: 1001, state: 'kept', issue: null, isBare: false },
    ].map((row) =>
      row.issue instanceof RegExp ? { ...row, issue: expect.stringMatching(row.issue) } : row,
    ),
  )
  const [stored] = await receiver.rows("select body from ops.webhook_delivery where state = 'kept'")
  expect(stored!['body']).toEqual(drive)
})

test('the secret and the previous one are accepted, and nothing else', async () => {
  await using receiver = await open({ previousAuthHeaderValue: former })
  const post = async (token: string) =>
    (await receiver.post(hint, { headers: { 'x-forecourt-token': token } })).status

  expect(await post(secret)).toBe(200)
  expect(await post(former)).toBe(200)
  expect(await post(`${secret}x`)).toBe(401)
  expect(await post(secret.slice(0, -1))).toBe(401)
  expect(await post('')).toBe(401)
  expect(await inbox(receiver)).toHaveLength(1)
})

test.each<
  [string, number, Parameters<WebhookFixture['post']>[1] & { body?: string; method?: string }]
>([
  ['a form', 415, { headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
  ['text', 415, { headers: { 'content-type': 'text/plain' } }],
  ['another charset', 415, { headers: { 'content-type': 'application/json; charset=utf-16' } }],
  ['a compressed body', 415, { headers: { 'content-encoding': 'gzip' } }],
  ['broken JSON', 400, { body: '{"EvalID": 10' }],
  ['no body', 400, { body: '' }],
  ['a body that is too deep', 400, { body: '['.repeat(50_000) + ']'.repeat(50_000) }],
  ['a body that is too large', 413, { body: JSON.stringify({ text: 'x'.repeat(1024 * 1024) }) }],
  ['an unknown path', 404, { path: '/webhooks/ON_COMPLETE/rooftop-1/more' }],
])('%s is a %i and leaves nothing behind', async (_name, status, { body, ...more }) => {
  await using receiver = await open()

  expect((await receiver.post(body ?? hint, more)).status).toBe(status)
  expect(await inbox(receiver)).toEqual([])
})

test.for(framings)(
  'a large body of %s is answered 413 while it is sent, and read to its end',
  async (framing) => {
    await using receiver = await open()

    const headers = ['content-type: application/json', `x-forecourt-token: ${secret}`]
    const statuses = await statusesOfLargeBody(`${receiver.url}/webhooks`, headers, framing)

    expect(statuses).toEqual([413, 404])
  },
)

test('a body with more evaluations than the limit is refused, the answer names the limit, and no query is made', async () => {
  await using receiver = await open()
  const ids = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ EvalID: index + 1 }))
  await receiver.context.pool.query('alter table ops.webhook_delivery rename to away')

  const flood = await receiver.post(ids(50_000))
  const above = await receiver.post(ids(101))
  await receiver.context.pool.query('alter table ops.away rename to webhook_delivery')
  const most = await receiver.post(ids(100))
  const same = await receiver.post(Array.from({ length: 50_000 }, () => ({ EvalID: 7 })))

  expect([flood, above, most, same].map(({ status }) => status)).toEqual([413, 413, 200, 200])
  expect(await flood.json()).toEqual({ error: 'a body names at most 100 evaluations' })
  expect(await inbox(receiver)).toHaveLength(101)
})

test.each(['GET', 'PUT', 'DELETE', 'PATCH'])('%s is a 405', async (method) => {
  await using receiver = await open()
  const answer = await fetch(`${receiver.url}/webhooks`, { method })

  expect(answer.status).toBe(405)
  expect(answer.headers.get('allow')).toBe('POST')
})

test('a forged call is refused before its body is read', async () => {
  await using receiver = await open()
  const head = 'POST /webhooks HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n'

  // The body that is announced never comes.
  const answer = await sendRaw(receiver.url, `${head}content-length: 900000\r\n\r\n`)

  expect(answer).toContain('HTTP/1.1 401')
  expect(answer.toLowerCase()).toContain('connection: close')
})

test('a flood of forged calls is cut off, and a genuine one among them is accepted', async () => {
  await using receiver = await open()
  const forged = Array.from({ length: 200 }, () =>
    receiver.post(hint, { headers: { 'x-forecourt-token': 'wrong' } }).then(
      ({ status }) => status,
      () => null,
    ),
  )

  const taken = await receiver.post(hint)

  const answers = await Promise.all(forged)
  expect(taken.status).toBe(200)
  expect(new Set(answers)).toEqual(new Set([401, null]))
  expect(receiver.logged.filter((line) => line.includes('refused')).length).toBeLessThan(20)
})

test('a sender that is too slow is cut off and leaves nothing behind', async () => {
  await using receiver = await open({}, 2_000)
  const { hostname, port } = new URL(receiver.url)
  const headers = { 'content-type': 'application/json', 'x-forecourt-token': secret }

  const status = await new Promise((resolve) => {
    const call = request({ hostname, port, path: '/webhooks', method: 'POST', headers })
    call.on('response', (answer) => resolve(answer.statusCode))
    call.on('error', () => resolve('cut off'))
    const drip = setInterval(() => call.write(' '), 500)
    call.on('close', () => clearInterval(drip))
  })

  expect([408, 'cut off']).toContain(status)
  expect(await inbox(receiver)).toEqual([])
})

test('while the warehouse is down the sender is asked to try again, and the delivery is accepted then', async () => {
  await using receiver = await open()
  const { pool } = receiver.context
  await pool.query('alter table ops.webhook_delivery rename to away')
  const refused = await receiver.post(hint)
  await pool.query('alter table ops.away rename to webhook_delivery')

  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('30')
  expect((await receiver.post(hint)).status).toBe(200)
})
