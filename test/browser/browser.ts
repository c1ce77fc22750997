import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { type ConsoleFixture, openConsole } from '../console/console-fixture.ts'

/** How a page is opened. */
export interface View {
  readonly width: number
  readonly scheme: 'light' | 'dark'
  /** false: as in a browser that runs no script. */
  readonly script: boolean
}

export const wide: View = { width: 1280, scheme: 'light', script: true }

/** A console and a browser that is signed in to it as the engineer. */
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

/** Opens Chromium on a console; both are closed with the result. */
export async function browse(fixture?: ConsoleFixture): Promise<Browsing> {
  const served = fixture ?? (await openConsole())
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    // Chromium refuses its sandbox to root, as which a build machine runs.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
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
    const [name = '', value = ''] = (await served.cookie('engineer')).split('=')
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
        // A page that does not exist is asked for on purpose.
        if (message.type() === 'error' && !message.text().includes('status of 404'))
          complaints.push(`${path}: ${message.text()}`)
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

/** The path of each link to the console on a page, below /console. */
export async function linksOf(page: Page): Promise<string[]> {
  const links = await page.$$eval('a[href^="/console/"]', (found) =>
    found.map((link) => link.getAttribute('href')!),
  )
  return [...new Set(links.map((link) => link.slice('/console'.length)))]
}
