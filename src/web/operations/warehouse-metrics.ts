import type pg from 'pg'
import type { Config } from '../../app/config/read.ts'
import type { PlannedJob } from '../../app/scheduler/load-jobs.ts'
import { errorText } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { type Db, inTransaction } from '../../warehouse/db/transaction.ts'
import { gaugeSamples, type Sample } from './gauges.ts'
import {
  jobSamples,
  keyStateSamples,
  linkSamples,
  queueSamples,
  runSamples,
  schemaSamples,
  spendSamples,
  webhookSamples,
} from './samples.ts'
import { quarantineSamples, streamSamples } from './stream-samples.ts'

/** How long a scrape waits for the warehouse, and a statement may run there. */
export const warehouseTimeoutMs = 5_000
const cacheMs = 10_000
/** A slow part is cached for this many times its duration, so that scrapes do not burden the warehouse. */
const cacheFactor = 30

const schemaPart = 'schema'

/** Metrics that are read together by one or a few statements. */
interface Part {
  readonly name: string
  /** A scrape within this time gets the cached samples. */
  readonly cacheMs: number
  readonly read: (db: Db) => Promise<readonly Sample[]>
}

interface Reading {
  readonly at: number
  readonly seconds: number
  /** Null: it failed. */
  readonly samples: readonly Sample[] | null
}

/** What the metrics of the warehouse are read from. */
interface WarehouseMetricsOptions {
  readonly config: Config
  readonly log: Log
  /** A separate pool of few connections: a scrape takes none from the work. */
  readonly pool: pg.Pool
  readonly jobs: readonly PlannedJob[]
}

/**
 * The metrics of the warehouse in parts, so that a slow or failing part does not hide others. For any number of scrapes, each part is
 * read once at a time and at most every 10 seconds; a slow one ends at its time-out, also in the warehouse.
 */
export class WarehouseMetrics {
  readonly #options: WarehouseMetricsOptions
  readonly #parts: readonly Part[]
  readonly #readings = new Map<string, Reading>()
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(options: WarehouseMetricsOptions) {
    this.#options = options
    this.#parts = metricParts(options)
  }

  /** Waits for outdated parts, but no longer than a scrape may take; then the metrics of such a part are left out. */
  async samples(): Promise<Sample[]> {
    const late = new Promise<void>((done) => setTimeout(done, warehouseTimeoutMs).unref())
    await Promise.race([Promise.all(this.#parts.map((part) => this.#refresh(part))), late])
    const parts = this.#parts.flatMap(({ name }) => this.#samplesOf(name))
    const isUp = Number(this.#isUp(schemaPart))
    return [...gaugeSamples({ forecourt_warehouse_up: isUp }), ...parts]
  }

  #samplesOf(part: string): Sample[] {
    const reading = this.#readings.get(part)
    const isUp = this.#isUp(part)
    const values = {
      forecourt_warehouse_part_up: Number(isUp),
      forecourt_warehouse_part_duration_seconds: reading?.seconds ?? null,
    }
    return [...gaugeSamples(values, { part }), ...((isUp && reading?.samples) || [])]
  }

  #isUp(name: string): boolean {
    return this.#readings.get(name)?.samples != null && !this.#underWay.has(name)
  }

  async #refresh(part: Part): Promise<void> {
    const reading = this.#readings.get(part.name)
    if (reading !== undefined && performance.now() < until(part, reading)) return
    const underWay = this.#underWay.get(part.name) ?? this.#read(part)
    this.#underWay.set(part.name, underWay)
    await underWay
  }

  async #read({ name, read }: Part): Promise<void> {
    const { pool, log } = this.#options
    const startedMs = performance.now()
    let samples: readonly Sample[] | null = null
    try {
      samples = await inTransaction(
        pool,
        async ({ db }) => await read(db),
        'repeatable read, read only',
      )
    } catch (error) {
      log.warn({ part: name }, `warehouse metrics could not be read: ${errorText(error)}`)
    }
    const at = performance.now()
    this.#readings.set(name, { at, seconds: (at - startedMs) / 1000, samples })
    this.#underWay.delete(name)
  }
}

function until({ cacheMs }: Part, { at, seconds }: Reading): number {
  return at + Math.max(cacheMs, seconds * 1000 * cacheFactor)
}

function metricParts({ config, jobs }: WarehouseMetricsOptions): Part[] {
  return [
    // The first and smallest part: it shows whether the warehouse answers at all.
    { name: schemaPart, cacheMs, read: schemaSamples },
    { name: 'streams', cacheMs, read: (db) => streamSamples(db, config) },
    { name: 'quarantine', cacheMs, read: (db) => quarantineSamples(db, config) },
    { name: 'keys', cacheMs, read: (db) => keyStateSamples(db, config) },
    { name: 'runs', cacheMs, read: (db) => runSamples(db, config) },
    { name: 'queue', cacheMs, read: queueSamples },
    { name: 'jobs', cacheMs, read: (db) => jobSamples(db, config, jobs) },
    { name: 'spend', cacheMs, read: (db) => spendSamples(db, config) },
    { name: 'webhooks', cacheMs, read: webhookSamples },
    // Reads every link, and changes only by the hour.
    { name: 'links', cacheMs: 60_000, read: (db) => linkSamples(db, config) },
  ]
}
