import { type Html, html } from '../../../values/html.ts'
import {
  type SentenceContext,
  type Sentences,
  type Summary,
  writeSentences,
} from '../../morning/sentences.ts'

/** The sentences of the morning, with an icon. */
export function drawSummary(summary: Summary, context: SentenceContext): Html {
  const { tone, head, more } = writeSentences(summary, context)
  return html`<section class="summary sentence ${tone}">${icons[tone]}<div>
<h1>${head}</h1>
<p>${more}</p></div></section>`
}

const icons: Readonly<Record<Sentences['tone'], Html>> = {
  ok: icon('M4 12l5 5L20 6'),
  warn: icon('M12 3L22 20H2ZM12 10v4m0 3v.5'),
  bad: icon('M8 3h8l5 5v8l-5 5H8l-5-5V8ZM12 7v6m0 3v.5'),
}

function icon(path: string): Html {
  return html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${path}"/></svg>`
}
