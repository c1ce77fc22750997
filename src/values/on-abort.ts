type Tell = (reason: unknown) => void

/** Who waits for a signal, and its one listener. */
interface Watch {
  readonly tells: Set<Tell>
  readonly listener: () => void
}

const watches = new WeakMap<AbortSignal, Watch>()

/** Tells of the first of the signals to be aborted, with its reason, until the answer is called. However many wait for a signal,
 *  it has one listener: a thousand calls a second that add and remove their own cost more than their requests. */
export function onAbort(signals: readonly (AbortSignal | undefined)[], tell: Tell): () => void {
  for (const signal of signals) if (signal) watchOf(signal).tells.add(tell)
  return () => {
    for (const signal of signals) if (signal) leave(signal, tell)
  }
}

function watchOf(signal: AbortSignal): Watch {
  const found = watches.get(signal)
  if (found) return found
  const tells = new Set<Tell>()
  const listener = () => {
    for (const tell of [...tells]) tell(signal.reason)
  }
  const watch = { tells, listener }
  signal.addEventListener('abort', listener)
  watches.set(signal, watch)
  return watch
}

/** A listener keeps its signal in memory: the last one to leave takes it along. */
function leave(signal: AbortSignal, tell: Tell): void {
  const watch = watches.get(signal)
  if (!watch) return
  watch.tells.delete(tell)
  if (watch.tells.size > 0) return
  signal.removeEventListener('abort', watch.listener)
  watches.delete(signal)
}
