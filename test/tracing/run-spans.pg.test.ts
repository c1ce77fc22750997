import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { allOperations } from '#src/api/contract/operations.ts'
import { allStreams } from '#src/streams/all.ts'
import { defaultWire } from '#src/values/wire.ts'
import { openFixture } from '../support/fixture.ts'
import { pathOf, recordSpans, textOf } from './recorded.ts'

const world = { now: new Date('2026-03-20T02:15:00Z'), rooftops: 3, evaluations: 120, days: 4 }

test('a sync is a tree of spans: run, slices, windows, and every request of them', async () => {
  await using fixture = await openFixture({ sandbox: world, streams: allStreams })
  using recorded = recordSpans()
  const report = await fixture.night()

  const spans = recorded.spans()
  const paths = spans.map((span) => pathOf(span, spans).join(' > '))
  const requests = spans.filter(({ kind }) => kind === SpanKind.CLIENT)
  const run = spans.find(({ name }) => name === 'run sync')!
  expect(new Set(paths.map((path) => path.split(' > ')[0]))).toEqual(new Set(['run sync']))
  expect(paths).toEqual(
    expect.arrayContaining([
      ...['run sync', 'run sync > GET /', 'run sync > slices evaluations'],
      'run sync > slice evaluations > window evaluations > POST /getevallist',
      'run sync > slice evaluations > POST /geteval',
      'run sync > slice users > POST /getuserlist',
      'run sync > slice pricing > GET /pricingAi/payload/{evalid}',
      'run sync > slice vehicle-checks > POST /getpastppsrsearch',
    ]),
  )
  expect(requests).toHaveLength(fixture.sandbox.requests.count())
  expect(run.attributes).toMatchObject({
    'forecourt.run.id': report.runId,
    'forecourt.run.command': 'sync',
    'forecourt.run.mode': 'sync',
    'forecourt.run.rooftops': 3,
    'forecourt.run.status': 'ok',
  })
  expect(spans.filter(({ status }) => status.code === SpanStatusCode.ERROR)).toEqual([])
  const slices = spans.filter(({ name }) => name === 'slice evaluations')
  const inserted = slices.map(({ attributes }) => Number(attributes['forecourt.rows.inserted']))
  expect(inserted.reduce((sum, rows) => sum + rows, 0)).toBe(
    report.streams['evaluations']!.inserted,
  )
})

test('rooftops without anything new have a window each in one span of their first slices', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture({ sandbox: { ...world, evaluations: 0 } })
  await fixture.night()
  using recorded = recordSpans()
  await fixture.nightAfter(1)

  const spans = recorded.spans()
  const paths = spans.map((span) => pathOf(span, spans).join(' > '))
  const windows = spans.filter(({ name }) => name === 'window evaluations')
  expect(paths).toContain('run sync > slices evaluations > window evaluations > POST /getevallist')
  expect(new Set(windows.map(({ attributes }) => attributes['forecourt.rooftop.uid'])).size).toBe(3)
  expect(windows[0]!.attributes).toMatchObject({
    'forecourt.stream': 'evaluations',
    'forecourt.window.from': expect.stringMatching(/^2026-03-\d\dT\d\d:\d\d:\d\d.000Z$/),
    'forecourt.window.parts': 1,
    'forecourt.window.listed': 0,
  })
})

test('no span holds a customer, a vehicle, a key or a path with values', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture({ sandbox: world, streams: allStreams })
  const { world: data } = fixture.sandbox
  fixture.sandbox.faults.add({
    match: { path: '/geteval' },
    fault: { kind: 'status', status: 400 },
    times: 2,
  })
  using recorded = recordSpans()
  await fixture.night()

  const text = recorded.spans().map(textOf).join('\n')
  const secrets = [
    ...[...data.evaluations()].flatMap(({ vin, customer, evalId }) => [
      ...[vin, String(evalId)],
      ...Object.values(customer),
    ]),
    ...data.keys.flatMap(({ value, user }) => [value, user]),
    ...data.users.flatMap(({ email, name }) => [email, name]),
    fixture.sandbox.vehicleDataKey,
  ].filter((secret) => typeof secret === 'string' && secret.length > 4)
  expect(new Set(secrets).size).toBeGreaterThan(300)
  expect(secrets.filter((secret) => text.includes(secret as string))).toEqual([])

  const templates = allOperations.map(({ transport }) => transport(defaultWire).path)
  const routes = recorded.spans().flatMap(({ attributes }) => attributes['url.template'] ?? [])
  expect(
    [...new Set(routes)].filter((route) => !['/', ...templates].includes(String(route))),
  ).toEqual([])
  expect(routes).toContain('/pricingAi/payload/{evalid}')
})

test('a fault marks the spans of its request, its slice and the run, by a name alone', async () => {
  await using fixture = await openFixture({ sandbox: world, http: { maxRetries: 2 } })
  const [rooftop] = fixture.config.rooftops
  const match = { path: '/getevallist', rooftopUid: rooftop!.uid }
  fixture.sandbox.faults.add({ match, fault: { kind: 'status', status: 502 }, times: 1 })
  fixture.sandbox.faults.add({
    match: { path: '/geteval' },
    fault: { kind: 'status', status: 401 },
  })
  using recorded = recordSpans()
  const report = await fixture.night()

  const failed = recorded.spans().filter(({ status }) => status.code === SpanStatusCode.ERROR)
  const errors = failed.map(({ name, attributes }) => `${name} ${attributes['error.type']}`)
  expect(new Set(errors)).toEqual(
    new Set([
      'POST /getevallist busy',
      'POST /geteval keyRefused',
      'slice evaluations keyRefused',
      `run sync ${report.status}`,
    ]),
  )
  expect(failed.map(({ events, status }) => [events, status.message])).toEqual(
    failed.map(() => [[], undefined]),
  )
  const repeat = recorded
    .spans()
    .find(({ attributes }) => attributes['http.request.resend_count'] === 1)
  expect(repeat).toMatchObject({
    name: 'POST /getevallist',
    status: { code: SpanStatusCode.UNSET },
  })
})

test('a run that cannot reach the source is a span that failed, and one that is stopped is none', async () => {
  await using fixture = await openFixture({ sandbox: world })
  const stop = new AbortController()
  const crashPoint = (name: string) => {
    if (name === 'window-listed') stop.abort(new Error('stopped by SIGTERM'))
  }
  using recorded = recordSpans()
  await fixture.night({ signal: stop.signal, crashPoint })
  const stopped = recorded.spans().map((span) => span.status.code)
  await fixture.sandbox.close()
  await fixture.night().catch(() => undefined)

  const failed = recorded.spans().slice(stopped.length)
  expect(recorded.spans().find(({ name }) => name === 'run sync')!.attributes).toMatchObject({
    'forecourt.run.end': 'stopped',
  })
  expect(stopped).not.toContain(SpanStatusCode.ERROR)
  expect(failed.map(({ name, attributes }) => `${name} ${attributes['error.type']}`)).toEqual([
    expect.stringMatching(/^GET \/ no(Answer|Connection)$/),
    'run sync UsageError',
  ])
})
