import { loadavg } from 'node:os'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dayMs, openFixture } from '../support/fixture.ts'
import { openConsole } from '../web/console/console-fixture.ts'
import { type Browsing, browse } from './browser.ts'

let browsing: Browsing

/** The morning at its largest: 50 rooftops, each with a problem of its own, all of them shown, and ten runs at work. */
beforeAll(async () => {
  const now = new Date()
  const start = new Date(now.getTime() - 2 * dayMs).toISOString()
  const sandbox = { seed: 7, rooftops: 50, evaluations: 100, days: 2, now }
  const fixture = await openFixture({ sandbox, sync: { start } })
  await fixture.night()
  await fixture.database.pool.query(`
    update ops.run_stream set status = 'failed', error = '403 at /getevallist: the key of dealer ' || chr(65 + rooftop_id % 26) || chr(65 + rooftop_id / 26) || ' is not valid';
    insert into ops.run (command, arguments, source_started_at, status, started_at, heartbeat_at)
      select 'sync', arguments, now(), 'running', now(), now() from ops.run, generate_series(1, 10) where run_id = 1`)
  browsing = await browse(await openConsole({ fixture }))
})
afterAll(async () => await browsing[Symbol.asyncDispose]())

const loads = 5
const throttle = 4

test('the morning at its largest is a small first screen', async () => {
  const paints: number[] = []
  const answered: number[] = []
  let sizes: { readonly path: string; readonly raw: number; readonly gz: number }[] = []
  for (let load = 0; load < loads; load++) {
    // A context of its own has nothing in its cache.
    const page = await browsing.openSignedIn()
    const client = await page.context().newCDPSession(page)
    await client.send('Emulation.setCPUThrottlingRate', { rate: throttle })
    const answers: Promise<(typeof sizes)[number]>[] = []
    page.on('response', (response) =>
      answers.push(
        response.body().then((body) => ({
          path: new URL(response.url()).pathname,
          ...{ raw: body.length, gz: gzipSync(body).length },
        })),
      ),
    )
    await page.goto(`${browsing.console.url}/console/?show=all`)
    // Not by waitForFunction, which the CSP of the page forbids.
    const paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
    await expect.poll(() => page.evaluate(paint)).not.toBeNull()
    paints.push(Number(await page.evaluate(paint)))
    answered.push(
      Number(await page.evaluate("performance.getEntriesByType('navigation')[0].responseEnd")),
    )
    expect(await page.getByRole('link', { name: /^Show run/ }).count()).toBe(50)
    sizes = await Promise.all(answers)
    await page.context().close()
  }
  for (const times of [paints, answered]) times.sort((a, b) => a - b)
  const median = (times: readonly number[]) => Math.round(times[loads >> 1]!)
  const sum = sizes.reduce((all, { gz }) => all + gz, 0)
  const parts = sizes.map(({ path, raw, gz }) => `${path} ${raw} bytes, ${gz} gz`)
  console.log(
    `First paint of the morning at a CPU ${throttle} times slower: median ${median(paints)} ms of ${paints.map(Math.round).join(', ')}, the answer of the server after ${median(answered)} ms (aim: 500, on a machine with nothing else to do; its load is ${loadavg()[0]!.toFixed(1)}).\n${parts.join('\n')}\nTogether ${sum} gz.`,
  )

  expect(sizes.length).toBeGreaterThanOrEqual(3)
  expect(sizes.length).toBeLessThanOrEqual(4)
  expect(sum).toBeLessThanOrEqual(45 * 1024)
})
