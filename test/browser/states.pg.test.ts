import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { openFaultProxy } from '../support/fault-proxy.ts'
import { openFixture } from '../support/fixture.ts'
import { openConsole, serveConsole } from '../web/console/console-fixture.ts'
import { type Browsing, browse, crawl, type View } from './browser.ts'
import { inspect } from './inspect.ts'

let browsing: Browsing

beforeAll(async () => {
  browsing = await browse()
})
afterAll(async () => await browsing[Symbol.asyncDispose]())

/** Asserts what a page is called and says, and that it is right in every view. */
async function expectRight(page: Page, heading: string): Promise<void> {
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain(heading)
  expect(await inspect(page)).toEqual([])
  await page.close()
}

test('every page of an empty warehouse is right', async () => {
  const fixture = await openFixture({ sandbox: { now: new Date(), evaluations: 1 } })
  await using empty = await browse(await openConsole({ fixture }))
  const found = await crawl(empty.console)
  const findings: string[] = []
  for (const [address = '/'] of found.values()) {
    const page = await empty.open(address)
    findings.push(...(await inspect(page)))
    await page.close()
  }

  expect(found.size).toBeGreaterThan(15)
  expect(findings).toEqual([])
  expect(empty.complaints).toEqual([])
})

test.each<[string, string, Partial<View>]>([
  ['There is nothing here', '/runs/999999', {}],
  ['There is nothing here', '/no-such-page', {}],
  ['Not for your role', '/runs', { role: 'stock' }],
  ['Your stock cannot be shown yet', '/stock', { role: 'stock' }],
])('“%s” at %s is right', async (heading, path, view) => {
  await expectRight(await browsing.open(path, view), heading)
})

test('what a person who is not signed in sees is right', async () => {
  const page = await browsing.openSignedOut()
  await page.goto(`${browsing.console.url}/console/runs`)
  expect(await inspect(page)).toEqual([])
  await page.goto(`${browsing.console.url}/console/sign-in?link=used`)
  await expectRight(page, 'This link does not sign you in')
})

test('a query that takes too long leads to a page that is right', async () => {
  const client = await browsing.console.fixture.database.pool.connect()
  await client.query('begin; lock table core.rooftop in access exclusive mode')
  const page = await browsing.open('/quarantine')
  await client.query('rollback')
  client.release()

  await expectRight(page, 'This took too long')
})

test('an action that is refused leads to a page that is right, and is read out', async () => {
  const [run] = await browsing.console.rows<{ id: number }>(
    'select max(run_id)::int as id from ops.run',
  )
  await browsing.console.rows(
    `update ops.run_stream set status = 'failed', error = 'a 500' where run_id = ${run!.id} and stream = 'users'`,
  )
  const page = await browsing.open(`/runs/${run!.id}`)
  await browsing.console.rows(
    `update ops.run_stream set status = 'ok', error = null where run_id = ${run!.id} and stream = 'users'`,
  )
  await page.getByRole('button', { name: /^Sync .* again$/ }).press('Enter')
  await page.waitForURL('**/runs/*')

  await expect
    .poll(async () => await page.getByRole('alert').textContent())
    .toContain('Nothing is left to do again')
  await expectRight(page, 'Nothing was done')
})

test('a payload that is shown once is right', async () => {
  const [row] = await browsing.console.rows<{ id: number }>(
    'select min(eval_id)::int as id from core.evaluation',
  )
  const page = await browsing.open(`/evaluations/${row!.id}`)
  await page.getByRole('button', { name: 'Show once, with its customer' }).first().press('Enter')
  await page.getByRole('heading', { name: /^Payload of/ }).waitFor()

  await expectRight(page, `Payload of evaluation ${row!.id}`)
})

test('while the warehouse is away a page says so, and is right', async () => {
  const { fixture, cookie } = browsing.console
  const url = new URL(fixture.database.url)
  await using line = await openFaultProxy(Number(url.port))
  url.port = String(line.port)
  const config = { ...fixture.config, warehouse: { url: url.href } }
  const log = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })
  await using context = await openContext(config, log)
  await using served = await serveConsole({ ...fixture, config, context })
  const page = await browsing.openSignedOut()
  const [name = '', value = ''] = (await cookie('engineer')).split('=')
  await page.context().addCookies([{ name, value, url: served.url }])
  await line.be('refuse')
  await page.goto(`${served.url}/console/runs`)

  await expectRight(page, 'The warehouse does not answer')
})
