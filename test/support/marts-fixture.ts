import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, loadConfig } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import type { Context } from '#src/context.ts'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import type { Rooftop } from '#src/sandbox/world-types.ts'
import { importStock } from '#src/stock/import/import-stock.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { pricing } from '#src/streams/pricing/pricing.ts'
import { stockPrices } from '#src/streams/stock-prices/stock-prices.ts'
import { users } from '#src/streams/users/users.ts'
import { vehicleChecks } from '#src/streams/vehicle-checks/vehicle-checks.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import type { Stream } from '#src/sync/run/stream.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { impatient } from '../streams/stock-prices/stocked.ts'
import { runInProcess } from './cli.ts'
import { evaluationsToSearch, plantedChecks } from './marts-ppsr.ts'
import { type ListedUnit, listText, stockList } from './marts-stock.ts'
import { plantWebhook } from './marts-webhooks.ts'
import { type MartWorld, martWorld, type Nights, type Unpriced } from './marts-world.ts'
import { createTestDatabase, loadedTestDatabase, type TestDatabase } from './postgres.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { type TruthEvaluation, truthAt } from './truth.ts'

const dayMs = 86_400_000
const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

/** What happened at one rooftop in one night, as the test brought it about. */
export interface StockNight {
  readonly rooftop: Rooftop
  readonly list: readonly ListedUnit[]
  readonly importedAt: Date
  /** When the service answered with the prices of what was in stock; null: it was not asked. */
  readonly pricedAt: Date | null
}

/** A warehouse that the product filled in three nights, and all that the test knows of it by itself. */
export interface MartFixture extends AsyncDisposable, MartWorld {
  readonly database: TestDatabase
  readonly sandbox: Sandbox
  readonly config: Config
  readonly nights: Nights
  /** What was true in each night. */
  readonly readings: readonly (readonly TruthEvaluation[])[]
  readonly stock: readonly StockNight[]
  /** `check_ref` of the searches that were paid for from here: of them alone the counts are known. */
  readonly paid: ReadonlySet<string>
}

/** Fifty days before the last night, twenty days before it, and a few minutes ago: what depends on today has the real one. */
function nightsUntilNow(): Nights {
  const last = Math.floor(Date.now() / 60_000) * 60_000 - 15 * 60_000
  return [new Date(last - 50 * dayMs), new Date(last - 20 * dayMs), new Date(last)]
}

export async function openMartFixture(seed: number): Promise<MartFixture> {
  const database = await createTestDatabase()
  const fixture = await loadMarts(seed, database)
  return {
    ...fixture,
    [Symbol.asyncDispose]: async () => {
      await fixture[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** A copy of the warehouse of `openMartFixture(1)`, for what needs nothing else of it. */
export async function openMartWarehouse(): Promise<TestDatabase> {
  const { database } = await loadedTestDatabase('marts', async (empty) => {
    await (await loadMarts(1, empty))[Symbol.asyncDispose]()
    return ''
  })
  return database
}

async function loadMarts(seed: number, database: TestDatabase): Promise<MartFixture> {
  const nights = nightsUntilNow()
  const made = martWorld(seed, nights)
  const clock = new VirtualClock({ start: nights[0], frozen: true })
  const sandbox = await startSandbox({ world: made.world, clock, seed })
  for (const check of [...made.checks, ...plantedChecks(made.world, nights)])
    sandbox.checks.add(check)
  const isFirst = ([, why]: readonly [number, Unpriced]) => why !== 'lapsed'
  spoilPrices(sandbox, new Map([...made.unpriced].filter(isFirst)))
  const folder = await temporaryFolder()
  const file = join(folder.path, 'forecourt.yaml')
  await writeFile(file, JSON.stringify(configFor(sandbox, database.url, nights)))
  const config = loadConfig(file, { variables: {}, cwd: folder.path })
  await using context = await openContext(config, silent)
  const fixture = { ...made, database, sandbox, config, nights }
  const loading = new Loading(fixture, context, folder.path)
  for (const night of [0, 1, 2]) await loading.night(night)
  await plantWebhook(database.pool)
  const { stock, paid, readings } = loading
  return {
    ...{ ...fixture, stock, paid, readings },
    [Symbol.asyncDispose]: async () => {
      await sandbox.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

function configFor(sandbox: Sandbox, url: string, nights: Nights): ConfigInput {
  const client = sandbox.clientConfig()
  const start = new Date(nights[2].getTime() - 100 * dayMs).toISOString()
  return {
    ...client,
    // One key may cover several groups: which rooftops share a list is for the operator to say.
    rooftops: client.rooftops.map((rooftop) => ({
      ...rooftop,
      group: sandbox.world.rooftop(rooftop.uid)!.groupId,
    })),
    warehouse: { url },
    // Every night lists everything again, so that it finds every edit.
    sync: { start, windowHours: 744, recheckDays: 200 },
    http: { maxRetries: 0, timeoutSeconds: 10 },
    checks: { lookForNewDays: 365, lookEveryDays: 1 },
    budget: { ppsrSearch: 1000 },
  }
}

/** Evaluations that never get a price, by what the source answers. */
function spoilPrices(sandbox: Sandbox, unpriced: MartWorld['unpriced']): void {
  const path = '/pricingAi/payload/{evalid}'
  for (const [evalId, why] of unpriced) {
    const status = { skipped: 400, rejected: 200, failed: 500, lapsed: 500 }[why]
    const body = why === 'rejected' ? { prices: 'none' } : { error: 'It cannot be priced' }
    sandbox.faults.add({ match: { path, evalId }, fault: { kind: 'status', status, body } })
  }
}

type Fixture = Omit<MartFixture, 'stock' | 'paid' | 'readings' | keyof AsyncDisposable>

class Loading {
  readonly readings: TruthEvaluation[][] = []
  readonly stock: StockNight[] = []
  readonly paid = new Set<string>()
  readonly #fixture: Fixture
  readonly #context: Context
  readonly #folder: string

  constructor(fixture: Fixture, context: Context, folder: string) {
    this.#fixture = fixture
    this.#context = context
    this.#folder = folder
  }

  async night(night: number): Promise<void> {
    const { sandbox, nights, world } = this.#fixture
    sandbox.clock.set(nights[night]!)
    if (night === 1) {
      for (const [evalId, at] of this.#fixture.completedAgain) world.complete(evalId, at)
      await this.#search(1)
    }
    if (night === 2) await this.#search(2)
    if (night === 2) spoilPrices(sandbox, this.#fixture.unpriced)
    this.readings.push(truthAt(world, nights[night]!))
    await this.#run([users, evaluations, pricing, vehicleChecks])
    for (const rooftop of world.rooftops) {
      const list = stockList(world, rooftop, night, nights)
      const importedAt = sandbox.clock.now()
      await this.#import(rooftop, night, list, importedAt)
      await this.#run([stockPrices], rooftop.uid)
      const pricedAt = rooftop.region === 'US' ? null : sandbox.clock.now()
      this.stock.push({ rooftop, list, importedAt, pricedAt })
    }
  }

  async #run(streams: readonly Stream[], uid?: string): Promise<void> {
    const { config, sandbox } = this.#fixture
    const from = Math.floor(config.sync.start.getTime() / 1000)
    const context = { ...this.#context, ...impatient({ context: this.#context, sandbox }) }
    await runStreams(context, {
      plan: { command: 'sync', mode: 'sync', from, until: null },
      streams,
      rooftops: config.rooftops.filter((rooftop) => uid === undefined || rooftop.uid === uid),
    })
  }

  async #import(rooftop: Rooftop, night: number, list: readonly ListedUnit[], now: Date) {
    const file = join(this.#folder, `stock-${rooftop.dealerId}-${night}.csv`)
    await writeFile(file, listText(list, rooftop))
    const { config, pool } = this.#context
    const request = {
      ...({ file, mode: 'snapshot', dryRun: false, maps: [], rejects: null, now } as const),
      ...{ allowMassRemoval: true, allowMassChange: true, importedBy: 'tester' },
      rooftop: config.rooftops.find(({ uid }) => uid === rooftop.uid)!,
    }
    const services = {
      warehouse: { pool, db: openDb(pool), config },
      signal: new AbortController().signal,
    }
    const { accepted, issues } = await importStock(services, request)
    if (accepted !== list.length) throw new Error(`${file}: ${JSON.stringify(issues)}`)
  }

  /** Pays for searches on vehicles in stock. */
  async #search(night: 1 | 2): Promise<void> {
    const before = new Set([...this.#fixture.sandbox.checks.all()].map(({ id }) => id))
    for (const { evalId, rooftopUid: uid } of evaluationsToSearch(
      this.#fixture.world,
      this.#fixture.nights,
      night,
    )) {
      const args = ['api', 'ppsrsearch', '--evalid', String(evalId), '--rooftop', uid, '--yes']
      const { code, stderr } = await runInProcess(args, { cwd: this.#folder })
      if (code !== 0) throw new Error(`ppsrsearch of ${evalId}: ${stderr}`)
    }
    for (const { id } of this.#fixture.sandbox.checks.all())
      if (!before.has(id)) this.paid.add(String(id))
  }
}
