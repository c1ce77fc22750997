import { scaleUtc } from 'd3-scale'
import { curveStepAfter } from 'd3-shape'
import { type Html, html } from '../../../values/html.ts'
import { type Point, valuePath } from './lines.ts'
import { zeroScale } from './plot.ts'

const [width, height] = [110, 28]

/** Small steps for a cell of a table; each line is drawn on the same scale. `summary` says in words what it shows. */
export function sparkline(
  summary: string,
  series: readonly (readonly Point[])[],
  until: Date,
): Html {
  const points = series.flat().filter(({ value }) => value !== null)
  if (points.length === 0) return html`–`
  const values = points.map(({ value }) => value!)
  const y = zeroScale([], [height - 3, 3]).domain([Math.min(...values), Math.max(...values)])
  const x = scaleUtc()
    .domain([Math.min(...points.map(({ at }) => at.getTime())), until])
    .range([0, width])
  const path = valuePath(x, y, curveStepAfter)
  return html`<svg role="img" aria-label="${summary}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${series.map(
    (shown, at) =>
      html`<path class="line-${at + 1}" d="${path([...shown, { at: until, value: shown.at(-1)?.value ?? null }])}"/>`,
  )}</svg>`
}
