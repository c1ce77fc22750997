import { readFile } from 'node:fs/promises'
import { PostgresConnection } from '@malloydata/db-postgres'
import { SingleConnectionRuntime } from '@malloydata/malloy'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Fixture } from '../../support/fixture.ts'
import { reportedFixture } from '../../support/reports-fixture.ts'

// An external compiler reads the catalogue, writes the SQL and reads the rows, as BI tools do.
let fixture: Fixture
let connection: PostgresConnection
let ask: (query: string) => Promise<Row[]>
type Row = Readonly<Record<string, unknown>>

beforeAll(async () => {
  fixture = await reportedFixture()
  // The lists of the fixture came in one day: what was bought is known between two of them.
  await byHand(`insert into core.stock_import overriding system value
    select (jsonb_populate_record(list, jsonb_build_object('import_id', -import_id, 'imported_at', imported_at - interval '40 days'))).*
    from core.stock_import as list`)
  const url = new URL(fixture.database.url)
  connection = new PostgresConnection('warehouse', {}, async () => ({
    host: url.hostname,
    port: Number(url.port),
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    databaseName: url.pathname.slice(1),
  }))
  const model = new URL('../../../sql/bi/malloy/appraisals.malloy', import.meta.url)
  const runtime = new SingleConnectionRuntime({ connection })
  const loaded = runtime.loadModel(await readFile(model, 'utf8'))
  ask = async (query) => (await loaded.loadQuery(query).run()).data.toObject() as Row[]
}, 120_000)

afterAll(async () => {
  await connection?.close()
  await fixture?.[Symbol.asyncDispose]()
})

/** SQL as a person would write it, directly over the tables. */
async function byHand(query: string): Promise<Row[]> {
  return (await fixture.database.pool.query(query)).rows
}

/** Normalises numbers and days from the types of the driver. */
function plain(rows: readonly Row[]): Row[] {
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plainValue(value)])),
  )
}

function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Date) return value.toISOString().slice(0, 10)
  if (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)) return rounded(Number(value))
  return typeof value === 'number' ? rounded(value) : value
}

const rounded = (value: number) => Number(value.toFixed(6))

const present = `
  from core.evaluation as e join core.rooftop as r using (rooftop_id) where e.gone_at is null`
/** Each evaluation: whether a unit came in on it, and whether lists of the stock came before and after it. */
const outcome = `
  from (select r.rooftop_name, e.user_id, to_char(e.completed_date_local, 'YYYY-MM-01') as month_start, exists (
      select from core.stock_unit as s join core.rooftop as q on q.rooftop_id = s.rooftop_id and q.group_id = e.group_id
      where s.vin = upper(e.vin) and s.acquired_on >= e.completed_date_local and not exists (
        select from core.evaluation as later where later.group_id = e.group_id and upper(later.vin) = upper(e.vin)
          and later.completed_date_local <= s.acquired_on and later.completed_at > e.completed_at)) as is_bought,
      (select e.completed_at between min(i.imported_at) and max(i.imported_at) and length(e.vin) = 17
       from core.stock_import as i where i.rooftop_id = e.rooftop_id) as is_listed
    ${present}) as one`
const questions: readonly (readonly [string, string, string])[] = [
  [
    'appraisals by month, and how many had no photo',
    'run: evaluations -> { group_by: month_start; aggregate: appraisals, no_photo_share; order_by: month_start }',
    `select to_char(e.completed_date_local, 'YYYY-MM-01') as month_start, count(*) as appraisals,
       avg((e.photo_count = 0)::int) as no_photo_share ${present} group by 1 order by 1`,
  ],
  [
    'average price and gross room of each rooftop',
    'run: evaluations -> { group_by: rooftop_name, currency_code; aggregate: appraisals, average_price, average_gross_room; order_by: rooftop_name }',
    `select r.rooftop_name, e.currency_code, count(*) as appraisals, avg(e.final_price) as average_price,
       avg((select p.retail from core.price_observation as p where p.rooftop_id = e.rooftop_id and p.eval_id = e.eval_id
            order by p.observed_at limit 1) - e.final_price - coalesce(e.recon_total, e.recon_line_total, 0)) as average_gross_room
     ${present} group by 1, 2 order by 1`,
  ],
  [
    'look-to-book of each salesperson',
    'run: evaluations -> { where: not is_link_captured; group_by: rooftop_name, user_id; aggregate: appraisals, bought; order_by: rooftop_name, user_id }',
    `select rooftop_name, user_id, count(*) as appraisals, case when bool_or(is_listed) then count(*) filter (where is_bought and is_listed) end as bought
     ${outcome} where not exists (select from core.app_user as u where u.user_id = one.user_id and u.is_generated_link_account)
     group by 1, 2 order by 1, 2 nulls last`,
  ],
  [
    'look-to-book by month, where stock lists show it',
    'run: evaluations -> { where: is_complete; group_by: month_start; aggregate: bought, look_to_book; order_by: month_start }',
    `select month_start, case when bool_or(is_listed) then count(*) filter (where is_bought and is_listed) end as bought,
       avg(is_bought::int) filter (where is_listed) as look_to_book
     ${outcome} where month_start is not null group by 1 order by 1`,
  ],
  [
    'cost of reconditioning by type',
    'run: reconditioning -> { group_by: recon_type, currency_code; aggregate: lines, cost_total; order_by: recon_type, currency_code }',
    `select i.recon_type, r.currency_code, count(*) as lines, sum(i.cost) as cost_total
     from core.reconditioning_item as i join core.rooftop as r using (rooftop_id)
     where i.last_version is null and lower(i.recon_type) is distinct from 'info' group by 1, 2 order by 1 nulls last, 2`,
  ],
  [
    'current prices of the pricing AI by currency',
    'run: prices -> current_by_currency',
    `select currency_code, count(*) as observations, avg(retail) as average_retail, avg(wholesale) as average_wholesale
     from core.price_observation where is_current group by 1 order by 1`,
  ],
  [
    'stock on hand and what it is offered for',
    'run: stock -> { where: is_on_hand; group_by: rooftops.rooftop_name, currency_code; aggregate: units, asking_total; order_by: rooftop_name }',
    `select r.rooftop_name, s.currency_code, count(*) as units, sum(s.asking_price) as asking_total
     from core.stock_unit as s join core.rooftop as r using (rooftop_id) where s.off_stock_at is null group by 1, 2 order by 1`,
  ],
]

test.each(questions)('the model answers as SQL by hand does: %s', async (_, malloy, sql) => {
  const model = plain(await ask(malloy))
  const hand = plain(await byHand(sql))

  expect(hand.length).toBeGreaterThan(1)
  expect(model).toEqual(hand)
})

test('every named view of the model runs and has rows', async () => {
  const text = await readFile(
    new URL('../../../sql/bi/malloy/appraisals.malloy', import.meta.url),
    'utf8',
  )
  const views = [...text.matchAll(/^source: (\w+)|^ {2}view: (\w+)/gm)]
  let source = ''
  const runs: string[] = []
  for (const [, named, view] of views) {
    if (named !== undefined) source = named
    else runs.push(`run: ${source} -> ${view}`)
  }

  const empty = []
  for (const run of runs) if ((await ask(run)).length === 0) empty.push(run)

  expect(runs.length).toBeGreaterThan(8)
  expect(empty).toEqual([])
})
