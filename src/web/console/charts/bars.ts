import { type ScaleContinuousNumeric, scaleBand, scaleLog } from 'd3-scale'
import { stack } from 'd3-shape'
import { type Html, html } from '../../../values/html.ts'
import {
  type Chart,
  chartWidth,
  legend,
  picture,
  pictureId,
  round,
  shortText,
  textWidth,
  tones,
  valueAxisX,
  valueText,
  zeroScale,
} from './plot.ts'

/** One kind of bar: a value for each category, in their order. */
export interface BarSeries {
  readonly name: string
  readonly values: readonly (number | null)[]
}

/** Horizontal bars: a row for each category, whose name is left of it. */
interface BarChart {
  readonly title: string
  /** What the categories are. */
  readonly of: string
  readonly unit: string
  readonly categories: readonly string[]
  readonly series: readonly BarSeries[]
  /** stacked: the bars of a category are parts of a whole. log: the values span powers of ten. */
  readonly kind?: 'stacked' | 'log'
  /** A value to compare with, drawn as a line. */
  readonly mark?: { readonly at: number; readonly name: string }
}

/** A bar from one value to another. */
interface Bar {
  readonly from: number
  readonly to: number
  readonly value: number | null
}

/** Draws bars. Each has its value as a text or, in a stack, when it is pointed at. */
export function bars(chart: BarChart): Chart {
  const { title, unit, categories, series, kind, mark } = chart
  const isStacked = kind === 'stacked'
  const all = layOutBars(chart)
  const key = seriesLegend(title, series)
  const left = Math.min(220, 12 + Math.max(...categories.map(textWidth), 0))
  const thickness = isStacked || series.length === 1 ? 16 : 11
  const lanes = isStacked ? 1 : series.length
  const height = categories.length * (thickness * lanes + 10)
  // The name of a mark is above the bars.
  const top = key.height + (mark === undefined ? 2 : 16)
  const bottom = top + height
  const right = chartWidth - (isStacked ? 24 : 84)
  const ends = all.flat().flatMap(({ from, to }) => [from, to])
  const x = barScale([...ends, ...(mark === undefined ? [] : [mark.at])], kind, [left, right])
  const y = scaleBand(
    categories.map((_, at) => at),
    [top, bottom],
  )
  const drawn = categories.map((category, row) => {
    const start = y(row)! + 5
    const marks = all.map((line, at) => {
      const bar = line[row]!
      const lane = { y: start + (isStacked ? 0 : at * thickness), height: thickness - 1 }
      return drawBar(chart, x, { bar, category, at, ...lane })
    })
    return html`<text x="${left - 8}" y="${round(y(row)! + y.bandwidth() / 2 + 4)}" text-anchor="end">${shortText(category, left - 8)}</text>${marks}`
  })
  const marked = mark !== undefined && markLine(x(mark.at), mark.name, top, bottom)
  return {
    title,
    svg: picture(
      title,
      bottom + 32,
      html`${patterns(title, series.length)}${key.svg}${valueAxisX(x, unit, top, bottom)}${drawn}${marked}`,
    ),
    columns: [chart.of, ...series.map(({ name }) => name)],
    rows: categories.map((category, row) => [
      category,
      ...series.map(({ values }) => valueText(values[row] ?? null, unit)),
    ]),
  }
}

/** The legend of several series. */
export function seriesLegend(title: string, series: readonly BarSeries[]) {
  const items = series.map(({ name }, at) => ({
    name,
    sample: (x: number, y: number) => box(title, at, { x, y, width: 14, height: 10 }),
  }))
  return legend(series.length < 2 ? [] : items)
}

/** By series, then by category. */
function layOutBars({ categories, series, kind }: BarChart): Bar[][] {
  if (kind !== 'stacked')
    return series.map(({ values }) => values.map((value) => ({ from: 0, to: value ?? 0, value })))
  const layers = stack<number, number>()
    .keys(series.keys())
    .value((row, at) => series[at]!.values[row] ?? 0)(categories.map((_, row) => row))
  return layers.map((layer, at) =>
    layer.map(([from, to], row) => ({ from, to, value: series[at]!.values[row] ?? null })),
  )
}

function barScale(
  values: readonly number[],
  kind: BarChart['kind'],
  range: readonly [number, number],
): ScaleContinuousNumeric<number, number> {
  const positive = values.filter((value) => value > 0)
  if (kind !== 'log' || positive.length === 0) return zeroScale(values, range)
  const low = 10 ** Math.floor(Math.log10(Math.min(...positive)))
  // A bar begins at 0, which such a scale does not have.
  return scaleLog()
    .domain([low, Math.max(...positive, 10 * low)])
    .nice()
    .range([...range])
    .clamp(true)
}

/** A bar of a chart: which one of a category, and where its lane is. */
interface BarPlace extends Pick<Box, 'y' | 'height'> {
  readonly bar: Bar
  readonly category: string
  readonly at: number
}

function drawBar(
  { title, unit, series, kind }: BarChart,
  x: ScaleContinuousNumeric<number, number>,
  { bar, category, at, y, height }: BarPlace,
): Html {
  const [start, end] = [x(bar.from), x(bar.to)].sort((a, b) => a - b) as [number, number]
  const text = valueText(bar.value, unit)
  const label =
    kind === 'stacked'
      ? ''
      : html`<text x="${round(Math.max(end, x(0) || 0) + 5)}" y="${round(y + height / 2 + 4)}">${text}</text>`
  if (bar.value === null) return html`${label}`
  const place = { x: start, y, width: Math.max(end - start, bar.value === 0 ? 0 : 1), height }
  return html`${box(title, at, place, `${category}, ${series[at]!.name}: ${text}`)}${label}`
}

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** A rectangle of a series. Only the first is one plain colour: the others also have a pattern. */
export function box(title: string, at: number, { x, y, width, height }: Box, tip?: string): Html {
  const paint =
    at === 0
      ? html`class="fill-${tones[0]}"`
      : html`fill="url(#${pictureId(title)}-${at % tones.length})"`
  return html`<rect ${paint} x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}">${tip !== undefined && html`<title>${tip}</title>`}</rect>`
}

/** The lines over the colours: slanted, dots, slanted the other way, upright, level. */
const hatches = ['', 'M0 8L8 0', 'M2 2h2v2h-2zM6 6h2v2h-2z', 'M0 0L8 8', 'M4 0V8', 'M0 4H8']

/** What the boxes of a chart are filled with; it must be in the picture once. */
export function patterns(title: string, series: number): Html {
  const used = tones.slice(0, series).map((tone, at) => ({ tone, at }))
  return html`<defs>${used
    .slice(1)
    .map(
      ({ tone, at }) =>
        html`<pattern id="${pictureId(title)}-${at}" width="8" height="8" patternUnits="userSpaceOnUse"><rect class="fill-${tone}" width="8" height="8"/><path class="hatch" d="${hatches[at]!}"/></pattern>`,
    )}</defs>`
}

function markLine(x: number, name: string, top: number, bottom: number): Html {
  return html`<path class="mark" d="M${round(x)} ${top}V${bottom}"/><text x="${round(x)}" y="${top - 4}">${name}</text>`
}
