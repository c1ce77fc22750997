import { createHash } from 'node:crypto'
import { type ScaleContinuousNumeric, scaleLinear } from 'd3-scale'
import { type Html, html } from '../../../values/html.ts'
import { shareText, shortened } from '../../../values/text.ts'
import { type Column, numbers, table } from '../parts/table.ts'
import { type TimeSpan, timeTicks } from './scale.ts'

/** A chart: its picture, and the numbers that it draws. */
export interface Chart {
  readonly title: string
  /** A root element `svg` that needs only the classes of the style sheet. */
  readonly svg: Html
  /** The first cell of a row is what the others are of. */
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** The width of every chart, in the units of its `viewBox`. */
export const chartWidth = 600

/** The colours of the series, in their order; each also has its own dash or pattern. */
export const tones = ['accent', 'warn', 'ok', 'bad', 'quiet', 'muted'] as const

/** A text of an axis or a legend takes about this much. */
const letterWidth = 6.1

/** What short texts with wide letters take more, on one side. */
const edge = 4

/** About how wide a text is drawn. */
export function textWidth(text: string): number {
  return text.length * letterWidth
}

/** Where the middle of a label is drawn: at its x, or further left where the label would leave the chart. */
export function labelMiddle(x: number, label: string): number {
  return round(Math.min(x, chartWidth - textWidth(label) / 2 - edge))
}

/** A text that is cut where it would be wider; the table below the chart has the whole. */
export function shortText(text: string, width: number): string {
  const letters = Math.max(4, Math.floor(width / letterWidth))
  return shortened(text, letters)
}

/** A value with its unit: `share` is drawn in percent, any other unit is a word or a currency. */
export function valueText(value: number | null, unit: string): string {
  if (value === null) return '–'
  if (unit === 'share') return shareText(value, percent)
  return `${plain.format(value)} ${unit}`
}

const percent = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
/** The ticks of small shares are less than a tenth of a percent apart. */
const exactPercent = new Intl.NumberFormat('en', { maximumFractionDigits: 6 })
const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

function tickText(value: number, unit: string): string {
  return unit === 'share' ? shareText(value, exactPercent) : compact.format(value)
}

/** The name of a unit at the end of an axis; a share has its sign at each value. */
function axisUnit(unit: string): string {
  return unit === 'share' ? '' : unit
}

/** A linear scale that holds all values and zero, with round ends. */
export function zeroScale(values: readonly number[], range: readonly [number, number]) {
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)]
  return scaleLinear()
    .domain(low === high ? [0, 1] : [low, high])
    .nice(6)
    .range([...range])
}

type ValueScale = ScaleContinuousNumeric<number, number>

function valueTicks(scale: ValueScale): readonly number[] {
  const ticks = scale.ticks(6)
  // A logarithmic scale has all ticks between the powers.
  return ticks.length <= 10 ? ticks : ticks.filter((tick) => /^10*$|^0[.]0*1$/.test(String(tick)))
}

/** The axis of values below horizontal marks. */
export function valueAxisX(scale: ValueScale, unit: string, top: number, bottom: number): Html {
  const ticks = valueTicks(scale).map((tick) => {
    const x = round(scale(tick))
    return html`<path class="axis" d="M${x} ${top}V${bottom}"/><text x="${x}" y="${bottom + 14}" text-anchor="middle">${tickText(tick, unit)}</text>`
  })
  return html`${ticks}<text x="${chartWidth}" y="${bottom + 28}" text-anchor="end">${axisUnit(unit)}</text>`
}

/** The axis of values left of marks over time. */
export function valueAxisY(scale: ValueScale, unit: string, left: number, right: number): Html {
  const ticks = valueTicks(scale).map((tick) => {
    const y = round(scale(tick))
    return html`<path class="axis" d="M${left} ${y}H${right}"/><text x="${left - 6}" y="${y + 4}" text-anchor="end">${tickText(tick, unit)}</text>`
  })
  const [, end = 0] = scale.range()
  return html`${ticks}<text x="0" y="${end - 8}">${axisUnit(unit)}</text>`
}

/** The axis of time, by the clock of a zone. */
export function timeAxis(
  span: TimeSpan,
  zone: string,
  x: (at: Date) => number,
  [top, bottom]: readonly [number, number],
): Html {
  const ticks = timeTicks(span, zone)
  const widest = Math.max(0, ...ticks.map(({ label }) => textWidth(label))) + 10
  const every = Math.ceil((widest * ticks.length) / (x(span.until) - x(span.from)))
  return html`<path class="axis" d="M${x(span.from)} ${bottom}H${x(span.until)}"/>${ticks.map(
    ({ at, label }, index) =>
      index % every === 0 &&
      html`<path class="axis" d="M${x(at)} ${top}V${bottom + 4}"/><text x="${labelMiddle(x(at), label)}" y="${bottom + 17}" text-anchor="middle">${label}</text>`,
  )}`
}

/** What explains the marks of the series: a name beside a sample of each. */
interface LegendItem {
  readonly name: string
  /** A sample whose corner is at x, y; 14 wide, 10 high. */
  readonly sample: (x: number, y: number) => Html
}

/** The legend at the top of a chart, and how high it is. */
export function legend(items: readonly LegendItem[]): {
  readonly svg: Html
  readonly height: number
} {
  let [x, y] = [0, 4]
  const drawn = items.map(({ name, sample }) => {
    const text = shortText(name, 300)
    const width = 20 + textWidth(text) + 18
    if (x > 0 && x + width > chartWidth) [x, y] = [0, y + 18]
    const item = html`${sample(x, y)}<text x="${x + 20}" y="${y + 9}">${text}</text>`
    x += width
    return item
  })
  return { svg: html`${drawn}`, height: items.length === 0 ? 0 : y + 22 }
}

/** The picture: what it shows in words, then its marks. */
export function picture(title: string, height: number, marks: Html): Html {
  return html`<svg class="chart" role="img" aria-label="${title}" viewBox="0 0 ${chartWidth} ${height}" width="${chartWidth}" height="${height}">${marks}</svg>`
}

/** A prefix for the ids of a picture, so that two charts of a page share none. */
export function pictureId(title: string): string {
  return `c${createHash('sha256').update(title).digest('hex').slice(0, 6)}`
}

/** One digit after the point is enough for a picture, and makes it smaller. */
export function round(value: number): number {
  return Math.round(value * 10) / 10
}

/** A chart with its title, and its numbers as a table. It can be scrolled where the screen is narrow. */
export function chartFigure({ title, svg, columns, rows }: Chart): Html {
  const [first = '', ...others] = columns
  const heads: Column[] = [first, ...others.map((name) => numbers(name))]
  return html`<figure><figcaption>${title}</figcaption><div class="scroll" role="group" tabindex="0" aria-label="${title}">${svg}</div>
<details><summary>The numbers of this chart</summary>${table({ caption: title, hidesCaption: true, columns: heads, rows, empty: 'It has none.' })}</details></figure>`
}
