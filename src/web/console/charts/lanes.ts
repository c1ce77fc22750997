import { type Html, html } from '../../../values/html.ts'
import type { Tone } from '../parts/badge.ts'
import { instantText } from '../parts/instant.ts'
import { chartWidth, labelMiddle, shortText, textWidth } from './plot.ts'
import { type TimeSpan, timeTicks, timeX } from './scale.ts'

/** What was done for one thing, and when. */
export interface Lane {
  readonly name: string
  readonly tone: Tone
  /** Its state in words. */
  readonly state: string
  /** null: nothing has been done for it yet. */
  readonly beganAt: Date | null
  /** null: it has not ended. */
  readonly finishedAt: Date | null
  /** It does nothing until then. */
  readonly waitsUntil: Date | null
  readonly error: string | null
}

/** The lanes of a run. */
interface LaneChart {
  readonly title: string
  readonly span: TimeSpan
  readonly now: Date
  readonly zone: string
  readonly lanes: readonly Lane[]
}

const barHeight = 14
const errorHeight = 15

/** Draws a row for each lane: a hollow bar while it waits, a full one while it is worked on, and below it why it failed. */
export function laneChart({ title, span, now, zone, lanes }: LaneChart): Html {
  const left = Math.min(230, 14 + Math.max(0, ...lanes.map(({ name }) => textWidth(name))))
  const x = timeX(span, [left, chartWidth - 8])
  let bottom = 4
  const rows = lanes.map((lane) => {
    const top = bottom
    bottom += barHeight + 8 + (lane.error === null ? 0 : errorHeight)
    return laneRow(lane, { top, left, x, span, now, zone })
  })
  const ticks = timeTicks(span, zone).map(
    ({ at, label }) =>
      html`<path class="axis" d="M${x(at)} 0V${bottom}"/><text x="${labelMiddle(x(at), label)}" y="${bottom + 14}" text-anchor="middle">${label}</text>`,
  )
  return html`<figure><figcaption>${title}</figcaption><div class="scroll" role="group" tabindex="0" aria-label="${title}"><svg class="chart" role="img" aria-label="${lanesText(title, lanes)}" viewBox="0 0 ${chartWidth} ${bottom + 22}" width="${chartWidth}" height="${bottom + 22}">${ticks}${rows}</svg></div></figure>`
}

function lanesText(title: string, lanes: readonly Lane[]): string {
  return `${title}: ${lanes.map(({ name, state }) => `${name} ${state}`).join(', ')}`
}

interface LaneGeometry {
  readonly top: number
  readonly left: number
  readonly x: (at: Date) => number
  readonly span: TimeSpan
  readonly now: Date
  readonly zone: string
}

function laneRow(lane: Lane, { top, left, x, span, now, zone }: LaneGeometry): Html {
  const { name, tone, state, beganAt, finishedAt, waitsUntil, error } = lane
  const bar = (from: Date, until: Date, kind: string) => {
    const width = Math.max(3, Math.round((x(until) - x(from)) * 10) / 10)
    return html`<rect class="${kind}" x="${Math.min(x(from), chartWidth - 8 - width)}" y="${top}" width="${width}" height="${barHeight}" rx="2"/>`
  }
  const waits = finishedAt === null && waitsUntil !== null && waitsUntil > now
  const from = beganAt === null ? 'not started' : instantText(beganAt, zone, { seconds: true })
  const until = finishedAt === null ? 'not ended' : instantText(finishedAt, zone, { seconds: true })
  return html`<g><title>${name}: ${state}, ${from} to ${until}</title><text x="${left - 8}" y="${top + 11}" text-anchor="end">${shortText(name, left - 10)}</text>${bar(span.from, beganAt ?? finishedAt ?? now, 'hollow')}${beganAt !== null && bar(beganAt, finishedAt ?? now, `fill-${tone}`)}${waits && bar(now, waitsUntil, 'hollow')}${error !== null && html`<text class="error" x="${left}" y="${top + barHeight + 12}">${shortText(error, chartWidth - left - 8)}</text>`}</g>`
}
