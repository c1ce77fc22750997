import type { Context } from '../context.ts'
import { openPool } from '../db/connect.ts'
import type { Log } from '../log.ts'
import { loadJobs } from '../scheduler/load-jobs.ts'
import { registryOf } from './gauges.ts'
import { keySamples } from './key-samples.ts'
import { openProcessMetrics } from './process-metrics.ts'
import { type Readiness, ReadinessProbe } from './readiness.ts'
import { WarehouseMetrics, warehouseTimeoutMs } from './warehouse-metrics.ts'

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
  const probe = new ReadinessProbe(pool, signal)
  return {
    log,
    metrics: async () => {
      const samples = [...keySamples(context.rates()), ...(await warehouse.samples())]
      const texts = [counted.registry.metrics(), registryOf(samples).metrics()]
      return (await Promise.all(texts)).join('\n')
    },
    readiness: async () => await probe.check(),
    [Symbol.asyncDispose]: async () => {
      counted[Symbol.dispose]()
      await pool.end()
    },
  }
}
