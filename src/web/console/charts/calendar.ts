import { type Html, html } from '../../../values/html.ts'
import type { Tone } from '../parts/badge.ts'
import { instantText } from '../parts/instant.ts'
import { type TimeSpan, timeTicks, timeX } from './scale.ts'

/** How loaded a span is, the best first; a worse one is drawn over a better one. */
export const spanStates = [
  ...(['settled', 'provisional', 'unlisted', 'quarantine', 'unprovable', 'gap'] as const),
]
/** One of `spanStates`. */
export type SpanState = (typeof spanStates)[number]

/** What each state is called, how good it is, and what it means. */
export const spanWords: Readonly<
  Record<SpanState, { readonly word: string; readonly tone: Tone; readonly meaning: string }>
> = {
  settled: {
    word: 'settled',
    tone: 'ok',
    meaning: 'listed and loaded, and old enough to be final',
  },
  provisional: {
    ...{ word: 'provisional', tone: 'quiet' },
    meaning: 'listed and loaded; listed again until it is final',
  },
  unlisted: {
    ...{ word: 'not listed yet', tone: 'quiet' },
    meaning: 'wanted, and a run is at work on it',
  },
  quarantine: { word: 'quarantined', tone: 'warn', meaning: 'some records did not fit' },
  unprovable: {
    ...{ word: 'unprovable', tone: 'warn' },
    meaning: 'the source may have left out records of a second',
  },
  gap: { word: 'gap', tone: 'bad', meaning: 'wanted, and no run lists it' },
}

/** A span with a state. */
export interface StateSpan extends TimeSpan {
  readonly state: SpanState
}

/** What a row of a calendar shows. */
interface CalendarRow {
  /** The row in words: `Northside: 1 gap of 3 days`. */
  readonly summary: string
  readonly frame: TimeSpan
  readonly zone: string
  readonly spans: readonly StateSpan[]
}

const width = 900
const height = 30
/** A gap of an hour is seen in a year, too. */
const leastWidth = 3

/** The row of a rooftop: its spans over time. The patterns must be on the page once, see `calendarPatterns`. */
export function calendarRow({ summary, frame, zone, spans }: CalendarRow): Html {
  const x = timeX(frame, [0, width])
  const worstLast = spanStates.flatMap((state) => spans.filter((span) => span.state === state))
  const lines = timeTicks(frame, zone).map(
    ({ at }) => html`<path class="rule" d="M${x(at)} 0V${height}"/>`,
  )
  return html`<svg class="calendar" role="img" aria-label="${summary}" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none"><rect class="empty-span" width="${width}" height="${height}"/>${worstLast.map((span) => spanRect(span, x, zone))}${lines}</svg>`
}

function spanRect({ state, from, until }: StateSpan, x: (at: Date) => number, zone: string): Html {
  const wide = Math.max(x(until) - x(from), state === 'settled' ? 0 : leastWidth)
  const left = Math.min(x(from), width - wide)
  return html`<rect fill="url(#span-${state})" x="${left}" y="0" width="${Math.round(wide * 10) / 10}" height="${height}"><title>${spanWords[state].word}: ${instantText(from, zone)} to ${instantText(until, zone)}</title></rect>`
}

/** The axis above the rows: months, days or hours. */
export function calendarAxis(frame: TimeSpan, zone: string): Html {
  const x = timeX(frame, [0, width])
  return html`<svg class="days" aria-hidden="true" viewBox="0 0 ${width} 18">${timeTicks(
    frame,
    zone,
  ).map(({ at, label }) => html`<text x="${x(at) + 3}" y="14">${label}</text>`)}</svg>`
}

/** What the spans are filled with: each state has a pattern besides its colour. */
export const calendarPatterns: Html = html`<svg class="hidden" aria-hidden="true" width="0" height="0"><defs>
${pattern('settled', '')}
${pattern('provisional', 'M0 8L8 0')}
${pattern('unlisted', 'M0 4h8')}
${pattern('quarantine', 'M4 1l3 3-3 3-3-3z')}
${pattern('unprovable', 'M2 0v8M6 0v8')}
${pattern('gap', 'M0 0l8 8M0 8l8-8')}
</defs></svg>`

/** What the patterns mean. */
export const calendarLegend: Html = html`<ul class="legend">${[...spanStates]
  .reverse()
  .map(
    (state) =>
      html`<li><svg class="swatch" aria-hidden="true" viewBox="0 0 24 16"><rect fill="url(#span-${state})" width="24" height="16"/></svg> ${spanWords[state].word} <small>${spanWords[state].meaning}</small></li>`,
  )}<li><svg class="swatch" aria-hidden="true" viewBox="0 0 24 16"><rect class="empty-span" width="24" height="16"/></svg> not asked for</li></ul>`

function pattern(state: SpanState, lines: string): Html {
  return html`<pattern id="span-${state}" width="8" height="8" patternUnits="userSpaceOnUse"><rect class="span-${state}" width="8" height="8"/>${lines !== '' && html`<path class="span-lines" d="${lines}"/>`}</pattern>`
}
