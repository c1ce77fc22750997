import type { Log } from './log.ts'
import { eventLoopBlocked } from './telemetry.ts'

const checkMs = 1_000
/** A worker sends a heartbeat every 3 s and loses its work after 10 s without one, so a longer block may lose work. */
const maxBlockMs = 5_000

/** Reports each time the event loop of this process was blocked for longer than the heartbeats allow, once it runs again. */
export function watchEventLoop(
  log: Log,
  { everyMs = checkMs, limitMs = maxBlockMs } = {},
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
      'event loop blocked: no heartbeat was sent, so another worker may have taken work over',
    )
    eventLoopBlocked.publish({ seconds: blockedMs / 1000 })
  }, everyMs)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
