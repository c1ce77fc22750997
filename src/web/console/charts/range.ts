import { scaleBand, scaleLinear } from 'd3-scale'
import { html } from '../../../values/html.ts'
import {
  type Chart,
  chartWidth,
  legend,
  picture,
  round,
  shortText,
  textWidth,
  valueAxisX,
  valueText,
} from './plot.ts'

/** The values of a category: most are between `low` and `high`, half are below `mid`. */
interface Range {
  readonly category: string
  readonly low: number
  readonly mid: number
  readonly high: number
  /** How many values it is of. */
  readonly count: number
}

/** Horizontal ranges: a row for each category. */
interface RangeChart {
  readonly title: string
  /** What the categories are. */
  readonly of: string
  readonly unit: string
  /** What `low`, `mid` and `high` are. */
  readonly names: readonly [string, string, string]
  readonly ranges: readonly Range[]
}

const rowHeight = 24

/** Draws a line from low to high, and a diamond at mid. */
export function range({ title, of, unit, names, ranges }: RangeChart): Chart {
  const [low, mid, high] = names
  const key = legend([
    { name: `${low} to ${high}`, sample: (x, y) => spread(x, x + 14, y + 5) },
    { name: mid, sample: (x, y) => diamond(x + 7, y + 5) },
  ])
  const left = Math.min(220, 12 + Math.max(...ranges.map(({ category }) => textWidth(category)), 0))
  const [top, bottom] = [key.height + 2, key.height + 2 + ranges.length * rowHeight]
  const values = ranges.flatMap((one) => [one.low, one.high])
  const ends = [Math.min(...values), Math.max(...values)] as const
  const x = scaleLinear()
    .domain(ends[0] === ends[1] ? [Math.min(0, ends[0]), Math.max(1, ends[1])] : ends)
    .nice(6)
    .range([left, chartWidth - 24])
  const y = scaleBand(
    ranges.map((_, at) => at),
    [top, bottom],
  )
  const drawn = ranges.map((one, at) => {
    const middle = y(at)! + rowHeight / 2
    const tip = `${one.category}: ${valueText(one.low, unit)} to ${valueText(one.high, unit)}, ${mid} ${valueText(one.mid, unit)}, of ${one.count}`
    return html`<g><title>${tip}</title><text x="${left - 8}" y="${middle + 4}" text-anchor="end">${shortText(one.category, left - 8)}</text>${spread(x(one.low), x(one.high), middle)}${diamond(x(one.mid), middle)}</g>`
  })
  return {
    title,
    svg: picture(title, bottom + 32, html`${key.svg}${valueAxisX(x, unit, top, bottom)}${drawn}`),
    columns: [of, low, mid, high, 'Values'],
    rows: ranges.map((one) => [
      one.category,
      ...[one.low, one.mid, one.high].map((value) => valueText(value, unit)),
      one.count.toLocaleString('en'),
    ]),
  }
}

function spread(from: number, to: number, y: number) {
  return html`<path class="line-1" d="M${round(from)} ${y - 4}v8M${round(from)} ${y}H${round(to)}M${round(to)} ${y - 4}v8"/>`
}

function diamond(x: number, y: number) {
  return html`<path class="fill-warn" d="M${round(x)} ${y - 6}l6 6l-6 6l-6 -6z"/>`
}
