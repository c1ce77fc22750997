import { mkdir, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import type { FaultRule } from '#src/sandbox/faults.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { type BenchProcess, startProcess } from '../bench/processes/bench-process.ts'
import { startServer } from '../support/postgres-server.ts'
import { databaseUrl } from '../support/postgres-url.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { compare, type Difference, type Row } from './compare.ts'
import { type Measured, measure, type PostgresTotals, postgresTotals } from './measure.ts'
import type { NightOrder, Peer } from './peers.ts'
import type { SourceCounts, SourceOrder, SourceQuestion, SourceReady } from './source-process.ts'
import { keyOf, nightAt, rooftopUid, startOf, type WorldPlan } from './world.ts'

/** The source of a night where it differs from the usual one. */
export interface NightChanges {
  readonly faults?: readonly FaultRule[]
  readonly listShowsUpdates?: boolean
  readonly brokenEvery?: number
  /** The number of a rooftop whose key is wrong; it is not compared. */
  readonly deadKey?: number
}

/** What a night did and used: of Postgres the difference to the totals before. */
export interface NightFigures extends Measured {
  readonly postgres: PostgresTotals
  readonly requests: SourceCounts
}

/** Requests in flight at most, all rooftops together. */
const inFlight = 16

/** One Postgres and one source, each in a process of its own. */
export interface Course extends AsyncDisposable {
  /** A peer with a fresh database and state folder, which are removed when the run is disposed. */
  run(peer: Peer, plan: WorldPlan): Promise<Run>
}

export async function openCourse(): Promise<Course> {
  await using started = new AsyncDisposableStack()
  const server = started.adopt(await startServer({ durable: true }), (one) => one.stop())
  const admin = started.adopt(
    await openPool(server.url, { applicationName: 'course', max: 1 }),
    (pool) => pool.end(),
  )
  const folder = started.use(await temporaryFolder())
  // Of four cores the source has one; of two the system decides.
  const cores = availableParallelism()
  const core = cores >= 4 ? cores - 1 : Number.MAX_SAFE_INTEGER
  const source = started.use(startProcess('../../peers/source-process.ts', core))
  let runs = 0
  const all = started.move()
  return {
    async run(peer, plan) {
      const name = `peer_${++runs}`
      await admin.query(`create database ${name} template template0 encoding 'UTF8'`)
      const database = databaseUrl(server.url, name)
      const pool = await openPool(database, { applicationName: 'course', max: 1 })
      const state = join(folder.path, name)
      await mkdir(state)
      const dispose = async () => {
        await pool.end()
        await admin.query(`drop database ${name} with (force)`)
        await rm(state, { recursive: true, force: true })
      }
      return new Run({ source, peer, plan, database, pool, state, dispose })
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

interface RunParts {
  readonly source: BenchProcess
  readonly peer: Peer
  readonly plan: WorldPlan
  readonly database: string
  readonly pool: pg.Pool
  readonly state: string
  readonly dispose?: () => Promise<void>
}

/** A peer on its way through the nights of a plan. */
export class Run implements AsyncDisposable {
  readonly #parts: RunParts
  #broken: readonly number[] = []
  #url = ''
  #now = 0
  #isSetUp = false
  #deadKey: number | undefined

  constructor(parts: RunParts) {
    this.#parts = parts
  }

  get pool(): pg.Pool {
    return this.#parts.pool
  }

  /** Moves the source to a night. */
  async open(night: number, { deadKey, ...changes }: NightChanges = {}): Promise<void> {
    const usual = { listShowsUpdates: true, faults: [] }
    const order: SourceOrder = { plan: this.#parts.plan, night, ...usual, ...changes }
    this.#deadKey = deadKey
    const ready = await this.#ask<SourceReady>(order)
    this.#broken = ready.broken
    this.#url = ready.url
    this.#now = nightAt(night)
  }

  /** One command of the peer. It is killed when this number of requests have been answered. */
  async night({ killAfter }: { readonly killAfter?: number } = {}): Promise<NightFigures> {
    const { peer, pool } = this.#parts
    if (!this.#isSetUp) await this.setUp()
    const command = await peer.night(this.#order())
    await pool.query('checkpoint')
    const before = await postgresTotals(pool)
    const requestsBefore = await this.#ask<SourceCounts>('counts')
    const measured = await measure(command, async (group) => {
      if (killAfter !== undefined) await this.#ask({ killAfter, group })
    })
    const postgres = difference(await postgresTotals(pool), before)
    const requests = difference(await this.#ask<SourceCounts>('counts'), requestsBefore)
    return { ...measured, postgres, requests }
  }

  /** Null when the peer has no such command. */
  async setUp(): Promise<Measured | null> {
    this.#isSetUp = true
    const command = await this.#parts.peer.setUp?.(this.#order())
    return command === undefined ? null : await measure(command)
  }

  #order(): NightOrder {
    const { plan, database, state } = this.#parts
    const rooftops = Array.from({ length: plan.rooftops }, (_, at) => {
      const key = at + 1 === this.#deadKey ? 'dead-key' : keyOf(plan, at + 1)
      return { dealer: rooftopUid(at + 1), key }
    })
    return {
      ...{ source: this.#url, database, rooftops, state, inFlight },
      ...{ start: startOf(plan), now: this.#now },
    }
  }

  /** What is stored against the source, without broken evaluations and a rooftop with a dead key. */
  async compare(): Promise<Difference> {
    const dead = this.#deadKey && rooftopUid(this.#deadKey)
    const truth = await this.#ask<Row[]>('truth')
    const [wanted, stored] = [truth, await this.#stored()].map((rows) =>
      rows.filter(({ dealer, id }) => dealer !== dead && !this.#broken.includes(id)),
    )
    return compare(wanted!, stored!)
  }

  /** Empty when the peer has not made its tables. */
  async #stored(): Promise<Row[]> {
    try {
      const { rows } = await this.pool.query(this.#parts.peer.rowsSql)
      return rows.map(({ dealer, evaluation_id, document }) => ({
        ...{ dealer, id: Number(evaluation_id), document },
      }))
    } catch (error) {
      // No such table, schema or column.
      if (/^(42P01|3F000|42703)$/.test((error as pg.DatabaseError).code ?? '')) return []
      throw error
    }
  }

  async #ask<T>(question: SourceQuestion): Promise<T> {
    return await this.#parts.source.ask<T>(question)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.dispose?.()
  }
}

function difference<T extends Readonly<Record<string, number>>>(after: T, before: T): T {
  const entries = Object.entries(after).map(([name, total]) => [name, total - (before[name] ?? 0)])
  return Object.fromEntries(entries) as T
}
