import { scaleBand } from 'd3-scale'
import { html, type Html } from '../../values/html.ts'
import type { Tone } from '../parts/badge.ts'
import { round } from './plot.ts'

/** One square of a strip, e.g. a night. */
export interface Square {
  /** Under it; left out where there is no room: ''. */
  readonly label: string
  /** What it is of, and how that is: `18 Nov: partial, 3 quarantined`. */
  readonly title: string
  /** none: nothing happened. */
  readonly tone: Tone | 'none'
}

/** A row of squares, each with a state. */
export interface StripOptions {
  /** The sum of it in words: `12 nights ok, 1 partial`. */
  readonly summary: string
  readonly squares: readonly Square[]
}

const side = 40
const height = 22

/** A strip as a picture, and the same in words for those who do not see it. */
export function strip({ summary, squares }: StripOptions): Html {
  const x = scaleBand(
    squares.map((_, at) => at),
    [0, squares.length * side],
  ).paddingInner(0.1)
  const drawn = squares.map((square, at) => squareAt(square, x(at)!, x.bandwidth()))
  return html`<svg class="strip" role="img" aria-label="${summary}" viewBox="0 0 ${squares.length * side} ${height + 18}">${drawn}</svg>
<ul class="hidden">${squares.map(({ title }) => html`<li>${title}</li>`)}</ul>`
}

function squareAt({ label, title, tone }: Square, x: number, width: number): Html {
  const middle = round(x + width / 2)
  const text = html`<text x="${middle}" y="${height + 14}" text-anchor="middle">${label}</text>`
  return html`<rect class="fill-${tone}" x="${round(x)}" y="0" width="${round(width)}" height="${height}" rx="3"><title>${title}</title></rect>${mark(tone, middle)}${label !== '' && text}`
}

/** The shape of a state, as in its badge, for those who do not see its colour. */
function mark(tone: Square['tone'], x: number): Html | null {
  const y = height / 2
  if (tone === 'warn') return html`<path class="shape" d="M${x} ${y - 5}l5 5-5 5-5-5z"/>`
  if (tone === 'bad') return html`<path class="shape" d="M${x - 4} ${y - 4}h8v8h-8z"/>`
  if (tone === 'quiet') return html`<circle class="shape ring" cx="${x}" cy="${y}" r="4"/>`
  return null
}
