import { type Html, html } from '../../../values/html.ts'
import { isDay } from '../../../values/instant.ts'
import { chartFigure } from '../charts/plot.ts'
import { exportFile } from '../export-file.ts'
import { definePage, type PageRequest } from '../page.ts'
import { downloadLinks, mediaTypes } from '../parts/download.ts'
import { choice, filterForm } from '../parts/form.ts'
import {
  drawFreshness,
  type Freshness,
  readFreshness,
  readListFreshness,
} from '../parts/freshness.ts'
import { chartGrid, numbers, table } from '../parts/table.ts'
import { cellText, isNumber } from '../reports/cells.ts'
import { drawCharts } from '../reports/draw-charts.ts'
import {
  type ChartRow,
  chosenRooftops,
  chosenRows,
  maxRooftops,
  type ReportColumn,
  type ReportFilter,
  readColumns,
  readFigures,
  readListed,
  readRooftops,
} from '../reports/read-report.ts'
import type { ReportSpec } from '../reports/spec.ts'
import { reportSpecs } from '../reports/specs.ts'

const specOf = (view: string | undefined) => reportSpecs.find((spec) => spec.view === view)

function reportFilter({ query }: PageRequest, { months = 12 }: ReportSpec): ReportFilter {
  const { group = '', rooftop = '', month = '' } = query
  return { group, rooftop, months, month: isDay(`${month}-01`) ? month : '' }
}

export const report = definePage({
  path: '/reports/:view',
  roles: ['engineer', 'viewer'],
  async read(request) {
    const { db, params } = request
    const spec = specOf(params['view'])
    if (spec === undefined) return null
    const filter = reportFilter(request, spec)
    const rooftops = await readRooftops(db)
    const chosen = chosenRooftops(spec, rooftops, filter)
    const [view, ...columns] = await readColumns(db, spec.view)
    const ids = chosen.map(({ id }) => id)
    return {
      ...{ view: spec.view, question: spec.question, meaning: view?.description ?? '' },
      ...{ filter, rooftops, columns },
      // The one that is shown in place of too many.
      only:
        filter.rooftop === '' && chosen.length === 1 && rooftops.length > maxRooftops
          ? chosen[0]!
          : null,
      ...(await readFigures(db, spec, columns, chosenRows(spec, columns, filter, chosen))),
      listed: spec.charts.some(({ kind }) => kind === 'lines') ? await readListed(db, ids) : [],
      freshness: [
        ...(await readFreshness(db, spec.streams, ids)),
        ...(spec.usesStockLists === true ? await readListFreshness(db, ids) : []),
      ],
    }
  },
  title: ({ question }) => question,
  question: ({ meaning }) => meaning,
  async download(format, { params }) {
    const view = specOf(params['view'])?.view
    if (view === undefined || !Object.hasOwn(mediaTypes, format)) return null
    const known = format as keyof typeof mediaTypes
    const body = exportFile({ is: 'mart', name: view }, known)
    return { fileName: `${view}.${known}`, type: mediaTypes[known], body }
  },
  draw(
    { view, filter, rooftops, only, columns, charts, rows, total, listed, freshness },
    pageRequest,
  ) {
    const spec = specOf(view)!
    const noList = hasNoList(spec, freshness)
    const drawn = spec.charts
      .map((chart, at) => ({ chart, rows: charts[at]! }))
      .filter((one) => !noList || isKnown(one.rows))
    const zone = pageRequest.config.console!.timezone
    const names = spec.columns
      .split(' ')
      .map((name) => columns.find((column) => column.name === name)!)
    const uids = new Map(rooftops.map(({ id, uid }) => [id, uid]))
    return html`${drawFreshness(freshness, zone, pageRequest.now)}
${filters(view, columns, filter, rooftops)}
${only !== null && html`<p class="note">Of ${columns.some(({ name }) => name === 'rooftop_id') ? only.name : `dealer group ${only.group}`} alone: this report reads every evaluation or car, and there are more than ${maxRooftops} rooftops. Choose another above; the download has all.</p>`}
${drawn.length < spec.charts.length && html`<p class="empty">A chart is not drawn: it would show 0 for what is not known, because no stock list was imported.</p>`}
${chartGrid(drawn.flatMap((one) => drawCharts(one.chart, one.rows, { rooftops, listed }).map(chartFigure)))}
<h2>Rows</h2>
${table({
  caption: tableCaption(rows.length, total, spec.first[0]),
  columns: names.map((column) =>
    isNumber(column) ? numbers(columnHead(column)) : columnHead(column),
  ),
  rows: rows.map((row) => names.map((column) => cellText(column, row, { zone, uids }))),
  empty: emptyText(columns, filter),
})}
<p>All rows, whatever is chosen above: ${downloadLinks(`/reports/${view}`, {})} or <a href="/console/reports/${view}?download=parquet">Parquet</a>. For BI tools: <code>mart.${view}</code>.</p>`
  },
})

/** Whether the report reads stock lists, and no rooftop that is shown has one. */
function hasNoList({ usesStockLists }: ReportSpec, freshness: readonly Freshness[]): boolean {
  return (
    usesStockLists === true &&
    freshness.some(({ what, missing, rooftops }) => what === 'stock lists' && missing === rooftops)
  )
}

/** False where a chart has rows, and none of them has a value. */
function isKnown(rows: readonly ChartRow[]): boolean {
  return rows.length === 0 || rows.some(({ values }) => values.some((value) => value !== null))
}

function columnHead({ name }: ReportColumn): string {
  const text = name
    .replace(/_(code|name)$/, '')
    .replace(/_no$/, ' no.')
    .replaceAll('_', ' ')
  return text === 'vin' ? 'VIN' : text[0]!.toUpperCase() + text.slice(1)
}

function tableCaption(shown: number, total: number, first: string): string {
  if (shown === total) return `All ${total} rows, the ${first} first`
  return `The ${shown} ${first} of ${total.toLocaleString('en')} rows; the download has all`
}

function filters(
  view: string,
  columns: readonly ReportColumn[],
  { group, rooftop, month, months }: ReportFilter,
  rooftops: readonly { readonly uid: string; readonly name: string; readonly group: string }[],
): Html {
  const has = (name: string) => columns.some((column) => column.name === name)
  const groups = [...new Set(rooftops.map((one) => one.group))].sort()
  return filterForm(`/reports/${view}`, 'Which rows', [
    choice('Dealer group', 'group', group, { '': 'all', ...byName(groups) }),
    has('rooftop_id') &&
      choice('Rooftop', 'rooftop', rooftop, {
        '': 'all',
        ...Object.fromEntries(rooftops.map(({ uid, name }) => [uid, name])),
      }),
    has('month_start') &&
      html`<label>Month, empty: the last ${months} <input type="month" name="month" value="${month}" pattern="\\d{4}-\\d{2}" placeholder="2026-11"></label>`,
  ])
}

function byName(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, name]))
}

function emptyText(
  columns: readonly ReportColumn[],
  { group, rooftop, month, months }: ReportFilter,
) {
  const hasMonth = columns.some(({ name }) => name === 'month_start')
  const when = month === '' ? `the last ${months} months have` : `${month} has`
  const why = hasMonth ? `${when} no row` : 'the view has no row'
  const whose = group + rooftop === '' ? '' : ' of what is chosen above'
  return `There is nothing to show: ${why}${whose}. ${hasMonth ? 'Choose another month, or check above how fresh the data are.' : 'Check above how fresh the data are, and that stock lists were imported where it reads them.'}`
}
