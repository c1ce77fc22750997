import { sql } from 'kysely'
import { type Html, html } from '../../../values/html.ts'
import { plural } from '../../../values/text.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { lines } from '../charts/lines.ts'
import { chartFigure } from '../charts/plot.ts'
import { definePage } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { evaluationLink } from '../parts/evaluation-link.ts'
import { agoText, instant, instantText } from '../parts/instant.ts'
import { link } from '../parts/link.ts'
import { numbers, table } from '../parts/table.ts'
import { kinds, valueText } from '../stock/draw-changes.ts'
import { chosenIds, readStockScope, readUnit, type StockScope } from '../stock/read-stock.ts'
import { amountText, carText, moveText } from '../stock/unit-text.ts'

/** A change of the asking price or of the market price. */
interface Step {
  readonly at: Date
  readonly asking: number | null
  readonly askingMove: number | null
  readonly market: number | null
  readonly marketMove: number | null
}

/** The range of the market price from one answer to the next. */
interface Band {
  readonly at: Date
  readonly low: number | null
  readonly high: number | null
}

/** Steps that are drawn and listed: the newest. */
const maxSteps = 100

async function readSteps(db: Db, scope: StockScope, stockNo: string): Promise<Step[]> {
  const { rows } = await sql<Step>`
    select moved_at as at, asking_price::float8 as asking, asking_move::float8 as "askingMove",
      market_retail::float8 as market, market_move::float8 as "marketMove"
    from ${scope.schema}.stock_price_drift where rooftop_id = ${chosenIds(scope)} and stock_no = ${stockNo}
    order by step_no desc limit ${maxSteps}`.execute(db)
  return rows.toReversed()
}

/** Only answers for the vehicle that has the number now. */
async function readBands(db: Db, scope: StockScope, stockNo: string): Promise<Band[]> {
  const { rows } = await sql<Band>`
    select p.observed_at as at, p.retail_low::float8 as low, p.retail_high::float8 as high
    from ${scope.schema}.fact_stock_price_observation as p
    join ${scope.schema}.fact_stock_unit as s on s.rooftop_id = p.rooftop_id and s.stock_no = p.stock_no
    where p.rooftop_id = ${chosenIds(scope)} and p.stock_no = ${stockNo} and p.price_source = 'price_batch'
      and p.currency_code = s.currency_code and coalesce(upper(p.vin) = upper(s.vin), true)
    order by p.observed_at desc limit ${maxSteps}`.execute(db)
  return rows.toReversed()
}

/** What the PPSR searches of the dealer group say of it; null: it is not in Australia, or has no VIN. */
async function readExposure(db: Db, scope: StockScope, stockNo: string) {
  const { rows } = await sql<{ exposure: string; searchedAt: Date | null }>`
    select exposure, last_searched_at as "searchedAt" from ${scope.schema}.rpt_06_ppsr_exposure
    where rooftop_id = ${chosenIds(scope)} and stock_no = ${stockNo}`.execute(db)
  return rows[0] ?? null
}

/** What a list changed in it. */
interface ListChange {
  readonly importId: number
  readonly fileName: string
  readonly at: Date
  readonly change: string
  readonly changes: Readonly<Record<string, readonly [unknown, unknown]>>
}

/** Changes by lists that are shown: the newest. */
const maxLists = 50

async function readLists(db: Db, scope: StockScope, stockNo: string): Promise<ListChange[]> {
  const { rows } = await sql<ListChange>`
    select i.import_id::int as "importId", i.file_name as "fileName", i.imported_at as at, c.change, c.changes - 'first_seen_at' as changes
    from core.stock_unit_change as c join core.stock_import as i using (import_id)
    where c.rooftop_id = ${chosenIds(scope)} and i.rooftop_id = ${chosenIds(scope)} and c.stock_no = ${stockNo}
    order by i.import_id desc limit ${maxLists}`.execute(db)
  return rows
}

export const stockUnit = definePage({
  path: '/stock/units/:uid/:no',
  question: 'What did we ask for this car, and what did the market do?',
  roles: ['engineer', 'viewer', 'stock'],
  async read(request) {
    const { db, params } = request
    const scope = await readStockScope(request, params['uid']!)
    const unit = scope === null ? null : await readUnit(db, scope, params['no']!)
    if (scope === null || unit === null) return null
    return {
      unit,
      steps: await readSteps(db, scope, unit.stockNo),
      bands: await readBands(db, scope, unit.stockNo),
      exposure: await readExposure(db, scope, unit.stockNo),
      lists: await readLists(db, scope, unit.stockNo),
    }
  },
  title: ({ unit }) => `${unit.stockNo}, ${carText(unit)}`,
  head: ({ unit }) => html`<h1>${unit.stockNo} ${carText(unit)} ${stateBadge(unit)}</h1>`,
  draw({ unit, steps, bands, exposure, lists }, { now, person }) {
    const { zone, currency, asking, market, marketAt, isOnApplication, offStockAt } = unit
    return html`<dl class="facts"><dt>Rooftop</dt><dd>${unit.rooftop}</dd>
<dt>VIN</dt><dd>${unit.vin ?? 'none'}</dd>
<dt>Odometer</dt><dd>${unit.km === null ? 'unknown' : `${unit.km.toLocaleString('en')} km`}</dd>
<dt>In stock</dt><dd>${unit.days === null ? html`since when is not known: no list has a date in stock. First list ${instant(unit.firstSeenAt, zone)}` : `${plural(unit.days, 'day')}, since ${unit.acquiredOn}`}${offStockAt !== null && html`, until ${instant(offStockAt, zone)}`}</dd>
<dt>Cost</dt><dd>${amountText(unit.cost, currency)}</dd>
<dt>Asking</dt><dd>${isOnApplication && asking === null ? 'on application' : amountText(asking, currency)}</dd>
<dt>Market retail</dt><dd>${amountText(market, currency)}${
      marketAt === null
        ? html`: ${unit.whyNoMarket}`
        : html`, of ${instant(marketAt, zone)} (${agoText(marketAt, now)})${unit.whyNoMarket !== null && `: ${unit.whyNoMarket}`}`
    }</dd>
${asking !== null && market !== null && html`<dt>Asking minus market</dt><dd>${moveText(asking - market, currency)}</dd>`}
${exposure !== null && html`<dt>PPSR</dt><dd>${badge(exposure.exposure, exposure.exposure === 'clear' ? 'ok' : 'warn')} ${exposure.searchedAt === null ? '' : html`last searched ${instant(exposure.searchedAt, zone)}`}</dd>`}
<dt>Bought on</dt><dd>${unit.evalId === null ? 'no evaluation of this VIN before it came in, or one that is deleted' : html`evaluation ${person.role === 'stock' ? unit.evalId : evaluationLink(unit.evalId, unit.evalUid)}`}</dd></dl>
<h2>Prices</h2>
${priceChart(steps, bands, unit, now)}
${table({
  caption:
    steps.length < maxSteps ? 'Every change, the newest first' : `The ${maxSteps} newest changes`,
  columns: [
    'When',
    ...['Asking', 'Change', 'Market retail', 'Change of the market'].map((head) => numbers(head)),
  ],
  rows: steps
    .toReversed()
    .map((step) => [
      instant(step.at, zone),
      amountText(step.asking, currency),
      moveText(step.askingMove, currency),
      amountText(step.market, currency),
      moveText(step.marketMove, currency),
    ]),
  empty: 'No price was listed, and the market was not asked yet.',
})}
<h2>Lists</h2>
${table({
  caption:
    lists.length < maxLists
      ? 'What each list changed, the newest first'
      : `The ${maxLists} newest lists that changed it`,
  columns: ['When', 'List', 'What', 'Old and new'],
  rows: lists.map(({ at, fileName, importId, change, changes }) => [
    instant(at, zone),
    link(fileName, `/stock/imports/${importId}`),
    kinds[change as keyof typeof kinds] ?? change,
    html`<ul class="cells">${Object.entries(changes).map(([name, [old, now]]) => html`<li>${name.replaceAll('_', ' ')}: ${valueText(old)} → ${valueText(now)}</li>`)}</ul>`,
  ]),
  empty: 'No list has changed it.',
})}`
  },
})

interface Priced {
  readonly zone: string
  readonly currency: string
  readonly offStockAt: Date | null
}

function stateBadge({
  offStockAt,
  missingSince,
}: Priced & { readonly missingSince: Date | null }): Html {
  if (offStockAt !== null) return badge('off stock', 'quiet')
  return missingSince === null ? badge('on hand', 'ok') : badge('missing', 'warn')
}

function priceChart(
  steps: readonly Step[],
  bands: readonly Band[],
  { zone, currency, offStockAt }: Priced,
  now: Date,
): Html | false {
  if (!steps.some(({ asking, market }) => asking !== null || market !== null)) return false
  const points = (value: (step: Step) => number | null) =>
    steps.map((step) => ({ at: step.at, value: value(step) }))
  // The market may have been asked before the oldest change that is drawn.
  const drawn = bands.filter((band) => band.at >= steps[0]!.at && band.low !== null)
  const chart = lines({
    ...{ title: 'Asking price and market retail', unit: currency, kind: 'steps', zone },
    until: offStockAt ?? now,
    timeText: (time) => instantText(time, zone),
    lines: [
      { name: 'asking', points: points(({ asking }) => asking) },
      { name: 'market retail', points: points(({ market }) => market) },
    ],
    ...(drawn.length === 0 ? {} : { band: { name: 'low to high of the market', points: drawn } }),
    events: steps
      .filter((step, index) => index === 0 || (step.askingMove ?? 0) !== 0)
      .map((step) => ({ at: step.at, name: 'list with a new price' })),
  })
  return chartFigure(chart)
}
