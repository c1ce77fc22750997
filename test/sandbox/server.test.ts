import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { worldOf } from '../support/build-world.ts'
import { framings, statusesOfLargeBody } from '../support/large-body.ts'
import { ask } from './ask.ts'

const start = () => startSandbox({ world: worldOf() })

test('every answer carries the Date of the virtual clock', async () => {
  const clock = new VirtualClock({ start: new Date('2031-05-06T07:08:09Z'), frozen: true })
  await using sandbox = await startSandbox({ world: worldOf(), clock })
  const dates = async () => {
    const answers = [
      await ask(sandbox, '/getevallist'),
      await ask(sandbox, '/getevallist', '{'),
      await ask(sandbox, '/nothing'),
    ]
    return new Set(answers.map(({ headers }) => headers.get('date')))
  }

  expect(await dates()).toEqual(new Set(['Tue, 06 May 2031 07:08:09 GMT']))
  clock.advance(86_400_000)
  expect(await dates()).toEqual(new Set(['Wed, 07 May 2031 07:08:09 GMT']))
})

test('anything unknown is a 404 in JSON', async () => {
  await using sandbox = await start()

  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/geteval'],
    ['POST', '/nothing'],
    ['DELETE', '/getevallist'],
  ] as const) {
    const response = await fetch(sandbox.baseUrl + path, { method })
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toContain('application/json')
    expect(await response.json()).toEqual({ error: expect.any(String) })
  }
})

test.each([
  ['text/plain', '{}'],
  ['application/x-www-form-urlencoded', 'evalid=1'],
  ['nonsense', '{}'],
  ['application/json', '\u0000'],
  ['application/json', 'null'],
  ['application/json', '"text"'],
  ['application/json', `{"evalid":${'9'.repeat(400)}}`],
  ['application/json', `{"vin":"${'x'.repeat(2_000_000)}"}`],
])('a body of type %s that is not the JSON asked for is a 4xx in JSON', async (type, body) => {
  await using sandbox = await start()

  const headers = { 'content-type': type, authorization: 'partner-au', 'x-dealer-id': 'rooftop-1' }
  const response = await fetch(`${sandbox.baseUrl}/geteval`, { method: 'POST', headers, body })
  expect(response.status).toBeGreaterThanOrEqual(400)
  expect(response.status).toBeLessThan(500)
  expect(await response.json()).toEqual({ error: expect.any(String) })
})

test.for(framings)(
  'a large body of %s is answered 413 while it is sent, and read to its end',
  async (framing) => {
    await using sandbox = await start()

    const headers = ['content-type: application/json', 'authorization: partner-au']
    const statuses = await statusesOfLargeBody(`${sandbox.baseUrl}/geteval`, headers, framing)

    expect(statuses).toEqual([413, 404])
  },
)

test('an empty body of type JSON counts as no body', async () => {
  await using sandbox = await start()

  expect((await ask(sandbox, '/getevallist', '')).json).toEqual([])
})

test('the error of a used port names the port and what to do', async () => {
  await using sandbox = await start()

  await expect(startSandbox({ world: worldOf(), port: sandbox.port })).rejects.toThrow(
    new RegExp(`port ${sandbox.port} on 127\\.0\\.0\\.1 is taken.*choose another --port`),
  )
})

test('the log counts every request and keeps what was asked', async () => {
  await using sandbox = await start()
  await ask(sandbox, '/getevallist', { startdate: 5 })
  await ask(sandbox, '/geteval', { evalid: 1 })
  await ask(sandbox, '/geteval', undefined, { key: 'wrong', rooftop: null })

  const { requests } = sandbox
  expect([requests.count(), requests.count('/geteval'), requests.count('/x')]).toEqual([3, 2, 0])
  expect(requests.entries('/getevallist')).toEqual([
    {
      path: '/getevallist',
      key: 'partner-au',
      rooftopUid: 'rooftop-1',
      body: { startdate: 5 },
      status: 200,
      at: expect.any(Date),
    },
  ])
  expect(requests.entries().at(-1)).toMatchObject({ key: null, rooftopUid: null, status: 403 })
  requests.reset()
  expect(requests.count()).toBe(0)
})

test('the log counts requests to unknown paths', async () => {
  await using sandbox = await start()
  await ask(sandbox, '/entervim?x=1', { vin: 'A' })

  expect(sandbox.requests.entries('/entervim')).toMatchObject([
    { key: 'partner-au', rooftopUid: 'rooftop-1', body: { vin: 'A' }, status: 404 },
  ])
})

test('the sandbox can be closed twice', async () => {
  await using sandbox = await start()

  await sandbox.close()
  await expect(fetch(sandbox.baseUrl)).rejects.toThrow('fetch failed')
})

test('the log has the largest number of requests of a key in flight at once', async () => {
  await using sandbox = await start()
  sandbox.faults.add({ fault: { kind: 'slow', ms: 100 } })

  await Promise.all(Array.from({ length: 4 }, () => ask(sandbox, '/getevallist')))
  expect(sandbox.requests.inFlightMax('partner-au')).toBe(4)
  expect(sandbox.requests.inFlightMax()).toBe(4)
})

test('a frozen clock moves only by a call, and a running one also without', async () => {
  const start = new Date('2026-01-01T00:00:00Z')
  const clock = new VirtualClock({ start, frozen: true })
  const pause = () => new Promise((resolve) => setTimeout(resolve, 15))

  await pause()
  expect(clock.now()).toEqual(start)
  clock.run()
  await pause()
  clock.freeze()
  const moved = clock.now().getTime() - start.getTime()
  expect(moved).toBeGreaterThanOrEqual(10)
  clock.set(start)
  clock.advance(-1000)
  expect(clock.now()).toEqual(new Date('2025-12-31T23:59:59Z'))
})
