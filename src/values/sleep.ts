/** Resolves after `ms`. Rejects at once with the reason of a signal that is or becomes aborted; leaves no timer and no listener behind. */
export async function sleep(
  ms: number,
  signals: readonly (AbortSignal | undefined)[] = [],
): Promise<void> {
  for (const signal of signals) signal?.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const onAbort = (event: Event) => reject((event.target as AbortSignal).reason)
  for (const signal of signals) signal?.addEventListener('abort', onAbort)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    for (const signal of signals) signal?.removeEventListener('abort', onAbort)
  }
}
