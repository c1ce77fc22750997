import { afterAll, beforeAll, expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { readStatus } from '#src/sync/explain/status.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { pages } from '#src/web/console/pages.ts'
import { type Logins, openLogins } from '../warehouse/access/logins.ts'
import type { ConsoleFixture } from '../web/console/console-fixture.ts'
import { statementsOf, tablesScanned } from '../web/console/statements.ts'
import { addresses, casesOf, type Facts, readFacts } from './cases.ts'
import { rooftops } from './fill/step.ts'
import { type Measured, measure, tableOf } from './measured.ts'
import { openScale } from './scale-fixture.ts'

let page: ConsoleFixture
let logins: Logins
let facts: Facts
/** Tables of more than 10,000 rows. */
let large: ReadonlySet<string>
const measured: Measured[] = []

beforeAll(async () => {
  page = await openScale()
  logins = await openLogins(page.fixture.database, page.config, {})
  // So that the people of stock read through row-level security.
  await logins.grant()
  facts = await readFacts(page)
  const found = await page.rows<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and reltuples > 10000`,
  )
  large = new Set(found.map(({ name }) => name))
})

afterAll(async () => {
  await logins[Symbol.asyncDispose]()
  await page[Symbol.asyncDispose]()
  console.log(tableOf(measured))
})

test('the warehouse has the rows that this is about', async () => {
  const [counts] = await page.rows(
    `select (select count(*)::int from core.evaluation) as evaluations, (select count(*)::int from ops.window_certificate) as certificates,
       (select count(*)::int from ops.run) as runs, (select count(*)::int from ops.quarantine where resolved_at is null) as quarantined,
       (select count(*)::int from core.rooftop) as rooftops`,
  )

  expect(counts).toMatchObject({ rooftops })
  expect(counts!['evaluations']).toBeGreaterThanOrEqual(1_000_000)
  expect(counts!['certificates']).toBeGreaterThanOrEqual(91_000)
  expect(counts!['runs']).toBeGreaterThanOrEqual(100_000)
  expect(counts!['quarantined']).toBeGreaterThanOrEqual(100_000)
})

test('every page has addresses in cases.ts', () => {
  expect(Object.keys(addresses).sort()).toEqual(pages.map(({ path }) => path).sort())
})

// A page shows 50 rooftops.
test.skipIf(rooftops > 50)(
  'the coverage of a year has the records in quarantine and the settled time of its windows',
  async () => {
    const { spans, view } = await page.json<{
      spans: { uid: string; state: string; from: string; until: string; records: number }[]
      view: { frame: { from: string; to: string } }
    }>('/coverage')
    const own = (state: string) => spans.filter((span) => span.state === state)
    const hours = own('settled').reduce(
      (sum, { from, until }) => sum + (Date.parse(until) - Date.parse(from)) / 3_600_000,
      0,
    )
    const { from, to } = view.frame
    const inFrame = `window_until > '${from}Z' and window_from < '${to}Z'`
    const [expected] = await page.rows<{ records: number; hours: number }>(
      `select (select count(*)::int from ops.quarantine where stream = 'evaluations' and resolved_at is null and ${inFrame}) as records,
       (select sum(extract(epoch from window_until - greatest(window_from, '${from}Z')) / 3600)::float8
        from ops.window_certificate where settled and ${inFrame}) as hours`,
    )

    expect(own('quarantine').reduce((sum, { records }) => sum + records, 0)).toBe(expected!.records)
    const gaps = own('gap').map(({ uid, from, until }) => ({
      ...{ uid, hours: (Date.parse(until) - Date.parse(from)) / 3_600_000 },
    }))
    const planted = await page.rows<{ uid: string }>(
      'select rooftop_uid as uid from scale.place where no in (3, 17, 31) order by 1',
    )
    expect(gaps).toEqual(planted.map(({ uid }) => ({ uid, hours: 72 })))
    expect(hours).toBeCloseTo(expected!.hours, 0)
  },
)

test('a long report shows one rooftop of many, and says so', async () => {
  const report = '/reports/rpt_02_look_to_book'
  const [first] = await page.rows<{ uid: string; name: string }>(
    'select rooftop_uid as uid, rooftop_name as name from core.rooftop order by rooftop_name, rooftop_id limit 1',
  )
  const { rows } = await page.json<{ rows: unknown[] }>(report)
  const named = await page.json<{ rows: unknown[] }>(`${report}?rooftop=${first!.uid}`)
  const { text } = await page.get(report)
  const group = await page.get(`${report}?group=${facts.group}`)

  expect(rows).toEqual(named.rows)
  expect(text).toContain(`Of ${first!.name} alone`)
  expect(group.text).not.toContain(' alone: this report')
})

/** Large tables that a page reads as a whole, because its answer is made of every row. */
const readWhole: Readonly<Record<string, readonly string[]>> = {
  // The sums of a day: a year of all rooftops is half of them. Of many rooftops the exposure of the stock on hand is that of all units.
  '/reports/:view': [
    ...['agg_evaluation_day', 'agg_pricing_day', 'agg_recon_day'],
    ...(rooftops > 50 ? ['stock_unit'] : []),
  ],
  // The button says how many open records it tries again, exactly: here they are three quarters of the table.
  '/quarantine': ['quarantine'],
  // Every link, by the hours that it has left.
  '/links': ['signed_link', 'vehicle_check'],
  // Whose PPSR interest has changed is found among all cars on hand of all rooftops.
  '/stock': ['stock_unit'],
  // The first 20,000 vehicles, whichever they are.
  '/names': ['stock_unit'],
}

test.each(pages.map(({ path }) => path))('%s', async (path) => {
  for (const one of casesOf(path, facts)) {
    const { answer, statements } = await statementsOf(page, one.path, one.role)
    const scanned = await tablesScanned(page, statements)

    expect([200, 303], one.path).toContain(answer.status)
    expect(statements.length, one.path).toBeLessThanOrEqual(12)
    const unexpected = scanned.filter((name) => large.has(name) && !readWhole[path]?.includes(name))
    expect(unexpected, one.path).toEqual([])
    const times = await measure(() => page.get(one.path, { role: one.role }))
    measured.push({ ...one, ...times, page: path, statements: statements.length })
  }
})

test('what is read beside the pages is printed', async () => {
  const { config, context } = page
  const found = await findRooftops(context.db, config.rooftops)
  const startedAt = performance.now()
  const status = await readStatus(context.db, allStreams, found, config)
  const statusMs = Math.round(performance.now() - startedAt)
  const freshness = await measure(() => page.rows('select * from mart.data_freshness'))
  console.log(`forecourt status: ${statusMs} ms; mart.data_freshness: p95 ${freshness.p95} ms`)

  expect(Object.keys(status.rooftops)).toHaveLength(rooftops)
})
