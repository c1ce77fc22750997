import { sql } from 'kysely'
import type { Db } from '../../db/transaction.ts'
import { html, type Html } from '../../values/html.ts'
import { sparkline } from '../charts/sparkline.ts'
import { definePage } from '../page.ts'
import { choice, filterForm } from '../parts/form.ts'
import { agoText, instant } from '../parts/instant.ts'
import { addressOf } from '../parts/link.ts'
import { cutPage, pageSize } from '../parts/pager.ts'
import { numbers, table } from '../parts/table.ts'
import {
  chosenIds,
  readStockScope,
  readSums,
  readUnits,
  type StockScope,
  type StockUnit,
} from '../stock/read-stock.ts'
import { amountText, carText, moveText, rooftopChoice, unitLink } from '../stock/unit-text.ts'

/** A car on hand with its asking price and its market price, and how both moved. */
interface Move extends Pick<StockUnit, 'uid' | 'stockNo' | 'rooftop' | 'make' | 'model' | 'year'> {
  readonly id: number
  readonly days: number
  readonly asking: number
  readonly market: number
  readonly askingMove: number | null
  readonly marketMove: number | null
}

/** The steps of a unit, for its small chart. */
interface History {
  readonly id: number
  readonly stockNo: string
  readonly steps: readonly { at: string; asking: number | null; market: number | null }[]
}

/** Cars without a market price that are shown; the page of the stock has all. */
const mostUnpriced = 10

async function readMoves(
  db: Db,
  scope: StockScope,
  currency: string,
  days: number,
): Promise<Move[]> {
  const { rows } = await sql<Move>`
    with step as materialized (
      select rooftop_id, rooftop_name, stock_no, make, model, model_year, moved_at, moved_again_at, is_current, days_in_stock, asking_price, market_retail
      from ${scope.schema}.stock_price_drift where is_on_hand and rooftop_id = ${chosenIds(scope)} and currency_code = ${currency}
    )
    select r.rooftop_uid as uid, n.rooftop_id as id, n.rooftop_name as rooftop, n.stock_no as "stockNo", n.make, n.model, n.model_year as year,
      (n.days_in_stock + ((now() at time zone r.time_zone)::date - (n.moved_at at time zone r.time_zone)::date))::int as days,
      n.asking_price::float8 as asking, n.market_retail::float8 as market,
      (n.asking_price - b.asking_price)::float8 as "askingMove", (n.market_retail - b.market_retail)::float8 as "marketMove"
    from step as n
    join ${scope.schema}.dim_rooftop as r using (rooftop_id)
    left join step as b on b.rooftop_id = n.rooftop_id and b.stock_no = n.stock_no
      and b.moved_at <= now() - make_interval(days => ${days}) and coalesce(b.moved_again_at > now() - make_interval(days => ${days}), true)
    where n.is_current and n.asking_price is not null and n.market_retail is not null
    order by n.asking_price - n.market_retail desc, uid, n.stock_no limit ${pageSize + 1}`.execute(
    db,
  )
  return rows
}

async function readHistories(
  db: Db,
  scope: StockScope,
  moves: readonly Move[],
): Promise<History[]> {
  const { rows } = await sql<History>`
    select rooftop_id as id, stock_no as "stockNo", json_agg(json_build_object(
      'at', moved_at, 'asking', asking_price::float8, 'market', market_retail::float8) order by step_no) as steps
    from ${scope.schema}.stock_price_drift
    where rooftop_id = ${chosenIds(scope)} and stock_no = any(${moves.map(({ stockNo }) => stockNo)}::text[])
    group by rooftop_id, stock_no`.execute(db)
  return rows
}

export const priceMoves = definePage({
  path: '/stock/prices',
  title: 'Prices',
  question: 'Which of my cars did the market leave behind?',
  roles: ['engineer', 'viewer', 'stock'],
  navigation: 'Prices',
  async read(request) {
    const { db, query } = request
    const { rooftop = '' } = query
    const days = ['7', '90'].includes(query['days'] ?? '') ? Number(query['days']) : 30
    const scope = await readStockScope(request, rooftop)
    if (scope === null) return null
    const sums = await readSums(db, scope)
    const known = sums.find((sum) => sum.currency === query['currency']) ?? sums[0]
    const currency = known?.currency ?? ''
    const { shown: moves, hasMore } = cutPage(await readMoves(db, scope, currency, days))
    return {
      ...{ rooftops: scope.rooftops, sums, currency, rooftop, days, moves, hasMore },
      histories: moves.length === 0 ? [] : await readHistories(db, scope, moves),
      unpriced: await readUnits(
        db,
        scope,
        { show: 'unpriced', search: '', after: '' },
        mostUnpriced + 1,
      ),
    }
  },
  draw(
    { rooftops, sums, currency, rooftop, days, moves, hasMore, histories, unpriced },
    { now, config },
  ) {
    const zone = rooftops.length === 1 ? rooftops[0]!.zone : config.console!.timezone
    const sum = sums.find((one) => one.currency === currency)
    const known = new Map(histories.map((one) => [`${one.id} ${one.stockNo}`, one.steps]))
    const hasRooftop = rooftops.length > 1
    const currencies = Object.fromEntries(
      sums.map((one) => [one.currency, `${one.currency}, ${one.units} cars`]),
    )
    return html`<h1>Prices</h1>
<p class="question">Which of my cars did the market leave behind?</p>
${sum !== undefined && html`<p>Market ${sum.marketAt === null ? 'never asked' : html`of ${instant(sum.marketAt, zone)} (${agoText(new Date(sum.marketAt), now)})`}, stock list of ${instant(sum.listAt, zone)}.</p>`}
${config.vehicleData.apiKey === null && html`<p class="note">The config has no key of the vehicle-data service, so that no market price is asked for.</p>`}
${filterForm('/stock/prices', 'Which cars', [
  rooftopChoice(rooftops, rooftop),
  sums.length > 1 && choice('Currency', 'currency', currency, currencies),
  choice('Moves of the last', 'days', String(days), { 7: '7 days', 30: '30 days', 90: '90 days' }),
])}
${table({
  isWide: true,
  caption: `On hand${sums.length > 1 ? ` in ${currency}` : ''}, the asking price furthest above the market first${hasMore ? `; the first ${pageSize}` : ''}`,
  columns: [
    ...['Stock no.', 'Car', ...(hasRooftop ? ['Rooftop'] : [])],
    ...[
      'Days',
      'Asking',
      'Market',
      'Asking minus market',
      `Market in ${days} days`,
      `Our price in ${days} days`,
    ].map((head) => numbers(head)),
    'Since it came in',
  ],
  rows: moves.map((move) =>
    moveCells(move, known.get(`${move.id} ${move.stockNo}`) ?? [], { currency, hasRooftop, now }),
  ),
  empty:
    sums.length === 0
      ? html`There is no stock yet: import a list.`
      : 'No car on hand has an asking price and a market price: check below why.',
})}
${moves.length > 0 && html`<p class="note">The line without gaps is our asking price, the dashed one the market. A dash in a column: there was no price ${days} days ago.</p>`}
<h2>Without a market price</h2>
${table({
  caption: 'Cars that the market price is missing for',
  hidesCaption: true,
  columns: ['Stock no.', 'Car', numbers('Asking'), 'Why'],
  rows: unpriced
    .slice(0, mostUnpriced)
    .map((unit) => [
      unitLink(unit),
      carText(unit),
      amountText(unit.asking, unit.currency),
      unit.whyNoMarket ?? '',
    ]),
  empty: sums.length === 0 ? 'There is no stock yet.' : 'Every car on hand has a market price.',
})}
${unpriced.length > mostUnpriced && html`<p><a href="${addressOf('/stock', { rooftop, show: 'unpriced' })}">All cars without a market price</a></p>`}`
  },
})

interface MoveOptions {
  readonly currency: string
  readonly hasRooftop: boolean
  readonly now: Date
}

function moveCells(
  move: Move,
  steps: History['steps'],
  { currency, hasRooftop, now }: MoveOptions,
) {
  const { rooftop, days, asking, market, askingMove, marketMove } = move
  const gap = asking - market
  const share = market === 0 ? '' : ` (${gap > 0 ? '+' : ''}${Math.round((100 * gap) / market)} %)`
  return [
    unitLink(move),
    carText(move),
    ...(hasRooftop ? [rooftop] : []),
    days,
    amountText(asking, currency),
    amountText(market, currency),
    `${moveText(gap, currency)}${share}`,
    moveText(marketMove, currency),
    moveText(askingMove, currency),
    historyOf(steps, now),
  ]
}

function historyOf(steps: History['steps'], now: Date): Html {
  const values = (name: 'asking' | 'market') =>
    steps.map((step) => ({ at: new Date(step.at), value: step[name] }))
  const ends = (name: 'asking' | 'market') => {
    const known = steps.map((step) => step[name]).filter((value) => value !== null)
    return known.length === 0 ? 'none' : `${known[0]} to ${known.at(-1)}`
  }
  const summary = `Asking ${ends('asking')}, market ${ends('market')}`
  return sparkline(summary, [values('asking'), values('market')], now)
}
