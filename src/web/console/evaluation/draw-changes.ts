import { type Html, html } from '../../../values/html.ts'
import { instantText } from '../parts/instant.ts'
import { table } from '../parts/table.ts'
import {
  maxChanges,
  type PayloadChanges,
  type ShownChange,
  type StoredPayload,
} from './payloads.ts'
import type { Known } from './read.ts'

/** What changed between two payloads, and a form that chooses two others. */
export function drawChanges({ payloads, changes, evalId, rooftop }: Known): Html {
  if (payloads.length === 0)
    return html`<p class="empty">No payload is stored: none has been read yet, or it was erased.</p>`
  const several = payloads.some((one) => payloads.some((other) => isAfter(other, one)))
  if (!several)
    return html`<p class="empty">There is one payload of each request, so there is nothing to compare. A payload is stored again only when its content has changed.</p>`
  return html`<form class="filter" action="/console/evaluations/${evalId}#changes" aria-label="Which payloads"><input type="hidden" name="rooftop" value="${rooftop.uid}">${chooser('From', 'old', changes?.old, payloads, rooftop.timeZone)} ${chooser('To', 'new', changes?.new, payloads, rooftop.timeZone)} <button>Compare</button></form>
${changes === null ? html`<p class="empty">Choose two payloads of the same request, the older first.</p>` : drawTable(changes)}`
}

function isAfter(one: StoredPayload, other: StoredPayload): boolean {
  return one.endpoint === other.endpoint && one.fetchedAt > other.fetchedAt
}

function chooser(
  label: string,
  name: string,
  chosen: string | undefined,
  payloads: readonly StoredPayload[],
  zone: string,
): Html {
  return html`<label>${label} <select name="${name}">${payloads.map(
    ({ id, endpoint, fetchedAt }) =>
      html`<option value="${id}"${id === chosen ? html` selected` : ''}>${endpoint}, ${instantText(fetchedAt, zone, { seconds: true })}</option>`,
  )}</select></label>`
}

function drawTable({ shown, count }: PayloadChanges): Html {
  return html`${table({
    caption: `${count.toLocaleString('en')} ${count === 1 ? 'change' : 'changes'}; signatures of links are left out`,
    columns: ['Where', 'Old', 'New', 'Feeds'],
    rows: shown.map((change) => [
      html`<code>${change.path}</code>`,
      ...changeCells(change),
      change.column === null ? 'the payload alone' : html`<code>${change.column}</code>`,
    ]),
    empty:
      'Nothing but signatures of links, which are new at every read, or the order of the fields.',
  })}
${count > shown.length && html`<p class="note">Only the first ${maxChanges} of ${count.toLocaleString('en')} changes are shown.</p>`}`
}

function changeCells({ kind, isHidden, old, new: next }: ShownChange): (Html | string)[] {
  const words = { changed: 'changed', added: 'added', removed: 'removed', order: 'order' }
  if (isHidden) return [html`<em>hidden, ${words[kind]}</em>`, '']
  if (kind === 'added') return ['', html`<ins>+ ${next}</ins>`]
  if (kind === 'removed') return [html`<del>− ${old}</del>`, '']
  if (kind === 'order') return [html`order: ${old}`, html`order: ${next}`]
  return [old ?? '', next ?? '']
}
