import { createServer } from 'node:net'
import { type ConsoleRole, consoleSettings } from '#src/app/config/console.ts'
import type { Config } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import type { Context } from '#src/context.ts'
import { openLog } from '#src/log.ts'
import { makeLink } from '#src/web/console/access/link.ts'
import { type ServerOptions, startServer } from '#src/web/serve/server.ts'
import { dayMs, type Fixture, openFixture } from '../../support/fixture.ts'

/** Who asks: kim@ (engineer), vic@ (viewer), sam@ (stock of the first rooftop), gus@ (stock of the group of the last); null: no one. */
export type Role = ConsoleRole | 'group' | null

const emails = {
  ...{ engineer: 'kim@example.com', viewer: 'vic@example.com' },
  ...{ stock: 'sam@example.com', group: 'gus@example.com' },
} as const

type Settings = NonNullable<ConfigInput['console']>

/** What a test says about its console; the rest has defaults. */
export interface ConsoleOptions {
  /** Its data, closed with the console. Default: a night of 60 evaluations of 6 rooftops, until now. */
  readonly fixture?: Fixture
  /** Other settings. A `publicUrl` need not be the address that the server listens on. */
  readonly console?: Partial<Settings>
}

/** Who asks, and the headers. A `post` is same-origin unless they say otherwise. */
export interface Asking {
  /** Default: engineer. */
  readonly role?: Role
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer; redirects are not followed. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The <title> without ` · Forecourt`. */
  readonly title: string | null
  readonly location: string | null
}

/** The real server with a console. Paths are below /console, as in `definePage`. */
export interface ConsoleFixture extends AsyncDisposable {
  readonly fixture: Fixture
  readonly config: Config
  readonly context: Context
  readonly url: string
  readonly logged: readonly string[]
  get(path: string, asking?: Asking): Promise<Answer>
  /** What the page read; an Error unless the answer is 200. */
  json<Data = Record<string, unknown>>(path: string, asking?: Asking): Promise<Data>
  post(
    path: string,
    form?: Readonly<Record<string, string>> | FormData,
    asking?: Asking,
  ): Promise<Answer>
  /** `name=value` of the session of a role, which is signed in the first time. */
  cookie(role: Exclude<Role, null>): Promise<string>
  /** A new sign-in link, as `forecourt console link` makes it. */
  link(role: Exclude<Role, null>, minutes?: number): Promise<string>
  rows<Row = Record<string, unknown>>(query: string, values?: unknown[]): Promise<Row[]>
}

export async function openConsole(options: ConsoleOptions = {}): Promise<ConsoleFixture> {
  const fixture = options.fixture ?? (await loadedFixture())
  const served = await serveConsole(fixture, options.console)
  return {
    ...served,
    [Symbol.asyncDispose]: async () => {
      await served[Symbol.asyncDispose]()
      await fixture[Symbol.asyncDispose]()
    },
  }
}

async function loadedFixture(): Promise<Fixture> {
  // Pages go by the clock of the machine; the clock of the service has whole seconds.
  const now = new Date(Math.floor(Date.now() / 1000) * 1000)
  const start = new Date(now.getTime() - 8 * dayMs).toISOString()
  const sandbox = { seed: 7, evaluations: 60, days: 8, now }
  const fixture = await openFixture({ sandbox, sync: { start } })
  await fixture.night()
  return fixture
}

/** One more server on the same warehouse, as a second process is; disposing leaves the fixture open. */
export async function serveConsole(
  fixture: Fixture,
  settings: Partial<Settings> = {},
  options: Partial<ServerOptions> = {},
): Promise<ConsoleFixture> {
  const logged: string[] = []
  const write = (line: string) => void logged.push(line)
  const log = openLog({ level: 'debug', human: false, secrets: [], write })
  const port = await freePort()
  const config = withConsole(fixture.config, `http://127.0.0.1:${port}`, settings)
  const context = { ...fixture.context, config, log }
  const server = await startServer(context, { host: '127.0.0.1', port, token: null, ...options })
  const ask = async (path: string, init: RequestInit): Promise<Answer> =>
    await answerOf(await fetch(`${server.url}/console${path}`, { ...init, redirect: 'manual' }))
  const link = async (role: Exclude<Role, null>, minutes?: number) =>
    await makeLink(context.db, config, emails[role], minutes)
  const cookies = new Map<Role, Promise<string>>()
  const cookie = async (role: Exclude<Role, null>) => {
    if (!cookies.has(role)) cookies.set(role, signIn(role))
    return await cookies.get(role)!
  }
  const signIn = async (role: Exclude<Role, null>) => {
    const token = new URL(await link(role)).searchParams.get('link')!
    const { status, headers } = await post('/sign-in', { link: token }, { role: null })
    if (status !== 303) throw new Error(`${role} could not sign in: ${status}`)
    return headers.getSetCookie()[0]!.split(';')[0]!
  }
  const headersOf = async ({ role = 'engineer', headers = {} }: Asking) => ({
    ...(role === null ? {} : { cookie: await cookie(role) }),
    ...headers,
  })
  const get: ConsoleFixture['get'] = async (path, asking = {}) =>
    await ask(path, { headers: { accept: 'text/html', ...(await headersOf(asking)) } })
  const post: ConsoleFixture['post'] = async (path, form = {}, asking = {}) =>
    await ask(path, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin', ...(await headersOf(asking)) },
      body: form instanceof FormData ? form : new URLSearchParams(form),
    })
  return {
    ...{ fixture, config, context, url: server.url, logged, get, post, cookie, link },
    json: async (path, { role = 'engineer', headers = {} } = {}) => {
      const asking = { role, headers: { accept: 'application/json', ...headers } }
      const { status, text } = await get(path, asking)
      if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
      return JSON.parse(text)
    },
    rows: async (query, values = []) => (await fixture.database.pool.query(query, values)).rows,
    [Symbol.asyncDispose]: async () => await server.close(),
  }
}

/** A config with the four people. The address must be known before the server listens, because the config has it. */
function withConsole(config: Config, publicUrl: string, settings: Partial<Settings>): Config {
  const first = config.rooftops[0]!
  const last = config.rooftops.at(-1)!
  const people: Settings['people'] = [
    { email: emails.engineer, role: 'engineer' },
    { email: emails.viewer, role: 'viewer' },
    { email: emails.stock, role: 'stock', rooftops: [first.uid] },
    { email: emails.group, role: 'stock', groups: [last.group] },
  ]
  return { ...config, console: consoleSettings.parse({ publicUrl, people, ...settings }) }
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as { port: number }
  await new Promise((resolve) => probe.close(resolve))
  return port
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  const title = /<title>(.*) · Forecourt<\/title>/.exec(text)?.[1] ?? null
  const { status, headers } = response
  return { status, headers, text, title, location: headers.get('location') }
}
