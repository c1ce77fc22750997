import { bars } from '../charts/bars.ts'
import { lines } from '../charts/lines.ts'
import type { Chart } from '../charts/plot.ts'
import { range } from '../charts/range.ts'
import type { ChartRow, RooftopChoice, Span } from './read-report.ts'
import type { ChartSpec } from './spec.ts'

/** Rows of bars or ranges at most; the others are in the download. */
const maxCategories = 30

/** What the categories of a chart are. */
const nouns: Readonly<Record<ChartSpec['x'], string>> = {
  ...{ rooftop: 'Rooftop', month: 'Month', week: 'Week', make: 'Make' },
  ...{ group_code: 'Dealer group', recon_type: 'Type' },
}

/** What a chart needs besides its rows: the names of rooftops, and when the listed evaluations were created. */
interface ChartScope {
  readonly rooftops: readonly RooftopChoice[]
  readonly listed: readonly Span[]
}

/** The charts of a spec: one for each currency, because amounts of two currencies have no sum. */
export function drawCharts(
  spec: ChartSpec,
  rows: readonly ChartRow[],
  { rooftops, listed }: ChartScope,
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
      listed,
    })
  })
}

interface Drawing {
  readonly spec: ChartSpec
  readonly rows: readonly ChartRow[]
  readonly title: string
  readonly unit: string
  readonly labelOf: (x: string) => string
  readonly listed: readonly Span[]
}

function drawBars({ spec, rows, title, unit, labelOf }: Drawing): Chart {
  const { kind, x, mark } = spec
  const all = [...new Set(rows.map((row) => row.x))]
  const shown = all.slice(0, maxCategories)
  const series = chartSeries(spec, rows).map(({ name, valueAt }) => ({
    name,
    values: shown.map((x) => valueAt(x) ?? null),
  }))
  return bars({
    title: withCount(title, shown.length, all.length),
    ...{ of: nouns[x], unit, categories: shown.map(labelOf), series },
    ...(kind === 'bars' ? {} : { kind: kind as 'stacked' | 'log' }),
    ...(mark === undefined ? {} : { mark }),
  })
}

/** The series of a chart: the names of `y`, or the values of `by`. A value is undefined where there is no row. */
function chartSeries({ y = {}, by }: ChartSpec, rows: readonly ChartRow[]) {
  const find = new Map(rows.map((row) => [`${row.x} ${row.by}`, row.values]))
  if (by === undefined)
    return Object.keys(y).map((name, at) => ({
      name,
      valueAt: (x: string) => find.get(`${x} null`)?.[at],
    }))
  return [...new Set(rows.map((row) => row.by!))].sort().map((name) => ({
    name,
    valueAt: (x: string) => find.get(`${x} ${name}`)?.[0],
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

function drawLines({ spec, rows, title, unit, listed }: Drawing): Chart {
  const period = spec.x === 'week' ? 'week' : 'month'
  // Of what is counted or summed, a time without a row has none if it was listed; an average is not known.
  const missingAt = (x: string) =>
    spec.unit !== 'photos' && isListed(new Date(x), nextPeriod(new Date(x), period), listed)
      ? 0
      : null
  const times = periods(period, rows)
  return lines({
    ...{ title, unit, base: 'zero' },
    lines: chartSeries(spec, rows).map(({ name, valueAt }) => ({
      name,
      points: times.map((x) => {
        const value = valueAt(x)
        return { at: new Date(x), value: value === undefined ? missingAt(x) : value }
      }),
    })),
  })
}

/** Whether all of a period was listed, as far as it has passed. */
function isListed(start: Date, end: Date, listed: readonly Span[]): boolean {
  const newest = Math.max(...listed.map(({ until }) => until.getTime()))
  const needed = Math.min(end.getTime(), newest)
  return listed.some(({ from, until }) => from <= start && until > start && +until >= needed)
}

/** Every week or month from the first row to the last. */
function periods(unit: 'week' | 'month', rows: readonly ChartRow[]): string[] {
  const ends = rows.map((row) => row.x).sort()
  const found: string[] = []
  for (let at = new Date(ends[0]!); at <= new Date(ends.at(-1)!); at = nextPeriod(at, unit))
    found.push(at.toISOString().slice(0, 10))
  return found
}

function nextPeriod(at: Date, unit: 'week' | 'month'): Date {
  if (unit === 'week') return new Date(at.getTime() + 7 * 86_400_000)
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1))
}
