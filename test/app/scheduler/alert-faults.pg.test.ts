import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { Alerts } from '#src/app/scheduler/alerts.ts'
import { loadJobs } from '#src/app/scheduler/load-jobs.ts'
import { localTime } from '#src/values/instant.ts'
import { someOf } from '../../support/cases.ts'
import { openFixture, runNight } from '../../support/fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { serveConsole } from '../../web/console/console-fixture.ts'
import { alertFaults, type Place } from './alert-faults.ts'
import { noonZone, openReceiver } from './alert-receivers.ts'

/** The shapes of data: how many rooftops, and the dealer groups that they alternate between. */
const shapes = [
  { shape: 'two groups', rooftops: 3, groups: ['north', 'south'] },
  { shape: 'one rooftop', rooftops: 1, groups: ['north'] },
  { shape: 'several rooftops of a group', rooftops: 3, groups: ['north'] },
] as const

/** A console, a drop folder of the first rooftop, and a real receiver. */
async function openShape({ rooftops, groups }: (typeof shapes)[number]) {
  await using disposables = new AsyncDisposableStack()
  const now = new Date(Math.floor(Date.now() / 1000) * 1000)
  const home = disposables.use(await temporaryFolder())
  const fixture = disposables.use(
    await openFixture({ sandbox: { rooftops, evaluations: 12, days: 3, now } }),
  )
  const receiver = disposables.use(await openReceiver())
  const client = fixture.sandbox.clientConfig()
  const timezone = noonZone()
  const expectDaily = localTime(new Date(Date.now() - 60_000), timezone)
  const inbox = { folder: 'inbox', rooftop: client.rooftops[0]!.uid, expectDaily, timezone }
  const input: ConfigInput = {
    ...{ ...client, alerts: { url: receiver.url }, stock: { inbox: [inbox] } },
    rooftops: client.rooftops.map((one, at) => ({ ...one, group: groups[at % groups.length]! })),
    ...{ warehouse: { url: fixture.database.url }, http: { maxRetries: 0, timeoutSeconds: 10 } },
    sync: { start: fixture.config.sync.start.toISOString() },
  }
  const config = makeConfig(input, home.path)
  await mkdir(join(home.path, 'inbox'))
  const console = disposables.use(await serveConsole({ ...fixture, config }))
  const { context } = console
  const jobs = await loadJobs(context.config)
  const place: Place = {
    ...{ context, jobs, sandbox: fixture.sandbox, pool: fixture.database.pool },
    night: async () => await runNight(context),
    inbox: join(home.path, 'inbox'),
  }
  const opened = disposables.move()
  return {
    ...{ console, place, receiver },
    alerts: new Alerts(context, jobs, 0),
    [Symbol.asyncDispose]: async () => await opened.disposeAsync(),
  }
}

test.for(someOf(shapes, 1))(
  'every kind of fault is one message, with a page that shows it: $shape',
  {
    timeout: 240_000,
  },
  async (shape) => {
    await using open = await openShape(shape)
    const { console, place, receiver, alerts } = open
    await place.night()
    const report = async () => {
      await alerts.reportJobs()
      await alerts.reportObjectives()
      return receiver.got.splice(0)
    }
    const pages = new Map<string, string | null>()
    const titleOf = async (url: string) => {
      const path = url.slice(`${console.url}/console`.length)
      if (!pages.has(path)) pages.set(path, (await console.get(path)).title)
      return pages.get(path)
    }
    // Left to the workers of a config with other services, whose alerts report it.
    await place.pool.query(
      `with source as (insert into ops.source (appraisal_url, vehicle_data_url, is_sandbox)
         values ('http://127.0.0.1:59999/v1', 'http://127.0.0.1:59998', false) returning source_id)
       insert into ops.run (command, arguments, source_started_at, is_detached, heartbeat_at, source_id)
       select 'sync', '{"mode": "sync", "from": 0}', now(), true, now() - interval '5 minutes', source_id from source`,
    )
    expect(await report()).toEqual([])

    for (const fault of alertFaults) {
      const end = await fault.plant(place)
      const raised = await report()
      const again = await report()
      await end()
      const resolved = await report()

      const shown = async (messages: typeof raised) =>
        await Promise.all(
          messages.map(async ({ state, key, url }) => [state, key, await titleOf(url!)]),
        )
      const key = expect.stringMatching(fault.key)
      expect(await shown(raised), fault.name).toEqual([['raised', key, fault.page]])
      expect(again, fault.name).toEqual([])
      expect(await shown(resolved), fault.name).toEqual([['resolved', key, fault.page]])
    }
  },
)
