import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Config } from '#src/app/config/read.ts'
import type { Context } from '#src/context.ts'
import { type Log, openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import type { RunReport } from '#src/sync/run/run-report.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { toUnixSeconds } from '#src/values/unix-seconds.ts'
import type { Queue } from '#src/warehouse/queue/queue.ts'
import { queueWith } from '../support/queue-with.ts'
import type { Crash } from './simulation.ts'
import type { Source } from './source.ts'
import { deliverWebhooks, type WebhookDelivery } from './webhooks.ts'

/** Rooftops that had a bad night, and why. */
export type FailedRooftops = ReadonlyMap<string, string>

/** Ends the sessions of the process that crashes, with all their locks. */
const endSessions = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and application_name <> 'simulation'`

/** Makes a process appear frozen: its last heartbeat is an hour ago. */
const silence = `
  update pgboss.job set heartbeat_on = now() - interval '1 hour'
  where singleton_key = $1 and state = 'active'`

/**
 * A simulated process that can crash: it opens its own context, and at a crash point all its sessions end and it never writes
 * again. This tests what a crash leaves behind; test/crash kills real processes.
 */
export class CrashableProcess {
  readonly config: Config
  readonly #pool: pg.Pool
  #context: Context | null = null
  #isDead = false
  #ending: Promise<unknown> | null = null
  deaths = 0
  fenced = 0

  constructor(config: Config, pool: pg.Pool) {
    this.config = config
    this.#pool = pool
  }

  /** Runs the nightly sync of all rooftops; after a crash another process starts it again. */
  async night(source: Source, crash: Crash | null): Promise<FailedRooftops> {
    const { rooftops } = this.config
    let bad: FailedRooftops | null = null
    try {
      bad = await this.#run(rooftops, crash, source)
    } catch (error) {
      if (!this.#isDead) throw error
    }
    // After a crash at the last point, the run itself may have ended well.
    if (!this.#isDead) return bad!
    await this.#bury()
    return await this.#run(rooftops, null, source)
  }

  async repeat(uids: readonly string[]): Promise<FailedRooftops> {
    const rooftops = this.config.rooftops.filter(({ uid }) => uids.includes(uid))
    return await this.#run(rooftops, null, null)
  }

  /** Receives webhooks and loads their evaluations. */
  async post(letters: readonly WebhookDelivery[]): Promise<void> {
    this.#context ??= await openContext(this.config, this.#log())
    let report = await deliverWebhooks(this.#context, letters)
    // A rooftop may pass a delivery to the rooftop that owns the evaluation.
    while (report !== null) {
      if (badOf(report).size > 0)
        throw new Error(`The webhooks of ${[...badOf(report)].join(', ')} could not be loaded.`)
      report = await deliverWebhooks(this.#context, [])
    }
  }

  async close(): Promise<void> {
    await this.#context?.[Symbol.asyncDispose]()
  }

  async #run(
    rooftops: Config['rooftops'],
    crash: Crash | null,
    source: Source | null,
  ): Promise<FailedRooftops> {
    this.#context ??= await openContext(this.config, this.#log())
    const stop = new AbortController()
    const frozen = new Set<string>()
    const zombies: Promise<void>[] = []
    const over = new AbortController()
    const context = {
      ...this.#context,
      signal: stop.signal,
      crashPoint: this.#dyingAt(crash, this.#context, stop),
      queue: freezable(this.#context.queue, frozen),
    }
    if (source)
      source.onHeld = (uid, release) => {
        frozen.add(uid)
        zombies.push(this.#zombie(uid, over.signal).finally(release))
      }
    const from = toUnixSeconds(this.config.sync.start)
    const plan = { command: 'sync', mode: 'sync', from, until: null } as const
    try {
      return badOf(await runStreams(context, { plan, streams: [evaluations], rooftops }))
    } finally {
      if (source) source.onHeld = null
      over.abort()
      await Promise.all(zombies)
    }
  }

  /** Crashes the process at a point: its pool opens no more sessions, and the open ones end. */
  #dyingAt(crash: Crash | null, context: Context, stop: AbortController) {
    let passed = 0
    return (name: string): void => {
      if (this.#isDead) throw new Error('is dead')
      if (name !== crash?.point || ++passed !== crash.nth) return
      this.#isDead = true
      this.deaths++
      void Promise.resolve(context.pool.end()).catch(() => undefined)
      this.#ending = Promise.resolve(this.#pool.query(endSessions)).finally(() =>
        stop.abort(new Error('is dead')),
      )
      throw new Error(`died at ${name}`)
    }
  }

  async #bury(): Promise<void> {
    // On a busy machine this may be late; it must not end the sessions of the next process.
    await this.#ending
    await this.#pool.query(endSessions)
    // Its pool was ended before, so there is nothing else to close.
    await Promise.resolve(this.#context?.[Symbol.asyncDispose]()).catch(() => undefined)
    this.#context = null
    this.#isDead = false
  }

  /** Keeps a worker waiting without a heartbeat until another has done its work; then the answer arrives. */
  async #zombie(uid: string, over: AbortSignal): Promise<void> {
    await this.#pool.query(silence, [`evaluations/${uid}`])
    while (!over.aborted && !this.#isDead && !(await this.#isDone(uid))) await sleep(50)
  }

  async #isDone(uid: string): Promise<boolean> {
    const { rows } = await this.#pool.query<{ done: boolean }>(
      `select status not in ('waiting', 'running') as done from ops.run_stream
       join core.rooftop using (rooftop_id) where rooftop_uid = $1 order by run_id desc limit 1`,
      [uid],
    )
    return rows[0]?.done ?? false
  }

  #log(): Log {
    const write = (line: string) => {
      if (line.includes('nothing was written')) this.fenced++
    }
    return openLog({ level: 'warn', human: false, secrets: [], write })
  }
}

/** The queue for a process that sends no heartbeat for its frozen work. */
function freezable(queue: Queue, frozen: ReadonlySet<string>): Queue {
  return queueWith(queue, {
    touch: (items) => queue.touch(items.filter(({ key }) => !frozen.has(key.rooftopUid))),
  })
}

function badOf({ rooftops }: RunReport): FailedRooftops {
  const bad = Object.entries(rooftops).filter(([, { status }]) => status !== 'ok')
  return new Map(bad.map(([uid, { status, error }]) => [uid, error ?? status]))
}
