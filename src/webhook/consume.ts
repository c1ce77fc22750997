import type { RooftopConfig } from '../config.ts'
import { type Context, noProgress } from '../context.ts'
import { BusyError, FencedError, messageOf, SyncError, UsageError } from '../errors.ts'
import { runStreams } from '../pipeline/run.ts'
import { evaluations } from '../streams/evaluations/evaluations.ts'
import { toUnixSeconds } from '../values/unix-seconds.ts'
import { sleep } from '../values/sleep.ts'
import { putOff, type DueRooftop, readDue } from './due.ts'
import { HintLocks } from './hint-locks.ts'

const lookEveryMs = 500
/** The warehouse is away: nobody needs to be told of it twice a second. */
const restMs = 5_000
const rooftopsAtOnce = 4

/**
 * Loads what the inbox holds, a run for each rooftop and burst, until the context's signal; resolves once what was under way
 * has ended. Any number of processes may do this at once: one of them is at work on a rooftop.
 */
export async function consumeHints(context: Context): Promise<void> {
  const { signal, log } = context
  const active = new Map<string, Promise<void>>()
  await using locks = new HintLocks(context.pool)
  while (!signal.aborted) {
    let pauseMs = lookEveryMs
    try {
      await startDue(context, locks, active)
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'the inbox of the webhooks cannot be read just now')
      pauseMs = restMs
    }
    await sleep(pauseMs, [signal]).catch(() => undefined)
  }
  await Promise.all(active.values())
}

async function startDue(
  context: Context,
  locks: HintLocks,
  active: Map<string, Promise<void>>,
): Promise<void> {
  const free = rooftopsAtOnce - active.size
  if (free <= 0) return
  for (const due of (await readDue(context.pool)).filter(({ uid }) => !active.has(uid))) {
    if (active.size >= rooftopsAtOnce) return
    const rooftop = context.config.rooftops.find(({ uid }) => uid === due.uid)
    // Of a rooftop that is no more in the config: it waits for it to come back.
    if (rooftop === undefined || !(await locks.take(due.rooftopId))) continue
    const done = load(context, rooftop, due).finally(async () => {
      await locks.free(due.rooftopId)
      active.delete(due.uid)
    })
    active.set(due.uid, done)
  }
}

/** One run. Never rejects: what could not be loaded waits, longer each time. */
async function load(context: Context, rooftop: RooftopConfig, due: DueRooftop): Promise<void> {
  const { log, config, pool } = context
  const about = { rooftop: rooftop.uid, deliveries: due.deliveries.length }
  try {
    const report = await runStreams(
      { ...context, progress: noProgress },
      {
        plan: {
          command: 'webhooks',
          mode: 'hints',
          lane: 'event',
          from: toUnixSeconds(config.sync.start),
          until: null,
        },
        streams: [evaluations],
        rooftops: [rooftop],
      },
    )
    const { error = 'the run ended before it' } = report.rooftops[rooftop.uid] ?? {}
    const counts = report.streams[evaluations.name]
    log.info({ ...about, runId: report.runId, ...counts }, `webhooks: run ${report.runId}`)
    if (!context.signal.aborted) await putOff(pool, due, error)
  } catch (error) {
    if (context.signal.aborted) return
    // Another process does it, or has taken it over.
    if (error instanceof BusyError || error instanceof FencedError) return
    const reason = messageOf(error)
    log.warn({ ...about, reason }, 'webhooks could not be loaded; they wait')
    if (error instanceof UsageError || error instanceof SyncError)
      await putOff(pool, due, reason).catch(() => undefined)
    await sleep(restMs, [context.signal]).catch(() => undefined)
  }
}
