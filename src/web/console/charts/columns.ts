import { scaleBand } from 'd3-scale'
import { html } from '../../../values/html.ts'
import { type BarSeries, box, patterns, seriesLegend } from './bars.ts'
import {
  type Chart,
  chartWidth,
  picture,
  round,
  textWidth,
  valueAxisY,
  valueText,
  zeroScale,
} from './plot.ts'
import { dayName } from './scale.ts'

/** Upright bars: one for each day or another step of time, of parts that are stacked. */
interface ColumnChart {
  readonly title: string
  readonly unit: string
  /** ISO dates in their order, without gaps; or other steps, with `step`. */
  readonly days: readonly string[]
  /** What a step is, and what each is called; left out: a day. */
  readonly step?: { readonly of: string; readonly nameOf: (step: string) => string }
  readonly series: readonly BarSeries[]
}

const height = 120

/** Draws a column for each day. The table has only the days that are not zero. */
export function columns({ title, unit, days, step, series }: ColumnChart): Chart {
  const { of, nameOf } = step ?? { of: 'Day', nameOf: dayName }
  const key = seriesLegend(title, series)
  const [top, bottom] = [key.height + 14, key.height + 14 + height]
  const totals = days.map((_, day) => series.reduce((sum, one) => sum + (one.values[day] ?? 0), 0))
  const y = zeroScale(totals, [bottom, top])
  const left = 16 + Math.max(...y.ticks(6).map((tick) => textWidth(valueText(tick, '')))) * 0.8
  const x = scaleBand([...days], [left, chartWidth - 16]).paddingInner(0.15)
  const drawn = days.map((day, at) => {
    let base = 0
    return series.map(({ name, values }, index) => {
      const value = values[at] ?? 0
      const [from, to] = [y(base), y(base + value)]
      base += value
      const place = { x: x(day)!, y: to, width: x.bandwidth(), height: from - to }
      return (
        value > 0 && box(title, index, place, `${nameOf(day)}, ${name}: ${valueText(value, unit)}`)
      )
    })
  })
  const every = Math.ceil(days.length / 10)
  const names = days.map(
    (day, at) =>
      at % every === 0 &&
      html`<text x="${round(x(day)! + x.bandwidth() / 2)}" y="${bottom + 17}" text-anchor="middle">${nameOf(day)}</text>`,
  )
  return {
    title,
    svg: picture(
      title,
      bottom + 24,
      html`${patterns(title, series.length)}${key.svg}${valueAxisY(y, unit, left, chartWidth - 16)}${drawn}${names}`,
    ),
    columns: [of, ...series.map(({ name }) => name)],
    rows: days.flatMap((day, at) =>
      totals[at] === 0
        ? []
        : [
            [
              step === undefined ? day : nameOf(day),
              ...series.map((one) => valueText(one.values[at] ?? 0, unit)),
            ],
          ],
    ),
  }
}
