import { setTimeout as sleep } from 'node:timers/promises'
import pLimit, { type LimitFunction } from 'p-limit'
import type { Context } from '../context.ts'
import { isConnectionLoss } from '../db/connect.ts'
import { assertSchemaKnown } from '../db/migrate.ts'
import type { WorkItem } from '../queue/queue.ts'
import type { Stream } from '../streams/stream.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import { runSlice, returnWork, type SliceOwner, unlessFenced, dropWork } from './run-slice.ts'
import { type Lane, type Run, readRun, touchRuns } from './run-ledger.ts'
import { lanePriority, requeueLost } from './work-queue.ts'
import type { RetryOnConnectionLoss } from '../db/retry-on-connection-loss.ts'
import { endFinishedRuns } from './run-lock.ts'
import { type SliceJob, Traffic } from './slice.ts'
import { checkDependencies } from './dependencies.ts'

/** Slices at once in one process: each holds a bounded batch of records. */
export const slicesAtOnce = 4
const touchEveryMs = 3_000
const idleWaitMs = 250
/** How often a busy process looks whether its own run has ended. */
const lookEveryMs = 500
/** How often what is lost of the queue is sent again, and what nobody waits for is ended. */
const repairEveryMs = 5_000
/** Looking through very much work takes its time: no more than a fiftieth of all, and no longer apart than five minutes. */
const repairShare = 50
const repairAtLeastEveryMs = 300_000

export interface WorkLoopOptions extends SliceOwner {
  readonly streams: readonly Stream[]
  /** All rooftops of the config: work for any of them is welcome. */
  readonly rooftops: readonly RooftopRow[]
  readonly concurrency?: number
  /** What is less urgent is left to others; left out: all work is welcome. */
  readonly minLane?: Lane
  readonly patience: RetryOnConnectionLoss
  /** Whether all of it is done; until then the process goes on. */
  readonly isDone: () => Promise<boolean>
  /** Told every now and then; what it throws ends the work. */
  readonly keepAlive: () => Promise<void>
  /** Told before the first slice of each run that is not this process's own. */
  readonly onRun?: (run: Run) => Promise<void>
}

/**
 * Takes work from the queue and does it, a slice at a time, until everything that this process waits for is done.
 * Whoever enqueued it does not matter: a second host with the same config takes its share by the same code.
 */
export async function runWorkLoop(context: Context, scope: WorkLoopOptions): Promise<void> {
  const shift = new WorkLoop(context, scope)
  const beat = setInterval(() => {
    const items = [...shift.active.keys()]
    const runIds = [
      ...items.map(({ data }) => data.runId),
      ...(scope.runId === null ? [] : [scope.runId]),
    ]
    Promise.all([
      context.queue.touch(items),
      touchRuns(context.db, runIds, scope.runId === null),
    ]).catch((error) => context.log.warn({ err: error }, 'heartbeat failed'))
  }, touchEveryMs)
  try {
    await shift.run()
  } finally {
    clearInterval(beat)
  }
}

/** One process at work. */
class WorkLoop {
  readonly active = new Map<WorkItem, Promise<void>>()
  readonly #context: Context
  readonly #scope: WorkLoopOptions
  readonly #turns = new Map<string, LimitFunction>()
  /** Rooftops of the queue that this config does not know: another one's to do. */
  readonly #strangers = new Set<string>()
  #failure: unknown
  #lookedAt = 0
  #repairDueAt = performance.now() + repairEveryMs

  constructor(context: Context, scope: WorkLoopOptions) {
    this.#context = context
    this.#scope = scope
  }

  async run(): Promise<void> {
    const { patience, concurrency = slicesAtOnce } = this.#scope
    try {
      while (!this.#context.signal.aborted && this.#failure === undefined) {
        const free = concurrency - this.active.size
        const items = await patience.run(() => this.#look(free))
        if (items === 'done') break
        for (const item of items) this.#begin(item)
        if (items.length > 0) continue
        if (this.active.size === 0) await sleep(idleWaitMs)
        else await Promise.race([...this.active.values(), sleep(idleWaitMs * 4)])
      }
    } catch (error) {
      // A signal that comes while Postgres is away: what is under way is taken over by its heartbeats.
      if (!this.#context.signal.aborted || !isConnectionLoss(error)) this.#failure ??= error
    }
    await Promise.all(this.active.values())
    if (this.#failure !== undefined) throw this.#failure
  }

  async #look(free: number): Promise<WorkItem[] | 'done'> {
    const { queue } = this.#context
    const { isDone, keepAlive, minLane: leastLane } = this.#scope
    await keepAlive()
    const now = performance.now()
    if (now > this.#repairDueAt) await this.#repair()
    // Nothing of another run is begun any more: its slice would have to be waited for.
    if (leastLane !== undefined && this.active.size === 0 && (await isDone())) return 'done'
    const leastPriority = leastLane && lanePriority[leastLane]
    const options = { strangers: [...this.#strangers], leastPriority }
    const items = free > 0 ? await queue.take(free, options) : []
    const isIdle = items.length === 0 && this.active.size === 0
    if (!isIdle && now - this.#lookedAt < lookEveryMs) return items
    this.#lookedAt = now
    if (!(await isDone())) return items
    for (const item of items)
      await unlessFenced(this.#context, () => returnWork(this.#context, item))
    return 'done'
  }

  async #repair(): Promise<void> {
    const from = performance.now()
    this.#repairDueAt = from + repairEveryMs
    await assertSchemaKnown(this.#context.pool, this.#context.schemaVersion)
    await requeueLost(this.#context, this.#scope.runId)
    await endFinishedRuns(this.#context.db)
    const now = performance.now()
    const restMs = Math.max(repairEveryMs, (now - from) * repairShare)
    this.#repairDueAt = now + Math.min(restMs, repairAtLeastEveryMs)
  }

  #begin(item: WorkItem): void {
    const done = this.#do(item)
      .catch((error) => {
        this.#failure ??= error
      })
      .finally(() => this.active.delete(item))
    this.active.set(item, done)
  }

  /** Work whose transaction lost its Postgres is handed back when that answers again; if it was committed after all, it stays so. */
  async #do(item: WorkItem): Promise<void> {
    const context = this.#context
    try {
      await this.#claimed(item)
    } catch (error) {
      if (!(await this.#scope.patience.isOutage(error))) throw error
      await this.#scope.patience.run(async () => {
        // The first to fail is asked again; the others must not give up before Postgres is known to be away.
        await unlessFenced(context, () => returnWork(context, item))
      })
    }
  }

  async #claimed(item: WorkItem): Promise<void> {
    const context = this.#context
    const { streams, rooftops, runId, onRun } = this.#scope
    const run = await readRun(context.db, item.data.runId)
    // A run that has ended wants nothing any more.
    if (run?.status !== 'running') return await unlessFenced(context, () => dropWork(context, item))
    const stream = streams.find((entry) => entry.name === item.data.stream)
    const rooftop = rooftops.find((entry) => entry.uid === item.data.rooftopUid)
    if (!stream || !rooftop) {
      if (!rooftop) this.#strangers.add(item.data.rooftopUid)
      return await unlessFenced(context, () => returnWork(context, item, 2))
    }
    const siblings = rooftops.filter(({ groupId }) => groupId === rooftop.groupId)
    if (run.runId !== runId) await onRun?.(run)
    await this.#inTurn({ context, run, stream, rooftop, siblings, item, traffic: new Traffic() })
  }

  /** An enrichment asks about what the earlier streams of the run bring in: it waits for them, and holds no slot meanwhile. Rooftops
   *  of a group whose lists are not filtered would read the same evaluations side by side: they go one after the other. */
  async #inTurn(job: SliceJob): Promise<void> {
    const { context, item, stream, rooftop } = job
    const act = () => runSlice(job, this.#scope)
    if (stream.kind === 'enrichment' || stream.kind === 'batch') {
      const turn = await checkDependencies(context.db, job)
      if (turn.kind === 'now') return await act()
      return await unlessFenced(context, () =>
        turn.kind === 'never' ? dropWork(context, item) : returnWork(context, item, turn.seconds),
      )
    }
    if (rooftop.dealerId !== null) return await act()
    const name = `${stream.name}/${rooftop.groupId}`
    if (!this.#turns.has(name)) this.#turns.set(name, pLimit(1))
    await this.#turns.get(name)!(act)
  }
}
