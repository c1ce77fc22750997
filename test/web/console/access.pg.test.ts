import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { html } from '#src/values/html.ts'
import { inTransaction } from '#src/warehouse/db/transaction.ts'
import { findPerson } from '#src/web/console/access/people.ts'
import { enterScope, martSchema } from '#src/web/console/access/scope.ts'
import { definePage } from '#src/web/console/page.ts'
import { pages } from '#src/web/console/pages.ts'
import { someOf } from '../../support/cases.ts'
import { reportedFixture } from '../../support/reports-fixture.ts'
import { type Logins, openLogins } from '../../warehouse/access/logins.ts'
import { perRole, type Row, readTargets, rowOf, rows, type Target } from './access-matrix.ts'
import { type Answer, type ConsoleFixture, openConsole } from './console-fixture.ts'
import { openTestPages } from './test-pages.ts'

const roles = ['engineer', 'viewer', 'stock', 'group'] as const

let console: ConsoleFixture
let logins: Logins
let targets: readonly Target[]
/** Every VIN in stock that one rooftop alone has. */
let foreignVins: readonly { uid: string; vin: string }[]

beforeAll(async () => {
  console = await openConsole({ fixture: await reportedFixture(7, 120) })
  logins = await openLogins(console.fixture.database, console.config, {})
  await logins.grant()
  targets = await readTargets(console)
  foreignVins = await console.rows(
    'select min(rooftop_uid) as uid, vin from core.stock_unit join core.rooftop using (rooftop_id) group by vin having count(*) = 1',
  )
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

/** What people of a role get, by address; asked for once. */
const pagesOf = new Map<string, Promise<Answer>>()

async function pageOf(path: string, role: (typeof roles)[number]): Promise<Answer> {
  const known = pagesOf.get(`${role} ${path}`) ?? console.get(path, { role })
  pagesOf.set(`${role} ${path}`, known)
  return await known
}

test.for(pages.map(({ path }) => path))('%s answers each role as the matrix says', async (page) => {
  const { path, expected } = rowOf(page)
  const found: Record<string, string> = {}

  for (const role of roles) {
    const answers = await Promise.all(targets.map((target) => pageOf(path(target), role)))
    found[role] = answers.map(({ status }) => status).join(' ')
    // What exists and may not be seen must not differ from what does not exist.
    const hidden = answers.filter(({ status }) => status === 404 || status === 403)
    expect(new Set(hidden.map(({ text }) => text)).size, role).toBeLessThanOrEqual(1)
  }

  expect(found).toEqual(expected)
})

test.for(
  someOf(
    pages.map(({ path }) => path),
    10,
  ),
)('%s answers programs as it answers people', async (page) => {
  const { path } = rowOf(page)
  const headers = { accept: 'application/json' }

  for (const role of roles) {
    const hidden = new Set<string>()
    for (const target of targets) {
      const people = await pageOf(path(target), role)
      const json = await console.get(path(target), { role, headers })
      expect(json.status).toBe(people.status)
      if (json.status === 303) continue
      expect(json.headers.get('content-type')).toMatch(/^application\/json/)
      JSON.parse(json.text)
      if (json.status !== 200) hidden.add(json.text)
    }
    expect(hidden.size, role).toBeLessThanOrEqual(1)
  }
})

const formats = ['csv', 'parquet', 'xlsx']

const ofScope = perRole('200 200 200 404', '200 404 404 404', '404 404 200 404')

/** The pages with a file, by what each role gets of its formats: for its own rooftop, a sister rooftop, another group, nothing. */
const downloads: Readonly<Record<string, Readonly<Record<string, Row['expected']>>>> = {
  '/reports/:view': {
    csv: perRole('200 200 200 404', '403 403 403 403'),
    parquet: perRole('200 200 200 404', '403 403 403 403'),
    xlsx: perRole('200 200 200 404', '403 403 403 403'),
  },
  '/stock': { csv: ofScope, xlsx: ofScope },
  '/stock/imports/:id': { csv: ofScope, xlsx: ofScope },
}

test.for(
  someOf(
    pages.map(({ path }) => path),
    12,
  ),
)('%s gives files as the matrix says', async (page) => {
  const { path, expected } = rowOf(page)
  const found: Record<string, Record<string, string>> = {}

  for (const format of formats) {
    for (const role of roles) {
      const answers: string[] = []
      for (const target of targets) {
        const url = path(target)
        const asked = `${url}${url.includes('?') ? '&' : '?'}download=${format}`
        const { status, headers, text } = await console.get(asked, { role })
        answers.push(String(status))
        expect(headers.has('content-disposition')).toBe(status === 200)
        if (status === 200 && role !== 'engineer' && role !== 'viewer')
          expect(othersIn(text, role)).toEqual([])
      }
      found[format] = { ...found[format], [role]: answers.join(' ') }
    }
  }

  // Of no such format, every page that a role may open has nothing.
  const none = Object.fromEntries(
    roles.map((role) => [role, expected[role].replace(/200|303(?= |$)/g, '404')]),
  )
  const stays = page === '/' ? { ...none, stock: expected.stock, group: expected.group } : none
  for (const format of formats)
    expect({ format, ...found[format] }).toEqual({
      format,
      ...(downloads[page]?.[format] ?? stays),
    })
})

/** The stock numbers of rooftops that a role may not see which a text has. */
function othersIn(text: string, role: 'stock' | 'group'): string[] {
  const email = role === 'stock' ? 'sam@example.com' : 'gus@example.com'
  const own = findPerson(console.config, email)!.rooftops!
  return foreignVins
    .filter(({ uid, vin }) => !own.includes(uid) && text.includes(vin))
    .map(({ vin }) => vin)
}

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

/** What a stock person gets when one of the two limits forgets its work: the other one alone must hold. */
const halves = {
  'row-level security': { isFiltered: false, isSecured: true },
  'its own filter': { isFiltered: true, isSecured: false },
} as const

test.for(
  pages
    .filter(({ roles: allowed }) => allowed.includes('stock'))
    .flatMap((page) => Object.entries(halves).map(([by, half]) => ({ page, by, half }))),
)('$page.path shows a stock person no other rooftop by $by alone', async ({ page, half }) => {
  const sam = findPerson(console.config, 'sam@example.com')!
  // Of all rooftops, as a list: it still makes the page choose mart_scoped.
  const anyone = { ...sam, rooftops: console.config.rooftops.map(({ uid }) => uid) }
  const others = console.config.rooftops.slice(1)
  const paths = targets.map((target) => rowOf(page.path).path(target))
  const files: string[] = []

  for (const path of [...paths, ...paths.slice(0, 1).map((one) => one.split('?')[0]!)]) {
    const url = new URL(path, 'http://console')
    const data = await inTransaction(
      console.fixture.database.pool,
      async ({ db }) => {
        await enterScope(db, half.isSecured ? sam : anyone)
        const asked = {
          ...{ db, config: console.config, now: new Date() },
          person: half.isFiltered ? sam : anyone,
          params: paramsOf(page.path, url.pathname),
          query: Object.fromEntries(url.searchParams),
        }
        const file = await page.download?.('csv', asked)
        if (file) files.push(file.fileName)
        return await page.read(asked)
      },
      'repeatable read, read only',
    )
    const text = JSON.stringify(data)
    for (const { uid, name } of others) {
      expect(text).not.toContain(uid)
      expect(text).not.toContain(name)
    }
  }

  // No file is offered of what the person may not see: each names the rooftop, or an import of it.
  const imports = await console.rows<{ id: string }>(
    'select import_id::text as id from core.stock_import join core.rooftop using (rooftop_id) where rooftop_uid = $1',
    [sam.rooftops![0]],
  )
  const allowed = imports.map(({ id }) => `import-${id}-priced.csv`)
  const isOwn = (name: string) => name.includes(sam.rooftops![0]!) || allowed.includes(name)
  expect(files.filter((name) => !isOwn(name))).toEqual([])
})

/** The values of `:name` in a path. */
function paramsOf(pattern: string, path: string): Record<string, string> {
  const values = path.split('/')
  const names = pattern.split('/')
  return Object.fromEntries(
    names.flatMap((name, at) => (name.startsWith(':') ? [[name.slice(1), values[at]!]] : [])),
  )
}

test('engineers act, stock people in their stock, and whoever else tries is written down', async () => {
  const acting = pages.filter(({ actions }) => actions !== undefined)

  for (const { path, actions } of acting)
    for (const [action, { roles: allowed }] of Object.entries(actions!)) {
      const isStock = path.startsWith('/stock')
      expect(allowed, `${path} ${action}`).toEqual(['engineer', ...(isStock ? ['stock'] : [])])
      for (const role of ['viewer', ...(isStock ? [] : (['stock', 'group'] as const))] as const) {
        const { status } = await console.post(rowOf(path).path(targets[0]!), { action }, { role })
        expect({ path, action, role, status }).toEqual({ path, action, role, status: 403 })
        const [row] = await console.rows(
          'select action, role, outcome, run_id, message from ops.console_action order by action_id desc limit 1',
        )
        const own = role === 'group' ? 'stock' : role
        const message = `It is not for the role ${own}.`
        expect(row).toEqual({ action, role: own, outcome: 'refused', run_id: null, message })
      }
    }
})

test('what an action was about is what its address says, whatever the form says', async () => {
  const form = { action: 'pause', run: 'x'.repeat(500), id: '999', page: '/forged' }
  await console.post(`/runs/${targets[0]!.runId}`, form)

  const [row] = await console.rows(
    'select target from ops.console_action order by action_id desc limit 1',
  )

  expect(row).toEqual({
    target: { page: '/runs/:id', id: String(targets[0]!.runId), run: 'x'.repeat(200) },
  })
})

const stockActing = pages.filter(
  ({ roles: allowed, actions }) => allowed.includes('stock') && actions !== undefined,
)

test.for(stockActing.map(({ path }) => path))(
  'the actions of %s do nothing for a rooftop of another dealer, as for one that does not exist',
  async (path) => {
    const changeable = async () =>
      await console.rows(
        `select (select json_agg(u order by upload_id) from ops.stock_upload as u) as uploads, (select count(*) from core.stock_import) as imports,
           (select count(*) from ops.stock_mapping) as mappings, (select count(*) from ops.run) as runs`,
      )
    const before = await changeable()
    const [, sister, other, none] = targets

    for (const action of Object.keys(stockActing.find((one) => one.path === path)!.actions!)) {
      const texts = new Set<string>()
      for (const target of [sister!, other!, none!]) {
        const fields = { rooftop: target.uid, fingerprint: 'any', pasted: 'a,b', mode: 'delta' }
        const answer = await console.post(
          rowOf(path).path(target),
          { action, ...fields },
          { role: 'stock' },
        )
        expect({ action, status: answer.status }).toEqual({ action, status: 404 })
        texts.add(answer.text)
      }
      expect(texts.size).toBe(1)
    }

    expect(await changeable()).toEqual(before)
  },
)

test('where no grant was run, a stock page explains it', async () => {
  const page = definePage({
    ...{ path: '/stock-here', title: 'Stock', question: 'What is in stock?', roles: ['stock'] },
    read: async () => ({}),
    draw: () => html``,
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
