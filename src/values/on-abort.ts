type Callback = (reason: unknown) => void

/** The callbacks for a signal, and its one listener. */
interface Watch {
  readonly callbacks: Set<Callback>
  readonly listener: () => void
}

const watches = new WeakMap<AbortSignal, Watch>()

/** Calls `callback` with the reason when one of the signals is aborted, until the returned function is called. A signal has one
 *  listener for all callbacks: a thousand calls a second that add and remove their own cost more than their requests. */
export function onAbort(
  signals: readonly (AbortSignal | undefined)[],
  callback: Callback,
): () => void {
  for (const signal of signals) if (signal) watchSignal(signal).callbacks.add(callback)
  return () => {
    for (const signal of signals) if (signal) removeCallback(signal, callback)
  }
}

function watchSignal(signal: AbortSignal): Watch {
  const found = watches.get(signal)
  if (found) return found
  const callbacks = new Set<Callback>()
  const listener = () => {
    for (const callback of [...callbacks]) callback(signal.reason)
  }
  const watch = { callbacks, listener }
  signal.addEventListener('abort', listener)
  watches.set(signal, watch)
  return watch
}

/** Removes a callback, and the listener with the last one: it would keep the signal in memory. */
function removeCallback(signal: AbortSignal, callback: Callback): void {
  const watch = watches.get(signal)
  if (!watch) return
  watch.callbacks.delete(callback)
  if (watch.callbacks.size > 0) return
  signal.removeEventListener('abort', watch.listener)
  watches.delete(signal)
}
