import { expect, test } from 'vitest'
import { gauges } from '#src/web/operations/gauges.ts'
import { openBusyEndpoints } from './endpoints.ts'
import { parseExposition } from './exposition.ts'
import { drawnQueries, metricsIn, queryNames, rulesOf } from './metrics-used.ts'

/** Metrics that no dashboard draws, and why. */
const leftOut: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['user', 'system'].map((kind) => [
      `process_cpu_${kind}_seconds_total`,
      'a part of process_cpu_seconds_total, which is drawn',
    ]),
  ),
  ...Object.fromEntries(
    ['', 'min_', 'max_', 'mean_', 'stddev_', 'p50_', 'p90_'].map((kind) => [
      `nodejs_eventloop_lag_${kind}seconds`,
      'the 99th percentile is drawn: heartbeats fail by the worst lags',
    ]),
  ),
  ...Object.fromEntries(
    ['handles', 'requests', 'resources'].map((kind) => [
      `nodejs_active_${kind}`,
      'says nothing without the code at hand; requests in flight and open files are drawn',
    ]),
  ),
  ...Object.fromEntries(
    ['total', 'used', 'available'].map((kind) => [
      `nodejs_heap_space_size_${kind}_bytes`,
      'the spaces of the heap of V8; their sum is drawn',
    ]),
  ),
  nodejs_external_memory_bytes: 'a part of the resident memory, which is drawn',
  nodejs_heap_size_total_bytes: 'what V8 reserves; what it uses is drawn',
  nodejs_version_info: 'the version of Forecourt is drawn, and its image holds one version of Node',
  process_heap_bytes: 'the resident memory and the heap of V8 are drawn',
  process_virtual_memory_bytes: 'Node reserves far more addresses than it uses',
}

/** What Prometheus itself adds. */
const ofPrometheus = ['up']

async function scrape() {
  await using endpoints = await openBusyEndpoints()
  return parseExposition((await endpoints.get('/metrics')).text)
}

test('every metric that dashboards and rules use is in a scrape, and each in a scrape is drawn or left out for a reason', async () => {
  const families = await scrape()
  const names = queryNames(families)
  const drawn = new Set(drawnQueries().flatMap(({ expression }) => metricsIn(expression)))
  const recording = rulesOf('recording-rules.yml')
  const recorded = new Set(recording.map(({ record }) => record!))
  const ruled = [...recording, ...rulesOf('alerts.yml')].flatMap(({ expr }) => metricsIn(expr))

  // The scrape has a value for everything, else the rest of this test shows nothing.
  expect(Object.keys(gauges).filter((name) => !names.has(name))).toEqual([])
  const own = [...families].filter(([name]) => name.startsWith('forecourt_'))
  expect(own.filter(([, { series }]) => series.size === 0)).toEqual([])

  expect([...drawn].filter((name) => !names.has(name))).toEqual([])
  expect(ruled.filter((name) => ![...names, ...recorded, ...ofPrometheus].includes(name))).toEqual(
    [],
  )
  const isDrawn = (name: string) =>
    ['', '_bucket', '_sum', '_count'].some((part) => drawn.has(`${name}${part}`))
  expect([...families.keys()].filter((name) => !isDrawn(name) && !(name in leftOut))).toEqual([])
  expect(Object.keys(leftOut).filter((name) => isDrawn(name) || !families.has(name))).toEqual([])
})
