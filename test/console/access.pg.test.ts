import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findPerson } from '#src/console/access/people.ts'
import { enterScope, martSchema } from '#src/console/access/scope.ts'
import { definePage } from '#src/console/page.ts'
import { pages } from '#src/console/pages.ts'
import { inTransaction } from '#src/db/transaction.ts'
import { html } from '#src/values/html.ts'
import { type Logins, openLogins } from '../access/logins.ts'
import { reportedFixture } from '../support/reports-fixture.ts'
import { readTargets, rowOf, rows, type Target } from './access-matrix.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'
import { doorsOf, openTestPages } from './test-pages.ts'

const roles = ['engineer', 'viewer', 'stock', 'group'] as const

let console: ConsoleFixture
let logins: Logins
let targets: readonly Target[]

beforeAll(async () => {
  console = await openConsole({ fixture: await reportedFixture(7, 120) })
  logins = await openLogins(console.fixture.database, console.config, {})
  await logins.grant()
  targets = await readTargets(console)
})

afterAll(async () => {
  await logins[Symbol.asyncDispose]()
  await console[Symbol.asyncDispose]()
})

test('every page has a row in access-matrix.ts, and every row a page', () => {
  expect([...rows].sort()).toEqual(pages.map(({ path }) => path).sort())
})

test('sam and gus have rooftops in different groups, and sam has a sister rooftop', () => {
  const { rooftops } = console.config

  expect(rooftops[0]!.group).toBe(rooftops[1]!.group)
  expect(rooftops[0]!.group).not.toBe(rooftops.at(-1)!.group)
})

test.for(pages.map(({ path }) => path))('%s answers each role as the matrix says', async (page) => {
  const { path, expected } = rowOf(page)
  const found: Record<string, string> = {}

  for (const role of roles) {
    const answers = await Promise.all(targets.map((target) => console.get(path(target), { role })))
    found[role] = answers.map(({ status }) => status).join(' ')
    // What exists and may not be seen must not differ from what does not exist.
    const hidden = answers.filter(({ status }) => status === 404 || status === 403)
    expect(new Set(hidden.map(({ text }) => text)).size, role).toBeLessThanOrEqual(1)
  }

  expect(found).toEqual(expected)
})

test.for(pages.map(({ path }) => path))(
  '%s answers programs with the same status',
  async (page) => {
    const { path } = rowOf(page)
    const headers = { accept: 'application/json' }

    for (const role of roles) {
      const target = targets[0]!
      const [text, json] = [
        await console.get(path(target), { role }),
        await console.get(path(target), { role, headers }),
      ]
      expect(json.status).toBe(text.status)
      if (json.status === 303) continue
      expect(json.headers.get('content-type')).toMatch(/^application\/json/)
      JSON.parse(json.text)
    }
  },
)

test('a page that forgets to filter shows a stock person the own rooftops alone', async () => {
  const path = '/forgetful'
  const forgetful = definePage({
    ...{ path, title: 'Stock', question: 'What is in stock?', roles: ['engineer', 'stock'] },
    read: async ({ db, person }) => {
      const { rows } = await sql<{ uid: string; units: number }>`
        select rooftop_uid as uid, count(*)::int as units
        from ${martSchema(person)}.fact_stock_unit join ${martSchema(person)}.dim_rooftop using (rooftop_id) group by 1`.execute(
        db,
      )
      return rows
    },
    draw: () => html``,
  })
  await using served = await openTestPages(console, [forgetful])
  const uidsOf = async (role: (typeof roles)[number]) => {
    const { text } = await served.get(path, role, { accept: 'application/json' })
    return (JSON.parse(text) as { uid: string }[]).map(({ uid }) => uid).sort()
  }
  const all = console.config.rooftops

  expect(await uidsOf('engineer')).toEqual(all.map(({ uid }) => uid).sort())
  expect(await uidsOf('stock')).toEqual([all[0]!.uid])
  expect(await uidsOf('group')).toEqual(
    all
      .slice(-2)
      .map(({ uid }) => uid)
      .sort(),
  )
})

const stockPages = pages.filter(({ roles: allowed }) => allowed.includes('stock'))

// The page believes that the person sees everything: row-level security alone must hold.
test.runIf(stockPages.length > 0).for(stockPages.map(({ path }) => path))(
  '%s without its own filter names no other rooftop to a stock person',
  async (path) => {
    const page = stockPages.find((one) => one.path === path)!
    const sam = findPerson(console.config, 'sam@example.com')!
    const others = console.config.rooftops.slice(1)
    for (const target of targets) {
      const url = new URL(rowOf(path).path(target), 'http://console')
      const data = await inTransaction(
        console.fixture.database.pool,
        async ({ db }) => {
          await enterScope(db, sam)
          return await page.read({
            ...{ db, config: console.config, doors: doorsOf(console.context), now: new Date() },
            // An empty list of rooftops still makes it choose mart_scoped.
            person: { ...sam, rooftops: console.config.rooftops.map(({ uid }) => uid) },
            params: paramsOf(path, url.pathname),
            query: Object.fromEntries(url.searchParams),
          })
        },
        'repeatable read, read only',
      )
      const text = JSON.stringify(data)
      for (const { uid, name } of others) {
        expect(text).not.toContain(uid)
        expect(text).not.toContain(name)
      }
    }
  },
)

/** The values of `:name` in a path. */
function paramsOf(pattern: string, path: string): Record<string, string> {
  const values = path.split('/')
  const names = pattern.split('/')
  return Object.fromEntries(
    names.flatMap((name, at) => (name.startsWith(':') ? [[name.slice(1), values[at]!]] : [])),
  )
}

test('only engineers act, and a refusal by role leaves no trace', async () => {
  const acting = pages.filter(({ actions }) => actions !== undefined)
  const before = await console.rows('select from ops.console_action')

  for (const { path, actions } of acting)
    for (const [action, { roles: allowed }] of Object.entries(actions!)) {
      expect(allowed, `${path} ${action}`).toEqual(['engineer'])
      for (const role of ['viewer', 'stock', 'group'] as const) {
        const { status } = await console.post(rowOf(path).path(targets[0]!), { action }, { role })
        expect({ path, action, role, status }).toEqual({ path, action, role, status: 403 })
      }
    }

  expect(await console.rows('select from ops.console_action')).toEqual(before)
})

test('where no grant was run, a stock page explains it', async () => {
  const page = definePage({
    ...{ path: '/stock-here', title: 'Stock', question: 'What is in stock?', roles: ['stock'] },
    read: async () => ({}),
    draw: () => html`<h1>Stock</h1>`,
  })
  await using served = await openTestPages(console, [page])
  await console.rows('revoke usage on schema mart_scoped from bi_tenant')
  const before = await served.get('/stock-here', 'stock')
  await logins.grant()

  const after = await served.get('/stock-here', 'stock')

  expect([before.status, after.status]).toEqual([503, 200])
  expect(before.text).toContain('<code>forecourt grant</code>')
  expect(before.text).toContain('sam@example.com, stock.')
})
