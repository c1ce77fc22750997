import { expect, test } from 'vitest'
import { gauges } from '#src/operations/gauges.ts'
import { leftOut } from '../support/dashboards/all.ts'
import { openBusyEndpoints } from './endpoints.ts'
import { parseExposition } from './exposition.ts'
import { drawnQueries, metricsIn, queryNames, rulesOf } from './metrics-used.ts'

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
