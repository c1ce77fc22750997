import { PassThrough } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runExport } from '#src/stock/export/export.ts'
import { cursorKey, partsOfKey, type StockUnit } from '#src/web/console/stock/read-stock.ts'
import { dayMs } from '../../support/fixture.ts'
import { recentThursday, reportedFixture } from '../../support/reports-fixture.ts'
import { type Logins, openLogins } from '../../warehouse/access/logins.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'

let console: ConsoleFixture
let logins: Logins
/** The rooftop of sam@, whose role is stock. */
let own: { id: number; uid: string; name: string; currency: string }
let others: (typeof own)[]

beforeAll(async () => {
  const fixture = await reportedFixture(7, 240, recentThursday())
  console = await openConsole({ fixture })
  logins = await openLogins(fixture.database, console.config, {
    loader: { role: 'forecourt_writer' },
  })
  await logins.grant()
  const rooftops = await console.rows<typeof own>(
    'select rooftop_id as id, rooftop_uid as uid, rooftop_name as name, currency_code as currency from core.rooftop order by 1',
  )
  own = rooftops.find(({ uid }) => uid === console.config.rooftops[0]!.uid)!
  others = rooftops.filter(({ uid }) => uid !== own.uid)
  // The service has one price too few, and one vehicle moved by the market alone.
  await console.rows(
    `update core.stock_price_observation set retail = null, error = 'no such vehicle' where is_current and rooftop_id = $1
     and stock_no = (select min(stock_no) from core.stock_unit where rooftop_id = $1 and off_stock_at is null)`,
    [own.id],
  )
}, 180_000)

afterAll(async () => {
  await logins[Symbol.asyncDispose]()
  await console[Symbol.asyncDispose]()
})

interface Stock {
  readonly sums: readonly Record<string, unknown>[]
  readonly units: readonly { uid: string; stockNo: string; whyNoMarket: string | null }[]
  readonly hasMore: boolean
}

const stockOf = async (query = '', role: 'engineer' | 'stock' | 'group' = 'engineer') =>
  await console.json<Stock>(`/stock${query}`, { role })

const onHand = async (ids: readonly number[]) =>
  await console.rows<{ key: string }>(
    `select r.rooftop_uid || ' ' || stock_no as key from core.stock_unit join core.rooftop as r using (rooftop_id)
     where off_stock_at is null and rooftop_id = any($1) order by 1`,
    [ids],
  )

test('the sums of each currency are those of the stock lists and the newest prices', async () => {
  const truth = await console.rows(
    `select s.currency_code as currency, count(*)::int as units, sum(s.asking_price)::float8 as asking, count(s.asking_price)::int as "askingOf",
       sum(p.retail)::float8 as market, count(p.retail)::int as "marketOf"
     from core.stock_unit as s
     left join core.stock_price_observation as p on p.rooftop_id = s.rooftop_id and p.stock_no = s.stock_no and p.is_current and p.vin = s.vin
     where s.off_stock_at is null group by 1 order by 2 desc, 1`,
  )

  const { status, title, text } = await console.get('/stock')
  const { sums } = await stockOf()

  expect({ status, title }).toEqual({ status: 200, title: 'Stock' })
  expect(text).toContain('What is in stock, what did it cost, and what is it worth?')
  expect(truth.length).toBeGreaterThan(2)
  expect(sums).toMatchObject(truth)
  expect(text).not.toMatch(/NaN|undefined|\[object| style=/)
})

test('the sums are as old as the list of the rooftop whose newest is the oldest, and as the oldest price', async () => {
  const [shared] = await console.rows<{ id: number; currency: string }>(
    `select min(rooftop_id) as id, currency_code as currency from core.stock_unit where off_stock_at is null
     group by 2 having count(distinct rooftop_id) > 1 order by 2 limit 1`,
  )
  const { id, currency } = shared!
  const move = async (days: number) =>
    await console.rows(
      'update core.stock_import set imported_at = imported_at - make_interval(days => $2) where rooftop_id = $1',
      [id, days],
    )
  await move(60)
  const [truth] = await console.rows<{ listAt: Date; marketAt: Date }>(
    `select (select max(imported_at) from core.stock_import where rooftop_id = $1) as "listAt",
       (select min(market_as_of) from mart.fact_stock_unit where is_on_hand and market_retail is not null and currency_code = $2) as "marketAt"`,
    [id, currency],
  )
  const { sums } = await stockOf()
  const { text } = await console.get('/stock')
  const report = await console.get('/reports/rpt_02_look_to_book')
  await move(-60)

  const sum = sums.find((one) => one['currency'] === currency)!
  expect(sum['listAt']).toBe(truth!.listAt.toISOString())
  expect(sum['marketAt']).toBe(truth!.marketAt.toISOString())
  expect(text).toMatch(/ago\) or newer<small>list <time [^>]*>[^<]*<\/time> or newer</)
  expect(report.text).toMatch(
    /<dt>stock lists<\/dt><dd>(\d+) of \1 rooftops have one, the oldest of /,
  )
})

test('every car on hand is on one of the pages, once', async () => {
  const all = await onHand([own, ...others].map(({ id }) => id))
  const keys: string[] = []
  let path: string | null = '/stock'
  while (path !== null) {
    const { units } = await console.json<Stock>(path)
    keys.push(...units.map(({ uid, stockNo }) => `${uid} ${stockNo}`))
    const { text } = await console.get(path)
    const next: string | undefined = /href="\/console([^"]+)">More cars/.exec(text)?.[1]
    path = next?.replaceAll('&#38;', '&') ?? null
  }

  expect(all.length).toBeGreaterThan(50)
  expect(keys.sort()).toEqual(all.map(({ key }) => key).sort())
})

test('the key of a car names it, whatever its uid and number hold, and any other text is not a key', () => {
  const car = { acquiredOn: '2026-01-31', uid: 'a~b"[', stockNo: 'A~1' } as StockUnit

  expect(partsOfKey(cursorKey(car))).toEqual([car.acquiredOn, car.uid, car.stockNo])
  for (const text of ['', '2026-01-31~a~1', '["today", "a", "1"]', '["2026-01-31", "a"]', '{}'])
    expect(partsOfKey(text)).toEqual([])
})

test('a stock person starts at the stock of the own rooftop, and sees what an engineer sees of it', async () => {
  const first = await console.get('/', { role: 'stock' })
  const mine = await stockOf('', 'stock')
  const { text } = await console.get('/stock', { role: 'stock' })
  const engineer = await stockOf(`?rooftop=${own.uid}`)

  expect({ status: first.status, location: first.location }).toEqual({
    ...{ status: 303, location: '/console/stock' },
  })
  expect((await console.get('/')).status).toBe(200)
  expect(mine.units.map(({ uid, stockNo }) => `${uid} ${stockNo}`).sort()).toEqual(
    (await onHand([own.id])).map(({ key }) => key).sort(),
  )
  expect(mine.sums).toEqual(engineer.sums)
  expect(mine.units).toEqual(engineer.units)
  for (const { name } of others) expect(text).not.toContain(name)
})

test('a person of a group chooses between its rooftops', async () => {
  const group = console.config.rooftops.at(-1)!.group
  const members = console.config.rooftops.filter((one) => one.group === group)

  const { units } = await stockOf('', 'group')
  const { text } = await console.get('/stock', { role: 'group' })

  expect(members.length).toBeGreaterThan(1)
  expect(new Set(units.map(({ uid }) => uid))).toEqual(new Set(members.map(({ uid }) => uid)))
  for (const { name } of members) expect(text).toContain(`>${name}</option>`)
})

test('what is of another rooftop is not there: the same answer as for what does not exist', async () => {
  const [foreign] = others
  const [unit] = await console.rows<{ no: string }>(
    `select stock_no as no from core.stock_unit where rooftop_id = $1 and off_stock_at is null limit 1`,
    [foreign!.id],
  )
  const ask = async (path: string) => {
    const { status, text } = await console.get(path, { role: 'stock' })
    return { status, text }
  }
  const missing = await ask('/stock?rooftop=no-such-rooftop')

  expect(missing.status).toBe(404)
  for (const path of [
    `/stock?rooftop=${foreign!.uid}`,
    `/stock?rooftop=${foreign!.uid}&download=csv`,
    `/stock/prices?rooftop=${foreign!.uid}`,
    `/stock/units/${foreign!.uid}/${unit!.no}`,
    `/stock/units/${own.uid}/no-such-number`,
    `/stock/units/no-such-rooftop/${unit!.no}`,
  ])
    expect({ path, ...(await ask(path)) }).toEqual({ path, ...missing })
  expect((await console.get(`/stock/units/${foreign!.uid}/${unit!.no}`)).status).toBe(200)
})

test('a car whose PPSR interest has changed is marked, and listed alone', async () => {
  const [watched] = await console.rows<{ no: string; vin: string }>(
    `select stock_no as no, upper(vin) as vin from core.stock_unit where rooftop_id = $1 and off_stock_at is null and length(vin) = 17
     order by 1 limit 1`,
    [own.id],
  )
  // Which cars of the world were searched depends on the day.
  const changed = await console.rows(
    `update core.vehicle_check set check_kind = 'ppsr', vin = $2, watch_status = 'changed', gone_at = null
     where rooftop_id = $1 and check_ref = (select min(check_ref) from core.vehicle_check where rooftop_id = $1)
     returning check_ref`,
    [own.id, watched!.vin],
  )
  const truth = await console.rows<{ no: string }>(
    `select stock_no as no from mart.rpt_06_ppsr_exposure where rooftop_id = $1 and (exposure = 'interest changed' or watch_status = 'changed') order by 1`,
    [own.id],
  )

  const listed = await stockOf(`?rooftop=${own.uid}&show=ppsr`, 'stock')
  const { text } = await console.get(`/stock?rooftop=${own.uid}&q=${watched!.no}`, {
    role: 'stock',
  })

  expect(changed).toHaveLength(1)
  expect(truth.map(({ no }) => no)).toContain(watched!.no)
  expect(listed.units.map(({ stockNo }) => stockNo).sort()).toEqual(truth.map(({ no }) => no))
  expect(text).toContain('PPSR changed')
})

test('each car has its prices as a small chart, the same as on its page', async () => {
  const { units } = await console.json<{
    units: { uid: string; stockNo: string; steps: object[] }[]
  }>('/stock', { role: 'stock' })
  const many = units.toSorted((a, b) => b.steps.length - a.steps.length)[0]!
  const page = await console.json<{ steps: { at: string; asking: number; market: number }[] }>(
    `/stock/units/${many.uid}/${many.stockNo}`,
  )

  const { text } = await console.get('/stock', { role: 'stock' })
  const all = await console.get('/stock')

  expect(others.length).toBeGreaterThan(4)
  expect(all.text).toContain('Choose a rooftop to see how the prices of its cars moved.')
  expect(all.text).not.toContain('<svg role="img" aria-label="Asking')
  expect(many.steps.length).toBeGreaterThan(1)
  expect(many.steps.map((step) => ({ ...step, at: '' }))).toEqual(
    page.steps.map(({ asking, market }) => ({ at: '', asking, market })),
  )
  expect(text).toMatch(/<svg role="img" aria-label="Asking \d+ to \d+, market/)
})

test('the prices of a rooftop are asked for again by who may, and come in', {
  tags: 'ci',
}, async () => {
  const asked = async (uid: string, role: 'stock' | 'viewer') =>
    await console.post('/stock', { action: 'reprice', rooftop: uid }, { role })
  const before = await console.rows<{ at: Date }>(
    'select max(last_confirmed_at) as at from core.stock_price_observation where rooftop_id = $1',
    [own.id],
  )
  console.fixture.sandbox.clock.advance(dayMs)

  const viewer = await asked(own.uid, 'viewer')
  const foreign = await asked(others[0]!.uid, 'stock')
  const { status, location } = await asked(own.uid, 'stock')
  const runId = new URL(location!, console.url).searchParams.get('asked')
  const ended = async () =>
    (await console.rows('select status from ops.run where run_id = $1', [runId]))[0]!['status']
  while ((await ended()) === 'running') await new Promise((done) => setTimeout(done, 50))
  const after = await console.rows<{ at: Date }>(
    'select max(last_confirmed_at) as at from core.stock_price_observation where rooftop_id = $1',
    [own.id],
  )
  const page = await console.get(location!.replace('/console', ''), { role: 'stock' })
  const rooftops = await console.rows(
    'select distinct rooftop_id as id from ops.run_stream where run_id = $1',
    [runId],
  )

  expect([viewer.status, foreign.status, status]).toEqual([403, 404, 303])
  expect(await ended()).toBe('ok')
  expect(rooftops).toEqual([{ id: own.id }])
  expect(after[0]!.at.getTime()).toBeGreaterThan(before[0]!.at.getTime())
  expect(page.text).toContain('The prices are being asked for')
})

test('a unit shows its prices as steps, of the rooftop that is named', async () => {
  const [unit] = await console.rows<{
    no: string
    make: string
    asking: number
    changes: number
    eval: number
  }>(
    `select stock_no as no, make, asking_price::float8 as asking, price_changes as changes, eval_id as eval from mart.fact_stock_unit
     where rooftop_id = $1 and is_on_hand and eval_rooftop_id = rooftop_id order by price_changes desc, stock_no limit 1`,
    [own.id],
  )
  const path = `/stock/units/${own.uid}/${unit!.no}`

  const { title, text } = await console.get(path)
  const { steps } = await console.json<{ steps: { asking: number; askingMove: number | null }[] }>(
    path,
  )
  const stock = await console.get(path, { role: 'stock' })

  expect(title).toMatch(
    new RegExp(`^${unit!.no}, \\d{4} ${unit!.make}|^${unit!.no}, ${unit!.make}`),
  )
  expect(unit!.changes).toBeGreaterThan(0)
  expect(steps.at(-1)!.asking).toBe(unit!.asking)
  expect(steps.filter(({ askingMove }) => askingMove !== null && askingMove !== 0)).toHaveLength(
    unit!.changes,
  )
  expect(text).toContain('aria-label="Asking price and market retail"')
  expect(text).toContain(`href="/console/evaluations/${unit!.eval}`)
  expect(stock.status).toBe(200)
  expect(stock.text).toContain(`evaluation ${unit!.eval}`)
  expect(stock.text).not.toContain('/console/evaluations/')
})

test('the cars furthest above the market come first, of one currency', async () => {
  const [truth, ...rest] = await console.rows<{ currency: string; no: string; gap: number }>(
    `select distinct on (s.currency_code) s.currency_code as currency, s.stock_no as no, (s.asking_price - p.retail)::float8 as gap
     from core.stock_unit as s join core.stock_price_observation as p
       on p.rooftop_id = s.rooftop_id and p.stock_no = s.stock_no and p.is_current and p.vin = s.vin
     where s.off_stock_at is null and p.retail is not null and s.asking_price is not null and s.rooftop_id = $1
     order by s.currency_code, gap desc`,
    [own.id],
  )
  const path = `/stock/prices?rooftop=${own.uid}`

  const { moves, currency } = await console.json<{
    currency: string
    moves: { stockNo: string; asking: number; market: number }[]
  }>(path)
  const { title, text } = await console.get(path, { role: 'stock' })
  const all = await console.get('/stock/prices')

  expect(title).toBe('Prices')
  expect(rest).toEqual([])
  expect(currency).toBe(truth!.currency)
  expect(moves[0]!.asking - moves[0]!.market).toBeCloseTo(truth!.gap, 2)
  const gaps = moves.map(({ asking, market }) => asking - market)
  expect(gaps).toEqual(gaps.toSorted((a, b) => b - a))
  expect(text.match(/<svg role="img" aria-label="Asking/g)).toHaveLength(moves.length)
  expect(all.text).toContain('<select name="currency">')
  expect(all.text.match(/<option value="[A-Z]{3}"/g)!.length).toBeGreaterThan(2)
})

test('the moves are those since the days that were chosen', async () => {
  const [unit] = await console.rows<{ no: string; was: number; now: number }>(
    `select s.stock_no as no, s.asking_price_first::float8 as was, s.asking_price::float8 as now from mart.fact_stock_unit as s
     join mart.fact_stock_price_observation as p on p.rooftop_id = s.rooftop_id and p.stock_no = s.stock_no and p.is_current and p.retail > 0
     where s.rooftop_id = $1 and s.is_on_hand and s.price_changes > 0 order by 1 limit 1`,
    [own.id],
  )
  // The first list came in 16 days ago.
  await console.rows(
    `update core.stock_unit set first_seen_at = now() - interval '60 days' where rooftop_id = $1 and stock_no = $2`,
    [own.id, unit!.no],
  )

  const { moves } = await console.json<{ moves: { stockNo: string; askingMove: number }[] }>(
    `/stock/prices?rooftop=${own.uid}&days=30`,
  )

  expect(moves.find(({ stockNo }) => stockNo === unit!.no)!.askingMove).toBe(unit!.now - unit!.was)
})

test('a car without a market price says why', async () => {
  const unpriced = await stockOf(`?rooftop=${own.uid}&show=unpriced`)
  const { text } = await console.get(`/stock/prices?rooftop=${own.uid}`)

  expect(unpriced.units.map(({ whyNoMarket }) => whyNoMarket)).toContain('no such vehicle')
  expect(unpriced.units.every(({ whyNoMarket }) => whyNoMarket !== null)).toBe(true)
  expect(text).toContain('no such vehicle')
})

test('the download is the export of the rooftop', async () => {
  const { headers, text } = await console.get(`/stock?rooftop=${own.uid}&download=csv`, {
    role: 'stock',
  })
  const to = new PassThrough()
  const exported = textOf(to)
  await runExport(console.context.pool, {
    ...{ subject: { is: 'list', rooftop: own, all: false }, format: 'csv', delimiter: null },
    ...{ bom: true, raw: false, to, signal: new AbortController().signal },
  })
  to.end()

  expect(headers.get('content-disposition')).toBe(`attachment; filename="stock-${own.uid}.csv"`)
  expect(text.replace('\uFEFF', '')).toBe((await exported).replace('\uFEFF', ''))
  expect(text.split('\r\n').length).toBeGreaterThan(5)
})

test('a stock number of any characters has a page, and is text everywhere', async () => {
  const no = 'A/1 "<b>&%2F'
  await console.rows(
    `insert into core.stock_unit select (jsonb_populate_record(s, jsonb_build_object('stock_no', $1::text))).* from core.stock_unit as s
     where rooftop_id = $2 and off_stock_at is null limit 1`,
    [no, own.id],
  )

  const list = await console.get(`/stock?rooftop=${own.uid}&q=a/1`)
  const href = /href="\/console(\/stock\/units\/[^"]+)"/.exec(list.text)![1]!
  const unit = await console.get(href)

  expect(list.text).not.toContain('<b>')
  expect(unit.status).toBe(200)
  expect(unit.text).not.toContain('<b>')
  expect(unit.title).toContain('A/1 &#34;&#60;b&#62;&#38;%2F')
})

test('no car says why', async () => {
  const filtered = await console.get('/stock?q=no-such-car')
  await console.rows('update core.stock_unit set off_stock_at = now() where rooftop_id = $1', [
    own.id,
  ])

  const empty = await console.get('/stock', { role: 'stock' })
  const prices = await console.get('/stock/prices', { role: 'stock' })

  expect(filtered.text).toContain('No car fits.')
  expect(empty.text).toContain('There is no stock: no list was imported yet.')
  expect(prices.text).toContain('There is no stock yet')
})
