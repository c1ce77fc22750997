import { sql } from 'kysely'
import { html } from '../../../values/html.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { definePage } from '../page.ts'
import { choice, filterForm } from '../parts/form.ts'
import { agoText, instant } from '../parts/instant.ts'
import { linkAddress } from '../parts/link.ts'
import { cutPage, pageSize } from '../parts/pager.ts'
import { numbers, table } from '../parts/table.ts'
import { type PriceStep, priceHistory } from '../stock/price-history.ts'
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
  /** null: no list has a date in stock. */
  readonly days: number | null
  readonly asking: number
  readonly market: number
  readonly askingMove: number | null
  readonly marketMove: number | null
  readonly steps: readonly PriceStep[]
}

/** Rooftops whose steps are read at once, which takes some 10 ms each; where there are more, one is shown. */
const maxRooftops = 20
/** Cars without a market price that are shown; the page of the stock has all. */
const maxUnpriced = 5

async function readMoves(
  db: Db,
  scope: StockScope,
  currency: string,
  days: number,
): Promise<Move[]> {
  const then = sql`now() - make_interval(days => ${days})`
  const before = sql`filter (where moved_at <= ${then} and coalesce(moved_again_at > ${then}, true))`
  // By rooftop: the steps of all at once would be made of every change of every car, also of those not asked for.
  const { rows } = await sql<Move>`
    select r.rooftop_uid as uid, r.rooftop_name as rooftop, u.stock_no as "stockNo", u.make, u.model, u.year,
      (u.days + (now() at time zone r.time_zone)::date - (u.moved_at at time zone r.time_zone)::date)::int as days,
      u.asking::float8 as asking, u.market::float8 as market,
      (u.asking - u.asking_then)::float8 as "askingMove", (u.market - u.market_then)::float8 as "marketMove", u.steps
    from ${scope.schema}.dim_rooftop as r
    cross join lateral (
      select stock_no, max(make) as make, max(model) as model, max(model_year) as year, max(days_in_stock) as days, max(moved_at) as moved_at,
        max(asking_price) filter (where is_current) as asking, max(market_retail) filter (where is_current) as market,
        max(asking_price) ${before} as asking_then, max(market_retail) ${before} as market_then,
        json_agg(json_build_object('at', moved_at, 'asking', asking_price::float8, 'market', market_retail::float8) order by step_no) as steps
      from ${scope.schema}.stock_price_drift as d
      where d.rooftop_id = r.rooftop_id and d.is_on_hand and d.currency_code = ${currency}
      group by stock_no
    ) as u
    where r.rooftop_id = ${chosenIds(scope)} and u.asking is not null and u.market is not null
    order by u.asking - u.market desc, uid, u.stock_no limit ${pageSize + 1}`.execute(db)
  return rows
}

export const priceMoves = definePage({
  path: '/stock/prices',
  title: 'Prices',
  question: 'Which of my cars did the market leave behind?',
  roles: ['engineer', 'viewer', 'stock'],
  navigation: 'Prices',
  isMinor: true,
  async read(request) {
    const { db, query } = request
    const days = ['7', '90'].includes(query['days'] ?? '') ? Number(query['days']) : 30
    const asked = await readStockScope(request, query['rooftop'] ?? '')
    if (asked === null) return null
    const scope = {
      ...asked,
      chosen: asked.chosen.length > maxRooftops ? asked.chosen.slice(0, 1) : asked.chosen,
    }
    const rooftop = scope.chosen.length === 1 ? scope.chosen[0]!.uid : ''
    const sums = await readSums(db, scope)
    const known = sums.find((sum) => sum.currency === query['currency']) ?? sums[0]
    const currency = known?.currency ?? ''
    const { shown: moves, hasMore } = cutPage(await readMoves(db, scope, currency, days))
    return {
      ...{ rooftops: scope.rooftops, sums, currency, rooftop, days, moves, hasMore },
      unpriced: await readUnits(
        db,
        scope,
        { show: 'unpriced', search: '', after: '' },
        maxUnpriced + 1,
      ),
    }
  },
  draw({ rooftops, sums, currency, rooftop, days, moves, hasMore, unpriced }, { now, config }) {
    const zone = rooftops.length === 1 ? rooftops[0]!.zone : config.console!.timezone
    const sum = sums.find((one) => one.currency === currency)
    const hasRooftop = rooftops.length > 1
    const currencies = Object.fromEntries(
      sums.map((one) => [one.currency, `${one.currency}, ${one.units} cars`]),
    )
    return html`${sum !== undefined && html`<p>Market ${sum.marketAt === null ? 'never asked' : html`of ${instant(sum.marketAt, zone)} (${agoText(sum.marketAt, now)})${sum.marketOf > 1 && ' or newer'}`}, stock list of ${instant(sum.listAt, zone)}${sum.rooftops > 1 && ' or newer'}.</p>`}
${config.vehicleData.apiKey === null && html`<p class="note">The config has no key of the vehicle-data service, so that no market price is asked for.</p>`}
${filterForm('/stock/prices', 'Which cars', [
  rooftopChoice(rooftops, rooftop, rooftops.length <= maxRooftops),
  sums.length > 1 && choice('Currency', 'currency', currency, currencies),
  choice('Moves of the last', 'days', String(days), { 7: '7 days', 30: '30 days', 90: '90 days' }),
])}
${table({
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
  onPhone: ['Car', 'Asking', 'Market', 'Asking minus market'],
  rows: moves.map((move) => moveCells(move, { currency, hasRooftop, now })),
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
    .slice(0, maxUnpriced)
    .map((unit) => [
      unitLink(unit),
      carText(unit),
      amountText(unit.asking, unit.currency),
      unit.whyNoMarket ?? '',
    ]),
  empty: sums.length === 0 ? 'There is no stock yet.' : 'Every car on hand has a market price.',
})}
${unpriced.length > maxUnpriced && html`<p><a href="${linkAddress('/stock', { rooftop, show: 'unpriced' })}">All cars without a market price</a></p>`}`
  },
})

interface MoveOptions {
  readonly currency: string
  readonly hasRooftop: boolean
  readonly now: Date
}

function moveCells(move: Move, { currency, hasRooftop, now }: MoveOptions) {
  const { rooftop, days, asking, market, askingMove, marketMove, steps } = move
  const gap = asking - market
  const share =
    market === 0 ? '' : ` (${gap > 0 ? '+' : ''}${Math.round((100 * gap) / market)}\u00a0%)`
  return [
    unitLink(move),
    carText(move),
    ...(hasRooftop ? [rooftop] : []),
    days ?? '–',
    amountText(asking, currency),
    amountText(market, currency),
    `${moveText(gap, currency)}${share}`,
    moveText(marketMove, currency),
    moveText(askingMove, currency),
    priceHistory(steps, now),
  ]
}
