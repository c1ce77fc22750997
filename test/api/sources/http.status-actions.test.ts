import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { KeyLimiter } from '#src/api/sources/limiter.ts'
import { plainRead } from '#src/api/sources/status-rules.ts'
import { SyncError } from '#src/errors.ts'
import { type Answerer, json } from './fake-source.ts'
import { faultOf, post, withSource } from './http-support.ts'

test.each([
  ['seconds', () => ({ 'retry-after': '1' })],
  [
    'a date of a clock three days ahead',
    () => {
      const theirs = Math.floor(Date.now() / 1000) * 1000 + 3 * 86_400_000
      return {
        date: new Date(theirs).toUTCString(),
        'retry-after': new Date(theirs + 1000).toUTCString(),
      }
    },
  ],
])('every refused call of a key waits for a Retry-After given as %s', async (_form, headers) => {
  // The first answer rests the key, so all three have to be sent before it.
  const held: ServerResponse[] = []
  await withSource(
    (response, _request, n) => {
      if (n > 3) return json(response, { n })
      held.push(response)
      if (n === 3) for (const one of held) json(one, {}, 429, headers())
    },
    async (http) => {
      const limiter = new KeyLimiter({ max: 4 })
      const began = performance.now()
      const elapsed = () => performance.now() - began

      const refused = [1, 2, 3].map(() => http.request(post(limiter)).then(elapsed))
      while (limiter.blockedUntil === null) await new Promise((resolve) => setTimeout(resolve, 2))
      const halved = limiter.concurrency
      const later = http.request(post(limiter)).then(elapsed)

      for (const waited of await Promise.all([...refused, later])) {
        expect(waited).toBeGreaterThanOrEqual(990)
        expect(waited).toBeLessThan(2500)
      }
      expect(halved).toBe(2)
    },
  )
})

// Up to 2 s the key rests; beyond that a 429 delays only its own call.
test.each([
  ['1', true],
  ['3', false],
])('a 429 with Retry-After %s lets the key rest: %j', async (retryAfter, keyRests) => {
  let refusedAt: number | null = null
  const waits: number[] = []
  await withSource(
    (response, { path }, n) => {
      if (path === '/v1/refused' && refusedAt === null) {
        refusedAt = performance.now()
        return json(response, {}, 429, { 'retry-after': retryAfter })
      }
      if (path === '/v1/later') waits.push(performance.now() - refusedAt!)
      return json(response, { n })
    },
    async (http) => {
      const limiter = new KeyLimiter({ max: 4 })
      const cut = Promise.withResolvers<void>()
      let isRefusedPending = true
      const refused = http
        .request({ ...post(limiter), path: '/refused', onAttempt: () => cut.resolve() })
        .finally(() => (isRefusedPending = false))
      await cut.promise
      for (let call = 0; call < 5; call += 1) {
        await http.request({ ...post(limiter), path: '/later' })
      }

      if (keyRests) expect(Math.min(...waits)).toBeGreaterThanOrEqual(990)
      else expect(isRefusedPending).toBe(true)
      expect(waits).toHaveLength(5)
      await refused
    },
  )
})

test('a header that HTTP does not allow is refused at once, without its value', async () => {
  await withSource(
    (response) => json(response, {}),
    async (http, source) => {
      const request = { ...post(), headers: { authorization: 'sekret\nkey' } }

      const error = await faultOf(http.request(request))

      expect(error.errorAction).toBe('abort')
      expect(error.message).not.toContain('sekret')
      expect(source.received).toHaveLength(0)
    },
  )
})

test('an error string is quoted without the key, emails, phone numbers and queries', async () => {
  const text =
    'No access for Bearer sekret-key-1, ask jane.doe@example.com or +61 412 345 678 via https://x.test/a?sig=abc&u=1 ' +
    'z'.repeat(500)
  await withSource(
    (response) => json(response, { error: text, customer: 'Jane' }, 400),
    async (http) => {
      const { message } = await faultOf(http.request(post()))

      expect(message).toContain('answered 400: "No access for')
      for (const secret of ['sekret', 'jane', 'Jane', '412', 'sig', 'abc'])
        expect(message).not.toContain(secret)
      expect(message.length).toBeLessThan(400)
    },
  )
})

test('an abort ends a call at once with its reason: in flight, between retries, in the queue', async () => {
  const answers: Record<string, Answerer> = {
    'in flight': () => {},
    'between retries': (response) => json(response, {}, 503, { 'retry-after': '60' }),
  }
  for (const [name, answer] of Object.entries(answers))
    await withSource(answer, async (http, source) => {
      const limiter = new KeyLimiter({ max: 1 })
      const controller = new AbortController()
      const request = { ...post(limiter), signal: controller.signal }
      const calls = [http.request(request), http.request(request)]
      const settled = Promise.allSettled(calls)
      await expect.poll(() => source.received.length).toBe(1)
      await new Promise((resolve) => setTimeout(resolve, 30))
      const reason = new Error(`stop ${name}`)
      const began = performance.now()

      controller.abort(reason)

      expect(await settled).toEqual(calls.map(() => ({ status: 'rejected', reason })))
      expect(performance.now() - began).toBeLessThan(30_000)
      expect(source.received).toHaveLength(1)
    })
})

test('closing ends what is in flight', async () => {
  await withSource(
    () => {},
    async (http, source) => {
      const call = http.request(post())
      const settled = Promise.allSettled([call])
      await expect.poll(() => source.received.length).toBe(1)

      await http.close()

      expect(await settled).toMatchObject([{ status: 'rejected' }])
    },
  )
})

test('an endpoint may document a status, accept it, and check the body before the retries end', async () => {
  await withSource(
    (response, _request, n) => json(response, { n }, n === 1 ? 409 : n === 2 ? 400 : 200),
    async (http, source) => {
      const contract = { ...plainRead, statuses: { 409: 'another one runs' } }

      const refused = await faultOf(http.request({ ...post(), contract }))
      const accepted = await http.request({ ...post(), accept: [400] })
      const final = new SyncError('skip', 'not this one')
      const validate = () => {
        throw final
      }
      const skipped = await faultOf(http.request({ ...post(), validate }))

      expect(refused).toMatchObject({ errorAction: 'skip', status: 409 })
      expect(refused.message).toMatch(/Documented as: another one runs\.$/)
      expect(accepted.status).toBe(400)
      expect(skipped).toBe(final)
      expect(source.received).toHaveLength(3)
    },
  )
})

test('a bug in the endpoint does not count as a fault of the network', async () => {
  await withSource(
    (response) => json(response, {}),
    async (http, source) => {
      const validate = () => {
        throw new TypeError('bug')
      }

      await expect(http.request({ ...post(), validate })).rejects.toThrow(TypeError)
      expect(source.received).toHaveLength(1)
    },
  )
})
