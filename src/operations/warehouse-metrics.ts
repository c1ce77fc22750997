import type pg from 'pg'
import type { Config } from '../config.ts'
import { type Db, inTransaction } from '../db/transaction.ts'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { PlannedJob } from '../scheduler/load-jobs.ts'
import type { Sample } from './gauges.ts'
import { quarantineSamples, streamSamples } from './stream-samples.ts'
import { webhookSamples } from './webhook-samples.ts'
import {
  jobSamples,
  linkSamples,
  queueSamples,
  runSamples,
  schemaSamples,
  spendSamples,
} from './work-samples.ts'

/** How long a scrape waits for the warehouse, and a statement may take there. */
export const warehouseTimeoutMs = 5_000
const keepMs = 10_000
/** What took long is kept so many times as long: however many processes are scraped, the warehouse has other things to do. */
const restsFor = 30

const schemaPart = 'schema'

/** Figures that are read together: one statement or few. */
interface Part {
  readonly name: string
  /** A scrape within this time gets what was read before. */
  readonly keepMs: number
  readonly read: (db: Db) => Promise<readonly Sample[]>
}

interface Reading {
  readonly at: number
  readonly seconds: number
  /** Null: it failed. */
  readonly samples: readonly Sample[] | null
}

/** What the metrics of the warehouse are read from. */
export interface WarehouseMetricsOptions {
  readonly config: Config
  readonly log: Log
  /** Its own, of few connections: a scrape takes none from the work. */
  readonly pool: pg.Pool
  readonly jobs: readonly PlannedJob[]
}

/**
 * The figures of the warehouse, part by part, so that one that is slow or refused hides no other. However many scrapes come,
 * each part is read once at a time and at most every 10 seconds; one that takes long ends at its time-out, in the warehouse too.
 */
export class WarehouseMetrics {
  readonly #options: WarehouseMetricsOptions
  readonly #parts: readonly Part[]
  readonly #readings = new Map<string, Reading>()
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(options: WarehouseMetricsOptions) {
    this.#options = options
    this.#parts = partsOf(options)
  }

  /** Waits for what is out of date, but no longer than a scrape may take: then the figures of that part are left out. */
  async samples(): Promise<Sample[]> {
    const late = new Promise<void>((done) => setTimeout(done, warehouseTimeoutMs).unref())
    await Promise.race([Promise.all(this.#parts.map((part) => this.#refresh(part))), late])
    const parts = this.#parts.flatMap(({ name }) => this.#samplesOf(name))
    const isUp = Number(this.#isUp(schemaPart))
    return [{ gauge: 'forecourt_warehouse_up', value: isUp }, ...parts]
  }

  #samplesOf(name: string): Sample[] {
    const reading = this.#readings.get(name)
    const labels = { part: name }
    const samples = this.#isUp(name) ? reading?.samples : null
    return [
      { gauge: 'forecourt_warehouse_part_up', labels, value: Number(samples != null) },
      ...(reading === undefined
        ? []
        : [
            {
              gauge: 'forecourt_warehouse_part_duration_seconds',
              labels,
              value: reading.seconds,
            } as const,
          ]),
      ...(samples ?? []),
    ]
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
    const begun = performance.now()
    let samples: readonly Sample[] | null = null
    try {
      samples = await inTransaction(
        pool,
        async ({ db }) => await read(db),
        'repeatable read, read only',
      )
    } catch (error) {
      log.warn({ part: name }, `figures of the warehouse could not be read: ${messageOf(error)}`)
    }
    const at = performance.now()
    this.#readings.set(name, { at, seconds: (at - begun) / 1000, samples })
    this.#underWay.delete(name)
  }
}

function until({ keepMs: least }: Part, { at, seconds }: Reading): number {
  return at + Math.max(least, seconds * 1000 * restsFor)
}

function partsOf({ config, jobs }: WarehouseMetricsOptions): Part[] {
  return [
    // The first and the least: it tells whether the warehouse answers at all.
    { name: schemaPart, keepMs, read: schemaSamples },
    { name: 'streams', keepMs, read: (db) => streamSamples(db, config) },
    { name: 'quarantine', keepMs, read: (db) => quarantineSamples(db, config) },
    { name: 'runs', keepMs, read: runSamples },
    { name: 'queue', keepMs, read: queueSamples },
    { name: 'jobs', keepMs, read: (db) => jobSamples(db, jobs) },
    { name: 'spend', keepMs, read: (db) => spendSamples(db, config) },
    { name: 'webhooks', keepMs, read: webhookSamples },
    // Looks at every link there is, and changes by the hour.
    { name: 'links', keepMs: 60_000, read: (db) => linkSamples(db, config) },
  ]
}
