import { type Html, html } from '../../../values/html.ts'
import type { Tone } from '../parts/badge.ts'

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
interface StripOptions {
  /** The sum of it in words: `12 nights ok, 1 partial`. */
  readonly summary: string
  readonly squares: readonly Square[]
}

/** A strip: squares of the colour and the shape of their state, and the same in words for those who do not see them. */
export function strip({ summary, squares }: StripOptions): Html {
  return html`<ul class="strip" role="list" aria-label="${summary}">${squares.map(drawSquare)}</ul>`
}

function drawSquare({ label, title, tone }: Square): Html {
  const under = html`<small aria-hidden="true">${label}</small>`
  return html`<li class="square ${tone}" title="${title}"><span class="hidden">${title}</span>${label !== '' && under}</li>`
}
