import { area, type CurveFactory, curveLinear, curveStepAfter, line } from 'd3-shape'
import { type Html, html } from '../../../values/html.ts'
import { localDay } from '../../../values/instant.ts'
import {
  type Chart,
  chartWidth,
  legend,
  picture,
  round,
  textWidth,
  timeAxis,
  valueAxisY,
  valueText,
  zeroScale,
} from './plot.ts'
import { timeX } from './scale.ts'

/** A value at a time. */
export interface Point {
  readonly at: Date
  /** null: there is none from here on, so the line ends. */
  readonly value: number | null
}

/** One line. */
interface Line {
  readonly name: string
  readonly points: readonly Point[]
}

/** A band between two values. */
interface Band {
  readonly name: string
  readonly points: readonly {
    readonly at: Date
    readonly low: number | null
    readonly high: number | null
  }[]
}

/** Lines over time. */
interface LineChart {
  readonly title: string
  readonly unit: string
  readonly lines: readonly Line[]
  /** steps: a value holds until the next one, and the last until `until`. */
  readonly kind?: 'steps'
  readonly until?: Date
  /** Drawn behind the lines. */
  readonly band?: Band
  /** Times to mark on the axis. */
  readonly events?: readonly { readonly at: Date; readonly name: string }[]
  /** zero: the axis begins at 0; fit (default): at the lowest value. */
  readonly base?: 'zero' | 'fit'
  /** Whose clock the axis follows; default: UTC. */
  readonly zone?: string
  /** How the table names a time; default: the day. */
  readonly timeText?: (at: Date) => string
}

const height = 240

/** Draws lines. Each has its own colour and dash, and a dot at each value. */
export function lines(chart: LineChart): Chart {
  const {
    title,
    unit,
    kind,
    band,
    events = [],
    zone = 'UTC',
    timeText = (at: Date) => localDay(at, zone),
  } = chart
  const shownLines = chart.lines.map((one) => ({ ...one, points: upTo(one.points, chart) }))
  const times = shownLines.flatMap(({ points }) => points.map(({ at }) => at.getTime()))
  const key = legend([
    ...shownLines.map(({ name }, at) => ({
      name,
      sample: (x: number, y: number) => html`<path class="line-${at + 1}" d="M${x} ${y + 5}h14"/>`,
    })),
    ...(band === undefined ? [] : [{ name: band.name, sample: bandSample }]),
    ...(events.length === 0 ? [] : [{ name: events[0]!.name, sample: eventSample }]),
  ])
  const [top, bottom] = [key.height + 14, key.height + height]
  const y = valueScale(chart, [bottom, top])
  const left = 16 + Math.max(...y.ticks(6).map((tick) => textWidth(valueText(tick, '')))) * 0.8
  const span = { from: new Date(Math.min(...times)), until: new Date(Math.max(...times)) }
  const x = timeX(span, [left, chartWidth - 16])
  const curve = kind === 'steps' ? curveStepAfter : curveLinear
  const path = valuePath(x, y, curve)
  const drawn = shownLines.map(
    ({ name, points }, at) =>
      html`<path class="line-${at + 1}" d="${path(points)}"/>${dots(chart.lines[at]!.points, { x, y, at, name, unit, timeText })}`,
  )
  return {
    title,
    svg: picture(
      title,
      bottom + 24,
      html`${key.svg}${valueAxisY(y, unit, left, chartWidth - 16)}${timeAxis(span, zone, x, [top, bottom])}${bandPath(chart, x, y, curve)}${events.map(({ at, name }) => eventMark(x(at), bottom, `${name} ${timeText(at)}`))}${drawn}`,
    ),
    columns: ['When', ...chart.lines.map(({ name }) => name)],
    rows: tableRows(chart.lines, unit, timeText),
  }
}

type Scale = (at: Date) => number

/** Draws the values that are known. */
export function valuePath(x: Scale, y: (value: number) => number, curve: CurveFactory) {
  return line<Point>()
    .defined(({ value }) => value !== null)
    .x(({ at }) => x(at))
    .y(({ value }) => y(value!))
    .curve(curve)
    .digits(1)
}

function upTo(points: readonly Point[], { kind, until }: LineChart): readonly Point[] {
  const last = points.at(-1)
  if (kind !== 'steps' || until === undefined || last === undefined || last.at >= until)
    return points
  return [...points, { at: until, value: last.value }]
}

function valueScale({ lines: chartLines, band, base }: LineChart, ends: readonly [number, number]) {
  const values = [
    ...chartLines.flatMap(({ points }) => points.map(({ value }) => value)),
    ...(band?.points ?? []).flatMap(({ low, high }) => [low, high]),
  ].filter((value) => value !== null)
  const scale = zeroScale(values, ends)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return base === 'zero' || low === high || values.length === 0
    ? scale
    : scale.domain([low, high]).nice(6)
}

function bandPath(
  { band, kind, until }: LineChart,
  x: Scale,
  y: (value: number) => number,
  curve: typeof curveLinear,
): Html | false {
  if (band === undefined) return false
  const last = band.points.at(-1)
  const points =
    kind === 'steps' && until !== undefined && last !== undefined && last.at < until
      ? [...band.points, { ...last, at: until }]
      : band.points
  const path = area<Band['points'][number]>()
    .defined(({ low, high }) => low !== null && high !== null)
    .x(({ at }) => x(at))
    .y0(({ low }) => y(low!))
    .y1(({ high }) => y(high!))
    .curve(curve)
    .digits(1)
  return html`<path class="band" d="${path(points)}"/>`
}

interface DotStyle {
  readonly x: Scale
  readonly y: (value: number) => number
  readonly at: number
  readonly name: string
  readonly unit: string
  readonly timeText: (at: Date) => string
}

/** More dots than this would hide the line, and make the page slow. */
const maxDots = 60

function dots(points: readonly Point[], { x, y, at, name, unit, timeText }: DotStyle) {
  if (points.length > maxDots) return false
  return points.map(
    (point) =>
      point.value !== null &&
      html`<circle class="dot-${at + 1}" cx="${round(x(point.at))}" cy="${round(y(point.value))}" r="3"><title>${name}, ${timeText(point.at)}: ${valueText(point.value, unit)}</title></circle>`,
  )
}

/** A row for each time at which any line has a value. */
function tableRows(chartLines: readonly Line[], unit: string, timeText: (at: Date) => string) {
  const times = [
    ...new Set(chartLines.flatMap(({ points }) => points.map(({ at }) => at.getTime()))),
  ]
  const values = chartLines.map(
    ({ points }) => new Map(points.map(({ at, value }) => [at.getTime(), value])),
  )
  return times
    .sort((a, b) => a - b)
    .map((time) => [
      timeText(new Date(time)),
      ...values.map((known) => valueText(known.get(time) ?? null, unit)),
    ])
}

function bandSample(x: number, y: number): Html {
  return html`<rect class="band" x="${x}" y="${y}" width="14" height="10"/>`
}

function eventSample(x: number, y: number): Html {
  return html`<path class="mark" d="M${x + 7} ${y}v10"/>`
}

function eventMark(x: number, bottom: number, tip: string): Html {
  return html`<path class="mark" d="M${round(x)} ${bottom - 10}V${bottom}"><title>${tip}</title></path>`
}
