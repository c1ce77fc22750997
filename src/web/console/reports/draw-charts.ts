import { bars } from '../charts/bars.ts'
import { lines } from '../charts/lines.ts'
import type { Chart } from '../charts/plot.ts'
import { range } from '../charts/range.ts'
import type { ChartRow, RooftopChoice } from './read-report.ts'
import type { ChartSpec } from './spec.ts'

/** Rows of bars or ranges at most; the others are in the download. */
const maxCategories = 30

/** What the categories of a chart are. */
const nouns: Readonly<Record<ChartSpec['x'], string>> = {
  ...{ rooftop: 'Rooftop', month: 'Month', week: 'Week', make: 'Make' },
  ...{ group_code: 'Dealer group', recon_type: 'Type' },
}

/** The charts of a spec: one for each currency, because amounts of two currencies have no sum. */
export function drawCharts(
  spec: ChartSpec,
  rows: readonly ChartRow[],
  rooftops: readonly RooftopChoice[],
): Chart[] {
  const names = new Map(rooftops.map(({ id, name }) => [String(id), name]))
  const labelOf = (x: string) => {
    if (spec.x === 'month') return x.slice(0, 7)
    return spec.x === 'rooftop' ? (names.get(x) ?? x) : x
  }
  const draw = {
    bars: drawBars,
    stacked: drawBars,
    log: drawBars,
    lines: drawLines,
    range: drawRanges,
  }
  return [...Map.groupBy(rows, ({ currency }) => currency)].map(([currency, currencyRows]) => {
    const title = currency === null ? spec.title : `${spec.title}, in ${currency}`
    return draw[spec.kind]({
      spec,
      rows: currencyRows,
      title,
      unit: currency ?? spec.unit,
      labelOf,
    })
  })
}

interface Drawing {
  readonly spec: ChartSpec
  readonly rows: readonly ChartRow[]
  readonly title: string
  readonly unit: string
  readonly labelOf: (x: string) => string
}

function drawBars({ spec, rows, title, unit, labelOf }: Drawing): Chart {
  const { kind, x, mark } = spec
  const all = [...new Set(rows.map((row) => row.x))]
  const shown = all.slice(0, maxCategories)
  const series = chartSeries(spec, rows).map(({ name, valueAt }) => ({
    name,
    values: shown.map(valueAt),
  }))
  return bars({
    title: withCount(title, shown.length, all.length),
    ...{ of: nouns[x], unit, categories: shown.map(labelOf), series },
    ...(kind === 'bars' ? {} : { kind: kind as 'stacked' | 'log' }),
    ...(mark === undefined ? {} : { mark }),
  })
}

/** The series of a chart: the names of `y`, or the values of `by`. */
function chartSeries({ y = {}, by }: ChartSpec, rows: readonly ChartRow[]) {
  const find = new Map(rows.map((row) => [`${row.x} ${row.by}`, row.values]))
  if (by === undefined)
    return Object.keys(y).map((name, at) => ({
      name,
      valueAt: (x: string) => find.get(`${x} null`)?.[at] ?? null,
    }))
  return [...new Set(rows.map((row) => row.by!))].sort().map((name) => ({
    name,
    valueAt: (x: string) => find.get(`${x} ${name}`)?.[0] ?? null,
  }))
}

function drawRanges({ spec, rows, title, unit, labelOf }: Drawing): Chart {
  const shown = spec.x === 'month' ? rows.slice(-maxCategories) : rows.slice(0, maxCategories)
  return range({
    title: withCount(title, shown.length, rows.length),
    ...{ of: nouns[spec.x], unit, names: ['1 of 10 is lower', 'median', '1 of 10 is higher'] },
    ranges: shown.map(({ x, values, count }) => {
      const [low, mid, high] = values as readonly number[]
      return { category: labelOf(x), low: low!, mid: mid!, high: high!, count }
    }),
  })
}

function withCount(title: string, shown: number, all: number): string {
  return shown === all ? title : `${title}: ${shown} of ${all}`
}

function drawLines({ spec, rows, title, unit }: Drawing): Chart {
  // Of what is counted or summed, a time without a row has none; an average is not known.
  const missing = spec.unit === 'photos' ? null : 0
  const times = periods(spec.x === 'week' ? 'week' : 'month', rows)
  return lines({
    ...{ title, unit, base: 'zero' },
    lines: chartSeries(spec, rows).map(({ name, valueAt }) => ({
      name,
      points: times.map((x) => ({ at: new Date(x), value: valueAt(x) ?? missing })),
    })),
  })
}

/** Every week or month from the first row to the last. */
function periods(unit: 'week' | 'month', rows: readonly ChartRow[]): string[] {
  const ends = rows.map((row) => row.x).sort()
  const found: string[] = []
  for (let at = new Date(ends[0]!); at <= new Date(ends.at(-1)!); ) {
    found.push(at.toISOString().slice(0, 10))
    if (unit === 'week') at = new Date(at.getTime() + 7 * 86_400_000)
    else at = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1))
  }
  return found
}
