import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reportSpecs } from '#src/web/console/reports/specs.ts'
import { recentThursday, reportedFixture } from '../../support/reports-fixture.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'
import { statementsOf } from './statements.ts'

let console: ConsoleFixture

beforeAll(async () => {
  const fixture = await reportedFixture(7, 240, recentThursday())
  console = await openConsole({ fixture })
  await plantRareRows()
}, 180_000)

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

/** A vehicle that was appraised twice, and a change after completion: the sandbox has none in so short a time. */
async function plantRareRows(): Promise<void> {
  await console.rows(
    `insert into core.agg_repeat_vehicle select group_id, vin, currency_code, 2, 1, now() - interval '9 days', now(), 9000, 9500
     from core.evaluation where length(vin) = 17 order by eval_id limit 1`,
  )
  await console.rows(
    `insert into core.evaluation_version (rooftop_id, eval_id, version_no, valid_from, observed_at, changed_fields, final_price, content_hash, run_id)
     select rooftop_id, eval_id, 2, completed_at + interval '1 hour', now(), '{final_price}', final_price + 500, content_hash, run_id
     from core.evaluation where final_price > 0 and version_no = 1 and gone_at is null order by eval_id desc limit 1`,
  )
}

/** What a report page read. */
interface Data {
  readonly rows: readonly Record<string, unknown>[]
  readonly total: number
  readonly charts: readonly (readonly { currency: string | null; values: (number | null)[] }[])[]
}

const figures = (text: string) =>
  [...text.matchAll(/<figure><figcaption>([^<]*)/g)].map(([, title]) => title!)

test('the list has every report view of the marts, with its question', async () => {
  const { title, text } = await console.get('/reports')
  const views = await console.rows<{ name: string }>(
    `select viewname as name from pg_views where schemaname = 'mart' and viewname like 'rpt\\_%' order by 1`,
  )

  expect(title).toBe('Reports')
  expect(views).toHaveLength(15)
  expect([...text.matchAll(/href="\/console\/reports\/(\w+)"/g)].map(([, name]) => name)).toEqual(
    views.map(({ name }) => name),
  )
  for (const { question } of reportSpecs) expect(text).toContain(question.replaceAll("'", '&#39;'))
})

test.each(reportSpecs)('$view draws what its rows say', async (spec) => {
  const { status, title, text } = await console.get(`/reports/${spec.view}`)
  const data = await console.json<Data>(`/reports/${spec.view}`)
  const from = `from mart.${spec.view} ${
    spec.months === undefined
      ? ''
      : `where month_start > date_trunc('month', now()) - interval '${spec.months} months'`
  }`
  const [truth] = await console.rows<{ rows: number }>(`select count(*)::int as rows ${from}`)
  const columns = spec.columns.split(' ')
  const first = await console.rows<{ row: unknown }>(
    `select to_json(one) as row from (select ${columns.join(', ')} ${from} order by ${spec.first[1]} limit 50) as one`,
  )

  expect({ status, title }).toEqual({ status: 200, title: spec.question.replaceAll("'", '&#39;') })
  expect(data.total).toBe(truth!.rows)
  expect(
    data.rows.map((row) => Object.fromEntries(columns.map((name) => [name, row[name]]))),
  ).toEqual(first.map(({ row }) => row))
  expect(data.total).toBeGreaterThan(0)
  expect(figures(text).length).toBeGreaterThanOrEqual(spec.charts.length)
  expect(text.match(/role="img"/g)).toHaveLength(figures(text).length)
  expect(text).not.toMatch(/NaN|undefined|Infinity|\[object| style=/)
})

test('the numbers of a chart and of the table are those of the view', async () => {
  const [uid] = await console.rows<{ name: string; evaluations: number; none: number }>(
    `select rooftop_name as name, sum(evaluations)::int as evaluations, sum(no_photo)::int as none
     from mart.rpt_07_photo_completeness group by rooftop_id, rooftop_name order by rooftop_name limit 1`,
  )

  const { text } = await console.get('/reports/rpt_07_photo_completeness')

  const share = ((100 * uid!.none) / uid!.evaluations).toFixed(1).replace(/\.0$/, '')
  expect(text).toContain(`${uid!.name}, no photo: ${share} %`)
})

test('amounts of two currencies are in two charts, and never summed', async () => {
  const { text } = await console.get('/reports/rpt_10_appraisal_volume')
  const sums = await console.rows<{ currency: string; value: string }>(
    `select currency_code as currency, sum(value_sum)::float8 as value from mart.rpt_10_appraisal_volume group by 1 order by 1`,
  )
  const data = await console.json<Data>('/reports/rpt_10_appraisal_volume')

  expect(sums.length).toBeGreaterThan(2)
  expect(figures(text)).toEqual([
    'Appraisals by week',
    ...sums.map(({ currency }) => `Value of the appraisals by week, in ${currency}`),
  ])
  const byCurrency = Map.groupBy(data.charts[1]!, ({ currency }) => currency)
  for (const { currency, value } of sums)
    expect(byCurrency.get(currency)!.reduce((sum, row) => sum + row.values[0]!, 0)).toBeCloseTo(
      Number(value),
      2,
    )
})

test('a rooftop, a group and a month limit the rows and the charts', async () => {
  const [first] = await console.rows<{ uid: string; group: string; month: string; rows: number }>(
    `select rooftop_uid as uid, group_code as group, to_char(month_start, 'YYYY-MM') as month, count(*)::int as rows
     from mart.rpt_01_appraisal_gap join mart.dim_rooftop using (rooftop_id)
     group by 1, 2, 3 order by 4 desc, 1 limit 1`,
  )
  const { uid, group, month, rows } = first!
  const view = '/reports/rpt_01_appraisal_gap'

  const own = await console.json<Data>(`${view}?rooftop=${uid}&month=${month}`)
  const other = await console.json<Data>(`${view}?rooftop=${uid}&group=no-such-group`)
  const all = await console.json<Data>(`${view}?group=${group}`)

  expect(own.total).toBe(rows)
  expect(new Set(own.charts[0]!.map(({ currency }) => currency)).size).toBe(1)
  expect(other.total).toBe(0)
  expect(all.total).toBeGreaterThan(rows)
})

test('a report without rows says why', async () => {
  const { text } = await console.get('/reports/rpt_02_look_to_book?month=2019-01')

  expect(figures(text)).toEqual([])
  expect(text).toContain('There is nothing to show: 2019-01 has no row. Choose another month')
})

test('the CSV is the export of the whole view, whatever is chosen', async () => {
  const { headers, text } = await console.get(
    '/reports/rpt_07_photo_completeness?month=2019-01&download=csv',
    { role: 'viewer' },
  )
  const [truth] = await console.rows<{ rows: number; sum: number }>(
    `select count(*)::int as rows, sum(evaluations)::int as sum from mart.rpt_07_photo_completeness`,
  )

  expect(headers.get('content-disposition')).toBe(
    'attachment; filename="rpt_07_photo_completeness.csv"',
  )
  const [head, ...lines] = text.replace('\uFEFF', '').trimEnd().split('\r\n')
  const column = head!.split(',').indexOf('evaluations')
  expect(lines).toHaveLength(truth!.rows)
  expect(lines.reduce((sum, line) => sum + Number(line.split(',')[column]), 0)).toBe(truth!.sum)
})

test('the Parquet is whole', async () => {
  const answer = await fetch(
    `${console.url}/console/reports/rpt_13_repeat_appraisals?download=parquet`,
    { headers: { cookie: await console.cookie('engineer') } },
  )

  const bytes = Buffer.from(await answer.arrayBuffer())
  expect(bytes.subarray(0, 4).toString()).toBe('PAR1')
  expect(bytes.subarray(-4).toString()).toBe('PAR1')
})

test('no other view and no other format is given', async () => {
  expect((await console.get('/reports/dim_user')).status).toBe(404)
  expect((await console.get('/reports/dim_user?download=csv')).status).toBe(404)
  expect((await console.get('/reports/rpt_07_photo_completeness?download=ods')).status).toBe(404)
  expect((await console.get('/reports', { role: 'stock' })).status).toBe(403)
})

test('what is late is named above the numbers', async () => {
  await console.rows(
    `update ops.run_stream set finished_at = finished_at - interval '3 days' where stream = 'evaluations'`,
  )

  const path = '/reports/rpt_04_time_to_complete'
  const { text } = await console.get(path)
  const leave = (at: string) =>
    console.rows(`update core.rooftop set left_config_at = ${at} where rooftop_id <= 5`)
  await leave('now()')
  const { text: withoutRetired } = await console.get(path)
  await leave('null')

  expect(text).toContain(
    'stale</span> The numbers may miss what is new: evaluations of all 6 rooftops.',
  )
  expect(withoutRetired).toMatch(/new: evaluations of [^,;]+ \(late\)\./)
  expect(withoutRetired).toContain('0 of 1 rooftops are fresh')
})

test('of a rooftop that left the config no page says how fresh its lists are, or that none was imported', async () => {
  const [left] = await console.rows<{ uid: string }>(
    'update core.rooftop set left_config_at = now() where rooftop_id = 1 returning rooftop_uid as uid',
  )
  const { text } = await console.get(`/reports/rpt_02_look_to_book?rooftop=${left!.uid}`)
  await console.rows('update core.rooftop set left_config_at = null')

  expect(text).not.toContain('0 of 0 rooftops')
  expect(text).not.toContain('no stock list was imported')
  expect(text).toContain('role="img"')
})

test('a page reads with few statements, however many charts it has', async () => {
  for (const path of ['/reports', '/reports/rpt_10_appraisal_volume', '/stock', '/stock/prices']) {
    const { answer, statements } = await statementsOf(console, path)

    expect({ path, status: answer.status }).toEqual({ path, status: 200 })
    expect(statements.length, path).toBeGreaterThan(1)
    expect(statements.length, path).toBeLessThanOrEqual(6)
  }
})

test('the largest page stays in the budget', async () => {
  const sizes = await Promise.all(
    reportSpecs.map(async ({ view }) => {
      const { text } = await console.get(`/reports/${view}`)
      return { view, kilobytes: gzipSync(text).length / 1024, nodes: text.match(/<[a-z]/g)!.length }
    }),
  )

  for (const { view, kilobytes, nodes } of sizes) {
    expect(kilobytes, view).toBeLessThan(45)
    expect(nodes, view).toBeLessThan(3000)
  }
})

test('a report of an old stock list is not ok, and its charts are drawn', async () => {
  await console.rows(
    'update ops.run_stream set finished_at = now(); update core.stock_import set imported_at = now()',
  )
  const fresh = await console.get('/reports')
  await console.rows(
    "update core.stock_import set imported_at = now() - interval '8 days' where rooftop_id = 1",
  )
  const { text } = await console.get('/reports')
  const page = await console.get('/reports/rpt_02_look_to_book')
  await console.rows('update core.stock_import set confirmed_at = now() where rooftop_id = 1')
  const confirmed = await console.get('/reports/rpt_02_look_to_book')

  expect(confirmed.text).not.toContain(' (old list)')
  expect(fresh.text).toMatch(/rpt_02_look_to_book<\/code>((?!badge).)*badge ok">ok/s)
  expect(text).toMatch(
    /rpt_02_look_to_book<\/code>((?!badge).)*badge warn">old stock list<\/span><small>8 days ago/s,
  )
  expect(page.text).toContain('stock lists of ')
  expect(page.text).toContain(' (old list)')
  expect(page.text).toContain('role="img"')
})

test('a report that reads stock lists is as stale in the list as on its page, and draws no 0 for what is not known', async () => {
  await using other = await openConsole()
  const view = 'rpt_02_look_to_book'
  const list = await other.json<{ view: string; stale: string[] }[]>('/reports')
  const { text } = await other.get('/reports')
  const page = await other.get(`/reports/${view}`)

  expect(list.find((one) => one.view === view)!.stale).toHaveLength(other.config.rooftops.length)
  expect(text).toMatch(/rpt_02_look_to_book.*?badge warn">stale/s)
  expect(page.text).toContain('stock lists of all 6 rooftops')
  expect(page.text).toContain('it would show 0 for what is not known')
  expect(page.text).not.toContain('role="img"')
  const repeats = await other.get('/reports/rpt_13_repeat_appraisals')
  const funnel = await other.get('/reports/rpt_14_link_capture_funnel')
  expect(repeats.text).toContain('stock lists of all 6 rooftops')
  expect(figures(funnel.text)).toEqual(['Photos of an appraisal, on average'])
})
