import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isFormulaLike } from '#src/stock/csv/write/escape-formula.ts'
import { html } from '#src/values/html.ts'
import { makeLink } from '#src/web/console/access/link.ts'
import { pages } from '#src/web/console/pages.ts'
import { someOf } from '../../support/cases.ts'
import { nothing, readTargets, rowOf } from './access-matrix.ts'
import type { ConsoleFixture } from './console-fixture.ts'
import { foreignMarkup, hostileUid, openHostileConsole, vectors } from './hostile-texts.ts'
import { plainText } from './leaks.ts'

const email = '"><svg/onload=alert(0)>@example.com'

let console: ConsoleFixture
let cookie: string

beforeAll(async () => {
  console = await openHostileConsole([{ email, role: 'engineer', rooftops: [], groups: [] }])
  const link = new URL(await makeLink(console.context.db, console.config, email)).searchParams.get(
    'link',
  )!
  const { headers } = await console.post('/sign-in', { link }, { role: null })
  cookie = headers.getSetCookie()[0]!.split(';')[0]!
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

const ask = async (path: string, accept = 'text/html') =>
  await console.get(path, { role: null, headers: { cookie, accept } })

/** The vectors that a page shows escaped. */
const shownIn = (text: string) => vectors.filter((vector) => text.includes(html`${vector}`.text))

/** Fails where a page holds a text that was not escaped. */
async function assertEscaped(
  path: string,
): Promise<{ status: number; text: string; shown: string[] }> {
  const { status, text, headers } = await ask(path)
  expect({ path, status: status < 500 ? 'answered' : status }).toEqual({ path, status: 'answered' })
  if (headers.get('content-type')?.startsWith('text/html') !== true)
    return { status, text: '', shown: [] }
  expect({ path, foreign: foreignMarkup(text) }).toEqual({ path, foreign: [] })
  const raw = vectors.filter((vector) => /[<>"']/.test(vector) && text.includes(vector))
  expect({ path, raw }).toEqual({ path, raw: [] })
  return { status, text, shown: shownIn(text) }
}

test('the check finds each vector that has a tag or an attribute', () => {
  const harmless = vectors.filter(
    (vector) => foreignMarkup(`<p title="${vector}">${vector}</p>`).length === 0,
  )

  // These are text as they are; in an address they are refused by `html`.
  expect(harmless).toEqual(['javascript:alert(7)', '&lt;em&gt;12&lt;/em&gt;', '`-alert(20)-`'])
  expect(foreignMarkup('<a href="javascript:alert(1)">')).toHaveLength(1)
})

test('every page and every link on it shows hostile texts only escaped', async () => {
  const [target] = await readTargets(console)
  const first = pages.map(({ path }) => rowOf(path).path(target!))
  const open = [...first]
  const seen = new Set(open)
  const shown = new Set<string>()
  const lost: string[] = []
  let [count, ofHostileUid] = [0, 0]

  for (let path = open.shift(); path !== undefined && count < 250; path = open.shift()) {
    count += 1
    const page = await assertEscaped(path)
    if (path.includes(encodeURIComponent(hostileUid))) ofHostileUid += 1
    if (![200, 303].includes(page.status)) lost.push(`${page.status} ${path}`)
    for (const vector of page.shown) shown.add(vector)
    for (const [, href] of page.text.matchAll(/href="\/console(\/[^"]*)"/g)) {
      const next = plainText(href!).replace(/#.*/, '')
      // One of each kind of page is enough, with each of its filters.
      const kind = next.replaceAll(/\d+/g, '0')
      if (seen.has(kind) || /download=|^\/assets/.test(next)) continue
      seen.add(kind)
      open.push(next)
    }
  }

  expect(count).toBeGreaterThan(pages.length)
  expect(lost).toEqual([])
  expect(ofHostileUid).toBeGreaterThan(3)
  // Otherwise the test would prove nothing.
  expect(shown.size).toBeGreaterThan(vectors.length / 2)
})

test('what a query says is shown only escaped', async () => {
  const names = [
    ...[
      'show',
      'state',
      'rooftop',
      'group',
      'stream',
      'month',
      'from',
      'to',
      'before',
      'after',
      'page',
    ],
    ...[
      'q',
      'view',
      'command',
      'sort',
      'kind',
      'check',
      'budget',
      'days',
      'email',
      'person',
      'role',
    ],
  ]
  for (const { path } of pages)
    for (const round of someOf([0, 5, 10, 15], 1)) {
      const fields = names.map((name, at) => [name, vectors[(round + at) % vectors.length]!])
      const name = encodeURIComponent(vectors[round]!.replaceAll('/', ''))
      await assertEscaped(`${path.replaceAll(/:\w+/g, '1')}?${new URLSearchParams(fields)}`)
      await assertEscaped(path.replaceAll(/:\w+/g, name))
    }
})

test('the pages of sign-in show what an address says only escaped', async () => {
  for (const vector of vectors) {
    const query = new URLSearchParams({ next: vector, link: vector })
    const { shown } = await assertEscaped(`/sign-in?${query}`)
    expect(shown).toContain(vector)
    await assertEscaped(`/sign-in?next=${encodeURIComponent(vector)}`)
  }
})

test('the e-mail of a person is escaped in the frame', async () => {
  const { text } = await ask('/')

  expect(text).toContain(html`${email}, engineer.`.text)
})

test('programs get the texts as JSON that browsers do not read as a page', async () => {
  for (const { path } of pages) {
    const { headers, text } = await ask(rowOf(path).path(nothing), 'application/json')
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    JSON.parse(text)
  }
})

test('a spreadsheet runs no cell of a file', async () => {
  const formulas = ['=HYPERLINK("//evil.example")', '+1-cmd|x', '-1+cmd|x', '@SUM(1)', '\t=1+1']
  await console.rows(
    `update core.stock_unit as unit set make = f, model = f
     from (select rooftop_id, stock_no, ($1::text[])[1 + row_number() over (partition by rooftop_id order by stock_no) % 5] as f from core.stock_unit) as one
     where one.rooftop_id = unit.rooftop_id and one.stock_no = unit.stock_no`,
    [formulas],
  )
  const { uid } = console.config.rooftops[0]!

  for (const path of [`/stock?rooftop=${uid}`, '/reports/rpt_05_aged_stock_price_move?']) {
    const { status, headers, text } = await ask(`${path}&download=csv`)
    const cells = (parse(text, { bom: true }) as string[][]).flat()

    expect(status).toBe(200)
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="[\w.-]+\.csv"$/)
    expect(cells.filter(isFormulaLike)).toEqual([])
    expect(formulas.filter((formula) => cells.includes(`'${formula}`)).length).toBeGreaterThan(2)
  }
})

test('the log has no line that a text has started', () => {
  for (const line of console.logged) for (const part of line.trimEnd().split('\n')) JSON.parse(part)
})
