import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { pages } from '#src/web/console/pages.ts'
import { nothing, rowOf } from './access-matrix.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'

let console: ConsoleFixture

beforeAll(async () => {
  console = await openConsole()
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

afterEach(async () => {
  await console.rows('delete from ops.console_try')
})

const paths = [
  ...pages.map(({ path }) => rowOf(path).path(nothing)),
  ...['/sign-in', '/sign-out', '/no-such-page'],
]

/** What browsers send about the page that a form is on. */
const senders = {
  'cross-site': () => ({ 'sec-fetch-site': 'cross-site' }),
  'cross-site with our Origin': () => ({
    ...{ 'sec-fetch-site': 'cross-site', origin: console.url },
  }),
  'same-site': () => ({ 'sec-fetch-site': 'same-site' }),
  'by hand': () => ({ 'sec-fetch-site': 'none' }),
  'unknown, without Origin': () => ({}),
  'unknown, with a foreign Origin': () => ({ origin: 'https://evil.example' }),
  'unknown, with the Origin of another port': () => ({ origin: 'http://127.0.0.1:1' }),
  'unknown, with Origin null': () => ({ origin: 'null' }),
  'unknown, with an empty Origin': () => ({ origin: '' }),
}

/** Whether the request went past the check: everything behind it answers with HTML, a redirect or JSON. */
async function isTaken(path: string, sender: Record<string, string>): Promise<boolean> {
  const cookie = await console.cookie('engineer')
  const response = await fetch(`${console.url}/console${path}`, {
    ...{ method: 'POST', redirect: 'manual', headers: { cookie, ...sender } },
    body: new URLSearchParams({ action: 'none', link: 'guess' }),
  })
  const text = await response.text()
  const isRefused = response.status === 403 && text.startsWith('This request does not come from')
  if (isRefused) expect(response.headers.getSetCookie()).toEqual([])
  return !isRefused
}

test.for(Object.entries(senders))(
  'no form of a page that is %s is taken',
  async ([, headersOf]) => {
    for (const path of paths)
      expect({ path, taken: await isTaken(path, headersOf()) }).toEqual({ path, taken: false })
  },
)

test.for([
  ['Sec-Fetch-Site', () => ({ 'sec-fetch-site': 'same-origin' })],
  ['Origin', () => ({ origin: console.url })],
] as const)('a form of our own pages is taken by %s', async ([, headersOf]) => {
  // Signing out would end the session of the other paths.
  for (const path of paths.filter((one) => one !== '/sign-out'))
    expect({ path, taken: await isTaken(path, headersOf()) }).toEqual({ path, taken: true })
})

test('other methods than GET and HEAD are checked too', async () => {
  const cookie = await console.cookie('engineer')
  const statuses: number[] = []

  for (const method of ['PUT', 'PATCH', 'DELETE'])
    statuses.push(
      (await fetch(`${console.url}/console/runs`, { method, headers: { cookie } })).status,
    )

  expect(statuses).toEqual([403, 403, 403])
})

test('a page is read in a transaction that cannot write', async () => {
  const [row] = await console.rows<{ actions: number }>(
    'select count(*)::int as actions from ops.console_action',
  )

  // No GET has an action, whatever its query says.
  const { status } = await console.get('/links?action=refresh')

  expect(status).toBe(200)
  expect(await console.rows('select count(*)::int as actions from ops.console_action')).toEqual([
    row,
  ])
})
