import { allStreams } from '../../../streams/all.ts'
import { type Html, html } from '../../../values/html.ts'
import { plural } from '../../../values/text.ts'
import { toUnixSeconds } from '../../../values/unix-seconds.ts'
import { exportFile } from '../export-file.ts'
import { ActionRefused, type ActionRequest, definePage, type PageRequest } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { downloadLinks, mediaTypes } from '../parts/download.ts'
import { actionButton, choice, filterForm } from '../parts/form.ts'
import { agoText, instant } from '../parts/instant.ts'
import { link, linkAddress } from '../parts/link.ts'
import { cutPage, olderLink, pageSize } from '../parts/pager.ts'
import { numbers, table } from '../parts/table.ts'
import { personRooftop } from '../stock/own.ts'
import { type PriceStep, priceHistory, readPriceSteps, stepsKey } from '../stock/price-history.ts'
import {
  cursorKey,
  type ListedUnit,
  readStockScope,
  readSums,
  readUnits,
  type StockRooftop,
  type StockSum,
  type UnitFilter,
} from '../stock/read-stock.ts'
import { amountText, carText, rooftopChoice, unitLink } from '../stock/unit-text.ts'

const views = {
  all: 'all',
  unpriced: 'without a market price',
  missing: 'not in the newest list',
  ppsr: 'with a changed PPSR interest',
} as const

/** Rooftops whose prices are drawn beside the cars: the steps of each are read on their own. */
const maxCharted = 5

function unitFilter({ query }: PageRequest): UnitFilter & { readonly rooftop: string } {
  const { rooftop = '', show = '', q = '', after = '' } = query
  return {
    ...{ rooftop, after, search: q.trim().slice(0, 80) },
    show: Object.hasOwn(views, show) ? (show as UnitFilter['show']) : 'all',
  }
}

export const stock = definePage({
  path: '/stock',
  title: 'Stock',
  question: 'What is in stock, what did it cost, and what is it worth?',
  roles: ['engineer', 'viewer', 'stock'],
  navigation: 'Stock',
  async read(request) {
    const filter = unitFilter(request)
    const scope = await readStockScope(request, filter.rooftop)
    if (scope === null) return null
    const sums = await readSums(request.db, scope)
    const units = cutPage(await readUnits(request.db, scope, filter, pageSize + 1))
    const asked = /^\d{1,15}$/.exec(request.query['asked'] ?? '')?.[0] ?? ''
    const { rooftops } = scope
    const isCharted = scope.chosen.length <= maxCharted
    const steps = await readPriceSteps(request.db, scope, isCharted ? units.shown : [])
    const withSteps = units.shown.map((unit) => {
      return { ...unit, steps: steps.get(stepsKey(unit)) ?? [] }
    })
    const { hasMore } = units
    return { filter, rooftops, sums, units: withSteps, isCharted, hasMore, asked }
  },
  async download(format, request) {
    const { rooftop } = unitFilter(request)
    const scope = rooftop === '' ? null : await readStockScope(request, rooftop)
    const [chosen] = scope?.chosen ?? []
    if ((format !== 'csv' && format !== 'xlsx') || chosen === undefined) return null
    const body = exportFile({ is: 'list', rooftop: chosen, all: false }, format)
    return { fileName: `stock-${chosen.uid}.${format}`, type: mediaTypes[format], body }
  },
  actions: { reprice: { roles: ['engineer', 'stock'], run: priceAgain } },
  draw(data, { now, config, person }) {
    const { filter, rooftops, sums, units, isCharted, hasMore, asked } = data
    const hasRooftop = rooftops.length > 1
    const { rooftop, show, search } = filter
    const zone = rooftops.length === 1 ? rooftops[0]!.zone : config.console!.timezone
    const query = { rooftop, q: search }
    return html`${asked !== '' && html`<section class="summary ok"><p>The prices are being asked for${person.role === 'stock' ? '' : html` by ${link(`run ${asked}`, `/runs/${asked}`)}`}. Load this page again in a minute: “As of” shows when they are here.</p></section>`}
${config.vehicleData.apiKey === null && html`<p class="note">The config has no key of the vehicle-data service, so that no market price is asked for.</p>`}
${table({
  caption: 'On hand, by currency',
  columns: [
    'Currency',
    ...['Cars', 'Cost', 'Asking', 'Market retail'].map((head) => numbers(head)),
    'As of',
  ],
  rows: sums.map((sum) => sumCells(sum, query, zone, now)),
  empty: html`There is no stock: no list was imported yet. ${person.role === 'viewer' ? 'An engineer or a stock person uploads one.' : link('Upload one', '/stock/upload')}`,
})}
${filterForm('/stock', 'Which cars', [
  rooftopChoice(rooftops, rooftop),
  choice('Show', 'show', show, views),
  html`<label>Search <input type="search" name="q" value="${search}" placeholder="stock no., VIN, make"></label>`,
])}
${table({
  caption: `On hand, ${show === 'all' ? '' : `${views[show]}, `}the longest in stock first${units.some(({ days }) => days === null) ? '; – where no list has a date in stock' : ''}`,
  columns: [
    'Stock no.',
    'Car',
    ...(hasRooftop ? ['Rooftop'] : []),
    ...numberHeads.map((head) => numbers(head)),
    ...(isCharted ? ['Prices since it came in'] : []),
    'Note',
  ],
  onPhone: ['Car', 'Days', 'Asking', 'Market', 'Note'],
  rows: units.map((unit) => unitCells(unit, { hasRooftop, isCharted, now })),
  empty:
    search + rooftop === '' && show === 'all'
      ? 'No car is on hand.'
      : html`No car fits. <a href="/console/stock">Show all</a>.`,
})}
${!isCharted && html`<p class="note">Choose a rooftop to see how the prices of its cars moved.</p>`}
${hasMore && olderLink('/stock', { rooftop, show, q: search, after: cursorKey(units.at(-1)!) }, 'More cars')}
${downloads(rooftops, rooftop)}
${person.role !== 'viewer' && stockActions(sums, rooftops, rooftop, config.vehicleData.apiKey !== null)}
<p>${link('Imported lists', '/stock/imports', { rooftop })} · ${link('How columns are read', '/stock/mappings')}</p>`
  },
})

/** What a person can do with the stock of one rooftop. */
function stockActions(
  sums: readonly StockSum[],
  rooftops: readonly StockRooftop[],
  chosen: string,
  canPrice: boolean,
): Html {
  const one = rooftops.length === 1 ? rooftops[0] : rooftops.find(({ uid }) => uid === chosen)
  const count = sums.reduce((all, { units }) => all + units, 0)
  const upload = html`<a class="button" href="${linkAddress('/stock/upload', { rooftop: one?.uid })}">Upload a list</a>`
  if (one === undefined) return html`<p>${upload}</p>`
  const { uid, name } = one
  const label = `Price again: ${plural(count, 'car')} of ${name}`
  const fields = { rooftop: uid, count }
  return html`<div class="buttons">${upload} ${canPrice && count > 0 && actionButton({ path: '/stock', action: 'reprice', label, fields })}</div>`
}

async function priceAgain(request: ActionRequest) {
  const { config, runs } = request
  const rooftop = personRooftop(request, request.form['rooftop'] ?? '')
  if (config.vehicleData.apiKey === null)
    throw new ActionRefused(
      'Nothing can be priced: the config has no vehicleData.apiKey. An engineer sets it.',
    )
  const from = toUnixSeconds(config.sync.start)
  const plan = { command: 'reprice', mode: 'reprice', from, until: null } as const
  const streams = allStreams.filter(({ name }) => name === 'stock-prices')
  const runId = await runs.start({ plan, streams, rooftops: [rooftop] })
  const query = new URLSearchParams({ rooftop: rooftop.uid, asked: String(runId) })
  return { location: `/stock?${query}`, runId }
}

const numberHeads = ['Days', 'km', 'Cost', 'Asking', 'Market', 'Asking of market']

function sumCells(sum: StockSum, query: Readonly<Record<string, string>>, zone: string, now: Date) {
  const { currency, units, missing, cost, costOf, asking, askingOf } = sum
  const { market, marketOf, marketAt, listAt, rooftops } = sum
  const counted = (count: number, show: string, words: string) =>
    count > 0 &&
    html`<small><a href="${linkAddress('/stock', { ...query, q: '', show })}">${count} ${words}</a></small>`
  const ofCount = (count: number) => count < units && html`<small>of ${count} cars</small>`
  return [
    currency,
    html`${units.toLocaleString('en')}${counted(missing, 'missing', views.missing)}`,
    html`${amountText(cost, currency)}${ofCount(costOf)}`,
    html`${amountText(asking, currency)}${ofCount(askingOf)}`,
    html`${amountText(market, currency)}${ofCount(marketOf)}${counted(units - marketOf, 'unpriced', views.unpriced)}`,
    html`market ${marketAt === null ? 'never priced' : html`${instant(marketAt, zone)} (${agoText(marketAt, now)})${marketOf > 1 && ' or newer'}`}<small>list ${instant(listAt, zone)}${rooftops > 1 && ' or newer'}</small>`,
  ]
}

type ShownUnit = ListedUnit & { readonly steps: readonly PriceStep[] }

interface CellOptions {
  readonly hasRooftop: boolean
  readonly isCharted: boolean
  readonly now: Date
}

function unitCells(unit: ShownUnit, { hasRooftop, isCharted, now }: CellOptions) {
  const { vin, rooftop, days, km, cost, asking, market, currency, isOnApplication } = unit
  return [
    unitLink(unit),
    html`${carText(unit)}<small>${vin ?? 'no VIN'}</small>`,
    ...(hasRooftop ? [rooftop] : []),
    days ?? '–',
    km === null ? '–' : km.toLocaleString('en'),
    amountText(cost, currency),
    isOnApplication && asking === null ? 'on application' : amountText(asking, currency),
    amountText(market, currency),
    asking === null || market === null || market === 0
      ? '–'
      : `${Math.round((100 * asking) / market)} %`,
    ...(isCharted ? [priceHistory(unit.steps, now)] : []),
    unitNote(unit),
  ]
}

function unitNote({ missingSince, whyNoMarket, isPpsrChanged, zone }: ListedUnit): Html {
  return html`${isPpsrChanged && html`${badge('PPSR changed', 'bad')}<small>a watch reports another security interest</small>`}${missingSince !== null && html`${badge('missing', 'warn')}<small>not in the lists since ${instant(missingSince, zone)}</small>`}${whyNoMarket !== null && html`${badge('no market price', 'quiet')}<small>${whyNoMarket}</small>`}`
}

function downloads(
  rooftops: readonly { readonly uid: string; readonly name: string }[],
  chosen: string,
): Html | false {
  const named = rooftops.filter(({ uid }) => chosen === '' || uid === chosen)
  if (named.length === 0 || named.length > 6)
    return (
      named.length > 6 && html`<p class="note">Choose a rooftop to download its priced list.</p>`
    )
  return html`<p>Priced list: ${named.map(({ uid, name }, at) => html`${at > 0 && ' · '}${name} as ${downloadLinks('/stock', { rooftop: uid })}`)}</p>`
}
