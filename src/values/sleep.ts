import { onAbort } from './on-abort.ts'

/** Resolves after `ms`. Rejects at once with the reason of a signal that is or becomes aborted; leaves no timer and no listener behind. */
export async function sleep(
  ms: number,
  signals: readonly (AbortSignal | undefined)[] = [],
): Promise<void> {
  for (const signal of signals) signal?.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const leave = onAbort(signals, reject)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    leave()
  }
}
