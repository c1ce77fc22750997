import type pg from 'pg'
import { loadJobs } from '../../app/scheduler/load-jobs.ts'
import type { Context } from '../../context.ts'
import { errorText } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { openPool } from '../../warehouse/db/connect.ts'
import { assertSchemaCurrent } from '../../warehouse/db/migrate.ts'
import { gaugeRegistry } from './gauges.ts'
import { openProcessMetrics } from './process-metrics.ts'
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
