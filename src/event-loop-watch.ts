import type { Log } from './log.ts'
import { eventLoopBlocked } from './telemetry.ts'

const checkEveryMs = 1_000
/** A worker beats every 3 seconds, and loses its work after 10 of silence: a longer block than this may have cost it. */
const mostMs = 5_000

/** Reports every time that the event loop of this process was blocked for longer than the heartbeats allow, once it runs again. */
export function watchEventLoop(
  log: Log,
  { everyMs = checkEveryMs, limitMs = mostMs } = {},
): Disposable {
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    const blockedMs = now - last - everyMs
    last = now
    if (blockedMs <= limitMs) return
    const seconds = Math.round(blockedMs / 100) / 10
    log.warn(
      { seconds },
      'the event loop was blocked: no heartbeat was sent meanwhile, so work may have been taken over',
    )
    eventLoopBlocked.publish({ seconds: blockedMs / 1000 })
  }, everyMs)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
