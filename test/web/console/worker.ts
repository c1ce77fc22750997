import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { allStreams } from '#src/streams/all.ts'
import { runWorker } from '#src/sync/run/run-worker.ts'
import { sessionName } from '#src/warehouse/db/processes.ts'
import { until } from '../../support/child.ts'
import type { Fixture } from '../../support/fixture.ts'

const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

/** A worker on the warehouse of a fixture, as `forecourt worker` is; it ends when it is disposed. */
export async function openWorker({ config }: Fixture): Promise<AsyncDisposable> {
  const stop = new AbortController()
  const options = { signal: stop.signal, applicationName: sessionName('worker', config) }
  const context = await openContext(config, silent, options)
  const worked = runWorker(context, { streams: allStreams, concurrency: 2 })
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await worked
      await context[Symbol.asyncDispose]()
    },
  }
}

/** Waits until no run has open work. */
export async function untilRunsEnded({ database }: Fixture): Promise<void> {
  await until(async () => {
    const { rows } = await database.pool.query("select from ops.run where status = 'running'")
    return rows.length === 0
  })
}
