import { readFileSync } from 'node:fs'
import { Html, html } from '#src/values/html.ts'
import { type Chart, chartWidth } from '#src/web/console/charts/plot.ts'

const sheet = readFileSync(
  new URL('../../src/web/console/browser/console.css', import.meta.url),
  'utf8',
)
const colours = new Map(
  [...sheet.matchAll(/--([\w-]+): light-dark\((#\w+),/g)].map(([, name, light]) => [name, light]),
)
// What draws a chart in the console, in the light scheme: a picture has no other style sheet.
const style = [
  ...sheet.matchAll(/^(?:svg text|\.(?:fill|line|dot|axis|hatch|band|mark)\b)[^{]*\{[^}]*\}/gm),
]
  .join('\n')
  .replaceAll(/var\(--([\w-]+)\)/g, (_, name) => colours.get(name)!)
  .replaceAll(/\s+/g, ' ')

/** A chart of the console as a picture for a page without its style sheet: a white card with a title. */
export function pictureOf({ title, svg }: Chart, subtitle: string): string {
  const height = Number(/ height="(\d+(\.\d+)?)"/.exec(svg.text)![1]) + 96
  const card = html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${chartWidth + 48} ${height}" width="${chartWidth + 48}" height="${height}">
<style>${new Html(style)} .title { font-size: 17px; font-weight: 600; fill: ${colours.get('ink')!}; }</style>
<rect width="100%" height="100%" fill="#fff"/>
<text class="title" x="24" y="34">${title}</text><text x="24" y="54">${subtitle}</text>
<svg x="24" y="72"${new Html(svg.text.slice('<svg'.length))}
</svg>
`
  return card.text
}
