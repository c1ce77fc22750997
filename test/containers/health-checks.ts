import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, podman, tryPodman } from './engine.ts'

/**
 * Runs the health check of every container each second until it is healthy. Docker has timers for it, and Podman those of systemd,
 * which a machine of CI may lack.
 */
export function startHealthChecks(engine: Engine): AsyncDisposable {
  const stop = new AbortController()
  const ended = (async () => {
    while (!stop.signal.aborted) {
      const waiting = ['--filter=health=starting', '--filter=health=unhealthy']
      const names = (await podman(engine, 'ps', '--quiet', ...waiting)).split('\n').filter(Boolean)
      // One that has no check, or has ended meanwhile, is an error of podman that says nothing here.
      for (const name of names) await tryPodman(engine, 'healthcheck', 'run', name)
      await sleep(1000, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  })()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
    },
  }
}
