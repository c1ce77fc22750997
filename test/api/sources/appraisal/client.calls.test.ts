import { expect, test } from 'vitest'
import type { RooftopAccess } from '#src/api/sources/calls.ts'
import { FakeSource, json } from '../fake-source.ts'
import { alone, clientAt, faultOf, newest, north, south, start } from './client-support.ts'

test.each(['evaluation', 'list', 'users'])(
  '403 on the %s aborts and says what to check',
  async (what) => {
    const { client, source } = await start((response) => json(response, {}, 403))
    const calls: Record<string, (of: RooftopAccess) => Promise<unknown>> = {
      evaluation: (of) => client.getEvaluation(of, 7),
      list: (of) => client.listEvaluations(of, newest),
      users: (of) => client.listUsers(of, { includeInactive: false }),
    }

    const error = await faultOf(calls[what]!(north))
    const single = await faultOf(calls[what]!(alone))

    expect(error).toMatchObject({ errorAction: 'abort', status: 403, rooftopUid: 'uid-north' })
    expect(error.message).toMatch(/key group-au.*uid-north.*X-Dealer-Id/)
    expect(single.message).toContain('key single')
    expect(single.message).not.toContain('X-Dealer-Id')
    expect(source.received).toHaveLength(2)
  },
)

test('400 on the list and on the users aborts', async () => {
  const { client } = await start((response) => json(response, { error: 'bad startdate' }, 400))

  const list = await faultOf(client.listEvaluations(north, newest))
  const users = await faultOf(client.listUsers(north, { includeInactive: false }))

  expect([list.errorAction, users.errorAction]).toEqual(['abort', 'abort'])
  expect(list.message).toContain('"bad startdate"')
})

test('5xx after the retries is tried again later, with both counted', async () => {
  const { client } = await start((response) => json(response, {}, 500), { maxRetries: 2 })
  const seen: boolean[] = []

  const error = await faultOf(
    client.getEvaluation(north, 7, { onAttempt: ({ retry }) => seen.push(retry) }),
  )

  expect(error).toMatchObject({ errorAction: 'retry', status: 500 })
  expect(error.message).toContain(
    'POST /geteval for evaluation 7 of rooftop uid-north (key group-au) answered 500 (3 attempts)',
  )
  expect(seen).toEqual([false, true, true])
  expect(client.counters).toEqual({ requests: 3, retries: 2 })
})

test('the rooftops of a key share its limiter, another key has its own', async () => {
  let now = 0
  let most = 0
  const { client } = await start(
    async (response) => {
      now += 1
      most = Math.max(most, now)
      await new Promise((resolve) => setTimeout(resolve, 10))
      now -= 1
      json(response, [])
    },
    { concurrency: 2 },
  )
  const rooftops = Array.from({ length: 12 }, (_, n) => (n % 2 ? north : south))

  await Promise.all(rooftops.map((rooftop) => client.getEvaluation(rooftop, 7)))
  expect(most).toBe(2)

  most = 0
  const ofBoth = [...rooftops, ...rooftops.map(() => alone)]
  await Promise.all(ofBoth.map((rooftop) => client.getEvaluation(rooftop, 7)))
  expect(most).toBe(4)
})

test('the source clock is read without a key, whatever the status, three days apart', async () => {
  const skew = 3 * 86_400_000
  const { client, source } = await start((response) => {
    const date = new Date(Date.now() + skew).toUTCString()
    response.writeHead(503, { date }).end('<html>')
  })

  await client.measureClock()

  expect(client.clock.measured).toBe(true)
  expect(Math.abs(client.clock.now().getTime() - Date.now() - skew)).toBeLessThan(30_000)
  expect(source.received).toMatchObject([{ method: 'GET', path: '/v1' }])
  expect(source.received[0]!.headers).not.toHaveProperty('authorization')
})

test('without a Date header the clock stays local and says so', async () => {
  const { client } = await start((response) => {
    response.sendDate = false
    response.end()
  })

  await client.measureClock()

  expect(client.clock).toMatchObject({ measured: false, offsetMs: 0 })
})

test('a source that cannot be reached aborts and names the setting', async () => {
  const source = await FakeSource.start(() => {})
  const client = clientAt(source.baseUrl)
  await source[Symbol.asyncDispose]()

  const error = await faultOf(client.measureClock())
  await client.close()

  expect(error.errorAction).toBe('abort')
  expect(error.message).toContain('appraisal.baseUrl')
})

test('an abort between retries ends the call with the reason', async () => {
  const { client, source } = await start((response) =>
    json(response, {}, 429, { 'retry-after': '60' }),
  )
  const controller = new AbortController()
  const call = client.getEvaluation(north, 7, { signal: controller.signal })
  const settled = Promise.allSettled([call])
  await expect.poll(() => source.received.length).toBe(1)
  const reason = new Error('stop')

  controller.abort(reason)

  expect(await settled).toEqual([{ status: 'rejected', reason }])
})
