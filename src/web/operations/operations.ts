import type pg from 'pg'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { barePath } from '../../api/contract/operation.ts'
import { allOperations } from '../../api/contract/operations.ts'
import type { Config } from '../../app/config/read.ts'
import { loadJobs } from '../../app/scheduler/load-jobs.ts'
import type { Context } from '../../context.ts'
import { errorText } from '../../errors.ts'
import type { Log } from '../../log.ts'
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
import { openPool } from '../../warehouse/db/connect.ts'
import { assertSchemaCurrent } from '../../warehouse/db/migrate.ts'
import { gaugeRegistry } from './gauges.ts'
import { keySamples } from './samples.ts'
import { WarehouseMetrics, warehouseTimeoutMs } from './warehouse-metrics.ts'

/** How long a probe waits for the warehouse. */
const timeoutMs = 3_000
/** Probes within this time share one answer. */
const cacheMs = 1_000

/** Whether this process may get work. `reason` holds no secret. */
type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string }

/** Metrics and readiness of a process for its operators. */
export interface Operations extends AsyncDisposable {
  readonly log: Log
  /** The metrics in the text format of Prometheus 0.0.4. Answers within about 5 seconds, even when the warehouse does not. */
  metrics(): Promise<string>
  readiness(): Promise<Readiness>
}

/** Starts counting the work of this process, and reads the warehouse over at most two separate connections. */
export async function openOperations(context: Context): Promise<Operations> {
  const { config, log, url, signal } = context
  const jobs = await loadJobs(config)
  const pool = await openPool(url, {
    applicationName: 'forecourt operations',
    max: 2,
    statementTimeoutMs: warehouseTimeoutMs,
  })
  const counted = openProcessMetrics(config)
  const warehouse = new WarehouseMetrics({ config, log, pool, jobs })
  return {
    log,
    metrics: async () => {
      const samples = [...keySamples(context.rates()), ...(await warehouse.samples())]
      const texts = [counted.registry.metrics(), gaugeRegistry(samples).metrics()]
      return (await Promise.all(texts)).join('\n')
    },
    readiness: createReadiness(pool, signal),
    [Symbol.asyncDispose]: async () => {
      counted[Symbol.dispose]()
      await pool.end()
    },
  }
}

/** Checks readiness: the warehouse answers and has the schema of this code, and the process is not stopping. */
function createReadiness(pool: pg.Pool, signal: AbortSignal): () => Promise<Readiness> {
  let checking: Promise<Readiness> | null = null
  let checkedAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (signal.aborted) return { ready: false, reason: 'it is stopping' }
    if (checking === null || performance.now() - checkedAt > cacheMs) {
      checkedAt = performance.now()
      checking = checkWarehouse(pool)
    }
    return await checking
  }
}

async function checkWarehouse(pool: pg.Pool): Promise<Readiness> {
  const timer = AbortSignal.timeout(timeoutMs)
  const late = new Promise<Readiness>((done) => {
    const reason = `the warehouse did not answer within ${timeoutMs / 1000} s`
    timer.addEventListener('abort', () => done({ ready: false, reason }))
  })
  const checked = assertSchemaCurrent(pool).then(
    () => ({ ready: true }) as const,
    (error: unknown) => ({ ready: false, reason: errorText(error) }) as const,
  )
  return await Promise.race([checked, late])
}

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
