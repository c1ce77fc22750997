import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit, { type LimitFunction } from 'p-limit'
import type { Context } from '../../context.ts'
import { OutdatedError } from '../../errors.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { wireDigest } from '../../values/wire.ts'
import { isConnectionLoss } from '../../warehouse/db/connect.ts'
import { assertSchemaKnown } from '../../warehouse/db/migrate.ts'
import type { RetryOnConnectionLoss } from '../../warehouse/db/retry-on-connection-loss.ts'
import { queueKey, type WorkItem } from '../../warehouse/queue/queue.ts'
import { isFirstOfRun } from './first-of-run.ts'
import { idleSlices, rooftopsAtOnce } from './idle-slices.ts'
import { type Lane, type Run, touchRuns } from './run-ledger.ts'
import { endFinishedRuns } from './run-lock.ts'
import { reportSlice, runSlice, type SliceOwner } from './run-slice.ts'
import { inSlicesSpan } from './run-spans.ts'
import { type SliceJob, type Stream, Traffic } from './stream.ts'
import {
  giveBack,
  lanePriority,
  type NextWork,
  nextWork,
  postpone,
  requeueLost,
  secondsUntilReady,
} from './work-queue.ts'

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
interface WorkLoopOptions extends SliceOwner {
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
 * Takes work from the queue and runs it, slice by slice, until everything that this process waits for is done. Any process whose
 * config names the same services may run work that another one enqueued.
 */
export async function runWorkLoop(context: Context, options: WorkLoopOptions): Promise<void> {
  const loop = new WorkLoop(context, options)
  const beat = setInterval(() => {
    const claimed = [...loop.active.keys()]
    const runIds = [...claimed.map(({ next }) => next?.run.runId), options.runId].filter(
      (id) => typeof id === 'number',
    )
    Promise.all([
      context.queue.touch(claimed.map(({ item }) => item)),
      touchRuns(context.db, runIds, options.runId === null ? context.queue.sourceId : null),
    ]).catch((error) => context.log.warn({ err: error }, 'heartbeat failed'))
  }, heartbeatMs)
  try {
    await loop.run()
  } finally {
    clearInterval(beat)
  }
}

/** Work that this process has taken, and what the ledger says is next for its key; nothing when all of it has ended. */
interface Claimed {
  readonly item: WorkItem
  readonly next: NextWork | undefined
  /** A process of another source is at work on the key: one at a time is. */
  readonly isShared: boolean
}

/** The state of one process's work loop. */
class WorkLoop {
  readonly active = new Map<Claimed, Promise<void>>()
  readonly #context: Context
  readonly #options: WorkLoopOptions
  readonly #groupLimits = new Map<string, LimitFunction>()
  /** Rooftops in the queue that this config does not have; other processes work on them. */
  readonly #unknownRooftops = new Set<string>()
  readonly #slots: LimitFunction
  #failure: unknown
  #checkedAt = 0
  #repairDueAt = performance.now() + repairEveryMs

  constructor(context: Context, options: WorkLoopOptions) {
    this.#context = context
    this.#options = options
    this.#slots = pLimit(options.concurrency ?? slicesAtOnce)
  }

  async run(): Promise<void> {
    const { retry, concurrency = slicesAtOnce } = this.#options
    try {
      while (!this.#context.signal.aborted && this.#failure === undefined) {
        const free = concurrency - new Set(this.active.values()).size
        const claimed = await retry.run(() => this.#takeWork(free))
        if (claimed === 'done') break
        for (const group of this.#grouped(claimed)) this.#begin(group)
        if (claimed.length > 0) continue
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

  async #takeWork(free: number): Promise<Claimed[] | 'done'> {
    const context = this.#context
    const { isDone, keepAlive, minLane } = this.#options
    await keepAlive()
    const now = performance.now()
    if (now > this.#repairDueAt) await this.#repair()
    // Take no work of another run now, since this process would have to wait for its slice.
    if (minLane !== undefined && this.active.size === 0 && (await isDone())) return 'done'
    const minPriority = minLane && lanePriority[minLane]
    const options = { unknownRooftops: [...this.#unknownRooftops], minPriority }
    const items = free > 0 ? await context.queue.take(free, options) : []
    const isIdle = items.length === 0 && this.active.size === 0
    if (isIdle || now - this.#checkedAt >= doneCheckMs) {
      this.#checkedAt = now
      if (await isDone()) {
        if (items.length > 0) await giveBack(context, items)
        return 'done'
      }
    }
    const claimed = await this.#claim(items)
    const first = claimed.find((entry) => this.#mayBeIdle(entry))
    // Many wait: the first slices of a run's stream are done together, in one slot.
    if (first === undefined || items.length < free) return claimed
    const { priority } = first.next!
    const alike = { ...options, minPriority: priority, maxPriority: priority }
    const more = await context.queue.take(rooftopsAtOnce - claimed.length, alike)
    return [...claimed, ...(await this.#claim(more))]
  }

  async #claim(items: readonly WorkItem[]): Promise<Claimed[]> {
    if (items.length === 0) return []
    const { db, queue } = this.#context
    const work = await nextWork(
      db,
      queue.sourceId,
      items.map(({ key }) => key),
    )
    const shared = await queue.findShared(db, items)
    const nexts = new Map(work.map((next) => [queueKey(next.key), next]))
    return items.map((item) => {
      const key = queueKey(item.key)
      return { item, next: nexts.get(key), isShared: shared.has(key) }
    })
  }

  /** Groups what is done together: the first slices of a run's stream. */
  #grouped(taken: readonly Claimed[]): Claimed[][] {
    const groups = Map.groupBy(taken, (claimed) =>
      this.#mayBeIdle(claimed) ? `${claimed.next!.run.runId}/${claimed.item.key.stream}` : claimed,
    )
    return [...groups.values()]
  }

  /** Whether it may be a slice without anything new: the first one of a nightly run, where no list covers a whole group. */
  #mayBeIdle({ item: { key }, next, isShared }: Claimed): boolean {
    const { streams, rooftops, minLane } = this.#options
    if (isShared || next?.run.mode !== 'sync' || !next.isFresh || minLane !== undefined)
      return false
    const stream = streams.find(({ name }) => name === key.stream)
    const rooftop = rooftops.find(({ uid }) => uid === key.rooftopUid)
    return stream?.records !== undefined && (rooftop?.dealerId ?? null) !== null
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

  #begin(group: readonly Claimed[]): void {
    // What was taken with others may need a slice of its own: it waits for a slot here, with its heartbeats.
    const done = this.#slots(() => this.#do(group))
      .catch((error) => {
        this.#failure ??= error
      })
      .finally(() => {
        for (const claimed of group) this.active.delete(claimed)
      })
    for (const claimed of group) this.active.set(claimed, done)
  }

  /** If Postgres is lost during a transaction, the work is returned once Postgres answers again, unless the commit had succeeded. */
  async #do(group: readonly Claimed[]): Promise<void> {
    try {
      await (group.length > 1 ? this.#workTogether(group) : this.#work(group[0]!))
    } catch (error) {
      if (!(await this.#options.retry.isOutage(error))) throw error
      // Inside the retry, so that no slice gives up before Postgres is known to be down.
      for (const item of this.#itemsLeft(group))
        await this.#options.retry.run(() => giveBack(this.#context, [item]))
    }
  }

  async #work({ item, next, isShared }: Claimed): Promise<void> {
    const context = this.#context
    const { runId, onRun, minLane } = this.#options
    const isBelow = next && minLane && lanePriority[next.run.lane] < lanePriority[minLane]
    if (!next || isBelow || next.delaySeconds > 0) return await giveBack(context, [item])
    const { run } = next
    const later = (seconds: number) =>
      giveBack(context, [item], { record: (tx) => postpone(tx, run.runId, item.key, seconds) })
    // Processes of two sources wait for different times, so that they do not meet again.
    if (isShared) return await later(2 + (context.queue.sourceId % 4) / 2)
    const job = this.#jobOf(item, run)
    if (job === null) return await later(2)
    if (run.wireDigest !== undefined && run.wireDigest !== wireDigest(context.config.wire)) {
      if (isFirstOfRun(context, run.runId, 'wire'))
        context.log.warn(
          { runId: run.runId },
          `process ${process.pid} of ${hostname()} was started with other wire settings than run ${run.runId} (${run.command}), and leaves its work to others: restart this process`,
        )
      return await later(2)
    }
    if (run.runId !== runId) await onRun?.(run)
    const { stream, rooftop } = job
    if (stream.follows !== undefined) {
      // It waits for the run's earlier streams, without holding a slot.
      const seconds = await secondsUntilReady(context.db, job)
      if (seconds > 0) return await later(seconds)
    } else if (rooftop.dealerId === null) {
      // Rooftops of a group whose lists cover the whole group run one after the other, since they would read the same evaluations.
      const name = `${stream.name}/${rooftop.groupId}`
      if (!this.#groupLimits.has(name)) this.#groupLimits.set(name, pLimit(1))
      const start = () => ({ ...job, traffic: new Traffic() })
      return await this.#groupLimits.get(name)!(() => runSlice(start(), this.#options))
    }
    await runSlice(job, this.#options)
  }

  /** The work as a slice; null when this config has no such stream or rooftop. */
  #jobOf(item: WorkItem, run: Run): SliceJob<Stream> | null {
    const { streams, rooftops } = this.#options
    const stream = streams.find(({ name }) => name === item.key.stream)
    const rooftop = rooftops.find(({ uid }) => uid === item.key.rooftopUid)
    if (!rooftop) this.#unknownRooftops.add(item.key.rooftopUid)
    if (!stream || !rooftop) return null
    const siblings = rooftops.filter(({ groupId }) => groupId === rooftop.groupId)
    const traffic = new Traffic()
    return { context: this.#context, run, stream, rooftop, siblings, item, traffic }
  }

  /** The first slices of a run's stream. Where a fault makes one of them fail, each is repeated alone, so that it affects no other. */
  async #workTogether(group: readonly Claimed[]): Promise<void> {
    const { onRun, onSlice, runId } = this.#options
    const { run } = group[0]!.next!
    if (run.runId !== runId) await onRun?.(run)
    const claimedOf = new Map(group.map((claimed) => [this.#jobOf(claimed.item, run)!, claimed]))
    try {
      await inSlicesSpan([...claimedOf.keys()], async (jobs) => {
        for await (const completed of idleSlices(jobs))
          for (const [job, result] of completed) {
            this.active.delete(claimedOf.get(job)!)
            if (result === null) continue
            reportSlice(job.stream.name, 'done', result.counts)
            await onSlice(job, result)
          }
      })
    } catch (error) {
      if (isConnectionLoss(error)) throw error
      const left = this.#itemsLeft(group)
      if (error instanceof OutdatedError) {
        for (const item of left) await giveBack(this.#context, [item])
        throw error
      }
      this.#context.log.debug({ err: error }, 'slices are repeated one by one')
      // What is next is read again: the run may have ended.
      for (const claimed of await this.#claim(left)) await this.#work(claimed)
    }
  }

  /** The work of the group that was not completed yet. */
  #itemsLeft(group: readonly Claimed[]): WorkItem[] {
    return group.filter((claimed) => this.active.has(claimed)).map(({ item }) => item)
  }
}
