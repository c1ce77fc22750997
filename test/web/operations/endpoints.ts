import { PerformanceObserver } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Config } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import type { Context } from '#src/context.ts'
import type { World } from '#src/sandbox/world.ts'
import { allStreams } from '#src/streams/all.ts'
import { eventLoopBlocked, requestEnded } from '#src/telemetry.ts'
import { openOperations } from '#src/web/operations/operations.ts'
import { startOperationsServer } from '#src/web/operations/server.ts'
import { smallFixture, smallWorld } from '../../app/commands/sync-fixture.ts'
import { openFixture } from '../../support/fixture.ts'
import { seriesOf } from './exposition.ts'

export const anyPort = { host: '127.0.0.1', port: 0 }

/** A world with a warehouse, and the server of its operations endpoints. */
export type Endpoints = Awaited<ReturnType<typeof openEndpoints>>

/** The small world after a night of every stream, and the server of its operations endpoints. */
export async function openEndpoints(
  changes: Partial<Context['config']['operations']> = {},
  world: World = smallWorld(),
  more: { readonly http?: ConfigInput['http']; readonly budget?: Partial<Config['budget']> } = {},
) {
  const { http, budget } = more
  const fixture = await openFixture({
    ...smallFixture(world),
    streams: allStreams,
    ...(http === undefined ? {} : { http }),
  })
  const stop = new AbortController()
  const operationsConfig = { ...fixture.config.operations, ...changes }
  const config = {
    ...fixture.config,
    ...{ operations: operationsConfig, budget: { ...fixture.config.budget, ...budget } },
  }
  const operations = await openOperations({ ...fixture.context, config, signal: stop.signal })
  const server = await startOperationsServer(operations, anyPort)
  const get = async (path: string) => {
    const answer = await fetch(`${server.url}${path}`)
    return {
      status: answer.status,
      type: answer.headers.get('content-type'),
      text: await answer.text(),
    }
  }
  return {
    fixture,
    url: server.url,
    get,
    stop: () => stop.abort(),
    series: async () => seriesOf((await get('/metrics')).text),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await operations[Symbol.asyncDispose]()
      await fixture[Symbol.asyncDispose]()
    },
  }
}

/** A process with a value for every metric: a night with quarantine, repeats, a limit, a budget, a job and a block of the event loop. */
export async function openBusyEndpoints(): Promise<Endpoints> {
  const limits = { http: { requestsPerSecond: 1000 }, budget: { ppsrSearch: 5 } }
  const endpoints = await openEndpoints({ perRooftop: true }, smallWorld(), limits)
  const { sandbox, database, config, night } = endpoints.fixture
  sandbox.world.poison(1002, { UpdatedAt: 'never' })
  await night()
  await database.pool.query(`
    insert into ops.job (job_name, schedule, time_zone, known_since) values ('nightly', '0 2 * * *', 'UTC', now() - interval '9 days')`)
  await database.pool.query(`
    insert into ops.job_fire (job_name, cause, slot_at, status, finished_at, host, process_id)
    values ('nightly', 'schedule', now() - interval '1 hour', 'ok', now(), 'test', 1)`)
  repeatAndBlock(Object.keys(config.keys)[0]!)
  await collectGarbage()
  return endpoints
}

/** Node has no metric of garbage collection before the first one. */
async function collectGarbage(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const observer = new PerformanceObserver(() => resolve())
  observer.observe({ entryTypes: ['gc'] })
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  await promise
  observer.disconnect()
}

/** What the sandbox has no fault for: published as the HTTP client and the watch of the event loop do. */
export function repeatAndBlock(keyName: string): void {
  requestEnded.publish({
    ...{ service: 'appraisal', keyName, method: 'POST', path: '/geteval' },
    ...{ status: 503, seconds: 0.2, attempt: 2 },
  })
  eventLoopBlocked.publish({ seconds: 6 })
}
