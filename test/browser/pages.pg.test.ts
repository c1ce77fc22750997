import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pages } from '#src/console/pages.ts'
import { type Browsing, browse, linksOf, type View } from './browser.ts'

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)
const rules = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']

let browsing: Browsing
/** The addresses of each page, found by following the links from the first page. */
let found: Map<string, string[]>

beforeAll(async () => {
  browsing = await browse()
  await plant(browsing)
  found = await crawl(browsing)
})
afterAll(async () => await browsing[Symbol.asyncDispose]())

/** A record that does not fit, and a car in stock, since the world of the console has none. */
async function plant({ console: { rows } }: Browsing): Promise<void> {
  await rows(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, run_id)
     select 'evaluations', rooftop_id, '1', '[{"path":"UpdatedAt","message":"is not a time"}]', '[{"EvalID":1,"UpdatedAt":"never"}]', 1
     from core.rooftop order by rooftop_id limit 1`,
  )
  await rows(
    `insert into core.stock_unit (rooftop_id, stock_no, make, model, currency_code, price_on_application, extras, content_hash,
       first_seen_at, last_seen_at, import_id)
     select rooftop_id, 'A-17', 'Saab', '9-3', 'AUD', false, '{}', '', now(), now(), 1 from core.rooftop order by rooftop_id limit 1`,
  )
}

/** Follows every link; of pages that differ by a parameter alone, the first three addresses. */
async function crawl({ open }: Browsing): Promise<Map<string, string[]>> {
  const seen = new Map<string, string[]>()
  const queue = ['/']
  for (let address = queue.shift(); address !== undefined; address = queue.shift()) {
    const path = patternOf(address)
    const known = path === null ? [] : (seen.get(path) ?? [])
    if (path === null || known.includes(address) || known.length >= 3) continue
    seen.set(path, [...known, address])
    const page = await open(address)
    queue.push(...(await linksOf(page)))
    await page.close()
  }
  return seen
}

/** The path of the page that an address leads to; null: a download, or no page. */
function patternOf(address: string): string | null {
  const { pathname, searchParams } = new URL(address, 'http://console')
  if (searchParams.has('download')) return null
  const fits = ({ path }: { path: string }) =>
    new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`).test(pathname)
  return (pages.find(({ path }) => path === pathname) ?? pages.find(fits))?.path ?? null
}

test('every page is reached by links from the first page', () => {
  // The search is a form, and answers a link of its own with a redirect.
  const unreached = pages.filter(({ path }) => !found.has(path) && path !== '/search')

  expect(unreached.map(({ path }) => path)).toEqual([])
})

test.each<Partial<View>>([{}, { scheme: 'dark' }, { width: 320 }])(
  'axe finds nothing on any page: %o',
  async (view) => {
    const findings: string[] = []
    for (const [address = '/'] of found.values()) {
      const page = await browsing.open(address, view)
      findings.push(...(await axe(page)).map((finding) => `${address}: ${finding}`))
      await page.close()
    }

    expect(findings).toEqual([])
  },
)

test('axe names a planted fault', async () => {
  const page = await browsing.open('/')
  await page.evaluate(`document.querySelector('main').append(document.createElement('button'))`)

  expect(await axe(page)).toEqual(['button-name at <button></button>'])
  await page.close()
})

/** The violations of a page, a line each. */
async function axe(page: Page): Promise<string[]> {
  await page.evaluate(axeSource)
  const { violations } = await page.evaluate(
    async (values): Promise<AxeResults> =>
      await (globalThis as never as { axe: typeof import('axe-core') }).axe.run({
        runOnly: { type: 'tag', values },
      } as never),
    rules,
  )
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id} at ${html}`))
}

test.each([320, 768, 1280])('at a width of %i nothing scrolls sideways', async (width) => {
  const wider: string[] = []
  for (const [address = '/'] of found.values()) {
    const page = await browsing.open(address, { width })
    const needed = await page.evaluate('document.documentElement.scrollWidth')
    if (Number(needed) > width) wider.push(`${address}: ${needed}`)
    await page.close()
  }

  expect(wider).toEqual([])
})

test('the first screen is small, and no page is large', async () => {
  const sizes: string[] = []
  const requests: string[] = []
  for (const [address = '/'] of found.values()) {
    const page = await browsing.open('/sign-in')
    page.on('request', (request) => requests.push(`${address} ${request.url()}`))
    await page.goto(`${browsing.console.url}/console${address}`)
    const nodes = Number(await page.evaluate('document.querySelectorAll("*").length'))
    if (nodes > 3000) sizes.push(`${address}: ${nodes} nodes`)
    await page.close()
  }

  expect(sizes).toEqual([])
  // The page, its style and its script.
  expect(requests.filter((request) => request.startsWith('/ ')).length).toBeLessThanOrEqual(4)
})

test('no page reports an error to the developer', () => {
  expect(browsing.complaints).toEqual([])
})
