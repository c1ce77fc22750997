import { setImmediate } from 'node:timers/promises'

/** Makes a function to call in every round of a long loop. It lets heartbeats and sockets run once the loop has held the process for
 *  `holdMs`. */
export function eventLoopYielder(holdMs = 50): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < holdMs) return
    await setImmediate()
    since = performance.now()
  }
}
