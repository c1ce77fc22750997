import * as echarts from 'echarts'
import type { EChartsOption } from 'echarts'
import type pg from 'pg'

/** A chart of the README: a question, asked of one mart, and how its rows are drawn. */
export interface Chart {
  readonly name: string
  readonly query: string
  readonly option: (rows: readonly Row[]) => EChartsOption
}

export type Row = Readonly<Record<string, string | number | null>>

const palette = ['#2563eb', '#f59e0b', '#10b981', '#8b5cf6', '#ef4444', '#64748b']
const grey = '#475569'

/** A white card: readable on a light and on a dark page. */
function card(title: string, subtitle: string): EChartsOption {
  return {
    animation: false,
    backgroundColor: '#ffffff',
    color: palette,
    textStyle: { fontFamily: 'Helvetica, Arial, sans-serif', color: grey },
    title: {
      ...{ text: title, subtext: subtitle, left: 24, top: 16 },
      textStyle: { fontSize: 17, color: '#0f172a' },
      subtextStyle: { fontSize: 12, color: grey },
    },
    legend: { bottom: 12, textStyle: { color: grey }, icon: 'roundRect', itemWidth: 14 },
    grid: { left: 24, right: 32, top: 88, bottom: 52, containLabel: true },
  }
}

const axis = { axisLabel: { color: grey }, axisLine: { lineStyle: { color: '#cbd5e1' } } }
const lines = { splitLine: { lineStyle: { color: '#e2e8f0' } } }

const volume: Chart = {
  name: 'appraisal-volume',
  query: `select to_char(d.iso_year, 'FM0000') || '-W' || to_char(d.iso_week, 'FM00') as week, r.region, sum(v.appraisals)::int as appraisals
    from mart.rpt_10_appraisal_volume as v
    join mart.dim_rooftop as r using (rooftop_id)
    join mart.dim_date as d on d.date_day = v.completed_date
    group by 1, 2 order by 1, 2`,
  option: (rows) => {
    const weeks = [...new Set(rows.map((row) => String(row['week'])))]
    const regions = [...new Set(rows.map((row) => String(row['region'])))]
    const of = (region: string, week: string) =>
      rows.find((row) => row['region'] === region && row['week'] === week)?.['appraisals'] ?? 0
    return {
      ...card('Appraisals', 'how many were completed in each ISO week, by region'),
      xAxis: { type: 'category', data: weeks, ...axis },
      yAxis: {
        type: 'value',
        ...axis,
        ...lines,
      },
      series: regions.map((region) => ({
        ...{ type: 'bar' as const, stack: 'all', name: region, barMaxWidth: 36 },
        data: weeks.map((week) => Number(of(region, week))),
      })),
    }
  },
}

const photos: Chart = {
  name: 'photo-completeness',
  query: `select rooftop_name, sum(no_photo)::int as none, sum(under_eight)::int as few, sum(complete)::int as complete,
      sum(evaluations - no_photo - under_eight - complete)::int as unchosen, sum(evaluations)::int as evaluations
    from mart.rpt_07_photo_completeness group by 1 order by 1 desc`,
  option: (rows) => {
    const share = (row: Row, name: string) =>
      Number(((100 * Number(row[name])) / Math.max(1, Number(row['evaluations']))).toFixed(1))
    const kinds = [
      ['complete', 'eight or more, first one chosen', '#10b981'],
      ['unchosen', 'eight or more, first one not chosen', '#2563eb'],
      ['few', 'one to seven', '#f59e0b'],
      ['none', 'no photo', '#ef4444'],
    ] as const
    return {
      ...card('Photos of appraisals', 'share of the appraisals of each rooftop'),
      xAxis: { type: 'value', axisLabel: { color: grey, formatter: '{value} %' }, ...lines },
      yAxis: { type: 'category', data: rows.map((row) => String(row['rooftop_name'])), ...axis },
      series: kinds.map(([name, label, color]) => ({
        ...{ type: 'bar' as const, name: label, barMaxWidth: 9, itemStyle: { color } },
        data: rows.map((row) => share(row, name)),
      })),
    }
  },
}

const time: Chart = {
  name: 'time-to-complete',
  query: `select rooftop_name, to_char(month_start, 'YYYY-MM') as month, median_minutes::float8 as median, p90_minutes::float8 as p90
    from mart.rpt_04_time_to_complete order by 1, 2`,
  option: (rows) => {
    const newest = rows
      .map((row) => String(row['month']))
      .toSorted()
      .at(-1)
    const shown = rows.filter((row) => row['month'] === newest)
    return {
      ...card('From creation to completion', `minutes in ${newest}, on a logarithmic scale`),
      xAxis: {
        type: 'category',
        data: shown.map((row) => String(row['rooftop_name'])),
        ...axis,
        axisLabel: { color: grey, interval: 0, width: 96, overflow: 'break' },
      },
      yAxis: { type: 'log', ...axis, ...lines },
      series: [
        {
          type: 'bar',
          name: 'median',
          barMaxWidth: 28,
          data: shown.map((row) => Number(row['median'])),
        },
        {
          type: 'bar',
          name: '90 of 100 were faster',
          barMaxWidth: 28,
          data: shown.map((row) => Number(row['p90'])),
        },
      ],
    }
  },
}

const stock: Chart = {
  name: 'stock-price-move',
  query: `select r.rooftop_name, r.region, round(avg(100 * (s.asking_price - s.asking_price_first) / nullif(s.asking_price_first, 0)), 2)::float8 as move,
      count(*)::int as units
    from mart.fact_stock_unit as s join mart.dim_rooftop as r using (rooftop_id)
    where s.is_on_hand and s.asking_price > 0 group by 1, 2 order by 1 desc`,
  option: (rows) => ({
    ...card(
      'Asking prices since the cars came in',
      'average change of the stock on hand, in percent',
    ),
    legend: { show: false },
    xAxis: { type: 'value', axisLabel: { color: grey, formatter: '{value} %' }, ...lines },
    yAxis: {
      type: 'category',
      data: rows.map((row) => `${row['rooftop_name']} (${row['units']} cars)`),
      ...axis,
      axisLabel: { color: grey, margin: 12 },
    },
    series: [
      {
        ...{ type: 'bar' as const, barMaxWidth: 20, itemStyle: { color: '#2563eb' } },
        label: { show: true, position: 'insideLeft', formatter: '{c} %', color: '#ffffff' },
        data: rows.map((row) => Number(row['move'])),
      },
    ],
  }),
}

export const charts: readonly Chart[] = [volume, time, photos, stock]

/** The chart as SVG text, the same for the same rows. */
export async function render(chart: Chart, pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<Row>(chart.query)
  if (rows.length === 0) throw new Error(`${chart.name} has no rows to draw`)
  const canvas = echarts.init(null, null, { renderer: 'svg', ssr: true, width: 860, height: 380 })
  canvas.setOption(chart.option(rows))
  const svg = canvas.renderToSVGString()
  canvas.dispose()
  // Ids are counted through the process: a chart must not depend on those drawn before.
  return `${svg.replaceAll(/zr\d+-/g, 'zr-')}\n`
}
