import fc from 'fast-check'
import type pg from 'pg'
import { type Config, makeConfig } from '#src/app/config/read.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { type CrashPoint, crashPoints } from '#src/sync/run/crash-points.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { verifyRows } from '#src/sync/verify/verify-rows.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { verifyStream } from '../support/verify-stream.ts'
import { CrashableProcess } from './crashable-process.ts'
import { type Evaluation, evaluationsOf } from './evaluation.ts'
import { allowedContent } from './expected-content.ts'
import { allSettings, begin, dayMs, nightAt, type Settings } from './settings.ts'
import { dealerIdOf, type ServedWorld, Source, uidOf } from './source.ts'
import { lineOf, type StoredLine, storedLines } from './truth.ts'
import { webhooksBetween } from './webhooks.ts'
import { sample, type World, worldOf } from './world.ts'

/** Some worlds that share a warehouse; the plan determines everything. */
export interface SimulationPlan {
  readonly url: string
  readonly seed: number
  readonly settingsIndex: number
  /** The numbers of its worlds. */
  readonly worlds: readonly number[]
  readonly nights: number
  /** Indexes of lives that are left out, to reduce a failing world. */
  readonly without?: readonly number[]
  /** Where it crashes every night; left out: where the seed says. */
  readonly crash?: Crash
}

/** A morning that is not as expected. */
export interface Finding {
  readonly world: number
  readonly night: number
  readonly what: string
}

export interface SimulationReport {
  readonly findings: readonly Finding[]
  /** Nights, repeats after a bad night, crashes, refused commits of frozen workers, webhooks, and evaluations at the end. */
  readonly counts: Readonly<
    Record<'nights' | 'repeats' | 'deaths' | 'fenced' | 'letters' | 'evaluations', number>
  >
}

/** Repeats of a night until it succeeds; no fault lasts longer. */
const repeatsAtMost = 8
/** Webhooks arrive once in this many days, those of all days together. */
const postEvery = 3

/** Runs the nights of a simulation and compares every morning, until one is not as expected. */
export async function runSimulation(plan: SimulationPlan): Promise<SimulationReport> {
  const settings = allSettings[plan.settingsIndex % allSettings.length]!
  const entries = plan.worlds.map((index) => servedWorld(plan, settings, index))
  const source = new Source(settings.listCarriesUpdatedAt, entries)
  const config = configOf(plan.url, await source.listen(), settings, entries)
  const pool = await openPool(plan.url, { applicationName: 'simulation', max: 2 })
  const crashable = new CrashableProcess(config, pool)
  const simulation = new Simulation(plan, settings, entries, source, crashable, pool)
  try {
    return await simulation.run()
  } finally {
    await crashable.close()
    await source.close()
    await pool.end()
  }
}

function servedWorld(plan: SimulationPlan, settings: Settings, index: number): ServedWorld {
  // A cap that hides late completions is found when the window is listed again; this must be soon, or the world proves nothing.
  const world = worldOf(plan.seed, index, plan.nights, settings.sync.deepRelistNights <= 28)
  const evaluations = evaluationsOf(world, plan.nights, settings, plan.without)
  return { world: { ...world, cap: roomy(world.cap, evaluations) }, evaluations }
}

/** Raises the cap so that every second fits under it: a second that does not fit cannot be proved (prove.test.ts). */
function roomy(cap: World['cap'], evaluations: readonly Evaluation[]): World['cap'] {
  if (!cap) return null
  const seconds = Map.groupBy(evaluations, ({ createdAt }) => Math.floor(createdAt / 1000))
  const fullest = Math.max(0, ...seconds.values().map((gathered) => gathered.length))
  return { ...cap, cap: Math.max(cap.cap, fullest + 1) }
}

function configOf(
  url: string,
  baseUrl: string,
  { sync, maxRetries }: Settings,
  entries: readonly ServedWorld[],
): Config {
  const rooftops = entries.flatMap(({ world: { index, rooftops, filtered } }) =>
    Array.from({ length: rooftops }, (_, nth) => ({
      ...{ uid: uidOf(index, nth), name: uidOf(index, nth), key: uidOf(index, nth) },
      ...{ group: `world-${index}`, timezone: 'Australia/Sydney', currency: 'AUD' },
      dealerId: filtered || rooftops === 1 ? dealerIdOf(index, nth) : null,
    })),
  )
  const key = (uid: string) => ({ value: `key-${uid}`, kind: 'dedicated', region: 'AU' }) as const
  return makeConfig(
    {
      appraisal: { baseUrl },
      warehouse: { url },
      keys: Object.fromEntries(rooftops.map(({ uid }) => [uid, key(uid)])),
      rooftops,
      sync: { start: new Date(begin).toISOString(), ...sync },
      http: { maxRetries, timeoutSeconds: 3 },
    },
    '/nowhere',
  )
}

class Simulation {
  readonly #plan: SimulationPlan
  readonly #settings: Settings
  readonly #entries: readonly ServedWorld[]
  readonly #source: Source
  readonly #crashable: CrashableProcess
  readonly #pool: pg.Pool
  /** When a webhook last caused a read, by evaluation. */
  readonly #hinted = new Map<number, number>()
  #postedAt = begin
  #letters = 0
  #repeats = 0
  #evaluations = 0

  constructor(
    plan: SimulationPlan,
    settings: Settings,
    entries: readonly ServedWorld[],
    source: Source,
    crashable: CrashableProcess,
    pool: pg.Pool,
  ) {
    this.#plan = plan
    this.#settings = settings
    this.#entries = entries
    this.#source = source
    this.#crashable = crashable
    this.#pool = pool
  }

  async run(): Promise<SimulationReport> {
    let night = 0
    let findings: readonly Finding[] = []
    for (; night < this.#plan.nights && findings.length === 0; night++) {
      findings = await this.#night(night)
      if (findings.length === 0) findings = await this.#morning(night)
      if (findings.length === 0) findings = await this.#verified(night, 'after the night')
      if (findings.length > 0 || night % postEvery !== 0) continue
      await this.#post(night)
      findings = await this.#verified(night, 'after the webhooks')
    }
    const { deaths, fenced } = this.#crashable
    const counts = { nights: night, repeats: this.#repeats, deaths, fenced, letters: this.#letters }
    return { findings, counts: { ...counts, evaluations: this.#evaluations } }
  }

  /** The nightly sync, started again after a crash, and repeated for rooftops that had a bad night. */
  async #night(night: number): Promise<Finding[]> {
    this.#source.begin(night, nightAt(night))
    let bad = await this.#crashable.night(this.#source, crashOf(this.#plan, night))
    for (let repeat = 0; bad.size > 0 && repeat < repeatsAtMost; repeat++) {
      this.#repeats++
      bad = await this.#crashable.repeat([...bad.keys()])
    }
    return [...bad].map(([uid, why]) => {
      const world = Number(/\d+/.exec(uid)![0])
      return { world, night, what: `${uid} does not end: ${why}` }
    })
  }

  /** The webhooks of some days, read at once. The nightly sync loads what they miss. */
  async #post(night: number): Promise<void> {
    const noon = nightAt(night) + dayMs / 2
    const letters = webhooksBetween(this.#entries, this.#postedAt, noon)
    this.#postedAt = noon
    // Without faults: those of a night are counted from its first request.
    this.#source.begin(-1, noon)
    await this.#crashable.post(letters)
    this.#letters += letters.length
    for (const { evaluation } of letters) this.#hinted.set(evaluation.evalId, noon)
  }

  /** What verify reports about rows and certificates that only the product has written. */
  async #verified(night: number, when: string): Promise<Finding[]> {
    const db = openDb(this.#pool)
    const { config } = this.#crashable
    const rooftops = await findRooftops(db, config.rooftops)
    const warehouse = { pool: this.#pool, db, config }
    const { signal } = new AbortController()
    const { rows } = await verifyRows(warehouse, [evaluations], rooftops, null, signal)
    const findings = rows.map(({ rooftop, ...row }) => {
      const what = `${when} a row differs from its payloads: ${JSON.stringify(row)}`
      return { world: Number(/\d+/.exec(rooftop)![0]), night, what }
    })
    for (const rooftop of rooftops) {
      const found = await verifyStream(db, evaluations.records!, rooftop, config.sync, new Date())
      const { overlaps, brokenSums, uncertified, notStored, orphans } = found
      if (
        [overlaps, brokenSums, uncertified, notStored].every((list) => list.length === 0) &&
        orphans.length === 0
      )
        continue
      const what = `${when} verify reports for ${rooftop.uid}: ${JSON.stringify(found)}`
      findings.push({ world: Number(/\d+/.exec(rooftop.uid)![0]), night, what })
    }
    return findings
  }

  async #morning(night: number): Promise<Finding[]> {
    const held = await storedLines(this.#pool)
    this.#evaluations = held.length
    const byWorld = Map.groupBy(held, ({ rooftopUid }) => rooftopUid.split('-')[0]!)
    return this.#entries.flatMap((entry) => {
      const { index } = entry.world
      const what = this.#difference(entry, night, byWorld.get(`w${index}`) ?? [])
      return what === null ? [] : [{ world: index, night, what }]
    })
  }

  /** The first difference between a world's rows and what is expected; null: none. */
  #difference(entry: ServedWorld, night: number, rows: readonly StoredLine[]): string | null {
    const { world, evaluations } = entry
    const now = this.#source.nowOf(world.index)
    const held = new Map(rows.map((row) => [row.evalId, row]))
    if (held.size < rows.length) return 'an evaluation is stored twice'
    for (const evaluation of evaluations) {
      const row = held.get(evaluation.evalId)
      held.delete(evaluation.evalId)
      const what = this.#wrong(entry, evaluation, row, { night, now })
      if (what !== null) return `${evaluation.evalId} ${what}`
    }
    const [unexpected] = held.keys()
    return unexpected === undefined ? null : `${unexpected} must not be stored`
  }

  #wrong(
    entry: ServedWorld,
    evaluation: Evaluation,
    row: StoredLine | undefined,
    { night, now }: { night: number; now: number },
  ): string | null {
    const { world } = entry
    const circumstances = { night, now, settings: this.#settings, capped: world.cap !== null }
    const { absent, moments } = allowedContent(evaluation, {
      ...circumstances,
      hintedAt: this.#hinted.get(evaluation.evalId) ?? null,
    })
    if (!row) return absent ? null : 'is missing'
    if (moments.length === 0) return 'must not be stored'
    const isFiltered = world.filtered || world.rooftops === 1
    const fits = moments.some(
      (moment) =>
        (!isFiltered || row.rooftopUid === uidOf(world.index, moment.rooftop)) &&
        row.line === lineOf(evaluation, moment, world.index),
    )
    if (fits) return null
    const last = moments.at(-1)!
    const expected = `${uidOf(world.index, last.rooftop)} ${lineOf(evaluation, last, world.index)}`
    return `is ${row.rooftopUid} ${row.line}\n  instead of ${expected}`
  }
}

/** Where the process crashes in a night; null: nowhere. */
function crashOf(
  { seed, settingsIndex, worlds, ...plan }: SimulationPlan,
  night: number,
): Crash | null {
  if (plan.crash) return plan.crash
  const { dies, point, nth } = sample(crash, seed, 'crash', settingsIndex, night)
  // In any case one night crashes, at the first of its points, which every night passes.
  if (night === Math.ceil(plan.nights / 2)) return { point, nth: 1 }
  // A single world passes each point about once.
  return dies ? { point, nth: 1 + (nth % Math.max(1, worlds.length)) } : null
}

export interface Crash {
  readonly point: CrashPoint
  readonly nth: number
}

const crash = fc.record({
  dies: fc.nat({ max: 9 }).map((chance) => chance === 0),
  point: fc.constantFrom(...crashPoints),
  nth: fc.nat({ max: 9_999 }),
})
