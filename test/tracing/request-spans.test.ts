import { context, propagation } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { errorType, inSpan, openSpan } from '#src/tracing.ts'
import { json } from '../api/sources/fake-source.ts'
import { faultOf, post, withSource } from '../api/sources/http-support.ts'
import { recordSpans } from './recorded.ts'

test('without an SDK nothing is recorded, and no attribute is made', async () => {
  let made = 0
  const attributes = () => {
    made += 1
    return {}
  }

  const result = await inSpan({ name: 'window users', attributes }, async (span) => {
    span.set(attributes)
    return span.traceparent()
  })

  expect({ made, result }).toEqual({ made: 0, result: {} })
})

test('a request is a span of an HTTP client, without the values of its path', async () => {
  using recorded = recordSpans()
  await withSource(
    (response) => json(response, { ok: true }),
    async (http, source) => {
      const named = { path: '/vehicles/VIN17/prices?token=t0ken', route: '/vehicles/{vin}/prices' }
      await http.request({
        ...post(),
        ...named,
        details: { rooftopUid: 'north', naturalKey: 'VIN17' },
      })

      const [span] = recorded.spans()
      expect(span!.name).toBe('POST /vehicles/{vin}/prices')
      expect(span!.attributes).toEqual({
        'http.request.method': 'POST',
        'url.template': '/vehicles/{vin}/prices',
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(source.baseUrl).port),
        'http.response.status_code': 200,
        'forecourt.rooftop.uid': 'north',
      })
    },
  )
})

test('a body that quotes its request, and a connection that breaks, leave a name in the span', async () => {
  using recorded = recordSpans()
  await withSource(
    (response, { headers }, n) => {
      if (n === 1) json(response, { error: `no ${headers.authorization}` }, 403)
      else response.destroy()
    },
    async (http) => {
      await faultOf(http.request(post()))
      await faultOf(http.request(post()))
    },
    { maxRetries: 0 },
  )

  const errors = recorded.spans().map(({ attributes }) => attributes['error.type'])
  expect(errors).toEqual(['keyRefused', 'noAnswer'])
  expect(JSON.stringify(recorded.spans().map(({ attributes }) => attributes))).not.toContain(
    'sekret',
  )
  expect(errorType('anything thrown')).toBe('unknown')
})

test.each([
  { traceparent: false, sent: 0 },
  { traceparent: true, sent: 1 },
])(
  'traceparent: $traceparent sends it $sent times, and never baggage',
  async ({ traceparent, sent }) => {
    using recorded = recordSpans()
    await withSource(
      (response) => json(response, { ok: true }),
      async (http, source) => {
        const baggage = propagation.createBaggage({ customer: { value: 'Pat Example' } })
        await context.with(propagation.setBaggage(context.active(), baggage), () =>
          http.request(post()),
        )

        const { headers } = source.received[0]!
        const { traceId, spanId } = recorded.spans()[0]!.spanContext()
        expect(headers.traceparent).toBe(sent === 1 ? `00-${traceId}-${spanId}-01` : undefined)
        expect(headers.baggage).toBe(undefined)
      },
      { traceparent },
    )
  },
)

test('a span whose trace is not sampled is the parent of others all the same', async () => {
  using recorded = recordSpans(0)
  const seen = openSpan('run sync').within(() => openSpan('slice users').traceparent())

  expect(seen.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
  expect(recorded.spans()).toEqual([])
})
