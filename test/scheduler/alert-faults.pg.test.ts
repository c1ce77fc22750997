import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeConfig } from '#src/config/read.ts'
import type { ConfigInput } from '#src/config/schema.ts'
import { Alerts } from '#src/scheduler/alerts.ts'
import { loadJobs } from '#src/scheduler/load-jobs.ts'
import { localTime } from '#src/values/instant.ts'
import { serveConsole } from '../console/console-fixture.ts'
import { openFixture, runNight } from '../support/fixture.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type AlertFault, alertFaults, type Place } from './alert-faults.ts'
import { noonZone, openReceiver } from './alert-receivers.ts'

type Target = NonNullable<NonNullable<ConfigInput['alerts']>['targets']>[number]

/** The shapes of data: how many rooftops, the dealer groups that they alternate between, and those of each receiver. */
const shapes = [
  { shape: 'one rooftop', rooftops: 1, groups: ['north'], receivers: { all: [] } },
  { shape: 'several rooftops of a group', rooftops: 3, groups: ['north'], receivers: { all: [] } },
  {
    ...{ shape: 'two groups', rooftops: 3, groups: ['north', 'south'] },
    receivers: { all: [], north: ['north'], south: ['south'] },
  },
] as const

/** A console, a drop folder of the first rooftop, and a real receiver for each target. */
async function openShape({ rooftops, groups, receivers }: (typeof shapes)[number]) {
  await using disposables = new AsyncDisposableStack()
  const now = new Date(Math.floor(Date.now() / 1000) * 1000)
  const home = disposables.use(await temporaryFolder())
  const fixture = disposables.use(
    await openFixture({ sandbox: { rooftops, evaluations: 12, days: 3, now } }),
  )
  const listeners = new Map<string, Awaited<ReturnType<typeof openReceiver>>>()
  const targets: Target[] = []
  for (const [name, own] of Object.entries(receivers)) {
    const listener = disposables.use(await openReceiver())
    listeners.set(name, listener)
    targets.push({ name, url: listener.url, groups: [...own] })
  }
  const client = fixture.sandbox.clientConfig()
  const timezone = noonZone()
  const expectDaily = localTime(new Date(Date.now() - 60_000), timezone)
  const inbox = { folder: 'inbox', rooftop: client.rooftops[0]!.uid, expectDaily, timezone }
  const input: ConfigInput = {
    ...{ ...client, alerts: { targets }, stock: { inbox: [inbox] } },
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
    ...{ console, place, listeners, config },
    alerts: new Alerts(context, jobs, 0),
    [Symbol.asyncDispose]: async () => await opened.disposeAsync(),
  }
}

test.for(shapes)(
  'every kind of fault is one message to each receiver that it concerns, with a page that shows it: $shape',
  {
    timeout: 240_000,
  },
  async (shape) => {
    await using open = await openShape(shape)
    const { console, place, listeners, alerts, config } = open
    await place.night()
    const report = async () => {
      await alerts.reportJobs()
      await alerts.reportObjectives()
      return [...listeners].flatMap(([name, { got }]) =>
        got.splice(0).map((message) => ({ name, ...message })),
      )
    }
    const receiversOf = ({ whose }: AlertFault) =>
      Object.entries<readonly string[]>(shape.receivers).flatMap(([name, groups]) =>
        groups.length === 0 || whose === 'every' || (whose === 'first' && groups.includes('north'))
          ? [name]
          : [],
      )
    const pages = new Map<string, string | null>()
    const titleOf = async (url: string) => {
      const path = url.slice(`${console.url}/console`.length)
      if (!pages.has(path)) pages.set(path, (await console.get(path)).title)
      return pages.get(path)
    }
    expect(await report()).toEqual([])

    for (const fault of alertFaults) {
      const end = await fault.plant(place)
      const raised = await report()
      const again = await report()
      await end()
      const resolved = await report()

      const shown = async (messages: typeof raised) =>
        await Promise.all(
          messages.map(async ({ name, state, key, url }) => [
            name,
            state,
            key,
            await titleOf(url!),
          ]),
        )
      const wanted = (state: string) =>
        receiversOf(fault).map((name) => [
          name,
          state,
          expect.stringMatching(fault.key),
          fault.page,
        ])
      expect(await shown(raised), fault.name).toEqual(wanted('raised'))
      expect(again, fault.name).toEqual([])
      expect(await shown(resolved), fault.name).toEqual(wanted('resolved'))
      for (const { name, what } of raised)
        for (const { group, name: rooftop } of config.rooftops)
          if (name !== 'all' && group !== name) expect(what, fault.name).not.toContain(rooftop)
    }
  },
)
