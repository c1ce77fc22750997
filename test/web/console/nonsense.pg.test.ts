import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AnyPage, definePage } from '#src/web/console/page.ts'
import { pages } from '#src/web/console/pages.ts'
import { reportSpecs } from '#src/web/console/reports/specs.ts'
import { runsEveryCase } from '../../support/cases.ts'
import { reportedFixture } from '../../support/reports-fixture.ts'
import { nothing, readTargets, rowOf, type Target } from './access-matrix.ts'
import { type Answer, type ConsoleFixture, openConsole } from './console-fixture.ts'
import { recorded } from './recorded.ts'
import { openTestPages } from './test-pages.ts'

let console: ConsoleFixture
let target: Target

beforeAll(async () => {
  console = await openConsole({ fixture: await reportedFixture(7, 120) })
  target = (await readTargets(console))[0]!
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

/** What no page gave anybody: no number, no day, no text that Postgres takes. */
const nonsense = [
  ...['-1', '0', '1e9', 'NaN', '999999999999999', '9223372036854775808', '0x10', '1.5'],
  ...['2026-02-31', '0000-01-01', '9999-12-31', '2026-13', '0000-01', '9999-12', '-271821-04-20'],
  ...['2026-02-31~x~y', '0000-00-00~x~y', '9999-12-31~~', '%', '%00', '\0', 'a\0b', '\ud800', '🚗'],
  ...['__proto__', 'constructor', 'toString', '[object Object]', '{}', '[]', 'null', '..'],
  ...[`'; select 1 --`, `"`, `\\`, '../../etc/passwd', 'r999999999999999', 'q0', 'A'.repeat(17)],
  'long '.repeat(60),
]

/** Every eighth of them, in npm test every twelfth: others for the next page. */
function nonsenseFor(page: number): readonly string[] {
  return nonsense.filter((_, index) => (page + index) % (runsEveryCase ? 8 : 12) === 0)
}

/** The page, with what it reads of queries and forms written down. */
function recording(page: AnyPage, query: Set<string>, form: Set<string>): AnyPage {
  const actions = Object.entries(page.actions ?? {}).map(([name, action]) => {
    const run: typeof action.run = (asked) =>
      action.run({ ...asked, form: recorded(asked.form, form) })
    return [name, { ...action, run }]
  })
  const read: typeof page.read = (asked) =>
    page.read({ ...asked, query: recorded(asked.query, query) })
  return definePage({ ...page, read, actions: Object.fromEntries(actions) })
}

/** The names that pages read from queries and forms. */
async function namesOfPages(): Promise<{ query: readonly string[]; form: readonly string[] }> {
  const [query, form] = [new Set<string>(), new Set<string>()]
  const served = pages.map((page) => recording(page, query, form))
  await using console_ = await openTestPages(console, served)
  for (const { path, actions = {} } of pages) {
    await console_.get(rowOf(path).path(target), 'engineer')
    for (const action of Object.keys(actions))
      await console_.post(rowOf(path).path(nothing), 'engineer', action)
  }
  // These are read once a record is found.
  return { query: [...query], form: [...form, 'count', 'payload'] }
}

/** What is wrong with an answer; null: it is a page in its frame, or leads to one. */
function faultOf({ status, text }: Answer, known: readonly number[]): string | null {
  if (!known.includes(status)) return `status ${status}`
  return status === 303 || text.includes('action="/console/sign-out"') ? null : 'no frame'
}

test('no query breaks a page', async () => {
  const { query: names } = await namesOfPages()
  const views = reportSpecs.map(({ view }) => `/reports/${view}`)
  const paths = [...pages.map(({ path }) => rowOf(path).path(target)), ...views]
  const faults: string[] = []

  for (const [at, path] of paths.entries())
    for (const [index, value] of nonsenseFor(at).entries()) {
      const [own] = path.split('?')
      // A page reads its other values only where the first ones name something.
      const skipped = (at + index) % 3 === 0 ? [] : ['rooftop', 'stream', 'uid']
      const fields = names.filter((name) => !skipped.includes(name)).map((name) => [name, value])
      const answer = await console.get(`${own}?${new URLSearchParams(fields)}`)
      const fault = faultOf(answer, [200, 303, 404])
      if (fault !== null) faults.push(`${own} ${JSON.stringify(value)}: ${fault}`)
    }

  expect(names.length).toBeGreaterThan(20)
  expect(faults).toEqual([])
})

test('no address breaks a page, and each has a page of its own for it or none', async () => {
  const faults: string[] = []

  const withValues = pages.filter((page) => page.path.includes(':'))
  for (const [index, { path }] of withValues.entries())
    for (const value of nonsenseFor(index)) {
      const own = rowOf(path).path(target).split('?')[0]!.split('/')
      for (const [at, part] of path.split('/').entries()) {
        if (!part.startsWith(':')) continue
        const wrong = own.with(at, encodeURIComponent(value.toWellFormed())).join('/')
        const fault = faultOf(await console.get(wrong), [200, 303, 404])
        if (fault !== null) faults.push(`${wrong}: ${fault}`)
      }
    }

  expect(faults).toEqual([])
})

test('no form breaks an action: it is refused, and starts nothing', async () => {
  const { form: names } = await namesOfPages()
  const runs = await console.rows('select from ops.run')
  const faults: string[] = []

  for (const [index, { path, actions = {} }] of pages.entries())
    for (const action of Object.keys(actions))
      for (const value of nonsenseFor(index)) {
        const own = rowOf(path).path(nothing)
        const fields = Object.fromEntries(names.map((name) => [name, value]))
        const answer = await console.post(own, { ...fields, action })
        const fault = faultOf(answer, [404, 409])
        if (fault !== null) faults.push(`${own} ${action} ${JSON.stringify(value)}: ${fault}`)
      }

  expect(names).toEqual(expect.arrayContaining(['run', 'rooftop', 'stream', 'cause']))
  expect(faults).toEqual([])
  expect(await console.rows('select from ops.run')).toEqual(runs)
})

test('a name that is given twice, as a list or in brackets counts as one text', async () => {
  const queries = ['status=all&status=x', 'status[]=all', 'status[a]=b', 'status=all&__proto__=x']

  for (const query of queries) expect((await console.get(`/runs?${query}`)).status).toBe(200)
})
