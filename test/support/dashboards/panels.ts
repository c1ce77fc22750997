import {
  LegendDisplayMode,
  LegendPlacement,
  SortOrder,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common'
import { PanelBuilder as BarGaugeBuilder } from '@grafana/grafana-foundation-sdk/bargauge'
import {
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat'
import { PanelBuilder as TimeSeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries'

/** A query in PromQL, the name of each of its series, and their unit where it is not that of the panel. */
export type Query = readonly [expression: string, legend: string, unit?: string]

/** A panel. */
export interface Panel {
  readonly title: string
  /** What it shows. */
  readonly description: string
  readonly good: string
  /** What to do when it is not good. */
  readonly otherwise: string
  readonly kind?: 'line' | 'number' | 'bar'
  /** Id of a unit of Grafana; of a count `suffix:` and what it counts. */
  readonly unit: string
  /** Columns of 24. */
  readonly width?: number
  /** Red from here on. */
  readonly badFrom?: number
  readonly queries: readonly Query[]
}

/** Panels under one heading. */
export interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

/** A dashboard. */
export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly description: string
  /** The span that it opens with, e.g. `now-6h`. */
  readonly from: string
  readonly rows: readonly Row[]
}

/** The series of a metric from the processes that the dashboard is limited to. */
export function of(metric: string, ...matchers: string[]): string {
  return `${metric}{${['job=~"$job"', ...matchers].join(', ')}}`
}

/** Every process reads the same from the warehouse: the greatest value is one of these readings, and not their sum. */
export function highest(metric: string, ...by: string[]): string {
  return `max${byLabels(by)}(${of(metric)})`
}

/** Counters are those of one process each: they add up. */
export function perSecond(metric: string, ...by: string[]): string {
  return `sum${byLabels(by)}(rate(${of(metric)}[$__rate_interval]))`
}

function byLabels(labels: readonly string[]): string {
  return labels.length === 0 ? '' : ` by (${labels.join(', ')}) `
}

const datasource = { type: 'prometheus', uid: '$datasource' }
const panelHeights = { line: 8, number: 4, bar: 8 } as const

/** The JSON that Grafana imports. */
export function dashboardJson({ uid, title, description, from, rows }: Dashboard): string {
  const dashboard = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(['forecourt'])
    .readonly()
    .time({ from, to: 'now' })
    .timezone('browser')
    .tooltip(DashboardCursorSync.Crosshair)
    .refresh('1m')
    .link(
      new DashboardLinkBuilder('Forecourt')
        .type(DashboardLinkType.Dashboards)
        .tags(['forecourt'])
        .asDropdown(true),
    )
    .withVariable(
      new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'),
    )
    .withVariable(jobVariable())
  for (const row of rows) {
    dashboard.withRow(new RowBuilder(row.title))
    for (const panel of row.panels) dashboard.withPanel(panelBuilder(panel))
  }
  const built = dashboard.build()
  const panels = built.panels?.map((panel, at) => ({ ...panel, id: at + 1 }))
  return `${JSON.stringify({ ...built, panels }, null, 2)}\n`
}

/** The name of the job in the config of Prometheus: one for each Forecourt that it scrapes. */
function jobVariable(): QueryVariableBuilder {
  return new QueryVariableBuilder('job')
    .label('Job')
    .datasource(datasource)
    .query('label_values(forecourt_build_info, job)')
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .multi(true)
    .includeAll(true)
    .current({ selected: true, text: 'All', value: '$__all' })
}

function panelBuilder(panel: Panel): TimeSeriesBuilder | StatBuilder | BarGaugeBuilder {
  const { kind = 'line', title, description, good, otherwise } = panel
  const { unit, width = 8, badFrom, queries } = panel
  const builder = emptyPanel(kind)
    .title(title)
    .description(`${description}\n\nGood: ${good}\n\nOtherwise: ${otherwise}`)
    .datasource(datasource)
    .unit(unit)
    .span(width)
    .height(panelHeights[kind])
    .targets(queries.map((query, at) => target(query, at, kind)))
  if (badFrom !== undefined) builder.thresholds(thresholds(badFrom))
  for (const [at, [, , unitOfQuery]] of queries.entries())
    if (unitOfQuery !== undefined)
      builder.overrideByQuery(refId(at), [{ id: 'unit', value: unitOfQuery }])
  return builder
}

function emptyPanel(kind: 'line' | 'number' | 'bar') {
  if (kind === 'number') return new StatBuilder()
  if (kind === 'bar') return new BarGaugeBuilder().min(0)
  const legend = new VizLegendOptionsBuilder()
    .showLegend(true)
    .displayMode(LegendDisplayMode.List)
    .placement(LegendPlacement.Bottom)
    .calcs([])
  const tooltip = new VizTooltipOptionsBuilder()
    .mode(TooltipDisplayMode.Multi)
    .sort(SortOrder.Descending)
  return new TimeSeriesBuilder()
    .min(0)
    .fillOpacity(10)
    .spanNulls(false)
    .legend(legend)
    .tooltip(tooltip)
}

function refId(at: number): string {
  return String.fromCharCode(65 + at)
}

function target([expression, legend]: Query, at: number, kind: string): DataqueryBuilder {
  const query = new DataqueryBuilder()
    .refId(refId(at))
    .datasource(datasource)
    .expr(expression)
    .legendFormat(legend)
  return kind === 'line' ? query.range() : query.instant()
}

function thresholds(badFrom: number): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([
    { value: null, color: 'green' },
    { value: badFrom, color: 'red' },
  ])
}
