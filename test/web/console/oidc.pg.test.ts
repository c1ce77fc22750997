import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ConsoleFixture, openConsole, serveConsole } from './console-fixture.ts'
import { client, type IdentityProvider, startIdentityProvider } from './identity-provider.ts'

let provider: IdentityProvider
let console: ConsoleFixture

beforeAll(async () => {
  provider = await startIdentityProvider()
  console = await openConsole({ console: { oidc: { issuer: provider.issuer, ...client } } })
  provider.allow(`${console.url}/console/sign-in/oidc/callback`)
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})

afterEach(async () => {
  Object.assign(provider.identity, {
    ...{ email: 'kim@example.com', emailVerified: true, forged: {}, signsWithOtherKey: false },
    algorithm: 'RS256',
  })
  await console.rows('delete from ops.console_try')
})

/** An attempt as the browser holds it when the provider sends it back. */
async function begin(next = '', at = console) {
  const { status, headers, location } = await at.get(
    `/sign-in/oidc?next=${encodeURIComponent(next)}`,
    { role: null },
  )
  expect(status).toBe(303)
  const cookie = headers.getSetCookie()[0]!.split(';')[0]!
  return { cookie, address: location! }
}

/** The answer of the console to what the provider sent back. */
async function finish(answer: URL, cookie: string, at = console) {
  const path = `${answer.pathname.replace(/^\/console/, '')}${answer.search}`
  return await at.get(path, { role: null, headers: { cookie, 'sec-fetch-site': 'cross-site' } })
}

async function attempt(next = '') {
  const { cookie, address } = await begin(next)
  return await finish(await provider.signIn(address), cookie)
}

test('a person of the config signs in, and goes on to the page that was asked for', async () => {
  const { status, location, headers } = await attempt('/console/runs?show=all')

  const session = headers
    .getSetCookie()
    .find((line) => line.startsWith('forecourt='))!
    .split(';')[0]!
  const page = await console.get('/runs', { role: null, headers: { cookie: session } })
  expect({ status, location }).toEqual({ status: 303, location: '/console/runs?show=all' })
  expect(page.text).toContain('kim@example.com, engineer.')
  // The attempt is used up.
  expect(headers.getSetCookie().find((line) => line.startsWith('forecourt-oidc='))).toMatch(
    /^forecourt-oidc=; Max-Age=0/,
  )
})

test('the request asks for a code with PKCE, state and nonce, and the cookie is for this browser alone', async () => {
  const { headers, location } = await console.get('/sign-in/oidc', { role: null })

  const { searchParams } = new URL(location!)
  expect(Object.fromEntries(searchParams)).toMatchObject({
    ...{ response_type: 'code', client_id: 'forecourt', scope: 'openid email' },
    ...{ code_challenge_method: 'S256', state: expect.any(String), nonce: expect.any(String) },
  })
  expect(headers.getSetCookie()[0]).toMatch(
    /^forecourt-oidc=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
  )
})

test.for([
  ['issuer', { forged: { iss: 'http://127.0.0.1:1' } }, /iss/],
  ['audience', { forged: { aud: 'another client' } }, /aud/],
  ['nonce', { forged: { nonce: 'of another attempt' } }, /nonce/],
  ['time', { forged: { exp: 1_700_000_000 } }, /exp|timestamp/],
  ['signature', { signsWithOtherKey: true }, /signature/],
  ['algorithm', { algorithm: 'none' }, /alg/],
  ['algorithm of shared secrets', { algorithm: 'HS256' }, /alg/],
  ['e-mail that is not verified', { emailVerified: false }, /not verified/],
  ['e-mail', { forged: {}, email: '' }, /names no e-mail/],
] as const)('an id token with a wrong %s signs no one in', async ([, changes, reason]) => {
  Object.assign(provider.identity, changes)
  const before = console.logged.length

  const { status, title, headers } = await attempt()

  expect({ status, title }).toEqual({ status: 403, title: 'You are not signed in' })
  expect(headers.getSetCookie().filter((line) => line.startsWith('forecourt='))).toEqual([])
  expect(console.logged.slice(before).join()).toMatch(reason)
})

test('a person that the config does not name is not signed in, and learns why', async () => {
  provider.identity.email = 'eve@example.com'

  const { status, text } = await attempt()

  expect(status).toBe(403)
  expect(text).toContain('eve@example.com is not in <code>console.people</code>')
})

test('an unverified e-mail is taken where the config says that the provider sends no such claim', async () => {
  await using other = await serveConsole(console.fixture, {
    oidc: { issuer: provider.issuer, ...client, requireVerifiedEmail: false },
  })
  provider.allow(`${other.url}/console/sign-in/oidc/callback`)
  provider.identity.emailVerified = false

  const { cookie, address } = await begin('', other)
  const { status } = await finish(await provider.signIn(address), cookie, other)

  provider.allow(`${console.url}/console/sign-in/oidc/callback`)
  expect(status).toBe(303)
})

test('a wrong state, another browser and a second use are refused', async () => {
  const { cookie, address } = await begin()
  const answer = await provider.signIn(address)
  const wrong = new URL(answer)
  wrong.searchParams.set('state', 'another')

  const statuses = [
    (await finish(wrong, cookie)).status,
    (await finish(answer, '')).status,
    (await finish(answer, (await begin()).cookie)).status,
    (await finish(answer, 'forecourt-oidc=eyJhIjoxfQ')).status,
    (await finish(answer, cookie)).status,
    (await finish(answer, cookie)).status,
  ]

  expect(statuses).toEqual([403, 403, 403, 403, 303, 403])
})

test('the page that was asked for is one of the console', async () => {
  const { status, location } = await attempt('https://evil.example/')

  expect({ status, location }).toEqual({ status: 303, location: '/console/' })
})

test('ten failed answers make the address wait', async () => {
  const { cookie } = await begin()
  const answer = new URL(`${console.url}/console/sign-in/oidc/callback?code=guess&state=guess`)
  const statuses: number[] = []

  for (let count = 1; count <= 11; count += 1) statuses.push((await finish(answer, cookie)).status)

  expect(statuses).toEqual([...Array(10).fill(403), 429])
})

test('failed links make no one wait who signs in by the provider, nor the other way round', async () => {
  for (let count = 1; count <= 11; count += 1)
    await console.post('/sign-in', { link: 'guess' }, { role: null })
  const byProvider = await attempt()

  const { cookie } = await begin()
  const wrong = new URL(`${console.url}/console/sign-in/oidc/callback?code=guess&state=guess`)
  await console.rows('delete from ops.console_try')
  for (let count = 1; count <= 11; count += 1) await finish(wrong, cookie)
  const byLink = await console.post('/sign-in', { link: 'guess' }, { role: null })

  expect([byProvider.status, byLink.status]).toEqual([303, 403])
})

test('a page of another site that asks for the answer makes no address wait, and asks no provider', async () => {
  const path = '/sign-in/oidc/callback?code=guess&state=guess'
  for (let count = 1; count <= 11; count += 1)
    expect((await console.get(path, { role: null })).status).toBe(403)

  expect(await console.rows('select from ops.console_try')).toEqual([])
  expect((await attempt()).status).toBe(303)
})

test.for([
  ['KIM@Example.COM', 303],
  // To Unicode, the first letter is a K.
  ['\u212aim@example.com', 403],
  [' kim@example.com', 403],
  ['kim@example.com, eve@example.com', 403],
  ['kim@example.com\0', 403],
] as const)('the e-mail %j gets %i', async ([email, expected]) => {
  provider.identity.email = email

  expect((await attempt()).status).toBe(expected)
})

test.for([
  [-20, 303],
  [-120, 403],
] as const)('an id token that ends in %i seconds gets %i', async ([seconds, expected]) => {
  // The clocks of two machines differ a little.
  provider.identity.forged = { exp: Math.floor(Date.now() / 1000) + seconds }

  expect((await attempt()).status).toBe(expected)
})

test('the console starts without its provider, explains it, and people sign in by link', async () => {
  const away = await startIdentityProvider()
  await using other = await serveConsole(console.fixture, {
    oidc: { issuer: away.issuer, ...client },
  })
  const statuses = [(await other.get('/sign-in/oidc', { role: null })).status]
  await away.stop()

  const page = await other.get('/sign-in/oidc', { role: null })
  const { status } = await other.get('/', { role: 'viewer' })

  expect([...statuses, page.status]).toEqual([503, 503])
  expect(page.text).toContain(`${new URL(away.issuer).host} does not answer`)
  expect(page.text).toContain('forecourt console link')
  expect(status).toBe(200)
})

test('a provider that is away when its answer comes makes no address wait', async () => {
  const short = await startIdentityProvider()
  await using other = await serveConsole(console.fixture, {
    oidc: { issuer: short.issuer, ...client },
  })
  short.allow(`${other.url}/console/sign-in/oidc/callback`)
  const { cookie, address } = await begin('', other)
  const answer = await short.signIn(address)
  await short.stop()

  const { status, text } = await finish(answer, cookie, other)

  expect(status).toBe(503)
  expect(text).toContain(`${new URL(short.issuer).host} does not answer`)
  expect(await console.rows('select from ops.console_try')).toEqual([])
})

test('the console finds a provider that comes back', async () => {
  const late = await startIdentityProvider()
  await using other = await serveConsole(console.fixture, {
    oidc: { issuer: late.issuer, ...client },
  })
  const before = await other.get('/sign-in/oidc', { role: null })

  late.allow(`${other.url}/console/sign-in/oidc/callback`)
  const { cookie, address } = await begin('', other)
  const after = await finish(await late.signIn(address), cookie, other)

  await late.stop()
  expect([before.status, after.status]).toEqual([503, 303])
})

test('a provider that calls itself by another name is not used', async () => {
  await using other = await serveConsole(console.fixture, {
    oidc: { issuer: provider.issuer.replace('127.0.0.1', 'localhost'), ...client },
  })

  expect((await other.get('/sign-in/oidc', { role: null })).status).toBe(503)
})

test('the sign-in page offers the provider and links', async () => {
  const { text } = await console.get('/sign-in?next=/console/runs', { role: null })

  expect(text).toContain('href="/console/sign-in/oidc?next=%2Fconsole%2Fruns"')
  expect(text).toContain('forecourt console link')
})
