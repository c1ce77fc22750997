import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { pages } from '#src/web/console/pages.ts'
import { type ConsoleFixture, openConsole, type Role } from '../web/console/console-fixture.ts'

/** How a page is opened. */
export interface View {
  readonly width: number
  readonly scheme: 'light' | 'dark'
  /** false: as in a browser that runs no script. */
  readonly script: boolean
  readonly role: Exclude<Role, null>
}

export const wide: View = { width: 1280, scheme: 'light', script: true, role: 'engineer' }

/** A console and a browser that is signed in to it. */
export interface Browsing extends AsyncDisposable {
  readonly console: ConsoleFixture
  /** A tab of its own. What the page reports to the developer, such as a violated CSP, is added to `complaints`. */
  open(path: string, view?: Partial<View>): Promise<Page>
  readonly complaints: readonly string[]
  /** An empty tab, with a cache of its own. */
  openSignedIn(): Promise<Page>
  /** The same for a person who has not signed in. */
  openSignedOut(view?: Partial<View>): Promise<Page>
}

/** Debian's Chromium, without a window. */
export async function launch(): Promise<Browser> {
  return await chromium.launch({
    executablePath: '/usr/bin/chromium',
    // Chromium refuses its sandbox to root, as which a build machine runs.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
}

/** Opens Chromium on a console; both are closed with the result. */
export async function browse(fixture?: ConsoleFixture): Promise<Browsing> {
  const served = fixture ?? (await openConsole())
  const browser = await launch()
  const complaints: string[] = []
  const contexts = new Map<string, Promise<BrowserContext>>()
  const newContext = async ({ width, scheme, script }: View) =>
    await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: scheme,
      javaScriptEnabled: script,
    })
  const contextFor = async (view: View) => {
    const context = await newContext(view)
    const [name = '', value = ''] = (await served.cookie(view.role)).split('=')
    await context.addCookies([{ name, value, url: served.url, httpOnly: true, sameSite: 'Lax' }])
    return context
  }
  return {
    console: served,
    complaints,
    open: async (path, view = {}) => {
      const wanted = { ...wide, ...view }
      const key = JSON.stringify(wanted)
      if (!contexts.has(key)) contexts.set(key, contextFor(wanted))
      const page = await (await contexts.get(key)!).newPage()
      page.on('dialog', async (dialog) => {
        complaints.push(`${path}: dialog ${dialog.message()}`)
        await dialog.dismiss()
      })
      page.on('pageerror', (error) => complaints.push(`${path}: ${error.message}`))
      page.on('console', (message) => {
        // Pages that answer with an error are asked for on purpose; what they load is not.
        const isOfPage = !message.location().url.includes('/assets/')
        const isAnswer = isOfPage && /status of [45]\d\d/.test(message.text())
        if (message.type() === 'error' && !isAnswer) complaints.push(`${path}: ${message.text()}`)
      })
      await page.goto(`${served.url}/console${path}`)
      return page
    },
    openSignedIn: async () => await (await contextFor(wide)).newPage(),
    openSignedOut: async (view = {}) => await (await newContext({ ...wide, ...view })).newPage(),
    [Symbol.asyncDispose]: async () => {
      await browser.close()
      await served[Symbol.asyncDispose]()
    },
  }
}

/** The addresses of each page, found by following every link from the first page; of pages that differ by a parameter alone, the first three. */
export async function crawl({ get }: ConsoleFixture): Promise<Map<string, string[]>> {
  const seen = new Map<string, string[]>()
  const queue = ['/']
  for (let address = queue.shift(); address !== undefined; address = queue.shift()) {
    const path = patternOf(address)
    const known = path === null ? [] : (seen.get(path) ?? [])
    if (path === null || known.includes(address) || known.length >= 3) continue
    seen.set(path, [...known, address])
    const { text } = await get(address)
    queue.push(
      ...[...text.matchAll(/<a [^>]*href="\/console([^"#]+)/g)].map(([, href]) =>
        href!.replaceAll('&#38;', '&'),
      ),
    )
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
