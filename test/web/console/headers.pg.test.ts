import fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeLink } from '#src/web/console/access/link.ts'
import { serveConsole as serveOn } from '#src/web/console/console.ts'
import { pages } from '#src/web/console/pages.ts'
import { nothing, rowOf } from './access-matrix.ts'
import {
  type Answer,
  type ConsoleFixture,
  openConsole,
  type Role,
  serveConsole,
} from './console-fixture.ts'

let console: ConsoleFixture

beforeAll(async () => {
  console = await openConsole({
    console: { oidc: { issuer: 'http://127.0.0.1:1', clientId: 'none', clientSecret: 'none' } },
  })
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

const policy =
  "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';form-action 'self';base-uri 'none';frame-ancestors 'none'"

const as = (role: Role) => (path: string) => async () => await console.get(path, { role })

/** One answer of each kind, by what it is. */
const answers: Readonly<Record<string, () => Promise<Answer>>> = {
  ...Object.fromEntries(
    pages.flatMap(({ path }) =>
      (['engineer', 'viewer', 'stock', null] as const).map((role) => [
        `${path} for ${role ?? 'no one'}`,
        as(role)(rowOf(path).path(nothing)),
      ]),
    ),
  ),
  'sign-in': as(null)('/sign-in'),
  'sign-in by link': as(null)('/sign-in?link=any'),
  'sign-in by a provider that is away': as(null)('/sign-in/oidc'),
  'the answer of a provider': as(null)('/sign-in/oidc/callback?code=any&state=any'),
  'a wrong link': async () => await console.post('/sign-in', { link: 'wrong' }, { role: null }),
  'sign-out': async () => await console.post('/sign-out', {}, { role: null }),
  'no such page': as('engineer')('/no-such-page'),
  'no such run': as('engineer')('/runs/999999999'),
  'no action': async () => await console.post('/links', { action: 'none' }),
  'a form of another site': async () =>
    await console.post('/links', {}, { headers: { 'sec-fetch-site': 'cross-site' } }),
  'a type of body that no form has': async () =>
    await console.post('/links', {}, { headers: { 'content-type': 'application/xml' } }),
  'a body that is too large': async () => await console.post('/links', { action: 'a'.repeat(2e6) }),
  'a method that no page has': async () => await ask('PUT'),
  'what another method may do': async () => await ask('OPTIONS'),
  'a page by its head': async () => await ask('HEAD'),
  'an address that is too long': as('engineer')(`/jobs/${'a'.repeat(3000)}`),
  'an action that is refused': async () => await console.post('/links', { action: 'refresh' }),
  'an action that a role may not do': async () =>
    await console.post('/links', { action: 'refresh' }, { role: 'viewer' }),
  'a file': as('engineer')('/reports/rpt_05_aged_stock_price_move?download=csv'),
  'the style': as(null)('/assets/console.css'),
  'the script': as(null)('/assets/console.js'),
  'no such asset': as(null)('/assets/console.map'),
  'a file that is not an asset': as(null)('/assets/tsconfig.json'),
  'a program without a session': async () =>
    await console.get('/', { role: null, headers: { accept: 'application/json' } }),
  'a program': async () => await console.get('/', { headers: { accept: 'application/json' } }),
}

/** The answer of /runs to another method of our own pages. */
async function ask(method: string): Promise<Answer> {
  const headers = { cookie: await console.cookie('engineer'), 'sec-fetch-site': 'same-origin' }
  const response = await fetch(`${console.url}/console/runs`, { method, headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, title: null, location: null }
}

/** What the policy of the console would refuse. */
const inline = [/\sstyle\s*=/i, /<style/i, /<script(?![^>]*\ssrc=)/i, /<[a-z][^>]*\son[a-z]+\s*=/i]

test.for(Object.entries(answers))(
  '%s has the headers of the console, one title, and nothing inline',
  async ([, ask]) => {
    const { headers, text } = await ask()

    expect(headers.get('content-security-policy')).toBe(policy)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('referrer-policy')).toBe('same-origin')
    expect(headers.get('cache-control')).toMatch(
      /^(no-store|no-cache, private|public, max-age=31536000, immutable)$/,
    )
    if (headers.get('content-type')?.startsWith('text/html') !== true) return
    for (const pattern of inline) expect(text).not.toMatch(pattern)
    expect(text.match(/<h1>/g) ?? []).toHaveLength(text === '' ? 0 : 1)
  },
)

test('the kinds of answers are those that they are named after', async () => {
  const statusOf = async (name: string) => (await answers[name]!()).status

  expect(await statusOf('/ for engineer')).toBe(200)
  expect(await statusOf('/runs for stock')).toBe(403)
  expect(await statusOf('/ for no one')).toBe(303)
  expect(await statusOf('sign-in by a provider that is away')).toBe(503)
  expect(await statusOf('no action')).toBe(400)
  expect(await statusOf('a type of body that no form has')).toBe(415)
  expect(await statusOf('a form of another site')).toBe(403)
  expect(await statusOf('a body that is too large')).toBe(413)
  expect(await statusOf('a method that no page has')).toBe(404)
  expect(await statusOf('a page by its head')).toBe(200)
  expect(await statusOf('an address that is too long')).toBe(404)
  expect(await statusOf('an action that is refused')).toBe(409)
  expect(await statusOf('an action that a role may not do')).toBe(403)
  expect(await statusOf('a file')).toBe(200)
  expect(await statusOf('the style')).toBe(200)
  expect(await statusOf('a file that is not an asset')).not.toBe(200)
  expect(await statusOf('a program without a session')).toBe(401)
})

test('an address that cannot be decoded runs nothing', async () => {
  const { status, headers, text } = await console.get('/%zz')

  expect(status).toBe(400)
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/)
  expect(text).not.toMatch(/<script|\son[a-z]+=/i)
})

/** The token of a new link of a person. */
async function linkOf({ context, config }: ConsoleFixture, email: string): Promise<string> {
  return new URL(await makeLink(context.db, config, email)).searchParams.get('link')!
}

test('after an upgrade, or with other settings, an unchanged page is sent again', async () => {
  const first = await console.get('/stock/upload')
  const headers = { 'if-none-match': first.headers.get('etag')! }
  const { context } = console
  await using upgraded = fastify()
  await serveOn(upgraded, { context, version: '99.0.0 other-assets' })
  await using later = await serveConsole(console.fixture, { uploadMegabytes: 7 })

  const newer = await upgraded.inject({
    url: '/console/stock/upload',
    headers: { ...headers, accept: 'text/html', cookie: await console.cookie('engineer') },
  })
  const other = await later.get('/stock/upload', { headers })
  await using same = await serveConsole(console.fixture)
  const unchanged = await same.get('/stock/upload', { headers })

  expect([newer.statusCode, other.status, unchanged.status]).toEqual([200, 200, 304])
  expect(other.text).toContain('At most 7 MB')
})

test('a browser asks for a page again and learns that its data are the same; another person gets the page', async () => {
  const first = await console.get('/runs')
  const headers = { 'if-none-match': first.headers.get('etag')! }

  const again = await console.get('/runs', { headers })
  const other = await console.get('/runs', { role: 'viewer', headers })
  await using later = await serveConsole(console.fixture, {
    people: [{ email: 'sue@example.com', role: 'engineer' }],
  })
  const signedIn = await later.post(
    '/sign-in',
    { link: await linkOf(later, 'sue@example.com') },
    { role: null },
  )
  const cookie = signedIn.headers.getSetCookie()[0]!.split(';')[0]!
  const second = await later.get('/runs', { role: null, headers: { ...headers, cookie } })

  expect([again.status, again.text, other.status, second.status]).toEqual([304, '', 200, 200])
  expect(again.headers.get('content-security-policy')).toBe(policy)
  expect(first.headers.get('vary')).toBe('accept, cookie')
})
