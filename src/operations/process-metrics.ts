import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Config } from '../config/read.ts'
import {
  type EventLoopBlocked,
  eventLoopBlocked,
  type RequestEnded,
  requestEnded,
  type SliceEnded,
  sliceEnded,
} from '../telemetry.ts'
import { programVersion } from '../version.ts'
import { endpointNames } from './endpoints.ts'

/** Counters of this process since its start. Listens until it is disposed. */
export interface ProcessMetrics extends Disposable {
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

function requestCounter(registry: Registry, { wire }: Config): (request: RequestEnded) => void {
  const registers = [registry]
  const nameOf = endpointNames(wire)
  const sent = new Counter({
    name: 'forecourt_requests_total',
    help: 'Requests sent, including repeats; status is 2xx, 3xx, 4xx, 429, 5xx, or none without a complete answer',
    labelNames: ['service', 'endpoint', 'status', 'key'],
    registers,
  })
  const repeated = new Counter({
    name: 'forecourt_request_retries_total',
    help: 'Requests that repeated an earlier one',
    labelNames: ['service', 'endpoint', 'key'],
    registers,
  })
  const took = new Histogram({
    name: 'forecourt_request_duration_seconds',
    help: 'From the moment a request is sent to the end of its answer',
    labelNames: ['service', 'endpoint'],
    buckets: durationBuckets,
    registers,
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

function blockCounter(registry: Registry): (block: EventLoopBlocked) => void {
  const registers = [registry]
  const blocks = new Counter({
    name: 'forecourt_event_loop_blocked_total',
    help: 'How often the event loop of this process was blocked for longer than the heartbeats allow',
    registers,
  })
  const blockedFor = new Counter({
    name: 'forecourt_event_loop_blocked_seconds_total',
    help: 'Total time of these blocks of the event loop',
    registers,
  })
  return ({ seconds }) => {
    blocks.inc()
    blockedFor.inc(seconds)
  }
}

const rowOutcomes = ['inserted', 'updated', 'unchanged', 'quarantined', 'vanished'] as const

function sliceCounter(registry: Registry): (slice: SliceEnded) => void {
  const registers = [registry]
  const slices = new Counter({
    name: 'forecourt_slices_total',
    help: 'Slices that ended in this process: done, failed, parked, fenced (another worker took it over) or stopped',
    labelNames: ['stream', 'outcome'],
    registers,
  })
  const rows = new Counter({
    name: 'forecourt_rows_total',
    help: 'Records of committed slices by outcome: inserted, updated, unchanged, quarantined or vanished',
    labelNames: ['stream', 'outcome'],
    registers,
  })
  const listed = new Counter({
    name: 'forecourt_records_listed_total',
    help: 'Records that the source listed, in committed slices',
    labelNames: ['stream'],
    registers,
  })
  const windows = new Counter({
    name: 'forecourt_windows_total',
    help: 'Windows that were listed and certified',
    labelNames: ['stream'],
    registers,
  })
  return ({ stream, outcome, rows: counts }) => {
    slices.inc({ stream, outcome })
    for (const name of rowOutcomes) rows.inc({ stream, outcome: name }, counts[name])
    listed.inc({ stream }, counts.listed)
    windows.inc({ stream }, counts.windows)
  }
}
