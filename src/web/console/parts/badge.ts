import { type Html, html } from '../../../values/html.ts'

/** How good a state is. Each has a colour and a shape beside its word. */
export type Tone = 'ok' | 'warn' | 'bad' | 'quiet'

/** A state: a word, a shape and a colour. */
export function badge(word: string, tone: Tone): Html {
  return html`<span class="badge ${tone}">${word}</span>`
}

const tones: Readonly<Record<string, Tone>> = {
  ...{ ok: 'ok', partial: 'warn', failed: 'bad', late: 'bad', never: 'warn', running: 'quiet' },
  ...{ parked: 'warn', waiting: 'quiet', stopped: 'warn', abandoned: 'bad', paused: 'warn' },
  ...{ died: 'bad', skipped: 'quiet' },
}

/** The badge of a status of a run, a stream or a rooftop. */
export function statusBadge(status: string): Html {
  return badge(status, tones[status] ?? 'quiet')
}
