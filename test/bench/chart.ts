import * as echarts from 'echarts'
import { type CaseResult, median } from './bench-case.ts'

const [met, missed, limit, grey] = ['#10b981', '#f59e0b', '#0f172a', '#475569']

/** How close each case is to its target, as SVG: at 1 the target is met exactly, more is better. */
export function resultChart(results: readonly CaseResult[]): string {
  const shown = results.filter((result) => Number.isFinite(reachOf(result))).toReversed()
  const chart = echarts.init(null, null, {
    ...{ renderer: 'svg', ssr: true, width: 860, height: 110 + 30 * shown.length },
  })
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: 'Helvetica, Arial, sans-serif', color: grey },
    title: {
      ...{ text: 'Measured against the target', left: 24, top: 16 },
      subtext: '1 is the target; longer is better; medians of one run',
      textStyle: { fontSize: 17, color: limit },
    },
    grid: { left: 24, right: 60, top: 80, bottom: 24, containLabel: true },
    xAxis: { type: 'value', min: 0, max: 2, splitLine: { lineStyle: { color: '#e2e8f0' } } },
    yAxis: { type: 'category', data: shown.map(({ name }) => name), axisLabel: { color: grey } },
    series: [
      {
        type: 'bar',
        barMaxWidth: 16,
        data: shown.map((result) => ({
          value: Math.min(2, reachOf(result)),
          itemStyle: { color: result.met ? met : missed },
        })),
        label: {
          ...{ show: true, position: 'right', color: grey },
          formatter: ({ dataIndex }: { readonly dataIndex: number }) =>
            reachOf(shown[dataIndex]!).toPrecision(3),
        },
        markLine: {
          ...{ silent: true, symbol: 'none', label: { show: false } },
          lineStyle: { color: limit },
          data: [{ xAxis: 1 }],
        },
      },
    ],
  })
  const svg = chart.renderToSVGString()
  chart.dispose()
  return `${svg}\n`
}

/** From 0; 1 is the target, more is better. Infinite when the target is 0 and was met. */
export function reachOf({ target, figures, ratios }: CaseResult): number {
  const value = median(target.of === 'figure' ? figures : ratios)
  if (target.least !== undefined) return value / target.least
  return (target.most ?? Infinity) / value
}
