import { afterAll, beforeAll, expect, test } from 'vitest'
import { caseCount } from '../../support/cases.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'
import { leaksIn } from './leaks.ts'
import { addEvaluations, statementsOf, tablesScanned } from './statements.ts'

let console: ConsoleFixture
let lakeside: string
let known: { id: number; vin: string; uid: string }

beforeAll(async () => {
  console = await openConsole()
  lakeside = console.config.rooftops.find(({ name }) => name.startsWith('Lakeside'))!.uid
  ;[known] = (await console.rows(
    `select eval_id as id, vehicle_vin as vin, rooftop_uid as uid from core.evaluation join core.rooftop using (rooftop_id)
     where vehicle_vin is not null order by eval_id limit 1`,
  )) as [typeof known]
  await console.rows(
    `insert into core.stock_unit (rooftop_id, stock_no, vin, make, currency_code, price_on_application, extras, content_hash,
       first_seen_at, last_seen_at, import_id)
     select rooftop_id, no, vin, 'Saab', 'AUD', false, '{}', '', now(), now(), 1
     from (select min(rooftop_id) as one, max(rooftop_id) as other from core.rooftop) as ids
     cross join lateral (values (one, 'A-17', 'YS3FB45S231000017'), (one, 'TWO/2', null), (other, 'TWO/2', null), (one, 'r1', null))
       as unit (rooftop_id, no, vin)`,
  )
  await console.rows(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id) select 'evaluations', min(rooftop_id), '777777', '[]', 1 from core.rooftop`,
  )
  // A million, which npm run test:scale has, is read by the same indexes.
  await addEvaluations(console, caseCount(200_000, 40_000))
}, 600_000)

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

const find = async (q: string) => await console.get(`/search?q=${encodeURIComponent(q)}`)

test.each([
  ['an EvalID', () => String(known.id), () => `/evaluations/${known.id}?rooftop=${known.uid}`],
  ['a VIN', () => known.vin.toLowerCase(), () => `/evaluations/${known.id}?rooftop=${known.uid}`],
  [
    'the end of a VIN',
    () => known.vin.slice(-8),
    () => `/evaluations/${known.id}?rooftop=${known.uid}`,
  ],
  ['a VIN of the stock alone', () => 'YS3FB45S231000017', () => expect.stringContaining('/A-17')],
  ['the end of a VIN of the stock', () => '000017', () => expect.stringContaining('/A-17')],
  ['a stock number', () => ' a-17 ', () => expect.stringContaining('/A-17')],
  ['a quarantined record', () => 'Q1', () => '/quarantine/1'],
  ['a part of the name of a rooftop', () => 'lakeSIDE', () => `/rooftops/${lakeside}`],
  ['the beginning of a uid', () => lakeside.slice(0, 8), () => `/rooftops/${lakeside}`],
  [
    'an EvalID that is in quarantine alone',
    () => '777777',
    () => expect.stringContaining('/evaluations/777777?rooftop='),
  ],
])('%s leads to its page', async (_, q, location) => {
  const answer = await find(q())

  expect(answer.status).toBe(303)
  const expected = location()
  expect(answer.location!.replace(/^\/console/, '')).toEqual(expected)
})

test('what fits several is a list, also where a stock number is like the name of a run', async () => {
  const twice = await find('TWO/2')
  const either = await find('r1')

  expect({ status: twice.status, title: twice.title }).toEqual({ status: 200, title: 'Find' })
  expect(twice.text.match(/\/console\/stock\/units\/[^"]*\/TWO%2F2"/g)).toHaveLength(2)
  expect(either.text).toContain('/console/runs/1"')
  expect(either.text).toMatch(/\/console\/stock\/units\/[^"]*\/r1"/)
})

test.each(['', 'no such thing', '99', 'r99', "x'; drop table core.evaluation; --", '%', '_____6'])(
  'nothing under %j says what can be searched',
  async (q) => {
    const { status, text } = await find(q)

    expect(status).toBe(200)
    expect(text).toContain('What can be found')
    expect(text).toContain('all 17 characters, or the last 6 or more')
    if (q !== '') expect(text).toContain('Nothing is stored under')
  },
)

test('a customer is not found by name, phone or e-mail', async () => {
  const customers = [...console.fixture.sandbox.world.evaluations()].flatMap(
    ({ customer }) => customer ?? [],
  )
  expect(customers.length).toBeGreaterThan(0)

  for (const { name, phone, email } of customers.slice(0, 3))
    for (const q of [name, phone, email]) {
      const { text } = await find(String(q))
      expect(text).toContain('Nothing is stored under')
      expect(leaksIn(console.fixture, text.replaceAll(/value="[^"]*"|“[^”]*”/g, ''))).toEqual([])
    }
})

test('no search reads a whole table, and all take few statements', async () => {
  for (const q of [known.id, known.vin, known.vin.slice(-6), 'A-17', 'r1', 'i1', 'q1', '123456']) {
    const { statements } = await statementsOf(console, `/search?q=${q}`)

    expect(statements.length).toBeGreaterThan(0)
    expect(statements.length).toBeLessThanOrEqual(3)
    const scanned = await tablesScanned(console, statements)
    expect(
      scanned.filter(
        (table) => !/^(rooftop|rooftop_group|run|stock_import|stock_unit|quarantine)$/.test(table),
      ),
      `${q}`,
    ).toEqual([])
  }
})

test('what is found has a page', async () => {
  for (const q of ['A-17', String(known.id), 'q1', 'YS3FB45S231000017']) {
    const { location } = await find(q)

    expect((await console.get(location!.replace(/^\/console/, ''))).status, q).toBe(200)
  }
})
