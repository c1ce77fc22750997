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

/** Slices at once in one process; each holds a bounded number of records in memory. */
export const slicesAtOnce = 4
const heartbeatMs = 3_000
const idleWaitMs = 250
/** How often a busy process checks whether its own run has ended. */
const doneCheckMs = 500
/** How often lost work is enqueued again and finished runs without a process are ended. */
const repairEveryMs = 5_000
/** This check is slow when very much work is open, so it takes at most a fiftieth of the time, but runs every five minutes. */
const repairShare = 50
const maxRepairIntervalMs = 300_000

/** What a work loop takes, how much at once, and when it ends. */
export interface WorkLoopOptions extends SliceOwner {
  readonly streams: readonly Stream[]
  /** All rooftops of the config; work for any of them is taken. */
  readonly rooftops: readonly RooftopRow[]
  readonly concurrency?: number
  /** Work of lower lanes is left to others; left out: all work is taken. */
  readonly minLane?: Lane
  readonly retry: RetryOnConnectionLoss
  /** Whether everything that this process waits for is done. */
  readonly isDone: () => Promise<boolean>
  /** Called regularly; an exception ends the loop. */
  readonly keepAlive: () => Promise<void>
  /** Called before each slice of a run that is not this process's own. */
  readonly onRun?: (run: Run) => Promise<void>
}

/**
 * Takes work from the queue and runs it, slice by slice, until everything that this process waits for is done. Any process with
 * the same config may run work that another one enqueued.
 */
export async function runWorkLoop(context: Context, options: WorkLoopOptions): Promise<void> {
  const loop = new WorkLoop(context, options)
  const beat = setInterval(() => {
    const items = [...loop.active.keys()]
    const runIds = [
      ...items.map(({ data }) => data.runId),
      ...(options.runId === null ? [] : [options.runId]),
    ]
    Promise.all([
      context.queue.touch(items),
      touchRuns(context.db, runIds, options.runId === null),
    ]).catch((error) => context.log.warn({ err: error }, 'heartbeat failed'))
  }, heartbeatMs)
  try {
    await loop.run()
  } finally {
    clearInterval(beat)
  }
}

/** The state of one process's work loop. */
class WorkLoop {
  readonly active = new Map<WorkItem, Promise<void>>()
  readonly #context: Context
  readonly #options: WorkLoopOptions
  readonly #groupLimits = new Map<string, LimitFunction>()
  /** Rooftops in the queue that this config does not have; other processes work on them. */
  readonly #unknownRooftops = new Set<string>()
  #failure: unknown
  #checkedAt = 0
  #repairDueAt = performance.now() + repairEveryMs

  constructor(context: Context, options: WorkLoopOptions) {
    this.#context = context
    this.#options = options
  }

  async run(): Promise<void> {
    const { retry, concurrency = slicesAtOnce } = this.#options
    try {
      while (!this.#context.signal.aborted && this.#failure === undefined) {
        const free = concurrency - this.active.size
        const items = await retry.run(() => this.#takeWork(free))
        if (items === 'done') break
        for (const item of items) this.#begin(item)
        if (items.length > 0) continue
        if (this.active.size === 0) await sleep(idleWaitMs)
        else await Promise.race([...this.active.values(), sleep(idleWaitMs * 4)])
      }
    } catch (error) {
      // After a signal while Postgres is down, others take the active work over once its heartbeats stop.
      if (!this.#context.signal.aborted || !isConnectionLoss(error)) this.#failure ??= error
    }
    await Promise.all(this.active.values())
    if (this.#failure !== undefined) throw this.#failure
  }

  async #takeWork(free: number): Promise<WorkItem[] | 'done'> {
    const { queue } = this.#context
    const { isDone, keepAlive, minLane } = this.#options
    await keepAlive()
    const now = performance.now()
    if (now > this.#repairDueAt) await this.#repair()
    // Take no work of another run now, since this process would have to wait for its slice.
    if (minLane !== undefined && this.active.size === 0 && (await isDone())) return 'done'
    const minPriority = minLane && lanePriority[minLane]
    const options = { unknownRooftops: [...this.#unknownRooftops], minPriority }
    const items = free > 0 ? await queue.take(free, options) : []
    const isIdle = items.length === 0 && this.active.size === 0
    if (!isIdle && now - this.#checkedAt < doneCheckMs) return items
    this.#checkedAt = now
    if (!(await isDone())) return items
    for (const item of items)
      await unlessFenced(this.#context, () => returnWork(this.#context, item))
    return 'done'
  }

  async #repair(): Promise<void> {
    const from = performance.now()
    this.#repairDueAt = from + repairEveryMs
    await assertSchemaKnown(this.#context.pool, this.#context.schemaVersion)
    await requeueLost(this.#context, this.#options.runId)
    await endFinishedRuns(this.#context.db)
    const now = performance.now()
    const restMs = Math.max(repairEveryMs, (now - from) * repairShare)
    this.#repairDueAt = now + Math.min(restMs, maxRepairIntervalMs)
  }

  #begin(item: WorkItem): void {
    const done = this.#do(item)
      .catch((error) => {
        this.#failure ??= error
      })
      .finally(() => this.active.delete(item))
    this.active.set(item, done)
  }

  /** If Postgres is lost during a transaction, the work is returned once Postgres answers again, unless the commit had succeeded. */
  async #do(item: WorkItem): Promise<void> {
    const context = this.#context
    try {
      await this.#claimed(item)
    } catch (error) {
      if (!(await this.#options.retry.isOutage(error))) throw error
      await this.#options.retry.run(async () => {
        // Inside the retry, so that no slice gives up before Postgres is known to be down.
        await unlessFenced(context, () => returnWork(context, item))
      })
    }
  }

  async #claimed(item: WorkItem): Promise<void> {
    const context = this.#context
    const { streams, rooftops, runId, onRun } = this.#options
    const run = await readRun(context.db, item.data.runId)
    // A run that has ended needs no more work.
    if (run?.status !== 'running') return await unlessFenced(context, () => dropWork(context, item))
    const stream = streams.find((entry) => entry.name === item.data.stream)
    const rooftop = rooftops.find((entry) => entry.uid === item.data.rooftopUid)
    if (!stream || !rooftop) {
      if (!rooftop) this.#unknownRooftops.add(item.data.rooftopUid)
      return await unlessFenced(context, () => returnWork(context, item, 2))
    }
    const siblings = rooftops.filter(({ groupId }) => groupId === rooftop.groupId)
    if (run.runId !== runId) await onRun?.(run)
    await this.#runWhenReady({
      context,
      run,
      stream,
      rooftop,
      siblings,
      item,
      traffic: new Traffic(),
    })
  }

  /** Runs a slice when it is ready. An enrichment waits for the run's earlier streams, without holding a slot. Rooftops of a group
   *  whose lists cover the whole group run one after the other, since they would read the same evaluations. */
  async #runWhenReady(job: SliceJob): Promise<void> {
    const { context, item, stream, rooftop } = job
    const act = () => runSlice(job, this.#options)
    if (stream.kind === 'enrichment' || stream.kind === 'batch') {
      const readiness = await checkDependencies(context.db, job)
      if (readiness.kind === 'now') return await act()
      return await unlessFenced(context, () =>
        readiness.kind === 'never'
          ? dropWork(context, item)
          : returnWork(context, item, readiness.seconds),
      )
    }
    if (rooftop.dealerId !== null) return await act()
    const name = `${stream.name}/${rooftop.groupId}`
    if (!this.#groupLimits.has(name)) this.#groupLimits.set(name, pLimit(1))
    await this.#groupLimits.get(name)!(act)
  }
}
