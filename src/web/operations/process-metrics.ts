import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { barePath } from '../../api/contract/operation.ts'
import { allOperations } from '../../api/contract/operations.ts'
import type { Config } from '../../app/config/read.ts'
import {
  type EventLoopBlocked,
  eventLoopBlocked,
  type RequestEnded,
  requestEnded,
  type SliceEnded,
  sliceEnded,
} from '../../telemetry.ts'
import type { WireSettings } from '../../values/wire.ts'
import { programVersion } from '../../version.ts'

/** Counters of this process since its start. Listens until it is disposed. */
interface ProcessMetrics extends Disposable {
  readonly registry: Registry
}

/** Gauges with the name of a counter, which linters reject; prom-client has each of them by kind as well. */
const misnamed = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)

/** Counts the requests and slices of this process, and collects the default metrics of Node. */
export function openProcessMetrics(config: Config): ProcessMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
  new Gauge({
    name: 'forecourt_build_info',
    help: 'The version of this process, always 1',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: programVersion() }, 1)
  const stops = [
    requestEnded.subscribe(requestCounter(registry, config)),
    sliceEnded.subscribe(sliceCounter(registry)),
    eventLoopBlocked.subscribe(blockCounter(registry)),
  ]
  return {
    registry,
    [Symbol.dispose]: () => {
      for (const stop of stops) stop()
    },
  }
}

const durationBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Makes counters of a registry. */
function counterFactory(registry: Registry) {
  return <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
}

function requestCounter(registry: Registry, { wire }: Config): (request: RequestEnded) => void {
  const counter = counterFactory(registry)
  const nameOf = endpointNames(wire)
  const sent = counter(
    'forecourt_requests_total',
    'Requests sent, including repeats; status is 2xx, 3xx, 4xx, 429, 5xx, or none without a complete answer',
    ...['service', 'endpoint', 'status', 'key'],
  )
  const repeated = counter(
    'forecourt_request_retries_total',
    'Requests that repeated an earlier one',
    ...['service', 'endpoint', 'key'],
  )
  const took = new Histogram({
    name: 'forecourt_request_duration_seconds',
    help: 'From the moment a request is sent to the end of its answer',
    labelNames: ['service', 'endpoint'],
    buckets: durationBuckets,
    registers: [registry],
  })
  return (request) => {
    const { service, keyName: key, status, seconds, attempt } = request
    const endpoint = nameOf(request)
    sent.inc({ service, endpoint, key, status: statusClass(status) })
    if (attempt > 1) repeated.inc({ service, endpoint, key })
    took.observe({ service, endpoint }, seconds)
  }
}

/** 429 is separate from other 4xx, because it is throttling and no error of ours. */
function statusClass(status: number | null): string {
  if (status === null) return 'none'
  return status === 429 ? '429' : `${Math.floor(status / 100)}xx`
}

/**
 * The path of a request as in the documents, e.g. `/v1/price-batch/{batchId}`: with an id in it, each record would be a separate
 * series. `other` for an undocumented operation.
 */
export function endpointNames(wire: WireSettings): (request: RequestEnded) => string {
  const templates = allOperations.map((one) => {
    const transport = one.transport(wire)
    const { method } = transport
    const path = barePath(transport.path)
    const service = one.service === 'appraisal' ? 'appraisal' : 'vehicle-data'
    return { path, method, service, fits: pathPattern(path) }
  })
  return ({ service, method, path }) =>
    templates.find((one) => one.service === service && one.method === method && one.fits.test(path))
      ?.path ?? 'other'
}

/** A pattern for the paths of a template: a parameter is one path segment. */
function pathPattern(template: string): RegExp {
  const parts = template.split(/\{\w+\}/).map((part) => part.replaceAll(/[^\w/-]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/]+')}$`)
}

function blockCounter(registry: Registry): (block: EventLoopBlocked) => void {
  const counter = counterFactory(registry)
  const blocks = counter(
    'forecourt_event_loop_blocked_total',
    'How often the event loop of this process was blocked for longer than the heartbeats allow',
  )
  const blockedFor = counter(
    'forecourt_event_loop_blocked_seconds_total',
    'Total time of these blocks of the event loop',
  )
  return ({ seconds }) => {
    blocks.inc()
    blockedFor.inc(seconds)
  }
}

const rowOutcomes = ['inserted', 'updated', 'unchanged', 'quarantined', 'vanished'] as const

function sliceCounter(registry: Registry): (slice: SliceEnded) => void {
  const counter = counterFactory(registry)
  const slices = counter(
    'forecourt_slices_total',
    'Slices that ended in this process: done, failed, parked, fenced (another worker took it over) or stopped',
    ...['stream', 'outcome'],
  )
  const rows = counter(
    'forecourt_rows_total',
    'Records of committed slices by outcome: inserted, updated, unchanged, quarantined or vanished',
    ...['stream', 'outcome'],
  )
  const listed = counter(
    'forecourt_records_listed_total',
    'Records that the source listed, in committed slices',
    'stream',
  )
  const windows = counter(
    'forecourt_windows_total',
    'Windows that were listed and certified',
    'stream',
  )
  return ({ stream, outcome, rows: counts }) => {
    slices.inc({ stream, outcome })
    for (const name of rowOutcomes) rows.inc({ stream, outcome: name }, counts[name])
    listed.inc({ stream }, counts.listed)
    windows.inc({ stream }, counts.windows)
  }
}
