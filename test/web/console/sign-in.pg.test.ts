import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { localPath } from '#src/web/console/access/sign-in.ts'
import { clientNetwork } from '#src/web/console/access/throttle.ts'
import { type ConsoleFixture, openConsole, serveConsole } from './console-fixture.ts'

let console: ConsoleFixture
let proxied: ConsoleFixture

beforeAll(async () => {
  console = await openConsole()
  // As behind a proxy on this host.
  const config = {
    ...console.fixture.config,
    serve: { ...console.fixture.config.serve, trustedProxies: ['127.0.0.1'] },
  }
  proxied = await serveConsole({ ...console.fixture, config })
})

afterAll(async () => {
  await proxied[Symbol.asyncDispose]()
  await console[Symbol.asyncDispose]()
})

afterEach(async () => {
  await console.rows('delete from ops.console_try')
})

const noOne = { role: null } as const

/** The token of a new link. */
async function linkOf(role: 'engineer' | 'viewer', minutes?: number): Promise<string> {
  return new URL(await console.link(role, minutes)).searchParams.get('link')!
}

/** A request with a cookie of its own. */
function withCookie(cookie: string, more: Readonly<Record<string, string>> = {}) {
  return { role: null, headers: { cookie, ...more } } as const
}

/** `name=value` of the session that an answer starts. */
function sessionOf({ headers }: { readonly headers: Headers }): string {
  return headers.getSetCookie()[0]!.split(';')[0]!
}

const storedSessions = async () =>
  (
    await console.rows<{ sessions: number }>(
      'select count(*)::int as sessions from ops.console_session',
    )
  )[0]!.sessions

test('a link signs its person in', async () => {
  const { status, title, text } = await console.get('/', { role: 'viewer' })

  expect({ status, title }).toEqual({ status: 200, title: 'Morning' })
  expect(text).toContain('vic@example.com, viewer.')
})

test('a link works once, and opening it does not use it up', async () => {
  const link = await linkOf('engineer')

  const opened = await console.get(`/sign-in?link=${link}`, noOne)
  const first = await console.post('/sign-in', { link }, noOne)
  const second = await console.post('/sign-in', { link }, noOne)

  expect(opened.text).toContain(`name="link" value="${link}"`)
  expect([opened.status, first.status, second.status]).toEqual([200, 303, 403])
  expect(second.title).toBe('This link does not sign you in')
  expect(second.headers.getSetCookie()).toEqual([])
})

test('a link takes the place of a session only when the person says so', async () => {
  const link = await linkOf('viewer')
  const fresh = await console.get(`/sign-in?link=${link}`, noOne)
  const planted = await console.get(`/sign-in?link=${link}`, { role: 'engineer' })

  expect(fresh.text).toContain('data-submit-now')
  expect(planted.text).not.toContain('data-submit-now')
  expect(planted.text).toContain('This browser is signed in already.')
})

test('two browsers that use a link at the same time: one is signed in', async () => {
  const link = await linkOf('engineer')

  const answers = await Promise.all(
    Array.from({ length: 4 }, () => console.post('/sign-in', { link }, noOne)),
  )

  expect(answers.map(({ status }) => status).sort()).toEqual([303, 403, 403, 403])
})

const unusable = {
  expired: () => linkOf('engineer', -1),
  'made by no one': async () => 'x'.repeat(43),
  empty: async () => '',
  'cut off': async () => (await linkOf('engineer')).slice(0, -1),
}

test.for(Object.entries(unusable))('a link that is %s signs no one in', async ([, makeLink]) => {
  const before = await storedSessions()

  const { status, headers } = await console.post('/sign-in', { link: await makeLink() }, noOne)

  expect(status).toBe(403)
  expect(headers.getSetCookie()).toEqual([])
  expect(await storedSessions()).toBe(before)
})

test('a form with two links is read as the first', async () => {
  const link = await linkOf('viewer')
  const response = await fetch(`${console.url}/console/sign-in`, {
    ...{ method: 'POST', redirect: 'manual', body: `link=wrong&link=${link}` },
    headers: {
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
    },
  })

  expect(response.status).toBe(403)
})

/** The status of a failed attempt from an address, as a proxy on this host passes it on. */
const failFrom = async (forwardedFor: string, server = proxied) => {
  const headers = { 'x-forwarded-for': forwardedFor }
  return (await server.post('/sign-in', { link: 'guess' }, { ...noOne, headers })).status
}

test('ten failed attempts make an address wait, over all servers; other addresses do not', async () => {
  await using other = await serveConsole(console.fixture)
  const statuses: number[] = []
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const server = attempt % 2 === 0 ? console : other
    statuses.push((await server.post('/sign-in', { link: 'guess' }, noOne)).status)
  }

  const here = await console.post('/sign-in', { link: 'guess' }, noOne)
  const there = await other.post('/sign-in', { link: 'guess' }, noOne)

  expect(statuses).toEqual(Array(10).fill(403))
  expect([here.status, there.status, await failFrom('203.0.113.9')]).toEqual([429, 429, 403])
  expect(here.headers.get('retry-after')).toBe('900')
  expect(here.title).toBe('Too many attempts')
})

test('whoever shares an address with a guesser still signs in by link', async () => {
  for (let attempt = 0; attempt < 11; attempt += 1)
    await console.post('/sign-in', { link: 'guess' }, noOne)

  const answer = await console.post('/sign-in', { link: await linkOf('viewer') }, noOne)

  expect(answer.status).toBe(303)
})

test('an address is what the proxy added last, not what the client wrote before it', async () => {
  const statuses: number[] = []
  for (let attempt = 0; attempt < 11; attempt += 1)
    statuses.push(await failFrom(`198.51.100.${attempt}, 203.0.113.9`))

  expect(statuses).toEqual([...Array(10).fill(403), 429])
  expect(await failFrom('203.0.113.9, 198.51.100.1')).toBe(403)
})

test('an address that a client makes up does not count, unless the config trusts its proxy', async () => {
  const statuses: number[] = []
  for (let attempt = 0; attempt < 11; attempt += 1)
    statuses.push(await failFrom(`203.0.113.${attempt}`, console))
  const warnings = console.logged.filter((line) => line.includes('serve.trustedProxies'))

  expect(statuses).toEqual([...Array(10).fill(403), 429])
  expect(await failFrom('203.0.113.99')).toBe(403)
  // Once, whatever the number of requests.
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toContain('127.0.0.1')
})

test('the addresses of one IPv6 customer count together, and those of another do not', async () => {
  const statuses: number[] = []
  for (let attempt = 0; attempt < 11; attempt += 1)
    statuses.push(await failFrom(`2001:db8:0:7::${attempt.toString(16)}`))

  expect(statuses).toEqual([...Array(10).fill(403), 429])
  expect([await failFrom('2001:db8:0:8::1'), await failFrom('::ffff:203.0.113.9')]).toEqual([
    403, 403,
  ])
})

test.for([
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:DB8:0:0:ffff::1', '2001:db8:0:0::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['1::2:3:4:5:192.0.2.1', '1:0:2:3::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['9'.repeat(300), '9'.repeat(64)],
  ['', ''],
])('%s counts as %s', ([address, client]) => {
  expect(clientNetwork(address!)).toBe(client)
})

test('attempts of more than 15 minutes ago no longer count, and are deleted', async () => {
  await console.rows(
    `insert into ops.console_try (address, tried_at) select '127.0.0.1', now() - interval '16 minutes' from generate_series(1, 10)`,
  )

  const { status } = await console.post('/sign-in', { link: 'guess' }, noOne)

  const tries = await console.rows('select address from ops.console_try')
  expect(status).toBe(403)
  expect(tries).toEqual([{ address: '127.0.0.1' }])
})

test('an address of any length is counted', async () => {
  const headers = { 'x-forwarded-for': `${'9'.repeat(300)}, 127.0.0.1` }

  expect((await console.post('/sign-in', { link: 'guess' }, { ...noOne, headers })).status).toBe(
    403,
  )
})

test('a cookie that was copied does not work after sign-out', async () => {
  const link = await linkOf('viewer')
  const cookie = sessionOf(await console.post('/sign-in', { link }, noOne))
  const before = await console.get('/runs', withCookie(cookie))

  const out = await console.post('/sign-out', {}, withCookie(cookie))
  const after = await console.get('/runs', withCookie(cookie))

  expect([before.status, out.status, out.location]).toEqual([200, 303, '/console/sign-in'])
  expect(out.headers.getSetCookie()[0]).toMatch(
    /^forecourt=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970 /,
  )
  expect([after.status, after.location]).toEqual([303, '/console/sign-in?next=%2Fconsole%2Fruns'])
})

test('a session that another person planted is ended by sign-in, and its token is not taken over', async () => {
  const planted = sessionOf(await console.post('/sign-in', { link: await linkOf('viewer') }, noOne))

  const answer = await console.post(
    '/sign-in',
    { link: await linkOf('engineer') },
    withCookie(planted),
  )

  const own = sessionOf(answer)
  expect(own).not.toBe(planted)
  expect((await console.get('/', withCookie(own))).text).toContain('kim@example.com')
  expect((await console.get('/', withCookie(planted))).status).toBe(303)
})

test('a token that someone made up is not taken over', async () => {
  const chosen = `forecourt=${'a'.repeat(43)}`

  const answer = await console.post(
    '/sign-in',
    { link: await linkOf('viewer') },
    withCookie(chosen),
  )

  expect(sessionOf(answer)).not.toBe(chosen)
  expect((await console.get('/', withCookie(chosen))).status).toBe(303)
})

test('a person who is no longer in the config has no session, and no link', async () => {
  const link = await linkOf('viewer')
  const cookie = await console.cookie('viewer')
  await using later = await serveConsole(console.fixture, {
    people: [{ email: 'kim@example.com', role: 'engineer' }],
  })

  const [page, signIn] = [
    await later.get('/', withCookie(cookie)),
    await later.post('/sign-in', { link }, noOne),
  ]

  expect([page.status, signIn.status]).toEqual([303, 403])
})

test('a person whose role has changed has the new one at once', async () => {
  const cookie = await console.cookie('viewer')
  const { uid } = console.config.rooftops[0]!
  await using later = await serveConsole(console.fixture, {
    people: [{ email: 'vic@example.com', role: 'stock', rooftops: [uid] }],
  })

  expect((await later.get('/runs', withCookie(cookie))).status).toBe(403)
})

test('a session that has ended is refused, and deleted at the next sign-in', async () => {
  const cookie = sessionOf(await console.post('/sign-in', { link: await linkOf('viewer') }, noOne))
  await console.rows(`update ops.console_session set ends_at = now() where token_hash = $1`, [
    createHash('sha256').update(cookie.split('=')[1]!).digest(),
  ])
  const { status } = await console.get('/', withCookie(cookie))

  await console.post('/sign-in', { link: await linkOf('viewer') }, noOne)

  const ended = await console.rows('select from ops.console_session where ends_at <= now()')
  expect(status).toBe(303)
  expect(ended).toEqual([])
})

test('a session lasts as long as the config says, and only its hash is stored', async () => {
  const answer = await console.post('/sign-in', { link: await linkOf('viewer') }, noOne)
  const token = sessionOf(answer).split('=')[1]!

  const rows = await console.rows<{ hours: number; line: string }>(
    `select round(extract(epoch from ends_at - started_at) / 3600)::int as hours, row_to_json(s)::text as line
     from ops.console_session as s where token_hash = $1`,
    [createHash('sha256').update(token).digest()],
  )

  expect(answer.headers.getSetCookie()).toEqual([
    `forecourt=${token}; Max-Age=43200; Path=/; HttpOnly; SameSite=Lax`,
  ])
  expect(rows.map(({ hours }) => hours)).toEqual([12])
  expect(rows[0]!.line).not.toContain(token)
})

test('over https the cookie is for this host alone, and never sent over http', async () => {
  await using secure = await serveConsole(console.fixture, {
    publicUrl: 'https://forecourt.example.com',
  })
  const link = await linkOf('viewer')

  const answer = await secure.post('/sign-in', { link }, noOne)

  const [cookie] = answer.headers.getSetCookie()
  const token = sessionOf(answer).split('=')[1]!
  expect(cookie).toBe(
    `__Host-forecourt=${token}; Max-Age=43200; Path=/; HttpOnly; Secure; SameSite=Lax`,
  )
  expect(answer.headers.get('strict-transport-security')).toMatch(/^max-age=\d{8}/)
  expect((await secure.get('/', withCookie(`__Host-forecourt=${token}`))).status).toBe(200)
  // A neighbour on another port or host of the domain can set this one.
  expect((await secure.get('/', withCookie(`forecourt=${token}`))).status).toBe(303)
})

test('neither links nor sessions are in the log', async () => {
  const link = await linkOf('viewer')
  const cookie = sessionOf(await console.post('/sign-in', { link }, noOne))
  await console.get(`/sign-in?link=${link}`, noOne)
  await console.get('/', withCookie(cookie))

  expect(
    console.logged.filter((line) => line.includes(link) || line.includes(cookie.slice(10))),
  ).toEqual([])
})

test.for([
  ['/console/runs?show=all&before=7', '/console/runs?show=all&before=7'],
  ['/console/coverage/7f3a-1/2026-03-10', '/console/coverage/7f3a-1/2026-03-10'],
  ...[
    ...['/console/stock?q=Land+Cruiser', "/console/stock?q=D'Arcy,+(2.0)+!*", '/console/?q=a//b'],
    ...["/console/stock/units/7f3a/A+(1),'b'~c;d=e!*$&", '/console/stock/units/7f3a/A%2F%2F1'],
    ...[
      '/console/search?q=kim@example.com',
      '/console/stock?q=%2e%2e/x',
      '/console/stock?q=[a]|{b}',
    ],
  ].map((next) => [next, next] as const),
  ...[
    ...['/console/../links/ppsr/1', '/console/%2e%2e/links/ppsr/1', '/console/.%2E//evil.example'],
    ...[
      '/console/x/../sign-in?link=planted',
      '/console/%73ign-in?link=planted',
      '/console/./sign-out',
    ],
    ...['/console/..', '/console/\t/evil', '/console/%zz', '/\t/console/', 'https:/console/'],
  ].map((next) => [next, '/console/'] as const),
  ...[
    ...['https://evil.example/', '//evil.example/', '/\\evil.example', '/console', 'console/'],
    ...[
      'javascript:alert(1)',
      '/console//evil.example',
      '/console/\\evil.example',
      '/links/ppsr/1',
    ],
    ...['/console/..//evil.example', '/console/\r\nset-cookie: a=b', '/console/@evil.example'],
    ...['/console/sign-out', '/console/sign-in?link=planted', '', `/console/${'a'.repeat(2000)}`],
  ].map((next) => [next, '/console/'] as const),
] as const)('after sign-in, next=%j leads to %j', async ([next, expected]) => {
  expect(localPath(next)).toBe(expected)

  const answer = await console.post('/sign-in', { link: await linkOf('viewer'), next }, noOne)

  expect(answer.location).toBe(expected)
})

test('HEAD is answered like GET, without a body', async () => {
  const cookie = await console.cookie('viewer')
  const ask = async (headers: Record<string, string>) => {
    const response = await fetch(`${console.url}/console/runs`, {
      method: 'HEAD',
      redirect: 'manual',
      headers,
    })
    return [response.status, response.headers.get('content-type'), await response.text()]
  }

  expect(await ask({ cookie })).toEqual([200, 'text/html; charset=utf-8', ''])
  expect((await ask({})).slice(0, 1)).toEqual([303])
})

test('a program without a session gets 401 and no page', async () => {
  const headers = { accept: 'application/json' }

  const answers = [
    await console.get('/runs', { ...noOne, headers }),
    await console.get('/no such page', { ...noOne, headers }),
    await console.post('/runs', {}, { ...noOne, headers }),
  ]

  for (const { status, text } of answers) {
    expect(status).toBe(401)
    expect(JSON.parse(text)).toEqual({
      error: 'unauthorised',
      message: 'Sign in to the console first.',
    })
  }
})
