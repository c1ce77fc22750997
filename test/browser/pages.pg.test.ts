import { afterAll, beforeAll, expect, test } from 'vitest'
import { pages } from '#src/web/console/pages.ts'
import { reportSpecs } from '#src/web/console/reports/specs.ts'
import { type Browsing, browse, crawl } from './browser.ts'
import { openFullConsole } from './full-console.ts'
import { axe, findCut, inspect } from './inspect.ts'

let browsing: Browsing
let found: Map<string, string[]>

beforeAll(async () => {
  browsing = await browse(await openFullConsole())
  found = await crawl(browsing.console)
})
afterAll(async () => await browsing[Symbol.asyncDispose]())

test('every page is reached by links from the first page', () => {
  // The search is a form, and answers a link of its own with a redirect.
  const unreached = pages.filter(({ path }) => !found.has(path) && path !== '/search')

  expect(unreached.map(({ path }) => path)).toEqual([])
})

test('every page is right: wide and narrow, light and dark, zoomed, in the colours of the system', async () => {
  const findings: string[] = []
  for (const [address = '/'] of [...found.values(), ['/search'], ['/search?q=10']]) {
    const page = await browsing.open(address)
    findings.push(...(await inspect(page)))
    await page.close()
  }

  expect(findings).toEqual([])
})

test('every report is whole at 1280 pixels, and short on a phone', async () => {
  const findings: string[] = []
  const rows: Record<string, number> = {}
  for (const { view } of reportSpecs) {
    const page = await browsing.open(`/reports/${view}`)
    for (const width of [1280, 390])
      findings.push(...(await findCut(page, width)).map((cut) => `${view}, ${width}: ${cut}`))
    rows[view] = await page.locator('tbody tr').count()
    await page.close()
  }

  expect(findings).toEqual([])
  // Otherwise the test would prove nothing.
  expect(Object.values(rows).filter((count) => count > 50).length).toBeGreaterThan(6)
})

test('planted faults are found', async () => {
  const page = await browsing.open('/')
  await page.evaluate(`document.querySelector('main').append(document.createElement('button'))`)
  expect(await axe(page)).toEqual(['button-name at <button></button>'])
  await page.reload()
  await page.evaluate(`document.querySelector('main').style.minWidth = '700px'`)
  await page.evaluate(`document.querySelector('h2').style.color = 'light-dark(black, #222)'`)

  expect(await inspect(page)).toEqual([
    expect.stringContaining('/console/, 1280 dark: color-contrast at <h2'),
    '/console/, 640: it is 700 pixels wide',
    '/console/, 390: it is 700 pixels wide',
    '/console/, 320: it is 700 pixels wide',
    expect.stringContaining('/console/, 320 dark: color-contrast at <h2'),
    '/console/, forced colours: it is 700 pixels wide',
  ])
  await page.goto(`${browsing.console.url}/console/stock`)
  await page.evaluate(`document.querySelector('.wide table').style.minWidth = '1300px'`)
  await page.evaluate(`document.querySelector('main').style.paddingBottom = '4000px'`)
  await page.evaluate(`document.querySelector('thead th').style.textIndent = '-50px'`)

  expect(await findCut(page, 1280)).toEqual([
    expect.stringMatching(/^the table "On hand.*" is 1300 pixels wide in 1168$/),
    '"Currency" is cut',
  ])
  expect(await findCut(page, 390)).toEqual([expect.stringMatching(/^it is \d+ pixels long$/)])
  await page.close()
})

test('no page reports an error to the developer', () => {
  expect(browsing.complaints).toEqual([])
})
