import { expect, test } from 'vitest'
import type { AttemptReport, SentRequest } from '#src/api/sources/http.ts'
import { KeyLimiter } from '#src/api/sources/limiter.ts'
import { plainRead } from '#src/api/sources/status-rules.ts'
import { json } from './fake-source.ts'
import { faultOf, post, withSource } from './http-support.ts'

const aWrite = { ...plainRead, repeatable: false }

test('a read is repeated until it is answered, and every request is counted and reported', async () => {
  const statuses = [500, 502, 503]
  await withSource(
    (response, _request, n) => json(response, { n }, statuses[n - 1] ?? 200),
    async (http, source) => {
      const reports: AttemptReport[] = []

      const answer = await http.request({ ...post(), onAttempt: (report) => reports.push(report) })

      expect(answer).toMatchObject({ status: 200, text: '{"n":4}', attempts: 4 })
      expect(source.received).toHaveLength(4)
      expect({ requests: http.requests, retries: http.retries }).toEqual({
        requests: 4,
        retries: 3,
      })
      expect(reports).toEqual([
        { path: '/read', status: 500, retry: false },
        { path: '/read', status: 502, retry: true },
        { path: '/read', status: 503, retry: true },
        { path: '/read', status: 200, retry: true },
      ])
    },
  )
})

test.each([408, 429, 500, 502, 503, 504])(
  'status %i ends with the action retry after the retries',
  async (status) => {
    await withSource(
      (response) => json(response, {}, status),
      async (http, source) => {
        const error = await faultOf(http.request(post()))

        expect(error).toMatchObject({ errorAction: 'retry', status })
        expect(error.message).toContain(`POST /read answered ${status} (4 attempts).`)
        expect(source.received).toHaveLength(4)
      },
    )
  },
)

test.each([
  [400, 'abort'],
  [401, 'abort'],
  [403, 'abort'],
  [404, 'abort'],
  [302, 'abort'],
  [501, 'retry'],
])('status %i is not repeated, errorAction %s', async (status, errorAction) => {
  await withSource(
    (response) => json(response, {}, status, { location: 'http://other.test/?token=t0ken' }),
    async (http, source) => {
      const error = await faultOf(http.request(post()))

      expect(error).toMatchObject({ errorAction, status })
      expect(error.message).not.toContain('other.test')
      expect(source.received).toHaveLength(1)
    },
  )
})

test('a write is sent once, whatever happens', async () => {
  await withSource(
    (response, _request, n) => (n === 1 ? json(response, {}, 503) : void response.destroy()),
    async (http, source) => {
      const refused = await faultOf(http.request({ ...post(), contract: aWrite }))
      const reset = await faultOf(http.request({ ...post(), contract: aWrite }))

      expect([refused.errorAction, reset.errorAction]).toEqual(['abort', 'abort'])
      expect(reset.message).toContain('it may have taken effect: check at the source')
      expect(source.received).toHaveLength(2)
    },
  )
})

test('a Retry-After beyond 15 minutes ends the call at once, and the key sends nothing more', async () => {
  await withSource(
    (response) => json(response, {}, 429, { 'retry-after': '3600' }),
    async (http, source) => {
      const limiter = new KeyLimiter({ max: 4 })

      const first = await faultOf(http.request(post(limiter)))
      const second = await faultOf(http.request(post(limiter)))

      expect(first).toMatchObject({ errorAction: 'retry', status: 429 })
      expect(first.message).toContain('asked to wait 3600 s')
      expect(second).toMatchObject({ errorAction: 'retry', status: undefined })
      expect(second.message).toMatch(/was not sent: the source asked to wait until \d{4}-.*\(0 att/)
      expect(source.received).toHaveLength(1)
    },
  )
})

test.each([
  [429, {}, 495, 3000],
  [503, {}, 495, 3000],
  [503, { 'retry-after': '0' }, 60, 450],
  [500, {}, 60, 450],
])(
  'after status %i with headers %j the next attempt waits %i to %i ms',
  async (status, headers, least, most) => {
    const arrivals: number[] = []
    await withSource(
      (response, _request, n) => {
        arrivals.push(performance.now())
        json(response, {}, n === 1 ? status : 200, headers)
      },
      async (http) => {
        await http.request(post())

        const waited = arrivals[1]! - arrivals[0]!
        expect(waited).toBeGreaterThanOrEqual(least)
        expect(waited).toBeLessThan(most)
      },
      { random: () => 0.25 },
    )
  },
)

test('the log gets every request, and nothing secret', async () => {
  const sent: SentRequest[] = []
  await withSource(
    (response, _request, n) => (n === 1 ? json(response, {}, 500) : json(response, {})),
    async (http) => {
      const details = { rooftopUid: 'rooftop-1' }
      await http.request({ ...post(), path: '/read?token=t0ken', details })

      const same = { method: 'POST', path: '/read', ms: expect.any(Number), details }
      expect(sent).toEqual([
        { ...same, status: 500, attempt: 1 },
        { ...same, status: 200, attempt: 2 },
      ])
    },
    { log: (line) => sent.push(line) },
  )
})
