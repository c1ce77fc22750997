import { bars } from '#src/web/console/charts/bars.ts'
import { pictureOf } from '../support/picture.ts'
import { type CaseResult, median } from './bench-case.ts'

/** How close each case is to its target, as SVG: at 1 the target is met exactly, more is better. */
export function resultChart(results: readonly CaseResult[]): string {
  const shown = results.filter((result) => Number.isFinite(reachOf(result)))
  const chart = bars({
    ...{ title: 'Measured against the target', of: 'Case', unit: 'times', kind: 'log' },
    categories: shown.map(({ name, met }) => (met ? name : `${name} (missed)`)),
    series: [{ name: 'reached', values: shown.map(reachOf) }],
    mark: { at: 1, name: 'target' },
  })
  return pictureOf(chart, '1 is the target; longer is better; medians of one run; logarithmic')
}

/** From 0; 1 is the target, more is better. Infinite when the target is 0 and was met. */
export function reachOf({ target, figures, ratios }: CaseResult): number {
  const value = median(target.of === 'figure' ? figures : ratios)
  if (target.least !== undefined) return value / target.least
  return (target.most ?? Infinity) / value
}
