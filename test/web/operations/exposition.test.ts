import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { type RequestEnded, requestEnded, sliceEnded } from '#src/telemetry.ts'
import { gaugeRegistry, gauges } from '#src/web/operations/gauges.ts'
import { endpointNames, openProcessMetrics } from '#src/web/operations/operations.ts'
import { keySamples } from '#src/web/operations/samples.ts'
import { faultsOf, parseExposition, seriesOf } from './exposition.ts'

const config = makeConfig({}, '/nowhere')
const request: RequestEnded = {
  ...{ service: 'appraisal', keyName: 'group-au', method: 'POST', path: '/geteval' },
  ...{ status: 200, seconds: 0.3, attempt: 1 },
}

test('requests are counted by endpoint, status class and key, and repeats among them', async () => {
  using counted = openProcessMetrics(config)

  requestEnded.publish(request)
  requestEnded.publish({ ...request, status: 503, attempt: 2 })
  requestEnded.publish({ ...request, status: 429 })
  requestEnded.publish({ ...request, status: null, seconds: 31 })

  const series = seriesOf(await counted.registry.metrics())
  const of = 'service="appraisal",endpoint="/geteval"'
  const sent = (status: string) =>
    series.get(`forecourt_requests_total{${of},key="group-au",status="${status}"}`)
  expect(['2xx', '5xx', '429', 'none', '4xx'].map(sent)).toEqual([1, 1, 1, 1, undefined])
  expect(series.get(`forecourt_request_retries_total{${of},key="group-au"}`)).toBe(1)
  expect(series.get(`forecourt_request_duration_seconds_bucket{le="0.25",${of}}`)).toBe(0)
  expect(series.get(`forecourt_request_duration_seconds_bucket{le="30",${of}}`)).toBe(3)
  expect(series.get(`forecourt_request_duration_seconds_count{${of}}`)).toBe(4)
})

test('a path with an id has no separate series, nor has an undocumented path', () => {
  const nameOf = endpointNames(config.wire)
  const of = (change: Partial<RequestEnded>) => nameOf({ ...request, ...change })

  expect(of({})).toBe('/geteval')
  expect(of({ method: 'PUT', path: '/partner/webhooks/8812' })).toBe('/partner/webhooks/{id}')
  expect(of({ service: 'vehicle-data', method: 'GET', path: '/v1/price-batch/b-7f3a' })).toBe(
    '/v1/price-batch/{batchId}',
  )
  expect(of({ path: '/customers/jane' })).toBe('other')
  expect(of({ service: 'vehicle-data' })).toBe('other')
})

test('slices are counted by stream and outcome, and their records by outcome', async () => {
  using counted = openProcessMetrics(config)
  const none = { inserted: 0, updated: 0, unchanged: 0, quarantined: 0, vanished: 0 }

  const rows = { ...none, inserted: 5, quarantined: 1, listed: 6, windows: 2 }
  sliceEnded.publish({ stream: 'evaluations', outcome: 'done', rows })
  sliceEnded.publish({
    stream: 'users',
    outcome: 'fenced',
    rows: { ...none, listed: 0, windows: 0 },
  })

  const series = seriesOf(await counted.registry.metrics())
  const found = [...series].filter(([name]) => /^forecourt_(slices|rows|windows|rec)/.test(name))
  expect(Object.fromEntries(found.filter(([, value]) => value > 0))).toEqual({
    'forecourt_slices_total{stream="evaluations",outcome="done"}': 1,
    'forecourt_slices_total{stream="users",outcome="fenced"}': 1,
    'forecourt_rows_total{stream="evaluations",outcome="inserted"}': 5,
    'forecourt_rows_total{stream="evaluations",outcome="quarantined"}': 1,
    'forecourt_records_listed_total{stream="evaluations"}': 6,
    'forecourt_windows_total{stream="evaluations"}': 2,
  })
})

test('disposed metrics no longer count', async () => {
  const counted = openProcessMetrics(config)

  counted[Symbol.dispose]()
  requestEnded.publish(request)

  expect(await counted.registry.metrics()).not.toContain('forecourt_requests_total{')
})

test('every metric has a conventional name and a help text, and a metric without a value is left out', async () => {
  using counted = openProcessMetrics(config)
  const names = Object.keys(gauges) as (keyof typeof gauges)[]
  const samples = names.map((gauge) => {
    const labels = Object.fromEntries(gauges[gauge].labels.map((label) => [label, `a "b" \\ c`]))
    return { gauge, labels, value: 1 }
  })

  const families = parseExposition(
    `${await counted.registry.metrics()}\n${await gaugeRegistry(samples).metrics()}`,
  )

  expect(faultsOf(families)).toEqual([])
  expect([...families.keys()].filter((name) => name.startsWith('forecourt_')).length).toBe(
    names.length + 10,
  )
  expect(await gaugeRegistry([{ gauge: 'forecourt_rooftops', value: 3 }]).metrics()).toBe(
    `# HELP forecourt_rooftops ${gauges.forecourt_rooftops.help}\n# TYPE forecourt_rooftops gauge\nforecourt_rooftops 3\n`,
  )
})

test('a key is blocked for the rest of the time that the source asked to wait', () => {
  const counts = { inFlight: 2, waiting: 7, concurrency: 4, processes: 3 }
  const key = { key: 'appraisal/group-au', ...counts }
  const of = (blockedUntil: Date | null, perSecond: number | null) =>
    Object.fromEntries(
      keySamples([{ ...key, blockedUntil, perSecond }]).map(({ gauge, value }) => [gauge, value]),
    )

  expect(of(null, null)).toEqual({
    forecourt_requests_in_flight: 2,
    forecourt_requests_waiting: 7,
    forecourt_key_processes: 3,
    forecourt_request_concurrency_limit: 4,
    forecourt_key_blocked_seconds: 0,
  })
  expect(of(new Date(Date.now() - 5000), 25)).toMatchObject({
    forecourt_key_blocked_seconds: 0,
    forecourt_request_rate_limit: 25,
  })
  const left = of(new Date(Date.now() + 3_600_000), 25)['forecourt_key_blocked_seconds']!
  expect(left > 3500 && left <= 3600).toBe(true)
})

test('a text that is not well-formed is refused by the reader of these tests', () => {
  const head = '# HELP a b\n# TYPE a gauge\n'
  for (const broken of [
    `${head}a 1`,
    `${head}a one\n`,
    `${head}a 1\na 2\n`,
    `${head}b 1\n`,
    `${head}a{x="1} 1\n`,
    `a 1\n`,
    `${head}${head}`,
    '# TYPE a gauge\na 1\n',
  ])
    expect(() => parseExposition(broken), broken).toThrow()
  expect([...seriesOf(`${head}a{x="1"} 1\na{x="2"} NaN\n`)]).toHaveLength(2)
})
